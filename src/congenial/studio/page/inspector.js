// @ts-check
/** The inspector: the step that has just happened among its neighbours, a message, a process's whole state with what the
 * step changed, and the source of the step. */

import { counted, h, inWords, spelled, timeText } from "./words.js";

const BEFORE = 3;
const AFTER = 6;

export class Inspector {
  /**
   * @param {{steps: HTMLElement, process: HTMLElement, source: HTMLElement}} panels
   * @param {import("./model.js").Run} run @param {import("./clock.js").Clock} clock
   * @param {{jump: (event: number) => void, packet: (packet: import("./model.js").Packet | null) => void, process: (p: number) => void}} picked
   */
  constructor(panels, run, clock, picked) {
    this.panels = panels;
    this.run = run;
    this.clock = clock;
    this.picked = picked;
    /** @type {import("./states.js").States | null} */
    this.states = null;
    this.waiting = "The states are being read.";
    /** @type {import("./model.js").Packet | null} */
    this.packet = null;
    this.pinned = -1; // the process that the reader has chosen
    this.shown = "";
  }

  /** The process that is shown: the chosen one, or that of the step. */
  get process() {
    if (this.pinned >= 0) return this.pinned;
    const step = this.clock.step;
    return step >= 0 ? this.run.node[this.run.steps[step]] : 0;
  }

  draw() {
    const key = `${this.clock.at} ${this.process} ${this.pinned} ${this.packet?.index} ${this.states !== null} ${this.waiting}`;
    if (key === this.shown) return;
    this.shown = key;
    this.panels.steps.replaceChildren(...(this.packet ? this.messageParts(this.packet) : this.stepParts()));
    this.panels.process.replaceChildren(...this.processParts());
    this.showChange();
    this.drawSource();
  }

  // -- steps and messages --------------------------------------------------------------------------------

  stepParts() {
    const { run, clock } = this;
    const step = clock.step;
    const title = h("h2", {}, step < 0 ? "Before the first step" : `Step ${(step + 1).toLocaleString("en")} of ${run.steps.length.toLocaleString("en")}`);
    const list = h("ol", { class: "steps" });
    for (let near = Math.max(0, step - BEFORE); near < Math.min(run.steps.length, Math.max(step, 0) + AFTER); near++) {
      list.append(near === step ? this.presentStep(near) : this.otherStep(near, near > step));
    }
    return run.count ? [title, list] : [title, h("p", { class: "empty" }, run.doc.timed ? "Nothing happens in this run." : "No step has been taken yet.")];
  }

  /** @param {number} step @param {boolean} later */
  otherStep(step, later) {
    const event = this.run.steps[step];
    const jump = () => this.picked.jump(this.run.endOfStep(step));
    return h(
      "li",
      { class: later ? "later" : "earlier" },
      h("button", { class: "plain", onclick: jump }, this.when(event), inWords(this.run, event)),
    );
  }

  /** @param {number} step */
  presentStep(step) {
    const events = h("ul", {});
    for (let event = this.run.steps[step]; event <= this.run.endOfStep(step); event++) {
      const text = inWords(this.run, event);
      const packet = this.packetOf(event);
      const kind = this.run.kindName(event);
      const item = h("li", { class: `event ${kind}` });
      if (event === this.run.steps[step]) item.append(this.when(event));
      item.append(packet ? h("button", { class: "plain", onclick: () => this.picked.packet(packet) }, text) : text);
      events.append(item);
    }
    return h("li", { class: "present", "aria-current": "step" }, events);
  }

  /** @param {number} event */
  when(event) {
    return h("time", {}, this.run.doc.timed ? timeText(this.run.t[event], this.run.unit / 20) : String(this.run.t[event]));
  }

  /**
   * A packet of the message that an event is about.
   * @param {number} event
   */
  packetOf(event) {
    const { send, deliver, drop } = this.run.K;
    const kind = this.run.kind[event];
    if (kind === send) return this.run.bySending.get(event) ?? null;
    return kind === deliver || kind === drop ? (this.run.byArrival.get(event) ?? null) : null;
  }

