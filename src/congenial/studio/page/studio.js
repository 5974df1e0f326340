// @ts-check
/** The studio of a server: set up a run, start it, watch it. */

import { CheckPanel } from "./check_panel.js";
import { ClusterView } from "./cluster_view.js";
import { CompareView } from "./compare_view.js";
import { ExploreView } from "./explore_view.js";
import { RunView } from "./run_view.js";
import { ask, askPatiently, watchConnection } from "./server.js";
import { byId, h } from "./words.js";

/**
 * @typedef {{name: string, default: string, help: string, choices: string[]}} Option
 * @typedef {{name: string, title: string, kind: string, groups: boolean, reference: string, faults: string, flaws: string[],
 *   options: Option[]}} Algorithm
 * @typedef {{algorithms: Algorithm[], first: string, suffixes: string[], traces: string[], tables: boolean, cluster: boolean,
 *   parameters: {name: string, label: string}[]}} Catalogue
 */

const TIMES = "a mean, or uniform:5,15, constant:3, lognormal:5,1.5";
const FIELDS = {
  load: /** @type {[string, string, string, string][]} */ ([
    ["requests", "Requests of each process", "10", ""],
    ["think", "Time between requests", "50", TIMES],
    ["hold", "Time inside", "20", "a mean x is uniform on 0..2x"],
  ]),
  network: /** @type {[string, string, string, string][]} */ ([["delay", "Time that a message takes", "10", TIMES]]),
  faults: /** @type {[string, string, string, string][]} */ ([
    ["loss", "Messages are lost", "", "a share: 0.05, or 0.1@100-200"],
    ["duplicate", "Messages arrive twice", "", "a share: 0.05"],
    ["crash", "Processes crash", "", "2@100-200: process 2; 0.001/50: any"],
    ["pause", "Processes stop for a while", "", "2@100-200 or 0.001/50"],
    ["partition", "The network splits", "", "0,1|2,3@100-200 or 0.001/50"],
    ["suspect", "False suspicions", "", "2@100-200: all suspect process 2"],
    ["detection", "Crashes are noticed after", "", "a time; empty: never"],
    ["until", "Stop at time", "", "empty: when all are served"],
  ]),
};

const CHECK = /** @type {[string, string, number][]} */ ([
  ["nodes", "Processes", 3],
  ["requests", "Requests of each", 2],
  ["crashes", "Crashes", 0],
  ["losses", "Lost messages", 0],
  ["duplicates", "Duplicates", 0],
  ["suspicions", "False suspicions", 0],
  ["runs", "Random runs", 1000],
]);

const EVERY_PART = 500; // milliseconds between two questions for more of a run

export class Studio {
  constructor() {
    /** @type {RunView | ExploreView | null} */
    this.view = null;
    /** @type {Catalogue} */
    this.catalogue = { algorithms: [], first: "", suffixes: [], traces: [], tables: false, cluster: false, parameters: [] };
    this.setup = byId("setup");
    this.checks = new CheckPanel(
      () => this.settings(),
      (setting, path) => this.attempt(() => this.explore({ setting }, path)),
    );
    this.open = byId("new-run");
    this.setsUp = true; // whether the Run view shows its form
    /** @type {CompareView | null} */
    this.compare = null;
    /** @type {ClusterView | null} */
    this.cluster = null;
  }

  async begin() {
    this.catalogue = await ask("api/catalogue");
    watchConnection();
    this.makeForm();
    this.setup.hidden = false;
    byId("views").hidden = false;
    this.open.addEventListener("click", () => this.show(this.setup.hidden));
    byId("view-run").addEventListener("click", () => this.show(this.setsUp));
    byId("view-compare").addEventListener("click", () => this.showCompare());
    byId("view-cluster").addEventListener("click", () => this.showCluster());
    const [trace] = this.catalogue.traces;
    if (trace) await this.explore({ trace });
    const { tables, cluster } = this.catalogue;
    if (location.hash.startsWith("#cluster") || (cluster && !trace && location.hash !== "#compare")) await this.showCluster();
    else if (location.hash === "#compare" || (tables && !trace)) await this.showCompare();
    document.documentElement.dataset.ready = "yes";
  }

  /** @param {boolean} setup show the form, or else the run */
  show(setup) {
    if (!setup && !this.view) return;
    this.turnTo("run");
    this.setsUp = setup;
    this.setup.hidden = !setup;
    byId("run").hidden = setup;
    this.open.hidden = !this.view;
    this.open.textContent = setup ? "Back to the run" : "New run";
    if (!this.view) describe("Congenial", "", "Congenial");
    if (!setup) {
      this.view?.describe();
      this.view?.draw(true);
    }
  }

