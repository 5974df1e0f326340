// @ts-check
/** The Cluster view: a live cluster, looked at again and again while the page is seen. It changes nothing there. */

import { ClusterLocks } from "./cluster_locks.js";
import { ClusterMembers } from "./cluster_members.js";
import { ClusterRates } from "./cluster_rates.js";
import { LockPanel } from "./lock_panel.js";
import { askPatiently } from "./server.js";
import { byId, counted, h } from "./words.js";

/**
 * @typedef {{state: string, silent_for: number, unacknowledged: number, resent: number, refusal: string}} LinkState
 * @typedef {{name: string, state: "up" | "troubled" | "away" | "silent", suspectedBy: string[], view?: number, known?: number,
 *   inside?: number, waiting?: number, links?: Record<string, LinkState>,
 *   rates?: {entries: number, messages: number, mean: number, cost: number} | null}} ClusterNode
 * @typedef {[string, number, number, string | null, string]} AtNode a node, its holders, its queue, group and fence
 * @typedef {{name: string, kind: string, k: number | null, waiting: number, holders: number, entries: number, at: AtNode[]}} ClusterLock
 * @typedef {{node: string, group: string | null, fence: string, owner?: string, for: number}} LockTask
 * @typedef {[string, "inside" | "waiting", string | null, string, number, number | null]} Span
 * @typedef {{name: string, began: number, known: boolean, k: number | null, entries: number, inside: LockTask[], waiting: LockTask[],
 *   holders: number, queue: number, trouble: string, unseen: number, spans: Span[]}} LockStory
 * @typedef {{at: number, period: number, cluster: string, algorithm: string, asked: string, view: number | null, agreements: number, members: string[],
 *   voters: string[], nodes: ClusterNode[], wrong: {text: string, node?: string, lock?: string}[], known: number, found: number,
 *   locks: ClusterLock[], lock: LockStory | null, rates: Record<string, (number | null)[]>, lost?: string, unset?: boolean}} ClusterDocument
 */

const TYPED = 300; // milliseconds until what was typed is searched for
const SOON = 1000; // milliseconds after which it is tried again

