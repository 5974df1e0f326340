// @ts-check
/** How a cluster's rates and waiting times change: small curves. */

import { secondsText } from "./cluster_members.js";
import { h, s } from "./words.js";

/** @typedef {import("./cluster_view.js").ClusterDocument} ClusterDocument */
/** @typedef {{title: string, lines: [string, string][], text: (value: number) => string}} Curve */

const LEAST = 60; // seconds that are shown
const MOST = 300;
const ENDLESS = 10; // seconds of waiting, beyond which nodes count without telling how long
const GAP = 20; // seconds without a look

/** @param {number} value */
const plainNumber = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toFixed(1));

/** @type {Curve[]} each line: the column, and what it is called */
const CURVES = [
  { title: "Entries a second", lines: [["entries", ""]], text: plainNumber },
  { title: "Waiting time", lines: [["mean", "mean"], ["most", "p99"]], text: (value) => (value > ENDLESS ? `> ${ENDLESS} s` : secondsText(value)) }, // prettier-ignore
  { title: "Tasks", lines: [["waiting", "waiting"], ["inside", "inside"]], text: plainNumber }, // prettier-ignore
  { title: "Messages a second", lines: [["messages", ""]], text: plainNumber },
];

export class ClusterRates {
  constructor() {
    /** @type {ClusterDocument | null} */
    this.doc = null;
    this.near = -1; // the look that is pointed at
    this.window = LEAST;
    this.boxes = CURVES.map((curve) => {
      const svg = s("svg", { role: "img" });
      const value = h("span", { class: "values" });
      svg.addEventListener("pointermove", (event) => this.point(/** @type {PointerEvent} */ (event), svg));
      svg.addEventListener("pointerleave", () => this.leave());
      return { curve, svg, value, element: h("figure", { class: "cluster-curve" }, h("figcaption", {}, h("b", {}, curve.title), value), /** @type {any} */ (svg)) };
    });
    this.element = h("section", { id: "cluster-rates", class: "panel", "aria-label": "Rates and waiting times" }, ...this.boxes.map(({ element }) => element));
  }

  /** @param {PointerEvent} event @param {SVGElement} svg */
  point(event, svg) {
    if (!this.doc) return;
    const area = svg.getBoundingClientRect();
    const at = this.doc.at - this.window * (1 - (event.clientX - area.left) / area.width);
    const times = /** @type {number[]} */ (this.doc.rates.at);
    this.near = times.reduce((best, time, place) => (best < 0 || Math.abs(time - at) < Math.abs(times[best] - at) ? place : best), -1);
    this.draw(this.doc);
  }

  leave() {
    this.near = -1;
    if (this.doc) this.draw(this.doc);
  }

  /** @param {ClusterDocument} doc */
  draw(doc) {
    this.doc = doc;
    const times = /** @type {number[]} */ (doc.rates.at);
    this.window = Math.max(LEAST, Math.min(MOST, doc.at - (times[0] ?? doc.at)));
    const { window } = this;
    const shown = this.near >= 0 && this.near < times.length ? this.near : times.length - 1;
    for (const { curve, svg, value } of this.boxes) {
      const width = svg.clientWidth || 300;
      const height = svg.clientHeight || 70;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const columns = curve.lines.map(([name]) => doc.rates[name] ?? []);
      const most = Math.max(1e-9, ...columns.flatMap((column) => column.filter((_, place) => times[place] >= doc.at - window).map((one) => one ?? 0)));
      const x = (/** @type {number} */ time) => width * (1 - (doc.at - time) / window);
      const y = (/** @type {number} */ one) => height - 3 - (height - 10) * (one / most);
      const minutes = [1, 2, 3, 4].map((minute) => s("line", { x1: x(doc.at - 60 * minute), x2: x(doc.at - 60 * minute), y1: 0, y2: height, class: "minute" }));
      const paths = columns.flatMap((column, number) => curvePaths(times, column, x, y, height, number));
      const guide = this.near >= 0 && shown >= 0 ? [s("line", { x1: x(times[shown]), x2: x(times[shown]), y1: 0, y2: height, class: "guide" })] : [];
      svg.replaceChildren(...minutes, ...paths, ...guide, s("text", { x: 3, y: 11, class: "scale" }, curve.text(most === 1e-9 ? 0 : most)));
      const values = curve.lines.map(([name, word], number) => {
        const one = doc.rates[name]?.[shown];
        return h("span", { class: `line-${number}` }, `${word} `, h("b", {}, one === null || one === undefined ? "-" : curve.text(one)));
      });
      value.replaceChildren(...values);
      svg.setAttribute("aria-label", `${curve.title}: ${value.textContent}`);
    }
  }
}

/**
 * @param {number[]} times @param {(number | null)[]} column @param {(time: number) => number} x @param {(one: number) => number} y
 * @param {number} height @param {number} number
 */
function curvePaths(times, column, x, y, height, number) {
  /** @type {string[][]} */
  const parts = [];
  let last = -Infinity;
  times.forEach((time, place) => {
    const one = column[place];
    if (one === null || one === undefined || x(time) < -20) return;
    if (time - last > GAP || !parts.length) parts.push([]);
    parts[parts.length - 1].push(`${x(time).toFixed(1)} ${y(one).toFixed(1)}`);
    last = time;
  });
  return parts.flatMap((points) => {
    const line = s("path", { d: `M${points.join("L")}`, class: `curve line-${number}` });
    if (number) return [line];
    const [first, end] = [points[0].split(" ")[0], points[points.length - 1].split(" ")[0]];
    return [s("path", { d: `M${first} ${height}L${points.join("L")}L${end} ${height}Z`, class: "area" }), line];
  });
}