  /** @param {"run" | "compare" | "cluster"} name */
  turnTo(name) {
    for (const view of ["run", "compare", "cluster"]) {
      if (view === name) byId(`view-${view}`).setAttribute("aria-current", "page");
      else byId(`view-${view}`).removeAttribute("aria-current");
    }
    byId("compare").hidden = name !== "compare";
    byId("cluster").hidden = name !== "cluster";
    if (name !== "cluster") history.replaceState(null, "", name === "compare" ? "#compare" : "#");
  }

  async showCompare() {
    this.view?.pause();
    this.turnTo("compare");
    this.setup.hidden = byId("run").hidden = this.open.hidden = byId("verdict").hidden = true;
    describe("Compare", "algorithms under the same load", "Compare - Congenial");
    if (this.compare) this.compare.draw();
    else {
      this.compare = new CompareView(this.catalogue);
      await this.compare.begin();
    }
  }

  async showCluster() {
    this.view?.pause();
    this.turnTo("cluster");
    this.setup.hidden = byId("run").hidden = this.open.hidden = byId("verdict").hidden = true;
    describe("Cluster", "", "Cluster - Congenial");
    this.cluster ??= new ClusterView(this.catalogue.cluster);
    await this.cluster.begin();
  }

  makeForm() {
    const { algorithms, first } = this.catalogue;
    const choice = /** @type {HTMLSelectElement} */ (h("select", { name: "algorithm", id: "algorithm", onchange: () => this.chosen() }));
    const kinds = [...new Set(algorithms.map((algorithm) => algorithm.kind))];
    for (const kind of kinds) {
      const members = algorithms.filter((algorithm) => algorithm.kind === kind);
      choice.append(h("optgroup", { label: kind }, ...members.map(({ name, title }) => h("option", { value: name }, title === name ? name : `${title} (${name})`))));
    }
    choice.value = first;
    const form = h(
      "form",
      { id: "setup-form", onsubmit: (/** @type {Event} */ event) => this.submit(event) },
      h("h2", {}, "Watch a run"),
      h("p", { class: "empty" }, "Pick an algorithm and press Run. Equal settings and seeds give equal runs. Or explore: choose yourself what happens next."),
      h("fieldset", {}, h("legend", {}, "Algorithm"),
        labelled("Algorithm", choice, "", "whole"),
        labelled("Survive crashes by", h("select", { name: "suffix" }, h("option", { value: "" }, "nothing added"), ...this.catalogue.suffixes.map((suffix) => h("option", { value: suffix }, `+${suffix}`)))),
        h("span", { id: "options", hidden: true }),
        h("p", { id: "algorithm-note", class: "hint empty whole" })),
      h("fieldset", {}, h("legend", {}, "Processes and load"),
        labelled("Processes", h("input", { name: "nodes", type: "number", min: 1, max: 200, value: 6, required: true })),
        labelled("Groups", h("input", { name: "groups", type: "number", min: 1, max: 1000, value: 3, required: true })),
        ...FIELDS.load.map(textField),
        labelled("Load", h("select", { name: "load" }, ...["closed", "burst", "single", "turns"].map((load) => h("option", {}, load))))),
      h("fieldset", {}, h("legend", {}, "Network"),
        ...FIELDS.network.map(textField),
        labelled("Channels", h("select", { name: "fifo" }, h("option", { value: "" }, "as the algorithm needs"), h("option", { value: "true" }, "keep the order"), h("option", { value: "false" }, "unordered"))),
        labelled("Seed", h("input", { name: "seed", type: "number", min: 0, value: 1, required: true }))),
      h("details", {}, h("summary", {}, "Faults"), h("fieldset", {}, ...FIELDS.faults.map(textField))),
      h("details", { id: "check-details" }, h("summary", {}, "Check it: every run of a small system, or many random runs"),
        h("fieldset", {},
          ...CHECK.map(([name, text, value]) => labelled(text, h("input", { id: `check-${name}`, type: "number", min: 0, value }))),
          h("p", { class: "go whole" },
            h("button", { type: "button", id: "check-start", onclick: () => this.attempt(() => this.checks.start("check")) }, "Check every run"),
            h("button", { type: "button", id: "fuzz-start", onclick: () => this.attempt(() => this.checks.start("fuzz")) }, "Try random runs")),
          h("div", { id: "check-state", class: "whole", role: "status" }))),
      h("p", { class: "go" }, h("button", { type: "submit" }, "Run"),
        h("button", { type: "button", id: "explore", onclick: () => this.attempt(() => this.explore({ setting: this.settings() })) }, "Explore by hand"),
        h("span", { id: "setup-problem", role: "alert" })),
    ); // prettier-ignore
    this.setup.replaceChildren(form);
    this.chosen();
  }

