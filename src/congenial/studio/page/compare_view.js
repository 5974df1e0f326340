// @ts-check
/** The Compare view: sweeps, and the folders and tables of earlier ones, as curves or as a frontier. */

import { drawChart, swatch } from "./chart.js";
import { CompareHand } from "./compare_hand.js";
import { frontier, Table } from "./measurements.js";
import { pageColours } from "./palette.js";
import { Readout } from "./readout.js";
import { valueText } from "./scales.js";
import { ask } from "./server.js";
import { SweepPanel } from "./sweep_panel.js";
import { byId, counted, h, s } from "./words.js";

/** @typedef {import("./chart.js").Placed} Placed */

const OWN_SWEEP = "the sweep of this page";

export class CompareView {
  /** @param {import("./studio.js").Catalogue} catalogue */
  constructor(catalogue) {
    this.catalogue = catalogue;
    /** @type {Map<string, import("./measurements.js").TableDocument>} what has been opened, by title */
    this.tables = new Map();
    /** @type {Table | null} */
    this.table = null;
    this.wanted = ""; // what was chosen last
    this.measure = "messages_per_entry";
    this.x = "0"; // the place of a parameter, or the name of a measure
    this.ratio = false;
    this.log = { x: false, y: false };
    /** @type {(number | string | null)[]} the values of parameters that are not on an axis */
    this.at = [];
    /** @type {Set<string>} */
    this.hidden = new Set();
    this.hot = "";
    /** @type {Placed | null} the value that is pointed at */
    this.near = null;
    /** @type {Placed[]} */
    this.placed = [];
    this.svg = /** @type {any} */ (byId("chart"));
    this.readout = new Readout(() => this.draw());
    this.sweeps = new SweepPanel(byId("sweep-panel"), catalogue, (doc) => this.show(doc, OWN_SWEEP));
    new CompareHand(this);
    this.drawSources([]);
    this.draw();
  }

  async begin() {
    const known = await ask("api/tables");
    this.drawSources(known.tables);
    if (known.sweep) this.sweeps.follow(known.sweep);
    else if (known.tables.length) await this.open(known.tables[0]);
  }

  // -- what is shown ---------------------------------------------------------------------------------------

  /** @param {string[]} names */
  drawSources(names) {
    const folders = [...new Set(names.map((name) => name.split("/").slice(0, -1).join("/")))];
    const option = (/** @type {string} */ name) => h("option", { value: name }, name.split("/").pop() ?? name);
    this.select("table").replaceChildren(
      h("option", { value: "" }, names.length ? "choose ..." : "nothing to open"),
      h("option", { value: OWN_SWEEP, hidden: !this.tables.has(OWN_SWEEP) }, OWN_SWEEP),
      ...folders.map((folder) => h("optgroup", { label: folder }, ...names.filter((name) => name.slice(0, name.lastIndexOf("/")) === folder).map(option))),
    );
    byId("compare-hint").hidden = names.length > 0;
  }

  /** @param {string} name @returns {HTMLSelectElement} */
  select(name) {
    return /** @type {HTMLSelectElement} */ (byId(`compare-${name}`));
  }

