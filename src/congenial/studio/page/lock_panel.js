// @ts-check
/** One lock of a live cluster: its holders, the tasks that wait, and a timeline of both. */

import { secondsText } from "./cluster_members.js";
import { drawTimeline } from "./lock_timeline.js";
import { groupColour, textOn } from "./palette.js";
import { counted, h, s } from "./words.js";

/** @typedef {import("./cluster_view.js").ClusterDocument} ClusterDocument */
/** @typedef {import("./cluster_view.js").LockStory} LockStory */

const SPANS = [60, 300, 900]; // seconds
const MOST_SHOWN = 12; // tasks that wait

export class LockPanel {
  constructor() {
    /** @type {ClusterDocument | null} */
    this.doc = null;
    /** @type {Map<string, Map<string, number>>} the numbers of groups, by lock: for their colours */
    this.groups = new Map();
    this.title = h("h2", { id: "lock-name" });
    this.said = h("div", { id: "lock-said" });
    this.svg = /** @type {SVGSVGElement} */ (s("svg", { id: "lock-timeline", role: "img" }));
    this.span = /** @type {HTMLSelectElement} */ (h("select", { id: "lock-span", "aria-label": "Time span", title: "Time span (t)", onchange: () => this.redraw() },
      ...SPANS.map((seconds) => h("option", { value: seconds }, `${seconds / 60} min`)))); // prettier-ignore
    this.span.value = String(SPANS[0]);
    this.note = h("p", { id: "lock-note", class: "empty" });
    this.box = h("div", { id: "lock-box" }, /** @type {any} */ (this.svg));
    this.story = h("div", { id: "lock-story" }, this.said, this.box, h("div", { class: "lock-foot" }, this.note, h("label", {}, "the last ", this.span)));
    this.empty = h("p", { class: "empty" });
    this.element = h("section", { id: "cluster-lock", class: "panel", "aria-label": "One lock" }, this.title, this.empty, this.story);
  }

  nextSpan() {
    this.span.value = String(SPANS[(SPANS.indexOf(Number(this.span.value)) + 1) % SPANS.length]);
    this.redraw();
  }

  redraw() {
    if (this.doc?.lock) this.draw(this.doc, this.doc.lock.name);
  }

  /** @param {ClusterDocument} doc @param {string} name */
  draw(doc, name) {
    this.doc = doc;
    const story = doc.lock?.name === name ? doc.lock : null;
    this.title.textContent = name || "One lock";
    this.empty.textContent = !name ? "Choose a lock to see its holders, the tasks that wait, and since when." : !story ? "..." : story.known ? "" : "No node that answers knows this lock now.";
    this.empty.hidden = !this.empty.textContent;
    this.story.hidden = !story || (!story.known && !story.spans.length);
    if (!story) return;
    this.drawSaid(story);
    drawTimeline(this.svg, story, doc, Number(this.span.value), (group) => this.number(name, group));
    const unseen = story.unseen ? `${counted(story.unseen, "entry", "entries")} began and ended between two looks. ` : "";
    this.note.textContent = `${unseen}Seen since ${new Date(1000 * story.began).toLocaleTimeString("en-GB")}; ${counted(story.entries, "entry", "entries")} so far.`;
  }

  /** @param {string} lock @param {string} group */
  number(lock, group) {
    const known = this.groups.get(lock) ?? new Map();
    this.groups.set(lock, known);
    if (!known.has(group)) known.set(group, known.size + 1);
    return /** @type {number} */ (known.get(group));
  }

  /** @param {LockStory} story */
  drawSaid(story) {
    const seats = story.k ? ` of ${story.k} seats` : "";
    const holders = story.inside.map((task) => {
      const group = task.group === null ? "" : this.chip(story.name, task.group);
      const fence = task.fence ? h("span", { class: "fence", title: "The fence: a number that grows with every holder" }, `fence ${task.fence}`) : "";
      return h("li", {}, h("b", {}, task.node), group, h("span", {}, `for ${secondsText(task.for)}`), task.owner ? h("span", { class: "empty" }, task.owner) : "", fence);
    });
    const queue = story.waiting.slice(0, MOST_SHOWN).map((task) => h("li", {}, h("b", {}, task.node), task.group === null ? "" : this.chip(story.name, task.group), h("span", {}, secondsText(task.for))));
    const more = story.queue - queue.length;
    this.said.replaceChildren(
      h("div", { id: "lock-holders" }, h("h3", {}, story.holders ? `Held by ${counted(story.holders, "task")}${seats}` : `Free${seats ? `: none${seats} taken` : ""}`), h("ul", {}, ...holders)),
      h("div", { id: "lock-queue" }, h("h3", {}, story.queue ? `${counted(story.queue, "task")} wait${story.queue === 1 ? "s" : ""}, the longest first` : "No task waits"), h("ul", {}, ...queue, more > 0 ? h("li", { class: "empty" }, `and ${more} more`) : "")),
      story.trouble ? h("p", { class: "bad" }, story.trouble) : "",
    );
  }

  /** @param {string} lock @param {string} group */
  chip(lock, group) {
    const number = this.number(lock, group);
    const chip = h("span", { class: "group-chip" }, group);
    chip.style.background = groupColour(number);
    chip.style.color = textOn(number);
    return chip;
  }
}
