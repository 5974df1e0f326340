// @ts-check
/** Sweeps from the page: which algorithms, over what, how precisely; how far it is. */

import { ask, askPatiently } from "./server.js";
import { byId, counted, h } from "./words.js";

/** @typedef {{running: boolean, done: number, total: number | null, secondsLeft: number | null, points: number, seconds: number,
 *   table: import("./measurements.js").TableDocument | null, error?: string, note?: string}} SweepState */

const EVERY_SWEEP = 400; // milliseconds between two questions
const FIRST = ["home-gme", "token-gme", "ra2", "surrogate"];
const USUAL = /** @type {Record<string, string>} */ ({ nodes: "15", groups: "3", requests: "40", think: "50", hold: "20", delay: "10", skew: "", loss: "" });
const TRIED = /** @type {Record<string, string>} */ ({ nodes: "4, 9, 16, 25, 36", groups: "1, 2, 4, 8, 16", requests: "10, 40, 160", think: "0, 30, 100, 300, 1000", hold: "1, 5, 20, 80",
  delay: "1, 5, 20, 80", skew: "50/50; 20/80; 10/90", loss: "0, 0.01, 0.05" }); // prettier-ignore

export class SweepPanel {
  /**
   * @param {HTMLElement} place @param {import("./studio.js").Catalogue} catalogue
   * @param {(table: import("./measurements.js").TableDocument) => void} show what has been measured
   */
  constructor(place, catalogue, show) {
    this.place = place;
    this.catalogue = catalogue;
    this.show = show;
    this.number = 0;
    const known = catalogue.algorithms.map(({ name }) => name);
    /** @type {string[]} */
    this.chosen = catalogue.first !== "token-gme" ? [catalogue.first] : FIRST.filter((name) => known.includes(name));
    this.make();
  }

  make() {
    const kinds = [...new Set(this.catalogue.algorithms.map(({ kind }) => kind))];
    const choice = h("select", { id: "sweep-algorithm" }, ...kinds.map((kind) => h("optgroup", { label: kind },
      ...this.catalogue.algorithms.filter((one) => one.kind === kind).map(({ name }) => h("option", { value: name }, name))))); // prettier-ignore
    const parameters = this.catalogue.parameters;
    const vary = (/** @type {string} */ id, /** @type {boolean} */ optional) => h("select", { id, "aria-label": optional ? "Vary as well" : "Vary", onchange: () => this.varied() },
      ...(optional ? [h("option", { value: "" }, "nothing else")] : []), ...parameters.map(({ name, label }) => h("option", { value: name }, label))); // prettier-ignore
    this.place.replaceChildren(
      h("form", { id: "sweep-form", onsubmit: (/** @type {Event} */ event) => this.submit(event) },
        h("div", { class: "field" }, h("label", { for: "sweep-algorithm" }, "Algorithms"),
          h("ul", { id: "sweep-chosen" }),
          h("div", { class: "beside" }, choice, h("input", { id: "sweep-options", placeholder: "quorums=grid", "aria-label": "Options of the algorithm", autocomplete: "off" }),
            h("button", { type: "button", id: "sweep-add", onclick: () => this.add() }, "Add"))),
        h("div", { class: "field" }, h("label", { for: "sweep-vary" }, "Vary"),
          h("div", { class: "beside" }, vary("sweep-vary", false), h("input", { id: "sweep-values", "aria-label": "Its values", value: TRIED.nodes, autocomplete: "off" }))),
        h("div", { class: "field" }, h("label", { for: "sweep-vary-2" }, "and"),
          h("div", { class: "beside" }, vary("sweep-vary-2", true), h("input", { id: "sweep-values-2", "aria-label": "Its values", disabled: true, autocomplete: "off" }))),
        h("details", {}, h("summary", {}, "Everything else"),
          h("div", { class: "pairs" }, ...parameters.map(({ name, label }) => h("label", {}, label, h("input", { id: `sweep-${name}`, value: USUAL[name] ?? "", autocomplete: "off" }))),
            h("label", {}, "precise within", h("input", { id: "sweep-precision", value: "0.05" })),
            h("label", {}, "runs at a point, at most", h("input", { id: "sweep-most", type: "number", min: 2, value: 10 })))),
        h("div", { class: "foot" }, h("p", { class: "go" }, h("button", { type: "submit", id: "sweep-start" }, "Start the sweep"), h("button", { type: "button", id: "sweep-cancel", hidden: true, onclick: () => this.cancel() }, "Cancel")),
        h("progress", { id: "sweep-bar", "aria-label": "Progress of the sweep", hidden: true }),
        h("p", { id: "sweep-said", role: "status" }))),
    ); // prettier-ignore
    this.drawChosen();
    this.varied();
  }

