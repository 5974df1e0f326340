// @ts-check
/** The members of a cluster: a ring with their links, a table, and the links of one of them. */

import { counted, h, s } from "./words.js";

/** @typedef {import("./cluster_view.js").ClusterDocument} ClusterDocument */
/** @typedef {import("./cluster_view.js").ClusterNode} ClusterNode */

const RING_SIZE = 200;
const MOST_LINES = 12; // nodes; with more of them only links that are not up are drawn
const STATES = /** @type {Record<ClusterNode["state"], string>} */ ({ up: "up", troubled: "not ready", away: "away", silent: "no answer" });
const SIGNS = /** @type {Record<ClusterNode["state"], string>} */ ({ up: "", troubled: "!", away: "✕", silent: "?" });

export class ClusterMembers {
  /** @param {(lock: string) => void} showLock */
  constructor(showLock) {
    this.showLock = showLock;
    this.chosen = "";
    this.ring = s("svg", { id: "cluster-ring", viewBox: `0 0 ${RING_SIZE} ${RING_SIZE}`, role: "img" });
    this.rows = h("tbody");
    const heads = ["node", "", "inside", "waiting", "entries/s"].map((text, place) => h("th", { scope: "col", class: place > 1 ? "number" : "" }, text));
    this.links = h("div", { id: "cluster-links", hidden: true });
    this.element = h(
      "section",
      { id: "cluster-members", class: "panel", "aria-label": "Members" },
      h("div", { class: "cluster-ring-box" }, this.ring),
      h("div", { class: "cluster-table" }, h("table", { id: "cluster-nodes" }, h("thead", {}, h("tr", {}, ...heads)), this.rows), h("p", { class: "empty" }, "A double ring is a voter. Click a node to see its links.")),
      this.links,
    );
  }

  /** @param {string} name @param {ClusterDocument} doc */
  choose(name, doc) {
    this.chosen = this.chosen === name ? "" : name;
    this.draw(doc);
  }

  /** @param {ClusterDocument} doc */
  next(doc) {
    const names = ["", ...doc.nodes.map(({ name }) => name)];
    this.chosen = names[(names.indexOf(this.chosen) + 1) % names.length];
    this.draw(doc);
  }

  /** @param {ClusterDocument} doc */
  draw(doc) {
    this.drawRing(doc);
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.node : undefined;
    this.rows.replaceChildren(...doc.nodes.map((node) => this.row(node, doc)));
    if (focused !== undefined) /** @type {HTMLElement | null} */ (this.rows.querySelector(`[data-node="${CSS.escape(focused)}"]`))?.focus();
    this.drawLinks(doc);
  }

  /** @param {ClusterNode} node @param {ClusterDocument} doc */
  row(node, doc) {
    const { rates } = node;
    const votes = doc.voters.includes(node.name);
    const role = node.state !== "up" ? "" : !doc.members.includes(node.name) ? "not in view" : votes ? "voter" : "";
    const numbers = [node.inside ?? "", node.waiting ?? "", rates ? rates.entries.toFixed(rates.entries < 10 ? 1 : 0) : ""];
    const name = h("button", { type: "button", class: "plain", "data-node": node.name, "aria-pressed": String(this.chosen === node.name), title: "Show its links", onclick: () => this.choose(node.name, doc) }, node.name); // prettier-ignore
    const suspected = node.suspectedBy.length ? ` Suspected by ${node.suspectedBy.join(", ")}.` : "";
    return h(
      "tr",
      { class: `${node.state} ${this.chosen === node.name ? "chosen" : ""}` },
      h("th", { scope: "row" }, name),
      h("td", { title: `${votes ? "It votes on views." : ""}${suspected}` }, h("b", { class: "state" }, STATES[node.state]), role ? h("small", {}, `, ${role}`) : ""),
      ...numbers.map((value) => h("td", { class: "number" }, String(value))),
    );
  }

