// @ts-check
/** The ring: processes in a circle, and the messages that are under way between them at this moment. */

import { groupColour, isStriped, textOn } from "./palette.js";
import { counted, messageText, s, shortName, sidesText } from "./words.js";

const SIZE = 400; // of the drawing, in its own units
const MOST_DOTS = 300;
const MOST_NAMED = 12;
const SHAPES = ["M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", "M-4.5,-4.5h9v9h-9z", "M0,-6.5L6,4.5L-6,4.5z", "M0,-6.5L6.5,0L0,6.5L-6.5,0z",
  "M-2,-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z", "M0,6.5L6,-4.5L-6,-4.5z"]; // prettier-ignore

export class Ring {
  /**
   * @param {SVGSVGElement} svg @param {HTMLElement} legend @param {HTMLElement} notice
   * @param {import("./model.js").Run} run @param {import("./clock.js").Clock} clock
   * @param {{process: (p: number) => void, packet: (packet: import("./model.js").Packet) => void}} picked
   */
  constructor(svg, legend, notice, run, clock, picked) {
    this.svg = svg;
    this.legend = legend;
    this.notice = notice;
    this.run = run;
    this.clock = clock;
    this.picked = picked;
    this.radius = run.n === 1 ? 0 : 146;
    this.size = Math.max(6, Math.min(27, (Math.PI * this.radius) / Math.max(1, run.n) - 3 || 27));
    /** @type {import("./model.js").Packet | null} */
    this.selected = null;
    this.process = -1;
    /** @type {((p: number) => string) | null} what to write beside each process */
    this.watched = null;
    this.points = false; // is what is watched the number of a process?
    this.pointers = s("g", { class: "pointers" });
    this.dots = s("g", { class: "dots" });
    this.processes = [...Array(run.n).keys()].map((p) => this.makeProcess(p));
    const defs = s("defs", {},
      s("pattern", { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: 2, height: 6, class: "stripe" })),
      s("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        s("path", { d: "M0,0.5L8,4L0,7.5z", class: "pointer-head" })),
    ); // prettier-ignore
    svg.setAttribute("viewBox", `0 0 ${SIZE} ${SIZE}`);
    svg.replaceChildren(
      defs,
      s("circle", { cx: SIZE / 2, cy: SIZE / 2, r: this.radius, class: "orbit" }),
      this.pointers,
      ...this.processes.map((made) => made.group),
      this.dots,
    );
    this.drawLegend();
  }

  drawLegend() {
    this.legend.replaceChildren(...this.run.messageKinds.map((kind) => this.legendOf(kind)));
  }

