// @ts-check
/** Draws curves with their intervals, or algorithms between two measures with the frontier, as SVG. All that it looks like
 * is in the elements themselves, so that the picture can be saved as it is. */

import { figureText, numberScale, parameterScale } from "./scales.js";
import { s } from "./words.js";

/**
 * @typedef {import("./measurements.js").Spot} Spot
 * @typedef {{ink: string, muted: string, line: string, surface: string, accent: string}} ChartColours
 * @typedef {{name: string, number: number, spots: Spot[]}} Series `number` gives colour, mark and dashes
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {ChartColours} colours
 * @property {string} title of a picture that stands by itself
 * @property {string[]} parameters what is varied
 * @property {{label: string, log: boolean, better: string, values: (number | string)[] | null}} x `values`: those of a
 *   parameter
 * @property {{label: string, log: boolean, better: string}} y
 * @property {boolean} ratio whether 1 is what others are measured by
 * @property {Series[]} series
 * @property {Spot[]} front the frontier, in the order of x
 * @property {boolean} corner where the frontier turns: right of the first, or below
 * @property {string} hot the series that stands out
 * @property {number | string | null} guide the value of x that is pointed at
 * @property {boolean} legend whether the picture has its own
 * @typedef {{series: Series, spot: Spot, x: number, y: number}} Placed
 */

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const MARKS = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-3.6,-3.6h7.2v7.2h-7.2z", "M0,-5L5,0L0,5L-5,0z", "M0,-4.8L4.6,3.6L-4.6,3.6z", "M0,4.8L4.6,-3.6L-4.6,-3.6z",
  "M-1.5,-4.6h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1z", "M-4.4,-2.6L-2.6,-4.4L0,-1.8L2.6,-4.4L4.4,-2.6L1.8,0L4.4,2.6L2.6,4.4L0,1.8L-2.6,4.4L-4.4,2.6L-1.8,0z",
  "M0,-5.4L1.5,-1.8L5.2,-1.6L2.3,0.8L3.2,4.5L0,2.4L-3.2,4.5L-2.3,0.8L-5.2,-1.6L-1.5,-1.8z"]; // prettier-ignore
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const MOST_NAMED_CURVES = 10;
const MOST_BANDS = 6;
const FAINT = 0.3; // what does not stand out
const FAINT_SPOT = 0.6;
const NAME_WIDTH = 6.7; // of a letter

/**
 * How an algorithm looks: seven colours and eight marks, so that no two of 56 look alike.
 * @param {number} number @param {ChartColours} colours
 */
export function look(number, colours) {
  const place = number % 7;
  return { colour: place < 6 ? COLOURS[place] : colours.ink, mark: MARKS[number % 8], dash: DASHES[Math.floor(number / 7) % 4] };
}

/**
 * Draw a scene; where its values are comes back.
 * @param {SVGElement} svg @param {Scene} scene @returns {Placed[]}
 */
export function drawChart(svg, scene) {
  const { width, height, series } = scene;
  const longest = Math.max(0, ...series.map(({ name }) => name.length)) * NAME_WIDTH;
  const named = !scene.legend && scene.x.values !== null && series.length <= MOST_NAMED_CURVES && width > 560;
  const right = scene.legend ? longest + 50 : named ? Math.min(230, longest + 18) : 18;
  const top = scene.legend && scene.title ? 64 : 34;
  const box = { left: 62, right: width - right, top, bottom: height - 46 };
  const heights = series.flatMap(({ spots }) => spots.flatMap(({ y, half }) => [y - half, y, y + half]));
  const y = numberScale(scene.y.log ? heights.filter((value) => value > 0) : heights, [box.bottom, box.top], scene.y.log, scene.ratio ? 1 : 0, false);
  const across = /** @type {[number, number]} */ ([box.left, box.right]);
  const widths = series.flatMap(({ spots }) => spots.flatMap((spot) => [Number(spot.x) - spot.xHalf, Number(spot.x) + spot.xHalf]));
  const x = scene.x.values ? parameterScale(scene.x.values, across, scene.x.log) : numberScale(widths, across, scene.x.log, scene.ratio ? 1 : 0, true);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("font-family", FONT);
  svg.setAttribute("font-size", "12");
  const parts = [...axes(scene, box, x, y)];
  if (scene.guide !== null) parts.push(s("line", { x1: x.place(scene.guide), x2: x.place(scene.guide), y1: box.top, y2: box.bottom, stroke: scene.colours.muted, "stroke-dasharray": "2 3" }));
  if (scene.front.length) parts.push(frontLine(scene, box, x, y));
  /** @type {Placed[]} */
  const placed = [];
  const drawn = series.map((one) => drawSeries(one, scene, box, x, y, placed));
  if (scene.hot) drawn.sort((a, b) => Number(a.getAttribute("data-hot")) - Number(b.getAttribute("data-hot")));
  parts.push(...drawn);
  if (named) parts.push(...endNames(scene, box, placed));
  if (!scene.x.values) parts.push(...spotNames(scene, box, placed));
  if (scene.legend) parts.push(...ownLegend(scene, box));
  svg.replaceChildren(...parts);
  return placed;
}

