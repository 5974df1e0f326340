// @ts-check
/** Colours: those of groups can be told apart by colour-blind people (Okabe and Ito), and a number always goes with them. */

const GROUPS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
const DARK_TEXT = "#111417";
const LIGHT_TEXT = "#ffffff";
const NEED_DARK_TEXT = new Set(["#e69f00", "#cc79a7", "#56b4e9", "#f0e442", "#8c8c8c"]);

/** @param {number} group */
export function groupColour(group) {
  return GROUPS[Math.max(0, group) % GROUPS.length];
}

/**
 * What can be read on the colour of a group.
 * @param {number} group
 */
export function textOn(group) {
  return NEED_DARK_TEXT.has(groupColour(group)) ? DARK_TEXT : LIGHT_TEXT;
}

/**
 * The second eight groups have stripes.
 * @param {number} group
 */
export function isStriped(group) {
  return Math.floor(Math.max(0, group) / GROUPS.length) % 2 === 1;
}

/** @typedef {{ink: string, muted: string, line: string, surface: string, accent: string, bad: string, message: string}} PageColours */

/** @type {PageColours | null} */
let knownColours = null;
document.addEventListener("congenial-theme", () => (knownColours = null));

/**
 * The colours of the page as it is now, light or dark.
 * @returns {PageColours}
 */
export function pageColours() {
  if (knownColours) return knownColours;
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const colour = (name) => style.getPropertyValue(name).trim();
  knownColours = {
    ink: colour("--ink"),
    muted: colour("--muted"),
    line: colour("--line"),
    surface: colour("--surface"),
    accent: colour("--accent"),
    bad: colour("--bad"),
    message: colour("--message"),
  };
  return knownColours;
}
