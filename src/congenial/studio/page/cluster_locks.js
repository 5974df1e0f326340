// @ts-check
/** The locks of a cluster: the busiest ones, or those with a text in their name. */

import { h } from "./words.js";

/** @typedef {import("./cluster_view.js").ClusterDocument} ClusterDocument */
/** @typedef {{find: (text: string) => void, sort: (by: string) => void, choose: (name: string) => void}} Acts */

export class ClusterLocks {
  /** @param {Acts} acts */
  constructor(acts) {
    this.acts = acts;
    this.chosen = "";
    /** @type {string[]} */
    this.names = [];
    this.search = /** @type {HTMLInputElement} */ (h("input", { id: "cluster-search", type: "search", placeholder: "Search by name ( / )", "aria-label": "Search locks by name", autocomplete: "off", spellcheck: "false", maxlength: 200, oninput: () => acts.find(this.search.value) })); // prettier-ignore
    this.sort = /** @type {HTMLSelectElement} */ (h("select", { id: "cluster-sort", "aria-label": "Sort locks by", title: "Sort (s)", onchange: () => acts.sort(this.sort.value) },
      h("option", { value: "waiting" }, "most waiting"), h("option", { value: "holders" }, "most holders"))); // prettier-ignore
    this.rows = h("tbody");
    this.note = h("p", { id: "cluster-note", class: "empty", role: "status" });
    const heads = [["lock", ""], ["held by", ""], ["waiting", "number"]].map(([text, kind]) => h("th", { scope: "col", class: kind }, text)); // prettier-ignore
    this.element = h(
      "section",
      { id: "cluster-locks", class: "panel", "aria-label": "Locks" },
      h("div", { class: "cluster-tools" }, this.search, this.sort),
      h("div", { class: "cluster-table" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), this.rows)),
      this.note,
    );
  }

  clear() {
    this.search.value = "";
    this.acts.find("");
    this.search.blur();
  }

  toggleSort() {
    this.sort.value = this.sort.value === "waiting" ? "holders" : "waiting";
    this.acts.sort(this.sort.value);
  }

  /**
   * Choose the lock that stands so many rows further.
   * @param {number} by
   */
  step(by) {
    if (!this.names.length) return;
    const at = this.names.indexOf(this.chosen);
    const name = this.names[at < 0 ? 0 : Math.max(0, Math.min(this.names.length - 1, at + by))];
    this.acts.choose(name);
    this.rows.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {ClusterDocument} doc @param {{find: string, lock: string}} wish */
  draw(doc, wish) {
    this.chosen = wish.lock;
    this.names = doc.locks.map(({ name }) => name);
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.lock : undefined;
    this.rows.replaceChildren(...doc.locks.map((lock) => this.row(lock)));
    if (focused !== undefined) /** @type {HTMLElement | null} */ (this.rows.querySelector(`[data-lock="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
    const all = doc.found.toLocaleString("en");
    const few = doc.locks.length < doc.found;
    if (wish.find) this.note.textContent = doc.locks.length ? `${few ? `${doc.locks.length} of ${all}` : all} with “${wish.find}” in their name` : `No node knows a lock with “${wish.find}” in its name.`;
    else this.note.textContent = doc.locks.length ? (few ? `The ${doc.locks.length} busiest of ${all}; search for others.` : `All ${all}`) : "No lock has been used yet.";
  }

  /** @param {import("./cluster_view.js").ClusterLock} lock */
  row(lock) {
    const holders = lock.at.filter(([, inside]) => inside > 0);
    const groups = [...new Set(holders.map(([, , , group]) => group).filter(Boolean))];
    const held = holders.map(([node, inside]) => (inside > 1 ? `${node} ×${inside}` : node)).join(", ");
    const chosen = lock.name === this.chosen;
    const name = h("button", { type: "button", class: "plain", "data-lock": lock.name, "aria-pressed": String(chosen), title: lock.name, onclick: () => this.acts.choose(lock.name) }, lock.name || "(no name)"); // prettier-ignore
    return h(
      "tr",
      { class: chosen ? "chosen" : "" },
      h("th", { scope: "row" }, name),
      h("td", {}, held || h("span", { class: "empty" }, "free"), groups.length ? h("small", {}, ` ${groups.join(", ")}`) : "", lock.k ? h("small", {}, ` of ${lock.k}`) : ""),
      h("td", { class: `number ${lock.waiting ? "some" : ""}` }, String(lock.waiting)),
    );
  }
}