  /** @param {string} id */
  field(id) {
    return /** @type {HTMLInputElement} */ (byId(`sweep-${id}`));
  }

  add() {
    const options = this.field("options").value.trim();
    const name = `${this.field("algorithm").value}${options ? ` ${options}` : ""}`;
    if (!this.chosen.includes(name)) this.chosen.push(name);
    this.field("options").value = "";
    this.drawChosen();
  }

  /** @param {string} name */
  remove(name) {
    this.chosen = this.chosen.filter((one) => one !== name);
    this.drawChosen();
    this.field("algorithm").focus();
  }

  drawChosen() {
    const item = (/** @type {string} */ name) => h("li", {}, name, h("button", { type: "button", "aria-label": `Remove ${name}`, title: `Remove ${name}`, onclick: () => this.remove(name) }, "×"));
    byId("sweep-chosen").replaceChildren(...(this.chosen.length ? this.chosen.map(item) : [h("li", { class: "empty" }, "none yet")]));
  }

  /** Another parameter is varied: suggest values, and do not ask for it twice. */
  varied() {
    for (const [which, values] of [["vary", "values"], ["vary-2", "values-2"]]) {
      const name = this.field(which).value;
      if (this.field(which).dataset.was === name) continue;
      this.field(which).dataset.was = name;
      this.field(values).value = name ? TRIED[name] : "";
      this.field(values).disabled = !name;
    }
    const names = [this.field("vary").value, this.field("vary-2").value];
    for (const { name } of this.catalogue.parameters) this.field(name).disabled = names.includes(name);
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const vary = /** @type {Record<string, string>} */ ({ [this.field("vary").value]: this.field("values").value });
    if (this.field("vary-2").value) vary[this.field("vary-2").value] = this.field("values-2").value;
    const fixed = Object.fromEntries(this.catalogue.parameters.map(({ name }) => [name, this.field(name).value]));
    this.say("Starting ...");
    try {
      const wish = { algorithms: this.chosen, vary, fixed, precision: this.field("precision").value, most: Number(this.field("most").value) };
      this.follow((await ask("api/sweeps", wish)).id);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  async cancel() {
    await ask(`api/sweeps/${this.number}/cancel`, {}).catch((error) => this.say(error.message, true));
  }

  /**
   * Show what a sweep has measured, until it is over or another one has begun.
   * @param {number} number
   */
  async follow(number) {
    this.number = number;
    let known = -1;
    try {
      for (;;) {
        /** @type {SweepState} */
        const state = await askPatiently(`api/sweeps/${number}?known=${known}`);
        if (number !== this.number) return;
        if (state.table) this.show(state.table);
        known = state.points;
        this.draw(state);
        if (!state.running) return;
        await new Promise((done) => setTimeout(done, EVERY_SWEEP));
      }
    } catch (error) {
      this.field("cancel").hidden = true;
      this.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  /** @param {SweepState} state */
  draw(state) {
    this.field("cancel").hidden = !state.running;
    const bar = /** @type {HTMLProgressElement} */ (byId("sweep-bar"));
    bar.hidden = !state.running;
    bar.max = state.total || 1;
    bar.value = state.done;
    const left = state.secondsLeft ? `, about ${Math.ceil(state.secondsLeft)} s left` : "";
    if (state.error) this.say(`It ended: ${state.error}.`, true);
    else if (state.running) this.say(state.total ? `${state.done} of ${counted(state.total, "run")}${left}` : "Starting ...");
    else this.say(`${counted(state.done, "run")} in ${state.seconds.toFixed(0)} s.${state.note ? ` ${state.note[0].toUpperCase()}${state.note.slice(1)}.` : ""}`);
  }

  /** @param {string} text @param {boolean} [bad] */
  say(text, bad = false) {
    byId("sweep-said").textContent = text;
    byId("sweep-said").className = bad ? "bad" : "";
  }
}
