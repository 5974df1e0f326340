// @ts-check
/** Events in words, and small helpers for text and elements. */

const SVG = "http://www.w3.org/2000/svg";
const TOLD = /** @type {Record<string, string>} */ ({
  exit: "leaves",
  eject: "is ejected",
  rest: "has left for all",
  crash: "crashes",
  recover: "recovers",
  pause: "stops",
  resume: "goes on",
});

/**
 * A field's value in words; messages in it look as they do in code.
 * @param {any} value @returns {string}
 */
export function spelled(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(spelled).join(", ")}]`;
  if (typeof value === "object") {
    const keys = Object.keys(value);
    if (keys.length === 2 && "message" in value && "fields" in value) return messageText(value.message, value.fields);
    return `{${keys.map((key) => `${key}: ${spelled(value[key])}`).join(", ")}}`;
  }
  return String(value);
}

/** @param {string} name @param {Record<string, any>} fields */
export function messageText(name, fields) {
  return `${name}(${Object.entries(fields ?? {}).map(([key, value]) => `${key}=${spelled(value)}`).join(", ")})`;
}

/**
 * What a message is called where there is little room: the one that it carries, if it carries one.
 * @param {string} name @param {Record<string, any>} fields
 * @returns {string}
 */
export function shortName(name, fields) {
  const carried = Object.values(fields ?? {}).filter((value) => value && typeof value === "object" && "message" in value);
  return carried.length === 1 ? shortName(carried[0].message, carried[0].fields) : name;
}

/** @param {number[][]} sides */
export function sidesText(sides) {
  return sides.map((side) => side.join(", ")).join(" | ");
}

/**
 * What happens in an event.
 * @param {import("./model.js").Run} run @param {number} event
 */
export function inWords(run, event) {
  const kind = run.kindName(event);
  const p = run.name(run.node[event]);
  const from = run.peer[event];
  const peer = run.name(from);
  if (kind === "send") return `${p} sends ${messageText(...run.message(event))} to ${from < 0 ? "everyone" : peer}`;
  if (kind === "deliver") return `${p} receives ${messageText(...run.message(event))} from ${peer}`;
  if (kind === "drop") return `${messageText(...run.message(event))} from ${peer} to ${p} is lost`;
  if (kind === "request") return `${p} asks to enter${run.doc.groups ? ` group ${run.groupNames(run.value(event), " or ")}` : ""}`;
  if (kind === "enter") return `${p} enters${run.doc.groups ? ` group ${run.groupName(run.value(event)[0])}` : ""}`;
  if (kind === "timer") return `timer ${run.ref[event]} of ${p} runs out`;
  if (kind === "suspect") return `${p} suspects ${peer}`;
  if (kind === "trust") return `${p} trusts ${peer} again`;
  if (kind === "cut") return `the network splits: ${sidesText(run.value(event))}`;
  if (kind === "heal") return `the split ends: ${sidesText(run.value(event))}`;
  if (kind === "issue") return `${p} issues operation ${run.value(event).id}: ${spelled(run.value(event).operation)}`;
  if (kind === "execute") return `${p} executes operation ${run.value(event).id} of ${peer}: ${spelled(run.value(event).result)}`;
  if (kind === "restore") return `${p} has a replica with ${run.value(event).id} operations`;
  if (kind === "answer") return `${p} is answered ${spelled(run.value(event).result)} to operation ${run.value(event).id}`;
  return `${p} ${TOLD[kind] ?? kind}`;
}

/**
 * A time, with as many digits as a reader needs.
 * @param {number} t @param {number} [grain]
 */
export function timeText(t, grain = 0.1) {
  const digits = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(Math.max(grain, 1e-9)))));
  return t.toFixed(digits).replace(/\.0+$/, "");
}

/** @param {number} number @param {string} thing @param {string} [many] */
export function counted(number, thing, many) {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : (many ?? `${thing}s`)}`;
}

/**
 * A new element with attributes and children.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * A new element of a picture.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * An element of the page that must be there.
 * @param {string} id @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no element ${id}`);
  return found;
}