export class ClusterView {
  /** @param {boolean} known whether the command line has named a cluster */
  constructor(known) {
    this.known = known;
    this.wish = { find: "", by: "waiting", lock: lockOfAddress() };
    /** @type {ClusterDocument | null} what was seen last */
    this.doc = null;
    this.round = 0; // of looking; an earlier one ends when the next begins
    this.said = "";
    this.timer = 0;
    this.problem = h("p", { id: "cluster-problem", role: "alert", hidden: true });
    this.wrong = h("section", { id: "cluster-wrong", class: "panel", "aria-label": "What is wrong now" });
    this.members = new ClusterMembers((name) => this.showLock(name));
    this.rates = new ClusterRates();
    this.locks = new ClusterLocks({
      find: (text) => this.change({ find: text }, TYPED),
      sort: (by) => this.change({ by }),
      choose: (name) => this.showLock(name),
    });
    this.lock = new LockPanel();
    this.live = h("p", { class: "unseen", "aria-live": "polite" });
    this.parts = h("div", { id: "cluster-parts", hidden: true }, this.wrong, this.members.element, this.rates.element, this.locks.element, this.lock.element);
    this.empty = h("section", { id: "cluster-empty", class: "panel", hidden: known });
    this.empty.append(
      h("h2", {}, "Look into a live cluster"),
      h("p", {}, "On a machine where a node runs, start the studio with the cluster's configuration:"),
      h("pre", {}, "congenial studio --config cluster.toml"),
      h("p", {}, "or with the node's socket:"),
      h("pre", {}, "congenial studio --socket /run/congenial/a.sock"),
      h("p", { class: "empty" }, "The page shows members, links and locks, with their holders and the tasks that wait. It only reads. `congenial node` starts a node."),
    );
    byId("cluster").replaceChildren(this.problem, this.empty, this.parts, this.live);
    document.addEventListener("visibilitychange", () => this.begin());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("congenial-theme", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(byId("cluster"));
  }

  get seen() {
    return !byId("cluster").hidden && !document.hidden;
  }

  /** Look, and go on looking as long as the page is seen. */
  async begin() {
    this.address();
    if (!this.known || !this.seen) return;
    const round = ++this.round;
    this.describe();
    await this.look(round);
    this.goOn(round);
  }

  /** @param {number} round */
  goOn(round) {
    if (round !== this.round || !this.seen) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(async () => {
      await this.look(round);
      this.goOn(round);
    }, this.doc?.lost ? SOON : 1000 * (this.doc?.period ?? 1));
  }

  /** @param {number} round */
  async look(round) {
    if (round !== this.round || !this.seen) return;
    const wish = { ...this.wish };
    try {
      const doc = /** @type {ClusterDocument} */ (await askPatiently("api/cluster", wish));
      if (round !== this.round) return;
      if (doc.lost) this.tellProblem(`No node answers: ${doc.lost}. Trying again.`);
      else {
        this.tellProblem("");
        this.doc = doc;
        this.draw();
        if (!this.wish.lock && doc.locks.length && !this.wish.find) this.showLock(doc.locks[0].name);
      }
    } catch (error) {
      this.tellProblem(error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * Look at something else.
   * @param {Partial<typeof this.wish>} wish @param {number} [after] milliseconds
   */
  change(wish, after = 0) {
    Object.assign(this.wish, wish);
    const round = ++this.round;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(async () => {
      await this.look(round);
      this.goOn(round);
    }, after);
  }

  /** @param {string} name */
  showLock(name) {
    if (this.wish.lock === name) return;
    this.locks.chosen = name;
    if (this.doc) this.doc.lock = null;
    this.change({ lock: name });
    this.address();
    this.draw();
  }

  /** What is looked at is in the address, so that it is still looked at when the page is opened again. */
  address() {
    if (!byId("cluster").hidden) history.replaceState(null, "", this.wish.lock ? `#cluster/${encodeURIComponent(this.wish.lock)}` : "#cluster");
  }

  /** @param {string} text */
  tellProblem(text) {
    this.problem.hidden = !text;
    if (this.problem.textContent !== text) this.problem.textContent = text;
    this.parts.classList.toggle("stale", Boolean(text));
    if (text) byId("verdict").hidden = true;
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  draw() {
    const { doc } = this;
    if (!doc || byId("cluster").hidden) return;
    this.parts.hidden = false;
    this.describe();
    this.drawWrong(doc);
    this.members.draw(doc);
    this.rates.draw(doc);
    this.locks.draw(doc, this.wish);
    this.lock.draw(doc, this.wish.lock);
  }

  describe() {
    const { doc } = this;
    if (!doc || byId("cluster").hidden) return;
    byId("title").textContent = doc.cluster;
    byId("reference").textContent = `cluster of ${counted(doc.nodes.length, "node")}`;
    const costs = doc.nodes.map(({ rates }) => rates?.cost ?? 0);
    const about = /** @type {[string, string][]} */ ([
      ["algorithm", doc.algorithm],
      ...(doc.view === null ? [["agreements", String(doc.agreements)]] : [["view", `${doc.view}, ${counted(doc.members.length, "member")}, ${counted(doc.voters.length, "voter")}`]]),
      ["asked", `${doc.asked} every ${doc.period.toFixed(doc.period < 9.95 ? 1 : 0)} s`],
      ["at a cost of", `${(100 * Math.max(...costs)).toFixed(2)}% of a core`],
    ]);
    byId("about").replaceChildren(...about.map(([key, value]) => h("span", {}, h("i", {}, key), " ", value)));
    document.title = `${doc.wrong.length ? `(${doc.wrong.length}) ` : ""}${doc.cluster} - Congenial`;
    const verdict = byId("verdict");
    verdict.hidden = !this.problem.hidden;
    verdict.className = doc.wrong.length ? "bad" : "good";
    verdict.textContent = doc.wrong.length ? `✕ ${counted(doc.wrong.length, "thing")} wrong` : "✓ All is well";
  }

  /** @param {ClusterDocument} doc */
  drawWrong(doc) {
    const items = doc.wrong.map(({ text, node, lock }) => {
      const act = lock ? () => this.showLock(lock) : () => this.members.choose(node ?? "", doc);
      return h("li", {}, h("button", { type: "button", class: "plain", onclick: act, title: lock ? "Show this lock" : "Show this node" }, text));
    });
    const answering = doc.nodes.filter(({ state }) => state === "up").length;
    const well = `Nothing is wrong: all ${counted(answering, "node")} answer and can acquire locks, all links are up, and no request waits too long.`;
    this.wrong.className = `panel ${items.length ? "bad" : "good"}`;
    this.wrong.replaceChildren(items.length ? h("ul", {}, ...items) : h("p", {}, h("b", {}, "✓ "), well));
    const said = doc.wrong.map(({ node, lock }) => node ?? lock).join();
    if (said !== this.said) this.live.textContent = doc.wrong.map(({ text }) => text).join(" ") || "Nothing is wrong.";
    this.said = said;
  }

  // -- the hand --------------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  key(event) {
    const { doc } = this;
    if (!doc || byId("cluster").hidden || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target === this.locks.search;
    if (/SELECT|TEXTAREA/.test(target.tagName) || (typing && !/^(ArrowDown|ArrowUp|Enter|Escape)$/.test(event.key))) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      "/": () => this.locks.search.focus(),
      ArrowDown: () => this.locks.step(1),
      ArrowUp: () => this.locks.step(-1),
      Enter: () => typing && this.locks.step(0),
      Escape: () => typing && this.locks.clear(),
      s: () => this.locks.toggleSort(),
      n: () => this.members.next(doc),
      t: () => this.lock.nextSpan(),
    };
    const act = keys[event.key];
    if (!act || (event.key === "Enter" && !typing)) return;
    event.preventDefault();
    act();
  }
}

function lockOfAddress() {
  try {
    return decodeURIComponent(location.hash.match(/^#cluster\/(.*)$/)?.[1] ?? "");
  } catch {
    return "";
  }
}