  /** @param {ClusterDocument} doc */
  drawRing(doc) {
    const { nodes } = doc;
    const r = Math.max(7, Math.min(19, 150 / Math.max(nodes.length, 4)));
    const places = nodes.map((_, number) => {
      const angle = (2 * Math.PI * number) / nodes.length - Math.PI / 2;
      const radius = nodes.length === 1 ? 0 : RING_SIZE / 2 - r - 8;
      return [RING_SIZE / 2 + radius * Math.cos(angle), RING_SIZE / 2 + radius * Math.sin(angle)];
    });
    /** @type {SVGElement[]} */
    const lines = [];
    let broken = 0;
    for (let one = 0; one < nodes.length; one++) {
      for (let other = one + 1; other < nodes.length; other++) {
        const states = [nodes[one].links?.[nodes[other].name]?.state, nodes[other].links?.[nodes[one].name]?.state].filter(Boolean);
        const state = states.includes("away") ? "away" : states.length && states.every((known) => known === "up") ? "up" : "down";
        if (state !== "up") broken += 1;
        if (state === "up" && nodes.length > MOST_LINES) continue;
        const [[x1, y1], [x2, y2]] = [places[one], places[other]];
        const line = s("line", { x1, y1, x2, y2, class: `cluster-link ${state}` }, s("title", {}, `${nodes[one].name} and ${nodes[other].name}: ${state}`));
        if (state === "up") lines.unshift(line);
        else lines.push(line);
      }
    }
    const circles = nodes.map((node, number) => {
      const [x, y] = places[number];
      const group = s("g", { class: `cluster-node ${node.state} ${this.chosen === node.name ? "chosen" : ""} ${doc.members.includes(node.name) ? "" : "outside"}`, transform: `translate(${x} ${y})` });
      group.append(s("title", {}, `${node.name}: ${STATES[node.state]}${doc.voters.includes(node.name) ? ", voter" : ""}`));
      if (doc.voters.includes(node.name)) group.append(s("circle", { r: r + 3.5, class: "voter" }));
      group.append(s("circle", { r, class: "body" }));
      const text = node.name.length * r * 0.62 < r * 1.9 ? node.name : node.name.slice(0, 2);
      group.append(s("text", { class: "name", "font-size": Math.min(13, r * 0.95) }, SIGNS[node.state] && r < 10 ? SIGNS[node.state] : text));
      if (SIGNS[node.state] && r >= 10) group.append(s("text", { class: "sign", x: r * 0.85, y: -r * 0.75 }, SIGNS[node.state]));
      group.addEventListener("click", () => this.choose(node.name, doc));
      return group;
    });
    const view = [s("text", { x: RING_SIZE / 2, y: RING_SIZE / 2 - 9, class: "view-number" }, doc.view === null ? "" : String(doc.view)), s("text", { x: RING_SIZE / 2, y: RING_SIZE / 2 + 13, class: "view-word" }, doc.view === null ? "" : "view")];
    this.ring.replaceChildren(...(nodes.length > MOST_LINES ? [s("circle", { cx: RING_SIZE / 2, cy: RING_SIZE / 2, r: RING_SIZE / 2 - r - 8, class: "orbit" })] : []), ...lines, ...(nodes.length > 4 ? view : []), ...circles);
    const up = nodes.filter(({ state }) => state === "up").length;
    this.ring.setAttribute("aria-label", `${counted(nodes.length, "node")}, ${up} up; ${counted(broken, "link")} not up`);
  }

  /** @param {ClusterDocument} doc */
  drawLinks(doc) {
    const node = doc.nodes.find(({ name }) => name === this.chosen);
    this.links.hidden = !node;
    if (!node) return;
    const heads = ["to", "", "silent for", "on the way", "sent again"].map((text, place) => h("th", { scope: "col", class: place > 1 ? "number" : "" }, text));
    const rows = Object.entries(node.links ?? {}).map(([peer, link]) =>
      h("tr", { class: link.state }, h("th", { scope: "row" }, peer), h("td", {}, h("b", { class: "state" }, link.state), link.refusal ? ` ${link.refusal}` : ""),
        ...[secondsText(link.silent_for), link.unacknowledged.toLocaleString("en"), link.resent.toLocaleString("en")].map((value) => h("td", { class: "number" }, value))),
    ); // prettier-ignore
    const known = node.known === undefined ? "" : `, knows ${counted(node.known, "lock")}`;
    const none = h("p", { class: "empty" }, "It does not answer, so its links are not known. What the others say about it is above.");
    this.links.replaceChildren(
      h("h2", {}, h("span", {}, `Links of ${node.name}`, h("small", {}, `${known}${node.view === undefined || node.view === null ? "" : `, in view ${node.view}`}${node.rates && node.rates.mean >= 0 ? `, waits ${secondsText(node.rates.mean)} on average` : ""}`)), h("button", { type: "button", "aria-label": "Close the links", onclick: () => this.choose(node.name, doc) }, "✕")),
      rows.length ? h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)) : none,
    ); // prettier-ignore
  }
}

/**
 * A time that a reader can take in at a glance.
 * @param {number} seconds
 */
export function secondsText(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
