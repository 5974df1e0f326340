// @ts-check
/** The Explore view: a path of steps that the reader chooses, one by one, among those that are possible. */

import { RunView } from "./run_view.js";
import { ask } from "./server.js";
import { byId, counted, h } from "./words.js";

/**
 * @typedef {Record<string, any>} Step as the server writes it
 * @typedef {{step: Step, text: string, fault: boolean}} Possible
 * @typedef {{path: Step[], found: boolean, steps: Possible[], run: import("./model.js").RunDocument,
 *   states: import("./states.js").StatesDocument, trace: string}} Place
 * @typedef {{path: Step[], moves: Possible[][], trace: string}} Explored what a page without a server knows: a path, and
 *   what was possible in each of its states
 */

const ELSEWHERE = "To take another step than the next one of this path, save the trace and open it: congenial studio explored.ndjson";
const PAUSE = 120; // milliseconds without a move after which the steps of another place are asked for

export class ExploreView {
  /** @param {{setting?: object, trace?: string}} what is explored @param {Explored | null} [explored] if there is no server */
  constructor(what, explored = null) {
    this.what = what;
    this.explored = explored;
    /** @type {Step[]} */
    this.path = [];
    /** @type {Step[][]} paths that were left for another */
    this.branches = [];
    /** @type {RunView | null} */
    this.view = null;
    /** @type {Place | null} where the clock is, which may be before the end of the path */
    this.place = null;
    this.trace = "";
    this.busy = false;
    this.said = "";
    this.timer = 0;
    this.panel = byId("moves-panel");
    this.abort = new AbortController();
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.abort.signal });
  }

  /**
   * @param {object} more @returns {Promise<Place>}
   */
  ask(more) {
    return ask("api/explore", { ...this.what, ...more });
  }

  /**
   * Show a path of a page that has no server, from its beginning.
   * @param {import("./model.js").RunDocument} run @param {() => Promise<import("./states.js").StatesDocument>} readStates
   */
  open(run, readStates) {
    const { path, trace } = /** @type {Explored} */ (this.explored);
    this.path = path;
    this.trace = trace;
    this.panel.hidden = false;
    byId("run").classList.add("exploring");
    this.view = new RunView(run, readStates);
    this.view.after = () => this.moved();
    this.moved();
  }

  /** What is known of where the clock is, on a page that has no server. */
  knownPlace() {
    const { path, moves, trace } = /** @type {Explored} */ (this.explored);
    const taken = Math.min(this.taken, path.length);
    const doc = /** @type {RunView} */ (this.view).run.doc;
    const run = { ...doc, ok: doc.ok || taken < path.length };
    return /** @type {Place} */ ({ path: path.slice(0, taken), found: false, steps: moves[taken] ?? [], run, states: /** @type {any} */ (null), trace });
  }

  close() {
    this.abort.abort();
    this.view?.close();
    clearTimeout(this.timer);
    this.panel.hidden = true;
    byId("run").classList.remove("exploring");
  }

  pause() {
    this.view?.pause();
  }

  describe() {
    this.view?.describe();
  }

  /** @param {boolean} [still] */
  draw(still) {
    this.view?.draw(still);
  }

  /** How many steps of the path have been taken where the clock is. */
  get taken() {
    return (this.view?.clock.step ?? -1) + 1;
  }

  /**
   * Show where a path leads.
   * @param {Place} place
   */
  show(place) {
    const old = this.view;
    old?.close();
    this.path = place.path;
    this.place = place;
    this.trace = place.trace;
    this.panel.hidden = false;
    byId("run").classList.add("exploring");
    const view = new RunView(place.run, () => Promise.resolve(place.states));
    if (old) view.adopt(old);
    this.view = view;
    view.clock.jump(view.run.count - 1);
    view.after = () => this.moved();
    this.drawMoves();
  }

  /** The clock has moved: other steps are possible there. */
  moved() {
    if (this.explored) {
      if (this.place && this.taken === this.place.path.length) return;
      this.place = this.knownPlace();
      this.drawMoves();
      return;
    }
    if (this.taken === this.place?.path.length || this.busy) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.askForMoves(), PAUSE);
  }

  async askForMoves() {
    const taken = this.taken;
    if (taken === this.place?.path.length || this.view?.clock.playing) return;
    await this.attempt(async () => {
      const place = await this.ask({ path: this.path.slice(0, taken) });
      if (this.taken === taken) this.place = place;
    });
    this.drawMoves();
  }

  /**
   * Take a step. If it is not the next one of the path, a branch begins here.
   * @param {Step} step
   */
  async take(step) {
    if (this.busy || !this.place) return;
    const before = this.place.path;
    const next = this.path[before.length];
    if (next && JSON.stringify(next) === JSON.stringify(step)) {
      this.view?.clock.stepBy(1);
      return;
    }
    if (this.explored) return;
    await this.goTo([...before, step], {});
  }

  /**
   * @param {Step[]} path @param {object} more
   */
  async goTo(path, more) {
    await this.attempt(async () => {
      const place = await this.ask({ path, ...more });
      const goesOn = this.path.every((step, at) => JSON.stringify(step) === JSON.stringify(place.path[at]));
      if (!goesOn) this.remember(this.path);
      this.branches = this.branches.filter((branch) => JSON.stringify(branch) !== JSON.stringify(place.path));
      this.show(place);
    });
    this.drawMoves();
  }

  /** @param {Step[]} path */
  remember(path) {
    const known = JSON.stringify(path);
    if (!this.branches.some((branch) => JSON.stringify(branch) === known)) this.branches.push(path);
  }

  async look() {
    if (!this.place || this.busy || this.explored) return;
    const faults = /** @type {HTMLInputElement | null} */ (document.getElementById("with-faults"))?.checked ?? false;
    const from = this.place.path;
    this.said = "Looking ...";
    this.drawMoves();
    await this.attempt(async () => {
      const place = await this.ask({ path: from, look: true, faults });
      if (place.found) {
        if (JSON.stringify(place.path.slice(0, this.path.length)) !== JSON.stringify(this.path)) this.remember(this.path);
        this.show(place);
        this.said = `Found after ${counted(place.path.length - from.length, "more step")}.`;
      } else this.said = `Nothing wrong was found from here${faults ? "" : ", without faults"}.`;
    });
    this.drawMoves();
  }

  /**
   * Do what the server is needed for; if it fails, say why.
   * @param {() => Promise<void>} act
   */
  async attempt(act) {
    this.busy = true;
    this.said = this.said === "Looking ..." ? this.said : "";
    try {
      await act();
    } catch (error) {
      this.said = error instanceof Error ? error.message : String(error);
    } finally {
      this.busy = false;
    }
  }

  save() {
    const link = /** @type {HTMLAnchorElement} */ (h("a", { download: "explored.ndjson" }));
    link.href = URL.createObjectURL(new Blob([this.trace], { type: "application/x-ndjson" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const tag = /** @type {HTMLElement} */ (event.target).tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(tag) || byId("run").hidden) return;
    if (document.querySelector("dialog[open]")) return;
    const chosen = /^[1-9]$/.test(event.key) ? this.place?.steps[Number(event.key) - 1] : undefined;
    if (chosen) this.take(chosen.step);
    else if (event.key === "Backspace") this.view?.clock.stepBy(-1);
    else if (event.key === "v") this.look();
    else return;
    event.preventDefault();
  }

  drawMoves() {
    const place = this.place;
    if (!place) return;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.move : undefined;
    const ordinary = place.steps.filter((move) => !move.fault);
    const faults = place.steps.filter((move) => move.fault);
    const wasOpen = /** @type {HTMLDetailsElement | null} */ (this.panel.querySelector("details"))?.open ?? false;
    const withFaults = /** @type {HTMLInputElement | null} */ (document.getElementById("with-faults"))?.checked ?? false;
    const ended = !place.run.ok ? [h("p", { class: "wrong" }, place.run.verdict)] : [];
    if (!place.steps.length && place.run.ok) ended.push(h("p", { class: "empty" }, "Nothing more can happen, and nobody waits."));
    this.panel.replaceChildren(
      h("h2", {}, "What can happen"),
      h("p", { class: "actions" },
        h("button", { id: "take-back", title: "Backspace", disabled: place.path.length === 0, onclick: () => this.view?.clock.stepBy(-1) }, "Take back"),
        ...(this.explored ? [] : [
          h("button", { id: "look", title: "v", disabled: this.busy, onclick: () => this.look() }, "Look for a violation from here"),
          h("label", {}, h("input", { type: "checkbox", id: "with-faults", checked: withFaults }), "with faults")]),
        h("button", { id: "save", onclick: () => this.save() }, "Save the trace")),
      h("p", { class: "empty", role: "status", id: "explore-said" }, this.explored ? ELSEWHERE : this.said),
      ...ended,
      h("ol", { class: "moves" }, ...ordinary.map((move, at) => this.moveItem(move, at))),
      ...(faults.length
        ? [h("details", { open: wasOpen }, h("summary", {}, `Faults (${faults.length})`), h("ol", { class: "moves" }, ...faults.map((move, at) => this.moveItem(move, ordinary.length + at))))]
        : []),
      ...this.branchItems(),
    ); // prettier-ignore
    if (focused !== undefined) /** @type {HTMLElement | null} */ (this.panel.querySelector(`[data-move="${focused}"]`))?.focus();
    this.panel.dataset.length = String(place.path.length);
  }

  /**
   * @param {Possible} move @param {number} at
   */
  moveItem(move, at) {
    const next = JSON.stringify(this.path[this.place?.path.length ?? -1]) === JSON.stringify(move.step);
    const button = h("button", { class: next ? "plain next" : "plain", "data-move": at, disabled: Boolean(this.explored) && !next, onclick: () => this.take(move.step) }, move.text);
    if (next) button.title = "the next step of this path";
    return at < 9 ? h("li", {}, h("kbd", {}, String(at + 1)), button) : h("li", {}, button);
  }

  branchItems() {
    if (!this.branches.length) return [];
    const items = this.branches.map((branch, at) =>
      h("li", {}, h("button", { class: "plain", onclick: () => this.goTo(branch, {}) }, `Branch ${at + 1}: ${counted(branch.length, "step")}`)),
    );
    return [h("h2", {}, "Other branches"), h("ul", { class: "moves" }, ...items)];
  }
}
