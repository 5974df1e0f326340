// @ts-check
/** What a person does in the Compare view, with the mouse, a finger or the keyboard. */

import { download, pictureText, pixels } from "./exports.js";
import { byId } from "./words.js";

const REACH = 60; // pixels from which a value is picked

export class CompareHand {
  /** @param {import("./compare_view.js").CompareView} view */
  constructor(view) {
    this.view = view;
    this.listen();
  }

  listen() {
    this.view.select("table").addEventListener("change", () => this.view.open(this.view.select("table").value));
    this.view.select("measure").addEventListener("change", () => this.view.change({ measure: this.view.select("measure").value }));
    this.view.select("x").addEventListener("change", () => this.view.change({ x: this.view.select("x").value }));
    this.view.select("ratio").addEventListener("change", () => this.view.change({ ratio: this.view.select("ratio").value === "ratio" }));
    byId("compare-frontier").addEventListener("click", () => this.view.toggleFrontier());
    byId("compare-log-x").addEventListener("click", () => this.view.toggleLog("x"));
    byId("compare-log-y").addEventListener("click", () => this.view.toggleLog("y"));
    byId("compare-all").addEventListener("click", () => this.view.showAll(true));
    byId("compare-none").addEventListener("click", () => this.view.showAll(false));
    byId("export-svg").addEventListener("click", () => this.save("svg"));
    byId("export-png").addEventListener("click", () => this.save("png"));
    byId("export-csv").addEventListener("click", () => this.save("csv"));
    this.view.svg.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => this.point(event));
    this.view.svg.addEventListener("pointerleave", () => this.view.pick(null));
    this.view.svg.addEventListener("click", (/** @type {PointerEvent} */ event) => this.point(event));
    this.view.svg.addEventListener("blur", () => this.view.pick(null));
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("congenial-theme", () => {
      this.view.drawLegend();
      this.view.draw();
    });
    new ResizeObserver(() => this.view.draw()).observe(byId("chart-box"));
  }

  /** @param {PointerEvent} event */
  point(event) {
    const area = this.view.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    let best = null;
    let least = Infinity;
    for (const point of this.view.placed) {
      const away = this.view.isSpots ? Math.hypot(point.x - x, point.y - y) : Math.abs(point.x - x) * 3 + Math.abs(point.y - y);
      if (away < least && (Math.abs(point.x - x) < REACH || !this.view.isSpots)) [best, least] = [point, away];
    }
    this.view.pick(this.view.isSpots && least > REACH ? null : best);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (byId("compare").hidden || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (/INPUT|SELECT|TEXTAREA/.test(target.tagName)) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      m: () => this.nextMeasure(1),
      M: () => this.nextMeasure(-1),
      f: () => this.view.toggleFrontier(),
      r: () => this.view.table?.doc.ratios.length && this.view.change({ ratio: !this.view.ratio }),
      x: () => this.view.toggleLog("x"),
      y: () => this.view.toggleLog("y"),
      a: () => this.view.showAll(true),
      h: () => this.view.near && this.view.toggle(this.view.near.series.name),
      ",": () => this.moveAt(-1),
      ".": () => this.moveAt(1),
      ArrowRight: () => this.walk(1, 0),
      ArrowLeft: () => this.walk(-1, 0),
      ArrowUp: () => this.walk(0, -1),
      ArrowDown: () => this.walk(0, 1),
      Escape: () => this.view.pick(null),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {number} by */
  nextMeasure(by) {
    const names = this.view.table?.doc.metrics.map(({ name }) => name) ?? [];
    if (names.length) this.view.change({ measure: names[(names.indexOf(this.view.measure) + by + names.length) % names.length] });
  }

  /**
   * Another value of the parameter that is not on an axis.
   * @param {number} by
   */
  moveAt(by) {
    const place = this.view.at.findIndex((_, parameter) => String(parameter) !== this.view.x);
    if (!this.view.table || place < 0) return;
    const values = this.view.table.values[place];
    this.view.setAt(place, Math.max(0, Math.min(values.length - 1, values.indexOf(/** @type {any} */ (this.view.at[place])) + by)));
  }

  /**
   * From value to value: along a curve, or to the next one above or below.
   * @param {number} along @param {number} down
   */
  walk(along, down) {
    if (!this.view.placed.length) return;
    const near = this.view.near && this.view.placed.find((point) => point.spot === this.view.near?.spot);
    if (!near) return this.view.pick(this.view.placed[0]);
    const column = this.view.isSpots ? [...this.view.placed] : this.view.placed.filter((point) => (along ? point.series === near.series : point.spot.x === near.spot.x));
    column.sort((a, b) => (along ? a.x - b.x : a.y - b.y));
    const next = column.indexOf(near) + along + down;
    if (column[next]) this.view.pick(column[next]);
  }

  /** @param {"svg" | "png" | "csv"} kind */
  async save(kind) {
    if (!this.view.table) return;
    const name = `${this.view.table.doc.title.replace(/[^\w.-]+/g, "-")}-${this.view.isSpots ? "frontier" : this.view.measure}`;
    const scene = this.view.scene(960, 560);
    if (kind === "csv") download(`${name}.csv`, new Blob([this.view.table.csv(this.view.visible)], { type: "text/csv" }));
    else if (kind === "svg") download(`${name}.svg`, new Blob([pictureText(scene)], { type: "image/svg+xml" }));
    else download(`${name}.png`, await pixels(pictureText(scene)));
  }
}
