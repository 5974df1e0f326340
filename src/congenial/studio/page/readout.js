// @ts-check
/** The values behind a chart: of what is pointed at, beside it; of everything, in a table. */

import { withInterval } from "./chart.js";
import { valueText } from "./scales.js";
import { byId, counted, h } from "./words.js";

/**
 * @typedef {import("./chart.js").Placed} Placed
 * @typedef {import("./chart.js").Scene} Scene
 */

export class Readout {
  /** @param {() => void} redraw */
  constructor(redraw) {
    this.tip = byId("chart-tip");
    this.details = /** @type {HTMLDetailsElement} */ (byId("compare-values"));
    this.details.addEventListener("toggle", redraw);
  }

  /**
   * What is pointed at; the others at the same place have their values beside their names.
   * @param {Scene} scene @param {Placed[]} placed @param {Placed | null} near
   */
  drawTip(scene, placed, near) {
    this.tip.hidden = !near;
    this.drawColumn(scene, placed, near);
    if (!near) return;
    const { row } = near.spot;
    const where = scene.parameters.map((name, place) => `${name} ${valueText(row.at[place])}`).join(", ");
    const runs = `${counted(row.runs, "run")}${row.precise ? "" : ", less precise than asked"}`;
    const curve = scene.x.values !== null;
    const rest = scene.front.length && !curve ? [h("p", {}, this.fate(scene, near))] : [];
    const body = curve ? [h("p", { class: "value" }, withInterval(near.spot.y, near.spot.half))] : [h("table", {}, h("tbody", {}, ...this.pair(scene, near)))];
    this.tip.replaceChildren(h("p", {}, h("b", {}, near.series.name), ` at ${where}`), ...body, ...rest, h("p", { class: "empty" }, `± half a 95% interval; ${runs}`));
    const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
    this.tip.style.left = `${near.x + 16 + wide > scene.width ? Math.max(0, near.x - wide - 16) : near.x + 16}px`;
    this.tip.style.top = `${Math.max(0, near.y - high - 12 < 0 ? near.y + 14 : near.y - high - 12)}px`;
    byId("compare-live").textContent = `${near.series.name}, ${where}: ${withInterval(near.spot.y, near.spot.half)}`;
  }

  /**
   * The values of all at the place that is pointed at, beside their names.
   * @param {Scene} scene @param {Placed[]} placed @param {Placed | null} near
   */
  drawColumn(scene, placed, near) {
    const column = near && scene.x.values ? placed.filter((point) => point.spot.x === near.spot.x) : [];
    const texts = new Map(column.map(({ series, spot }) => [series.name, withInterval(spot.y, spot.half)]));
    for (const item of document.querySelectorAll("#compare-legend [data-algorithm]")) {
      const name = /** @type {HTMLElement} */ (item).dataset.algorithm ?? "";
      item.classList.toggle("near", near?.series.name === name);
      /** @type {HTMLElement} */ (item.lastElementChild).textContent = texts.get(name) ?? "";
    }
  }

  /** @param {Scene} scene @param {Placed} near */
  pair(scene, near) {
    const line = (/** @type {string} */ label, /** @type {string} */ text) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, text));
    return [line(scene.x.label, withInterval(Number(near.spot.x), near.spot.xHalf)), line(scene.y.label, withInterval(near.spot.y, near.spot.half))];
  }

  /** @param {Scene} scene @param {Placed} near */
  fate(scene, near) {
    if (scene.front.includes(near.spot)) return "On the frontier: none is better in both.";
    const less = (/** @type {string} */ better, /** @type {number} */ a, /** @type {number} */ b) => (better === "more" ? a >= b : a <= b);
    const worse = (/** @type {import("./measurements.js").Spot} */ one) => less(scene.x.better, Number(one.x), Number(near.spot.x)) && less(scene.y.better, one.y, near.spot.y);
    const names = scene.series.filter(({ name, spots }) => name !== near.series.name && worse(spots[0])).map(({ name }) => name);
    return `Better in both: ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}.`;
  }

  /**
   * Everything that is drawn, in a table.
   * @param {Scene} scene
   */
  drawValues(scene) {
    if (!this.details.open) return;
    const { values, label } = scene.x;
    const heads = values ? values.map(valueText) : [label, scene.y.label];
    const rows = scene.series.map(({ name, spots }) => {
      const cells = values
        ? values.map((value) => spots.find((spot) => spot.x === value)).map((spot) => (spot ? withInterval(spot.y, spot.half) : ""))
        : [withInterval(Number(spots[0].x), spots[0].xHalf), withInterval(spots[0].y, spots[0].half)];
      return h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((cell) => h("td", {}, cell)));
    });
    const head = h("tr", {}, h("th", { scope: "col" }, values ? `${scene.y.label} by ${label}` : ""), ...heads.map((text) => h("th", { scope: "col" }, text)));
    byId("compare-rows").replaceChildren(h("thead", {}, head), h("tbody", {}, ...rows));
  }
}
