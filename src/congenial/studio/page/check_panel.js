// @ts-check
/** Checks and random runs: how far they are, and what they found. */

import { ask, askPatiently } from "./server.js";
import { byId, counted, h } from "./words.js";

/** @typedef {{running: boolean, seen: number, pending: number, seconds: number, error?: string, ok?: boolean,
 *   verdict?: string, depth?: number, path?: object[] | null}} CheckState */

const EVERY = 400; // milliseconds between two questions

export class CheckPanel {
  /**
   * @param {() => object} settings of the form
   * @param {(setting: object, path: object[]) => Promise<void>} open a counterexample in Explore
   */
  constructor(settings, open) {
    this.settings = settings;
    this.open = open;
    this.number = 0;
    this.kind = "check";
    this.setting = {};
    this.cancel = h("button", { type: "button", id: "check-cancel", onclick: () => ask(`api/checks/${this.number}/cancel`, {}) }, "Cancel");
  }

  /**
   * @param {string} kind check or fuzz
   */
  async start(kind) {
    const field = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (byId(`check-${name}`)).value || undefined;
    this.kind = kind;
    this.setting = { ...this.settings(), nodes: field("nodes"), requests: field("requests") };
    const wish = { kind, setting: this.setting, runs: field("runs"), crashes: field("crashes"), losses: field("losses"), duplicates: field("duplicates"), suspicions: field("suspicions") };
    this.number = (await ask("api/checks", wish)).id;
    this.follow(this.number);
  }

  /**
   * Ask again and again, until it is over or another one has begun.
   * @param {number} number
   */
  async follow(number) {
    try {
      /** @type {CheckState} */
      let state;
      do {
        await new Promise((done) => setTimeout(done, EVERY));
        state = await askPatiently(`api/checks/${number}`);
        if (number === this.number) this.draw(state);
      } while (state.running && number === this.number);
    } catch (error) {
      this.say("bad", error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {string} kind @param {string} text @param {...HTMLElement} more
   */
  say(kind, text, ...more) {
    byId("check-state").replaceChildren(h("p", { class: kind }, text), ...more);
  }

  /** @param {CheckState} state */
  draw(state) {
    const thing = this.kind === "check" ? "state" : "run";
    const rate = state.seconds > 0 ? `, ${Math.round(state.seen / state.seconds).toLocaleString("en")} per second` : "";
    if (state.error) this.say("bad", `It ended: ${state.error}.`);
    else if (state.running) {
      const left = state.pending ? `, ${state.pending.toLocaleString("en")} to be expanded` : "";
      const text = `${counted(state.seen, thing)}${left}${rate}, ${state.seconds.toFixed(0)} s`;
      const shown = this.cancel.previousElementSibling;
      if (shown) shown.textContent = text; // the button stays where it is, under the pointer
      else this.say("", text, this.cancel);
    } else {
      const path = state.path;
      const depth = state.depth ? `, depth ${state.depth}` : "";
      const look = path ? [h("button", { type: "button", id: "check-open", onclick: () => this.open(this.setting, path) }, `Open its ${counted(path.length, "step")} in Explore`)] : [];
      this.say(state.ok ? "good" : "bad", `${state.verdict} (${counted(state.seen, thing)}${depth}${rate})`, ...look);
    }
  }
}