  /** @param {string} name of a table that the server offers, or of what is here already */
  async open(name) {
    byId("compare-problem").textContent = "";
    this.wanted = name;
    try {
      const own = this.tables.get(name);
      if (own) this.show(own, name);
      else if (name) {
        const { documents } = await ask("api/tables", { name });
        if (this.wanted !== name) return; // another one was chosen meanwhile
        this.show(documents[0], name, documents);
      }
    } catch (error) {
      byId("compare-problem").textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * @param {import("./measurements.js").TableDocument} doc @param {string} source
   * @param {import("./measurements.js").TableDocument[]} [parts] tables of the same source
   */
  show(doc, source, parts = []) {
    const before = this.table?.doc;
    const same = before?.title === doc.title;
    this.table = new Table(doc);
    if (source === OWN_SWEEP) {
      this.tables.set(source, doc);
      /** @type {HTMLOptionElement} */ (this.select("table").options[1]).hidden = false;
    }
    this.select("table").value = source;
    const part = this.select("part");
    if (parts.length || !same) {
      part.replaceChildren(...parts.map((one, place) => h("option", { value: place }, one.parameters[0]?.label ?? one.title)));
      part.onchange = () => this.show(parts[Number(part.value)], source);
      /** @type {HTMLElement} */ (part.parentElement).hidden = parts.length < 2;
    }
    if (!same) this.hidden = new Set([...this.hidden].filter((name) => before?.algorithms.join() === doc.algorithms.join() && doc.algorithms.includes(name)));
    if (!this.table.metric(this.measure)) this.measure = doc.metrics[0]?.name ?? "";
    if (!this.table.metric(this.x) && !(Number(this.x) < doc.parameters.length)) this.x = "0";
    if (!doc.ratios.length) this.ratio = false;
    this.at = doc.parameters.map((_, place) => {
      const values = this.table?.values[place] ?? [];
      return same && values.includes(/** @type {any} */ (this.at[place])) ? this.at[place] : values[Math.floor(values.length / 2)];
    });
    this.near = null;
    this.drawControls();
    this.drawLegend();
    this.draw();
  }

  /** Is a measure on the x axis, and not a parameter? */
  get isSpots() {
    return Boolean(this.table?.metric(this.x));
  }

  get visible() {
    return this.table?.doc.algorithms.filter((name) => !this.hidden.has(name)) ?? [];
  }

  // -- controls --------------------------------------------------------------------------------------------

  drawControls() {
    const table = /** @type {Table} */ (this.table);
    const { parameters, metrics, baseline, ratios } = table.doc;
    const measures = () => metrics.map(({ name, label }) => h("option", { value: name }, label));
    this.select("measure").replaceChildren(...measures());
    this.select("measure").value = this.measure;
    this.select("x").replaceChildren(
      h("optgroup", { label: "Varied" }, ...parameters.map(({ label }, place) => h("option", { value: place }, label))),
      h("optgroup", { label: "Measured" }, ...measures()),
    );
    this.select("x").value = this.x;
    this.select("ratio").replaceChildren(h("option", { value: "" }, "means"), ...(ratios.length ? [h("option", { value: "ratio" }, `ratio to ${baseline}`)] : []));
    this.select("ratio").value = this.ratio ? "ratio" : "";
    this.select("ratio").disabled = !ratios.length;
    /** @type {HTMLButtonElement} */ (byId("compare-frontier")).disabled = !table.hasFrontier;
    byId("compare-frontier").setAttribute("aria-pressed", String(this.isFrontier));
    for (const axis of /** @type {const} */ (["x", "y"])) byId(`compare-log-${axis}`).setAttribute("aria-pressed", String(this.log[axis]));
    const elsewhere = parameters.map((parameter, place) => ({ ...parameter, place })).filter(({ place }) => String(place) !== this.x);
    byId("compare-at").replaceChildren(
      ...elsewhere.map(({ label, name, place }) => {
        const choice = /** @type {HTMLSelectElement} */ (h("select", { "data-parameter": name, onchange: () => this.setAt(place, choice.selectedIndex) }, ...table.values[place].map((value) => h("option", {}, valueText(value)))));
        choice.selectedIndex = table.values[place].indexOf(/** @type {any} */ (this.at[place]));
        return h("label", {}, `at ${label} `, choice);
      }),
    );
  }

  get isFrontier() {
    return this.x === "messages_per_entry" && this.measure === "waiting_time_mean";
  }

  /** @param {number} place @param {number} index */
  setAt(place, index) {
    this.at[place] = /** @type {Table} */ (this.table).values[place][index];
    this.change({});
  }

  /** @param {Partial<{measure: string, x: string, ratio: boolean}>} what */
  change(what) {
    if (!this.table) return;
    Object.assign(this, what);
    this.near = null;
    this.drawControls();
    this.draw();
  }

  toggleFrontier() {
    if (!this.table?.hasFrontier) return;
    this.change(this.isFrontier ? { x: "0", measure: "messages_per_entry" } : { x: "messages_per_entry", measure: "waiting_time_mean" });
  }

  /** @param {"x" | "y"} axis */
  toggleLog(axis) {
    this.log[axis] = !this.log[axis];
    this.change({});
  }

  /** @param {string} name @param {boolean} [alone] show this one only */
  toggle(name, alone = false) {
    const all = this.table?.doc.algorithms ?? [];
    if (alone) this.hidden = this.visible.length === 1 && this.visible[0] === name ? new Set() : new Set(all.filter((one) => one !== name));
    else if (!this.hidden.delete(name)) this.hidden.add(name);
    this.near = null;
    this.drawLegend();
    this.draw();
  }

  /** @param {boolean} all */
  showAll(all) {
    this.hidden = new Set(all ? [] : this.table?.doc.algorithms);
    this.drawLegend();
    this.draw();
  }

  drawLegend() {
    const colours = pageColours();
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.algorithm : undefined;
    const items = (this.table?.doc.algorithms ?? []).map((name, number) => {
      const shown = !this.hidden.has(name);
      const icon = s("svg", { viewBox: "-2 -8 26 16", "aria-hidden": "true" });
      icon.append(...swatch(number, colours));
      const heat = (/** @type {string} */ hot) => () => this.heat(hot);
      return h("li", {}, h("button", { type: "button", class: "plain", "aria-pressed": String(shown), "data-algorithm": name, title: shown ? "Hide; with shift: show this one only" : "Show",
        onclick: (/** @type {MouseEvent} */ event) => this.toggle(name, event.shiftKey), onpointerenter: heat(name), onpointerleave: heat(""), onfocus: heat(name), onblur: heat("") }, icon, h("span", {}, name), h("span", { class: "value" }))); // prettier-ignore
    });
    byId("compare-legend").replaceChildren(...items);
    if (focused !== undefined) /** @type {HTMLElement | null} */ (document.querySelector(`#compare-legend [data-algorithm="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {string} name */
  heat(name) {
    if (this.hot === name || (name && this.hidden.has(name))) return;
    this.hot = name;
    this.draw();
  }

  /** @param {Placed | null} point */
  pick(point) {
    if (this.near?.spot === point?.spot) return;
    this.near = point;
    this.hot = point?.series.name ?? "";
    this.draw();
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  /** @param {number} width @param {number} height @returns {import("./chart.js").Scene} */
  scene(width, height) {
    const table = /** @type {Table} */ (this.table);
    const { doc } = table;
    const measure = table.metric(this.measure);
    const across = table.metric(this.x);
    const place = Number(this.x);
    const series = doc.algorithms
      .map((name, number) => ({
        name,
        number,
        spots: across ? table.spot(name, this.x, this.measure, this.ratio, this.at) : table.curve(name, this.measure, this.ratio, place, this.at),
      }))
      .filter(({ name, spots }) => !this.hidden.has(name) && spots.length);
    const ranked = across?.better && measure?.better ? frontier(series.flatMap(({ spots }) => spots), across.better, measure.better) : [];
    const of = this.ratio ? `, ratio to ${doc.baseline}` : "";
    const where = doc.parameters.map(({ name }, at) => (String(at) === this.x ? "" : `${name} ${valueText(this.at[at])}`)).filter(Boolean);
    return {
      width, height, series, colours: pageColours(), ratio: this.ratio, front: ranked, corner: across?.better !== "more", hot: this.hot, legend: false, guide: this.near && !across ? this.near.spot.x : null,
      title: [doc.title, ...where].join(", "),
      parameters: doc.parameters.map(({ name }) => name),
      x: { label: across ? `${across.label}${of}` : (doc.parameters[place]?.label ?? ""), log: this.log.x, values: across ? null : table.values[place], better: across?.better ?? "" },
      y: { label: `${measure?.label ?? ""}${of}`, log: this.log.y, better: measure?.better ?? "" },
    }; // prettier-ignore
  }

  draw() {
    const box = byId("chart-box");
    const { doc } = this.table ?? {};
    byId("compare-empty").hidden = Boolean(this.table);
    byId("compare-plot").hidden = !this.table;
    if (!this.table || !doc || !box.clientWidth) return;
    const scene = this.scene(box.clientWidth, box.clientHeight);
    this.placed = drawChart(this.svg, scene);
    this.near = this.near && (this.placed.find((point) => point.spot.row === this.near?.spot.row) ?? null);
    const name = `${scene.y.label} by ${scene.x.label}: ${counted(scene.series.length, "algorithm")}`;
    this.svg.setAttribute("aria-label", `${name}. Arrow keys go from value to value.`);
    byId("compare-about").replaceChildren(h("b", {}, doc.title), ...doc.about.map(([key, value]) => h("span", {}, h("i", {}, key), " ", value)));
    const dropped = scene.series.some(({ spots }) => spots.some((spot) => (this.log.y && spot.y <= 0) || (this.log.x && Number(spot.x) <= 0)));
    const signs = scene.front.length ? "On the line, filled: the frontier, those that no other beats in both measures. " : "";
    const zero = dropped ? "A logarithmic axis has no place for zero: some values are not shown." : "";
    byId("compare-note").textContent = scene.series.length ? signs + zero : "All algorithms are hidden: click a name, or press a.";
    this.readout.drawTip(scene, this.placed, this.near);
    this.readout.drawValues(scene);
  }
}
