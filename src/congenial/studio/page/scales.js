// @ts-check
/** Axes: from values to places on the screen, and the values that are written beside them. */

/**
 * @typedef {object} Scale
 * @property {(value: number | string) => number} place in pixels
 * @property {{at: number, text: string}[]} ticks
 * @property {[number, number]} range in pixels
 */

const CLOSE = 26; // pixels between two ticks, at least
const LETTER = 6.6; // the width of a letter of a tick

/**
 * A number as a reader needs it: three or four digits.
 * @param {number} value
 */
export function figureText(value) {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}

/**
 * The value of a parameter.
 * @param {number | string | null} value
 */
export function valueText(value) {
  return typeof value === "number" ? figureText(value) : String(value ?? "");
}

/**
 * @param {number[]} values @param {[number, number]} range @param {boolean} log @param {number | null} include a value
 * that must be on a linear axis @param {boolean} wide whether texts stand side by side
 * @returns {Scale}
 */
export function numberScale(values, range, log, include, wide) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!log && include !== null) usable.push(include);
  if (!usable.length) usable.push(1, 10);
  let [low, high] = [Math.min(...usable), Math.max(...usable)];
  if (log) {
    const room = (high / low) ** 0.05;
    [low, high] = low === high ? [low / 2, high * 2] : [low / room, high * room];
    const [a, b] = [Math.log(low), Math.log(high)];
    const place = (/** @type {number | string} */ value) => range[0] + ((Math.log(Math.max(Number(value), low / 10)) - a) / (b - a)) * (range[1] - range[0]);
    return { place, range, ticks: apart(logTicks(low, high, Math.abs(range[1] - range[0])).map((value) => ({ at: place(value), text: figureText(value) })), wide) };
  }
  if (low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  const room = (high - low) * 0.05;
  if (low !== include) low -= room;
  if (high !== include) high += room;
  const step = tickStep((high - low) / Math.max(2, Math.abs(range[1] - range[0]) / (wide ? 80 : 52)));
  const place = (/** @type {number | string} */ value) => range[0] + ((Number(value) - low) / (high - low)) * (range[1] - range[0]);
  const ticks = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) {
    const clean = Number(value.toPrecision(12));
    ticks.push({ at: place(clean), text: figureText(clean) });
  }
  return { place, range, ticks };
}

/**
 * An axis that names the values that were run, where there is room for them.
 * @param {(number | string)[]} values in order @param {[number, number]} range @param {boolean} log @returns {Scale}
 */
export function parameterScale(values, range, log) {
  if (values.every((value) => typeof value === "number")) {
    const numbers = /** @type {number[]} */ (values);
    const inner = /** @type {[number, number]} */ ([range[0] + 14, range[1] - 14]);
    const made = numberScale(numbers, inner, log, null, true);
    const shown = numbers.filter((value) => !log || value > 0);
    return { ...made, range, ticks: apart(shown.map((value) => ({ at: made.place(value), text: figureText(value) })), true) };
  }
  const width = (range[1] - range[0]) / values.length;
  const place = (/** @type {number | string} */ value) => range[0] + width * (values.indexOf(value) + 0.5);
  return { place, range, ticks: apart(values.map((value) => ({ at: place(value), text: String(value) })), true) };
}

/**
 * Leave out the ticks that would touch another.
 * @param {{at: number, text: string}[]} ticks @param {boolean} wide
 */
function apart(ticks, wide) {
  const kept = /** @type {{at: number, text: string}[]} */ ([]);
  for (const tick of ticks) {
    const last = kept[kept.length - 1];
    const need = last && wide ? Math.max(CLOSE, ((tick.text.length + last.text.length) * LETTER) / 2 + 10) : 17;
    if (!last || Math.abs(tick.at - last.at) >= need) kept.push(tick);
  }
  return kept;
}

/** @param {number} low @param {number} high @param {number} room */
function logTicks(low, high, room) {
  const decades = Math.log10(high / low);
  const each = room / Math.max(decades, 0.1);
  const factors = each > 180 ? [1, 1.5, 2, 3, 4, 5, 7] : each > 60 ? [1, 2, 5] : [1];
  const every = each < 20 ? Math.ceil(20 / each) : 1;
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/** @param {number} least */
function tickStep(least) {
  const power = 10 ** Math.floor(Math.log10(least || 1));
  for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= least) return factor * power;
  return 10 * power;
}