  get algorithm() {
    const name = /** @type {HTMLSelectElement} */ (byId("algorithm")).value;
    return this.catalogue.algorithms.find((algorithm) => algorithm.name === name);
  }

  /** Another algorithm is chosen: show its own options. */
  chosen() {
    const algorithm = this.algorithm;
    if (!algorithm) return;
    document.querySelectorAll("#setup-form .option").forEach((old) => old.remove());
    const fields = algorithm.options.map((option) => {
      const id = `choices-${option.name}`;
      const input = h("input", { name: `option ${option.name}`, placeholder: option.default, list: id });
      const field = labelled(option.name, input, option.help, "option");
      field.append(h("datalist", { id }, ...option.choices.map((value) => h("option", { value }))));
      return field;
    });
    byId("options").after(...fields);
    const groups = /** @type {HTMLInputElement} */ (document.querySelector("#setup-form [name=groups]"));
    groups.disabled = !algorithm.groups;
    const survives = algorithm.faults === "none" ? "It survives no faults." : `It survives: ${algorithm.faults}.`;
    const flaws = algorithm.flaws.length ? ` Known flaws: ${algorithm.flaws.join(" ")}` : "";
    byId("algorithm-note").textContent = `${algorithm.reference ? `${algorithm.reference}. ` : ""}${survives}${flaws}`;
  }

  /** What the form says. */
  settings() {
    const given = /** @type {Record<string, any>} */ ({ options: {} });
    for (const [name, value] of new FormData(/** @type {HTMLFormElement} */ (byId("setup-form")))) {
      if (name.startsWith("option ")) {
        if (value) given.options[name.slice(7)] = value;
      } else if (value !== "") given[name] = value;
    }
    return given;
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    return this.attempt(async () => {
      const doc = await ask("api/runs", this.settings());
      this.view?.close();
      byId("run").hidden = false;
      const view = /** @type {RunView} */ (new RunView(doc, async () => {
        await null; // until the view is made
        await this.grow(view, doc.id);
        return askPatiently(`api/runs/${doc.id}/states`);
      })); // prettier-ignore
      this.view = view;
      this.show(false);
      window.scrollTo(0, 0);
      view.clock.play();
    });
  }

  /**
   * As long as a run goes on, show what has happened since.
   * @param {RunView} view @param {number} number
   */
  async grow(view, number) {
    const { doc } = view.run;
    if (doc.more) view.inspector.waiting = "The states follow when the run has ended.";
    while (doc.more && this.view === view) {
      await new Promise((done) => setTimeout(done, EVERY_PART));
      const part = await askPatiently(`api/runs/${number}/more?events=${doc.t.length}&messages=${doc.messages.length}&values=${doc.values.length}`);
      if (this.view === view && (part.t || !part.more)) view.grow(part);
    }
    view.inspector.waiting = "The states are being read.";
  }

  /**
   * Explore an algorithm with settings, or a trace that the command line has named.
   * @param {{setting?: object, trace?: string}} what @param {object[]} [path] where to begin
   */
  async explore(what, path) {
    const view = new ExploreView(what);
    const first = await view.ask(path ? { path } : {});
    this.view?.close();
    byId("run").hidden = false;
    this.view = view;
    view.show(first);
    this.show(false);
    window.scrollTo(0, 0);
  }

  /**
   * Do what takes a while; if it fails, say why.
   * @param {() => Promise<void>} act
   */
  async attempt(act) {
    const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("#setup-form .go button"));
    const problem = byId("setup-problem");
    problem.textContent = "";
    for (const button of buttons) button.disabled = true;
    try {
      await act();
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }
}

/** @param {string} title @param {string} reference @param {string} page */
function describe(title, reference, page) {
  byId("title").textContent = title;
  byId("reference").textContent = reference;
  byId("about").replaceChildren();
  document.title = page;
}

/** @param {string} text @param {HTMLElement} field @param {string} [hint] @param {string} [kind] */
function labelled(text, field, hint = "", kind = "") {
  return h("label", { class: kind }, text, field, hint ? h("span", { class: "hint" }, hint) : "");
}

/** @param {[string, string, string, string]} field */
function textField([name, text, value, hint]) {
  return labelled(text, h("input", { name, value, autocomplete: "off" }), hint);
}