  /** @param {string} kind */
  legendOf(kind) {
    const item = document.createElement("li");
    const icon = /** @type {SVGSVGElement} */ (s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }));
    icon.append(s("path", { d: this.shape(kind), class: "dot" }));
    item.append(icon, kind);
    return item;
  }

  /** @param {string} kind */
  shape(kind) {
    return SHAPES[this.run.messageKinds.indexOf(kind) % SHAPES.length];
  }

  /** @param {number} p @param {number} [radius] */
  place(p, radius = this.radius) {
    const angle = (2 * Math.PI * p) / this.run.n - Math.PI / 2;
    return { x: SIZE / 2 + radius * Math.cos(angle), y: SIZE / 2 + radius * Math.sin(angle) };
  }

  /** @param {number} p */
  makeProcess(p) {
    const { x, y } = this.place(p);
    const r = this.size;
    const circle = s("circle", { r, class: "body" });
    const stripes = s("circle", { r, class: "stripes" });
    const mark = s("text", { class: "mark", y: r > 14 ? 1 : 0.5 });
    const ask = s("text", { class: "ask", y: r * 0.58 });
    const badge = s("text", { class: "badge", x: r * 0.9, y: -r * 0.8 });
    const outside = this.place(p, this.radius + r + 14);
    const watched = s("text", { class: "watched", x: outside.x - x, y: outside.y - y });
    watched.setAttribute("text-anchor", outside.x > SIZE / 2 + 20 ? "start" : outside.x < SIZE / 2 - 20 ? "end" : "middle");
    const title = s("title", {});
    const group = s("g", { class: "process", transform: `translate(${x},${y})`, tabindex: "0", role: "button", "data-process": p },
      title, circle, stripes, mark, ask, badge, watched); // prettier-ignore
    group.addEventListener("click", () => this.picked.process(p));
    group.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Enter") this.picked.process(p);
    });
    return { group, circle, stripes, mark, ask, badge, watched, title, was: "" };
  }

  draw() {
    const at = this.clock.at;
    const suspected = this.run.suspectedAt(at);
    for (let p = 0; p < this.run.n; p++) this.drawProcess(p, at, suspected.filter(([, of]) => of === p).length);
    const partitions = this.run.partitionsAt(at);
    this.notice.textContent = partitions.map((sides) => `The network is split: ${sidesText(sides)}`).join(". ");
    this.drawPointers();
    this.drawDots(at);
  }

  /** @param {number} p @param {number} at @param {number} suspicions */
  drawProcess(p, at, suspicions) {
    const made = this.processes[p];
    const stretch = this.run.stretchAt(p, at);
    const what = stretch?.what ?? "idle";
    const group = stretch?.groups[0] ?? 0;
    const acts = at >= 0 && this.run.node[this.run.steps[this.clock.step]] === p;
    const watched = this.watched && !this.points ? this.watched(p) : "";
    const now = `${what} ${group} ${suspicions} ${acts} ${this.process === p} ${watched}`;
    if (made.was === now) return;
    made.was = now;
    made.group.setAttribute("class", `process ${what}${acts ? " acts" : ""}${this.process === p ? " chosen" : ""}`);
    made.circle.style.fill = what === "inside" ? groupColour(group) : "";
    made.circle.style.stroke = what === "waiting" ? groupColour(group) : "";
    made.stripes.style.display = what === "inside" && isStriped(group) ? "" : "none";
    made.mark.style.fill = what === "inside" ? textOn(group) : "";
    made.mark.textContent = this.size < 9 ? "" : this.run.name(p);
    const asks = this.run.doc.groups && this.size > 16 && stretch ? this.run.groupNames(stretch.groups.slice(0, 3), "|") : "";
    made.ask.textContent = asks && !this.run.doc.groupNames?.length ? `g${asks}` : asks;
    made.ask.style.fill = made.mark.style.fill;
    made.mark.setAttribute("dy", asks ? "-4" : "0");
    made.mark.style.fontSize = `${Math.max(8, Math.min(15, this.size * 0.75))}px`;
    made.badge.textContent = what === "crashed" ? "✕" : what === "paused" ? "‖" : suspicions ? `?${suspicions}` : "";
    made.badge.setAttribute("class", `badge ${what === "crashed" ? "bad" : ""}`);
    made.watched.textContent = watched.length > 18 ? `${watched.slice(0, 17)}…` : watched;
    const groups = this.run.doc.groups && stretch?.groups.length ? ` group ${this.run.groupNames(stretch.groups, " or ")}` : "";
    const told = `Process ${this.run.name(p)}: ${what === "waiting" ? "waits for" : what}${what === "waiting" && !groups ? " entry" : groups}`;
    made.title.textContent = suspicions ? `${told}; suspected by ${counted(suspicions, "process", "processes")}` : told;
    made.group.setAttribute("aria-label", made.title.textContent);
  }

  drawPointers() {
    if (!this.watched || !this.points) {
      if (this.pointers.firstChild) this.pointers.replaceChildren();
      return;
    }
    const arrows = [];
    for (let p = 0; p < this.run.n; p++) {
      const targets = (this.watched(p).match(/-?\d+/g) ?? []).map(Number);
      for (const to of targets) {
        if (to === p || to < 0 || to >= this.run.n) continue;
        const [a, b] = [this.place(p), this.place(to)];
        const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
        const r = this.size + 3;
        const d = `M${a.x + ux * r},${a.y + uy * r}Q${(a.x + b.x) / 2 - uy * 16},${(a.y + b.y) / 2 + ux * 16} ${b.x - ux * r},${b.y - uy * r}`;
        arrows.push(s("path", { d, class: "pointer", "marker-end": "url(#head)" }));
      }
    }
    this.pointers.replaceChildren(...arrows);
  }

  /** @param {number} at */
  drawDots(at) {
    const run = this.run;
    const now = this.clock.now;
    const packets = run.underWay(at);
    const shown = packets.slice(-MOST_DOTS);
    const named = shown.length <= MOST_NAMED;
    const old = [...this.dots.children];
    shown.forEach((packet, place) => {
      const dot = old[place] ?? this.dots.appendChild(this.makeDot());
      const { x, y } = this.along(packet, now);
      const [kind, fields] = run.message(packet.sent);
      dot.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
      const key = `${packet.index} ${named} ${this.selected === packet}`;
      if (dot.getAttribute("data-key") === key) return;
      dot.setAttribute("data-key", key);
      dot.setAttribute("data-packet", String(packet.index));
      dot.setAttribute("class", `message ${packet.lost ? "lost" : ""} ${this.selected === packet ? "chosen" : ""}`);
      const [title, shape, name] = dot.children;
      title.textContent = `${packet.src} to ${packet.dst}: ${messageText(kind, fields)}`;
      shape.setAttribute("d", this.shape(kind));
      name.textContent = named || this.selected === packet ? shortName(kind, fields) : "";
    });
    for (const left of old.slice(shown.length)) left.remove();
  }

  makeDot() {
    const dot = s("g", { class: "message" }, s("title"), s("path", { class: "dot" }), s("text", { class: "name", y: -10 }));
    dot.addEventListener("click", () => this.picked.packet(this.run.packets[Number(dot.getAttribute("data-packet"))]));
    return dot;
  }

  /**
   * Where a packet is, on a slight curve, so that messages in both directions do not meet.
   * @param {import("./model.js").Packet} packet @param {number} now
   */
  along(packet, now) {
    const sent = this.run.t[packet.sent];
    const end = this.run.arrival(packet);
    const share = end > sent ? Math.max(0, Math.min(1, (now - sent) / (end - sent))) : 0.5;
    const [a, b] = [this.place(packet.src), this.place(packet.dst)];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const room = (this.size + 6) / length;
    const along = room + share * (1 - 2 * room);
    const bend = 22 * 4 * along * (1 - along) * 0.5;
    return {
      x: a.x + (b.x - a.x) * along - ((b.y - a.y) / length) * bend,
      y: a.y + (b.y - a.y) * along + ((b.x - a.x) / length) * bend,
    };
  }
}