/** @typedef {{left: number, right: number, top: number, bottom: number}} Box */

/** @param {Scene} scene @param {Box} box @param {import("./scales.js").Scale} x @param {import("./scales.js").Scale} y */
function axes(scene, box, x, y) {
  const { colours } = scene;
  const parts = [];
  if (scene.legend) parts.push(s("rect", { width: scene.width, height: scene.height, fill: colours.surface }));
  for (const { at, text } of y.ticks) {
    parts.push(s("line", { x1: box.left, x2: box.right, y1: at, y2: at, stroke: colours.line }));
    parts.push(s("text", { x: box.left - 8, y: at + 4, "text-anchor": "end", fill: colours.muted }, text));
  }
  for (const { at, text } of x.ticks) {
    parts.push(s("line", { x1: at, x2: at, y1: box.bottom, y2: box.bottom + 5, stroke: colours.muted }));
    parts.push(s("text", { x: at, y: box.bottom + 19, "text-anchor": "middle", fill: colours.muted }, text));
  }
  if (scene.ratio) {
    for (const at of scene.x.values ? [] : [x.place(1)]) parts.push(s("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, stroke: colours.muted, "stroke-dasharray": "5 4" }));
    parts.push(s("line", { x1: box.left, x2: box.right, y1: y.place(1), y2: y.place(1), stroke: colours.muted, "stroke-dasharray": "5 4" }));
  }
  parts.push(s("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, stroke: colours.muted }));
  if (scene.legend && scene.title) parts.push(s("text", { x: 14, y: 24, fill: colours.ink, "font-size": 15, "font-weight": 650 }, scene.title));
  parts.push(s("text", { x: 14, y: box.top - 16, fill: colours.ink, "font-weight": 600 }, `${scene.y.label}${scene.y.log ? " (log)" : ""}`));
  parts.push(s("text", { x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle", fill: colours.ink, "font-weight": 600 }, `${scene.x.label}${scene.x.log ? " (log)" : ""}`));
  return parts;
}

/**
 * @param {Series} one @param {Scene} scene @param {Box} box @param {import("./scales.js").Scale} x
 * @param {import("./scales.js").Scale} y @param {Placed[]} placed
 */
function drawSeries(one, scene, box, x, y, placed) {
  const { colours } = scene;
  const { colour, mark, dash } = look(one.number, colours);
  const hot = scene.hot === one.name;
  const faint = scene.hot && !hot;
  const curve = scene.x.values !== null;
  const group = s("g", { "data-series": one.name, "data-hot": hot ? 1 : 0, opacity: faint ? (curve ? FAINT : FAINT_SPOT) : 1 });
  const inside = one.spots.filter((spot) => (!scene.y.log || spot.y > 0) && (!scene.x.log || Number(spot.x) > 0 || typeof spot.x === "string"));
  const points = inside.map((spot) => ({ series: one, spot, x: x.place(spot.x), y: y.place(spot.y) }));
  const bound = (/** @type {number} */ at) => Math.max(box.top - 4, Math.min(box.bottom, at));
  const low = (/** @type {Spot} */ spot) => (scene.y.log && spot.y - spot.half <= 0 ? box.bottom : bound(y.place(spot.y - spot.half)));
  if (curve && points.length > 1) {
    if (hot || (!faint && scene.series.length <= MOST_BANDS)) {
      const upper = points.map((point) => `${point.x.toFixed(1)},${bound(y.place(point.spot.y + point.spot.half)).toFixed(1)}`);
      const lower = points.map((point) => `${point.x.toFixed(1)},${low(point.spot).toFixed(1)}`).reverse();
      group.append(s("polygon", { points: [...upper, ...lower].join(" "), fill: colour, opacity: hot ? 0.22 : 0.13 }));
    }
    const line = points.map((point, place) => `${place ? "L" : "M"}${point.x.toFixed(1)},${point.y.toFixed(1)}`).join("");
    group.append(s("path", { d: line, fill: "none", stroke: colour, "stroke-width": hot ? 3 : 1.8, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
  }
  for (const point of points) {
    const { spot } = point;
    if (spot.half > 0) group.append(s("line", { x1: point.x, x2: point.x, y1: low(spot), y2: bound(y.place(spot.y + spot.half)), stroke: colour, "stroke-width": 1.1 }));
    if (spot.xHalf > 0) {
      const left = scene.x.log && Number(spot.x) - spot.xHalf <= 0 ? box.left : x.place(Number(spot.x) - spot.xHalf);
      group.append(s("line", { x1: Math.max(box.left, left), x2: Math.min(box.right, x.place(Number(spot.x) + spot.xHalf)), y1: point.y, y2: point.y, stroke: colour, "stroke-width": 1.1 }));
    }
    const best = curve || scene.front.includes(spot) || !scene.front.length;
    const size = curve ? (hot ? 1.25 : 0.9) : hot ? 1.7 : 1.35;
    group.append(s("path", { d: mark, transform: `translate(${point.x.toFixed(1)},${point.y.toFixed(1)}) scale(${size})`, fill: best ? colour : colours.surface, stroke: best ? colours.surface : colour, "stroke-width": best ? 0.8 : 1.5 }));
  }
  placed.push(...points);
  return group;
}

/** @param {Scene} scene @param {Box} box @param {import("./scales.js").Scale} x @param {import("./scales.js").Scale} y */
function frontLine(scene, box, x, y) {
  const usable = scene.front.filter((spot) => (!scene.y.log || spot.y > 0) && (!scene.x.log || Number(spot.x) > 0));
  let d = "";
  usable.forEach((spot, place) => {
    const [px, py] = [x.place(spot.x), y.place(spot.y)];
    if (!place) d = `M${px},${py}`;
    else d += scene.corner ? `H${px}V${py}` : `V${py}H${px}`;
  });
  return s("path", { d: d || `M${box.left},${box.bottom}`, class: "front", fill: "none", stroke: scene.colours.accent, "stroke-width": 2, opacity: 0.7 });
}

/**
 * Names at the ends of curves, moved apart.
 * @param {Scene} scene @param {Box} box @param {Placed[]} placed
 */
function endNames(scene, box, placed) {
  const last = new Map(placed.map((point) => [point.series, point])); // the last of each
  const ends = [...last.values()].sort((a, b) => a.y - b.y).map((point) => ({ point, y: point.y }));
  for (let turn = 1; turn < ends.length; turn++) ends[turn].y = Math.max(ends[turn].y, ends[turn - 1].y + 15);
  let floor = box.bottom + 4;
  for (let turn = ends.length - 1; turn >= 0; turn--) {
    ends[turn].y = Math.min(ends[turn].y, floor);
    floor = ends[turn].y - 15;
  }
  return ends.map(({ point, y }) => {
    const hot = scene.hot === point.series.name;
    return s("text", { x: point.x + 11, y: y + 4, fill: scene.colours.ink, "font-weight": hot ? 700 : 450, opacity: scene.hot && !hot ? 0.35 : 1 }, point.series.name);
  });
}

/**
 * Names beside algorithms, where there is room.
 * @param {Scene} scene @param {Box} box @param {Placed[]} placed
 */
function spotNames(scene, box, placed) {
  const taken = placed.map(({ x, y }) => ({ x1: x - 5, x2: x + 5, y: y + 4 }));
  const parts = [];
  const rank = (/** @type {Placed} */ point) => (scene.hot === point.series.name ? 0 : scene.front.includes(point.spot) ? 1 : 2);
  for (const point of [...placed].sort((a, b) => rank(a) - rank(b))) {
    const wide = point.series.name.length * NAME_WIDTH;
    const left = point.x + 10 + wide > box.right;
    const x1 = left ? point.x - 10 - wide : point.x + 10;
    const places = [point.y + 4, point.y - 9, point.y + 17, point.y - 22, point.y + 30];
    const free = places.find((y) => y > box.top && !taken.some((one) => one.x1 < x1 + wide && one.x2 > x1 && Math.abs(one.y - y) < 13));
    if (free === undefined && rank(point) > 0) continue;
    taken.push({ x1, x2: x1 + wide, y: free ?? places[0] });
    const attributes = { x: left ? point.x - 10 : point.x + 10, y: free ?? places[0], "text-anchor": left ? "end" : "start", fill: rank(point) < 2 ? scene.colours.ink : scene.colours.muted, "font-weight": rank(point) < 2 ? 650 : 400, "paint-order": "stroke", stroke: scene.colours.surface, "stroke-width": 3 };
    parts.push(s("text", { ...attributes, opacity: scene.hot && rank(point) > 0 ? FAINT_SPOT : 1 }, point.series.name));
  }
  return parts;
}

/** @param {Scene} scene @param {Box} box */
function ownLegend(scene, box) {
  return scene.series.map((one, place) =>
    s("g", { transform: `translate(${box.right + 16},${box.top + 8 + place * 18})` }, ...swatch(one.number, scene.colours), s("text", { x: 28, y: 4, fill: scene.colours.ink }, one.name)),
  );
}

/**
 * A piece of line with a mark.
 * @param {number} number @param {ChartColours} colours
 */
export function swatch(number, colours) {
  const { colour, mark, dash } = look(number, colours);
  return [s("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }), s("path", { d: mark, transform: "translate(11,0)", fill: colour, stroke: colours.surface, "stroke-width": 0.8 })];
}

/**
 * A mean with half its interval.
 * @param {number} value @param {number} half
 */
export function withInterval(value, half) {
  return half > 0 ? `${figureText(value)} ± ${figureText(Number(half.toPrecision(2)))}` : figureText(value);
}
