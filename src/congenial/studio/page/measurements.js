// @ts-check
/** What was measured, as the Compare view asks for it: curves over a parameter, or two measures against each other. */

/**
 * @typedef {{name: string, label: string}} Parameter
 * @typedef {{name: string, label: string, better: "less" | "more" | ""}} Metric
 * @typedef {{algorithm: string, at: (number | string)[], runs: number, precise: boolean, values: Record<string, [number, number]>}} Row
 * @typedef {{title: string, about: [string, string][], parameters: Parameter[], metrics: Metric[], algorithms: string[],
 *   baseline: string, means: Row[], ratios: Row[]}} TableDocument
 * @typedef {{x: number | string, y: number, half: number, xHalf: number, row: Row}} Spot a value with half its interval
 */

export class Table {
  /** @param {TableDocument} doc */
  constructor(doc) {
    this.doc = doc;
    /** @type {(number | string)[][]} the values of each parameter, in order */
    this.values = doc.parameters.map((_, place) => {
      const found = [...new Set(doc.means.map((row) => row.at[place]))];
      return found.every((value) => typeof value === "number") ? found.sort((a, b) => Number(a) - Number(b)) : found;
    });
  }

  /** @param {string} name */
  metric(name) {
    return this.doc.metrics.find((metric) => metric.name === name);
  }

  /** @param {boolean} ratio */
  rows(ratio) {
    return ratio ? this.doc.ratios : this.doc.means;
  }

  /**
   * The rows of an algorithm where the parameters have these values; null stands for any.
   * @param {string} algorithm @param {boolean} ratio @param {(number | string | null)[]} at
   */
  rowsAt(algorithm, ratio, at) {
    return this.rows(ratio).filter((row) => row.algorithm === algorithm && at.every((value, place) => value === null || row.at[place] === value));
  }

  /**
   * A metric over a parameter.
   * @param {string} algorithm @param {string} metric @param {boolean} ratio @param {number} parameter its place
   * @param {(number | string | null)[]} at values of the other parameters @returns {Spot[]}
   */
  curve(algorithm, metric, ratio, parameter, at) {
    const elsewhere = at.map((value, place) => (place === parameter ? null : value));
    const order = this.values[parameter];
    return this.rowsAt(algorithm, ratio, elsewhere)
      .filter((row) => metric in row.values)
      .sort((a, b) => order.indexOf(a.at[parameter]) - order.indexOf(b.at[parameter]))
      .map((row) => ({ x: row.at[parameter], y: row.values[metric][0], half: row.values[metric][1], xHalf: 0, row }));
  }

  /**
   * One metric against another, at one place.
   * @param {string} algorithm @param {string} across @param {string} up @param {boolean} ratio
   * @param {(number | string | null)[]} at @returns {Spot[]}
   */
  spot(algorithm, across, up, ratio, at) {
    return this.rowsAt(algorithm, ratio, at)
      .filter((row) => across in row.values && up in row.values)
      .slice(0, 1)
      .map((row) => ({ x: row.values[across][0], xHalf: row.values[across][1], y: row.values[up][0], half: row.values[up][1], row }));
  }

  /** Can this be drawn as a frontier? */
  get hasFrontier() {
    return Boolean(this.metric("messages_per_entry") && this.metric("waiting_time_mean"));
  }

  /**
   * All measures of some algorithms, as a CSV file that can be opened again.
   * @param {string[]} algorithms
   */
  csv(algorithms) {
    const { parameters, metrics } = this.doc;
    const heads = ["algorithm", ...parameters.map(({ name }) => name), "runs", "precise", ...metrics.flatMap(({ name }) => [name, `${name}_half_width`])];
    const lines = this.doc.means
      .filter((row) => algorithms.includes(row.algorithm))
      .map((row) => [row.algorithm, ...row.at, row.runs, row.precise ? "True" : "False", ...metrics.flatMap(({ name }) => row.values[name] ?? ["", ""])]);
    return [heads, ...lines].map((line) => `${line.map(csvCell).join(",")}\n`).join("");
  }
}

/**
 * Those that no other is better than in both measures, in the order of the first.
 * @template {{x: number | string, y: number}} T
 * @param {T[]} spots @param {string} across which is better there, "less" or "more" @param {string} up
 * @returns {T[]}
 */
export function frontier(spots, across, up) {
  const [right, above] = [across === "more" ? -1 : 1, up === "more" ? -1 : 1];
  const order = [...spots].sort((a, b) => right * (Number(a.x) - Number(b.x)) || above * (a.y - b.y));
  const found = [];
  let best = Infinity;
  for (const spot of order) {
    if (above * spot.y < best) {
      found.push(spot);
      best = above * spot.y;
    }
  }
  return found.sort((a, b) => Number(a.x) - Number(b.x));
}

/** @param {unknown} value */
function csvCell(value) {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
