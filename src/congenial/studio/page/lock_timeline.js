// @ts-check
/** The timeline of a lock: a row for each node, bars where its tasks are inside, steps for those that wait. */

import { groupColour, isStriped, textOn } from "./palette.js";
import { counted, s } from "./words.js";

/** @typedef {import("./cluster_view.js").LockStory} LockStory */
/** @typedef {import("./cluster_view.js").Span} Span */
/** @typedef {{from: number, to: number, group: string | null, fence: string, count: number, open: boolean}} Stay */

const LEFT = 64; // pixels for the names
const TOP = 18; // and for the times
const STEPS = [5, 10, 15, 30, 60, 120, 300]; // seconds between two of them
const APART = 66; // pixels
const MOST_STEPS = 4; // tasks waiting, beyond which steps stop growing

/**
 * @param {SVGSVGElement} svg @param {LockStory} story @param {import("./cluster_view.js").ClusterDocument} doc
 * @param {number} span seconds @param {(group: string) => number} number of a group
 */
export function drawTimeline(svg, story, doc, span, number) {
  const box = /** @type {HTMLElement} */ (svg.parentElement);
  const width = Math.max(240, box.clientWidth);
  const from = doc.at - span;
  const spans = story.spans.filter(([, , , , , end]) => (end ?? doc.at) >= from);
  const used = new Set(spans.map(([node]) => node));
  const names = doc.nodes.map(({ name }) => name);
  const rows = [...names.filter((name) => used.has(name) || names.length <= 6), ...[...used].filter((name) => !names.includes(name))];
  const tall = Math.max(24, Math.min(60, (box.clientHeight - TOP - 2) / Math.max(1, rows.length)));
  const height = Math.max(TOP + tall * rows.length + 2, 40);
  const x = (/** @type {number} */ time) => LEFT + ((time - from) / span) * (width - LEFT - 8);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  /** @type {SVGElement[]} */
  const parts = [hatchings()];
  const step = STEPS.find((seconds) => ((width - LEFT) * seconds) / span > APART) ?? span;
  for (let tick = Math.ceil(from / step) * step; tick < doc.at; tick += step) {
    if (x(tick) < LEFT + 4) continue;
    const anchor = x(tick) > width - 44 ? "end" : "middle";
    parts.push(s("line", { x1: x(tick), x2: x(tick), y1: TOP - 4, y2: height, class: "tick" }), s("text", { x: x(tick), y: 10, class: "time", "text-anchor": anchor }, clockText(tick)));
  }
  if (story.began > from) parts.push(s("rect", { x: LEFT, y: TOP, width: Math.max(0, x(story.began) - LEFT), height: height - TOP, class: "before" }));
  rows.forEach((name, place) => {
    const y = TOP + place * tall;
    const state = doc.nodes.find((node) => node.name === name)?.state ?? "silent";
    parts.push(s("line", { x1: 0, x2: width, y1: y + tall, y2: y + tall, class: "row" }));
    parts.push(s("text", { x: 2, y: y + tall / 2, class: `node ${state}` }, `${state === "up" ? "" : "✕ "}${name.length > 9 ? `${name.slice(0, 8)}…` : name}`));
    const mine = spans.filter(([node]) => node === name);
    const bar = Math.round(tall * 0.52);
    for (const stay of stays(mine, doc.at)) parts.push(stayBar(stay, x, y + 3, bar - 3, from, number));
    for (const [start, end, count] of waits(mine, doc.at)) {
      const size = Math.min(count, MOST_STEPS) * ((tall - bar - 4) / MOST_STEPS);
      const [left, right] = [x(Math.max(start, from)), x(end)];
      if (right <= LEFT) continue;
      parts.push(s("rect", { x: left, y: y + tall - 1 - size, width: Math.max(1, right - left), height: size, class: "wait", fill: "url(#wait-hatch)" }, s("title", {}, `${name}: ${counted(count, "task")} waiting`)));
    }
  });
  svg.replaceChildren(...parts);
  const inside = story.inside.map(({ node, group }) => `${node}${group === null ? "" : ` for ${group}`}`).join(", ");
  svg.setAttribute("aria-label", `Timeline of ${story.name}: ${inside ? `inside now ${inside}` : "nobody is inside now"}, ${counted(story.queue, "task")} waiting`);
}

/**
 * Stays of several tasks for the same group, as one bar where they overlap.
 * @param {Span[]} spans @param {number} now @returns {Stay[]}
 */
export function stays(spans, now) {
  /** @type {Stay[]} */
  const found = [];
  for (const [, kind, group, fence, from, end] of spans) {
    if (kind !== "inside") continue;
    const to = end ?? now;
    const before = found.find((stay) => stay.group === group && group !== null && from <= stay.to + 0.001);
    if (before) {
      before.count = from < before.to - 0.001 ? before.count + 1 : before.count;
      before.to = Math.max(before.to, to);
      before.open ||= end === null;
    } else found.push({ from, to, group, fence, count: 1, open: end === null });
  }
  return found;
}

/**
 * How many tasks wait, from one time to another.
 * @param {Span[]} spans @param {number} now @returns {[number, number, number][]}
 */
export function waits(spans, now) {
  /** @type {[number, number][]} */
  const changes = spans.filter(([, kind]) => kind === "waiting").flatMap(([, , , , from, end]) => [[from, 1], [end ?? now, -1]]); // prettier-ignore
  changes.sort((a, b) => a[0] - b[0]);
  /** @type {[number, number, number][]} */
  const steps = [];
  let count = 0;
  changes.forEach(([time, change], place) => {
    count += change;
    const next = changes[place + 1]?.[0] ?? time;
    if (count > 0 && next > time) steps.push([time, next, count]);
  });
  return steps;
}

/** @param {Stay} stay @param {(time: number) => number} x @param {number} y @param {number} tall @param {number} from @param {(group: string) => number} number */
function stayBar(stay, x, y, tall, from, number) {
  const colour = stay.group === null ? 0 : number(stay.group);
  const left = x(Math.max(stay.from, from));
  const wide = Math.max(1.5, x(stay.to) - left);
  const many = stay.count > 1 ? ` ×${stay.count}` : "";
  const text = stay.group === null ? many.trim() : `${stay.group}${many}`;
  const group = s("g", { class: `stay ${stay.open ? "open" : ""}` });
  group.append(s("title", {}, `${stay.group === null ? "inside" : `inside for ${stay.group}`}${many}, ${clockText(stay.from)} to ${stay.open ? "now" : clockText(stay.to)}${stay.fence ? `, fence ${stay.fence}` : ""}`));
  group.append(s("rect", { x: left, y, width: wide, height: tall, rx: 2.5, fill: groupColour(colour) }));
  if (isStriped(colour)) group.append(s("rect", { x: left, y, width: wide, height: tall, rx: 2.5, fill: "url(#stay-stripes)" }));
  if (text && wide > 6.8 * text.length + 8) {
    const label = s("text", { x: left + 5, y: y + tall / 2 }, text);
    label.style.fill = textOn(colour);
    group.append(label);
  }
  return group;
}

function hatchings() {
  const lines = s("pattern", { id: "wait-hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 2.2, height: 5, class: "hatch" }));
  const stripes = s("pattern", { id: "stay-stripes", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 3, height: 7, class: "stripe" }));
  return s("defs", {}, lines, stripes);
}

/** @param {number} seconds */
function clockText(seconds) {
  return new Date(1000 * seconds).toLocaleTimeString("en-GB");
}