  /** @param {import("./model.js").Packet} packet */
  messageParts(packet) {
    const { run } = this;
    const [kind, fields] = run.message(packet.sent);
    const sent = run.t[packet.sent];
    const rows = Object.entries(fields ?? {}).map(([name, value]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, h("code", {}, spelled(value)))),
    );
    const arrival = packet.got < run.count ? run.t[packet.got] : NaN;
    const grain = run.unit / 20;
    const fate = Number.isNaN(arrival)
      ? "still under way when the run ends"
      : packet.lost
        ? `lost at ${timeText(arrival, grain)}`
        : `arrived at ${timeText(arrival, grain)}${run.doc.timed ? `, after ${timeText(arrival - sent, grain)}` : ""}`;
    const jump = (/** @type {number} */ event) => () => this.picked.jump(run.endOfStep(run.stepOf(event)));
    return [
      h("h2", {}, `${kind} from ${run.name(packet.src)} to ${run.name(packet.dst)}`),
      h("p", { class: "fate" }, `Sent at ${timeText(sent, grain)}, ${fate}.`),
      rows.length ? h("table", {}, h("tbody", {}, ...rows)) : h("p", { class: "empty" }, "It has no fields."),
      h(
        "p",
        { class: "actions" },
        h("button", { onclick: jump(packet.sent) }, "Go to its sending"),
        packet.got < run.count ? h("button", { onclick: jump(packet.got) }, packet.lost ? "Go to its loss" : "Go to its arrival") : "",
        h("button", { onclick: () => this.picked.packet(null) }, "Close"),
      ),
    ];
  }

  // -- a process -----------------------------------------------------------------------------------------

  processParts() {
    const { run, clock } = this;
    const p = this.process;
    const choice = h("select", { "aria-label": "Process", id: "process-choice", onchange: (/** @type {any} */ event) => this.picked.process(Number(event.target.value)) });
    choice.append(h("option", { value: -1 }, "process of the step"), ...[...Array(run.n).keys()].map((q) => h("option", { value: q }, `process ${run.name(q)}`)));
    /** @type {HTMLSelectElement} */ (choice).value = String(this.pinned);
    const head = h("h2", {}, `Process ${run.name(p)}`, choice);
    const parts = [head, h("p", { class: "fate" }, this.standing(p))];
    if (!this.states) return [...parts, h("p", { class: "empty" }, this.waiting)];
    if (clock.at >= this.states.doc.end && this.states.doc.note) parts.push(h("p", { class: "empty" }, this.states.doc.note));
    const now = this.states.at(p, clock.at);
    const step = clock.step;
    const acts = step >= 0 && run.node[run.steps[step]] === p;
    const before = acts ? this.states.at(p, run.steps[step] - 1) : now;
    if (!now.size && !this.states.doc.variables.length) return parts;
    if (!now.size) return [...parts, h("p", { class: "empty" }, "What it had not saved is gone.")];
    const paper = [...now.keys()].some((variable) => this.states?.doc.variables[variable].paper);
    const rows = [...now.keys()].map((variable) => this.variableRow(variable, before.get(variable), now.get(variable), paper));
    const columns = h("tr", {}, h("th", { scope: "col" }, "variable"), paper ? h("th", { scope: "col" }, "in the paper") : "", h("th", { scope: "col" }, "value"));
    return [...parts, h("table", { class: "state" }, h("thead", {}, columns), h("tbody", {}, ...rows))];
  }

  /** Scroll to the first variable that the step has changed, if it cannot be seen. */
  showChange() {
    const panel = this.panels.process;
    const row = /** @type {HTMLElement | null} */ (panel.querySelector("tr.changed"));
    panel.scrollTop = row && row.offsetTop - panel.offsetTop > panel.clientHeight - 30 ? row.offsetTop - panel.offsetTop - 70 : 0;
  }

  /** @param {number} p */
  standing(p) {
    const stretch = this.run.stretchAt(p, this.clock.at);
    if (!stretch) return "It is idle.";
    const since = timeText(this.run.t[stretch.start], this.run.unit / 20);
    const groups = this.run.doc.groups ? ` group ${this.run.groupNames(stretch.groups, " or ")}` : "";
    if (stretch.what === "waiting") return `It has waited${groups ? ` for${groups}` : ""} since ${since}.`;
    if (stretch.what === "inside") {
      const fence = this.run.value(stretch.start)[1];
      return `It has been inside${groups} since ${since}${fence ? `, with fence ${fence}` : ""}.`;
    }
    return stretch.what === "crashed" ? `It crashed at ${since}.` : `It has been paused since ${since}.`;
  }

  /** @param {number} variable @param {number | undefined} before @param {number | undefined} now @param {boolean} paper */
  variableRow(variable, before, now, paper) {
    const states = /** @type {import("./states.js").States} */ (this.states);
    const note = states.doc.variables[variable];
    const changed = before !== now;
    const value = h("td", {});
    if (changed && before !== undefined) value.append(h("del", {}, states.text(before)), " ");
    value.append(h(changed ? "ins" : "code", {}, states.text(now)));
    return h(
      "tr",
      { class: changed ? "changed" : "", "data-variable": note.name },
      h("th", { scope: "row", title: note.comment }, note.name),
      paper ? h("td", { class: "paper" }, note.paper) : "",
      value,
    );
  }

  // -- source --------------------------------------------------------------------------------------------

  drawSource() {
    const panel = this.panels.source;
    const step = this.clock.step;
    const blocks = step >= 0 && this.states ? this.states.source(this.run.steps[step]) : [];
    const key = blocks.map((block) => `${block.file}:${block.line} ${block.dim.length}`).join();
    if (panel.dataset.key === key && key) return;
    panel.dataset.key = key;
    panel.replaceChildren(h("h2", {}, blocks.length ? `Source: ${blocks[0].file}` : "Source"));
    if (!blocks.length) {
      panel.append(h("p", { class: "empty" }, step < 0 ? "The source of a step is shown when one has happened." : "No source runs in this step."));
      return;
    }
    for (const block of blocks) panel.append(this.sourceBlock(block));
    panel.append(h("p", { class: "empty" }, `${counted(blocks.length, "method")} that this step may run; pale lines are for other messages.`));
    panel.scrollTop = 0;
  }

  /** @param {import("./states.js").Block} block */
  sourceBlock(block) {
    const dim = new Set(block.dim);
    const lines = block.text.split("\n");
    const indent = Math.min(...lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
    const code = h("pre", { tabindex: "0", "aria-label": block.name });
    lines.forEach((line, place) => {
      const number = block.line + place;
      const row = h("span", { class: dim.has(number) ? "line dim" : "line" }, h("b", {}, String(number)), ...coloured(line.slice(indent)));
      code.append(row);
    });
    return code;
  }
}

/**
 * A line of Python with its comment set apart.
 * @param {string} line @returns {(Node | string)[]}
 */
function coloured(line) {
  const comment = line.search(/(^|\s)#/);
  const code = comment < 0 ? line : line.slice(0, comment);
  /** @type {(Node | string)[]} */
  const parts = [];
  const words = /("""[^]*?"""|"[^"]*"|'[^']*')|\b(def|if|elif|else|for|in|not|and|or|return|raise|is|while|class|True|False|None|self|assert|with|as|continue|break|pass)\b/g;
  let last = 0;
  for (const found of code.matchAll(words)) {
    parts.push(code.slice(last, found.index), h("i", { class: found[1] ? "text" : found[2] === "self" ? "self" : "word" }, found[0]));
    last = /** @type {number} */ (found.index) + found[0].length;
  }
  parts.push(code.slice(last));
  if (comment >= 0) parts.push(h("i", { class: "comment" }, line.slice(comment)));
  parts.push("\n");
  return parts;
}
