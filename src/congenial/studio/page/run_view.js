// @ts-check
/** The Run view: the ring, the space-time diagram, the inspector and the buttons, kept together. */

import { Clock, SPEEDS } from "./clock.js";
import { Inspector } from "./inspector.js";
import { Run } from "./model.js";
import { Overview } from "./overview.js";
import { Ring } from "./ring.js";
import { SpaceTime } from "./spacetime.js";
import { States } from "./states.js";
import { byId, counted, h, inWords, timeText } from "./words.js";

const FAST_MOVES = 100; // milliseconds between two moves of a hand that moves fast

export class RunView {
  /** @param {import("./model.js").RunDocument} doc @param {() => Promise<import("./states.js").StatesDocument>} readStates */
  constructor(doc, readStates) {
    const run = new Run(doc);
    this.run = run;
    this.clock = new Clock(run, () => this.draw());
    const packet = (/** @type {import("./model.js").Packet | null} */ chosen) => this.selectPacket(chosen);
    const process = (/** @type {number} */ p) => this.selectProcess(p);
    const jump = (/** @type {number} */ event) => this.jump(event);
    this.diagram = new SpaceTime(/** @type {HTMLCanvasElement} */ (byId("diagram")), run, this.clock, (thing, time) => this.picked(thing, time));
    this.ring = new Ring(/** @type {any} */ (byId("ring")), byId("legend"), byId("notice"), run, this.clock, { process, packet });
    this.inspector = new Inspector(
      { steps: byId("steps-panel"), process: byId("process-panel"), source: byId("source-panel") },
      run,
      this.clock,
      { jump, packet, process },
    );
    this.overview = new Overview(/** @type {HTMLCanvasElement} */ (byId("overview")), run, this.clock, this.diagram);
    this.scrub = /** @type {HTMLInputElement} */ (byId("scrub"));
    this.speed = /** @type {HTMLSelectElement} */ (byId("speed"));
    this.watch = /** @type {HTMLSelectElement} */ (byId("watch"));
    this.live = byId("live");
    this.abort = new AbortController();
    /** @type {() => void} what else is to be done when something has changed */
    this.after = () => {};
    this.wantedWatch = "";
    this.lastScrub = -Infinity;
    this.scrubFrame = 0;
    this.movesFast = false; // the hand moves fast: words follow when it is slower
    this.inspectorTimer = 0;
    this.connect();
    this.describe();
    this.loadStates(readStates);
    this.clock.jump(-1);
    document.documentElement.dataset.ready = "yes";
  }

  /**
   * Look at the same things as another view did.
   * @param {RunView} other
   */
  adopt(other) {
    this.wantedWatch = other.watch.selectedOptions[0]?.text ?? "";
    this.inspector.pinned = this.ring.process = this.diagram.process = other.inspector.pinned;
  }

  /** Forget this run: another one takes its place. */
  close() {
    this.clock.playing = false;
    clearTimeout(this.inspectorTimer);
    cancelAnimationFrame(this.scrubFrame);
    this.abort.abort();
  }

  /**
   * The run went on: show what has happened since.
   * @param {Partial<import("./model.js").RunDocument>} part
   */
  grow(part) {
    const { run, clock } = this;
    const chosen = this.inspector.packet;
    run.extend(part);
    const same = chosen && (run.packets.find((packet) => packet.sent === chosen.sent && packet.dst === chosen.dst) ?? null);
    this.inspector.packet = this.ring.selected = this.diagram.selected = same;
    this.inspector.shown = "";
    this.ring.drawLegend();
    this.setScrub();
    this.describe();
    if (clock.playing) clock.schedule();
    this.draw(!clock.playing);
  }

  setScrub() {
    this.scrub.max = String(this.run.end);
    this.scrub.step = String(Math.max(this.run.end / 5000, 1e-6));
  }

  pause() {
    if (this.clock.playing) this.clock.pause();
  }

  /** @param {() => Promise<import("./states.js").StatesDocument>} readStates */
  async loadStates(readStates) {
    try {
      const states = new States(await readStates(), this.run);
      this.inspector.states = states;
      const none = h("option", { value: "" }, "nothing");
      this.watch.replaceChildren(none, ...states.doc.variables.map((note, number) => h("option", { value: number }, note.name)));
      this.watch.disabled = false;
      this.watch.selectedIndex = [...this.watch.options].findIndex((option) => option.text === this.wantedWatch);
      if (this.watch.selectedIndex < 0) this.watch.selectedIndex = 0;
      this.setWatch();
    } catch (error) {
      this.inspector.waiting = `The states could not be read: ${error instanceof Error ? error.message : error}`;
    }
    this.draw();
  }

  describe() {
    const { doc } = this.run;
    byId("title").textContent = doc.title;
    byId("reference").textContent = doc.reference;
    const about = doc.about.map(([name, value]) => h("span", {}, h("i", {}, name), " ", value));
    byId("about").replaceChildren(h("span", {}, counted(this.run.count, "event")), h("span", {}, counted(this.run.entries.length, "entry", "entries")), ...about);
    const verdict = byId("verdict");
    verdict.textContent = doc.verdict;
    verdict.className = doc.more ? "" : doc.ok ? "good" : "bad";
    verdict.hidden = false;
    document.title = `${doc.title} - Congenial`;
  }

  // -- the hand ------------------------------------------------------------------------------------------

  connect() {
    const { clock, diagram } = this;
    const signal = this.abort.signal;
    /** @type {Record<string, () => void>} */
    const buttons = {
      play: () => clock.toggle(),
      start: () => this.jump(-1),
      back: () => clock.stepBy(-1),
      forward: () => clock.stepBy(1),
      end: () => this.jump(this.run.count - 1),
      "entry-next": () => this.nextEntry(1),
      "entry-last": () => this.nextEntry(-1),
      "zoom-in": () => diagram.zoom(0.6),
      "zoom-out": () => diagram.zoom(1 / 0.6),
    };
    for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener("click", act, { signal });
    this.speed.replaceChildren(...SPEEDS.map((speed) => h("option", { value: speed }, speed < 1 ? `1/${1 / speed}x` : `${speed}x`)));
    this.speed.value = "1";
    this.speed.addEventListener("change", () => this.setSpeed(Number(this.speed.value)), { signal });
    this.setScrub();
    this.scrub.addEventListener("input", () => this.scrubbed(), { signal });
    this.watch.disabled = true;
    this.watch.addEventListener("change", () => this.setWatch(), { signal });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    const draw = () => {
      this.resize();
      this.draw(true);
    };
    window.addEventListener("resize", draw, { signal });
    document.addEventListener("congenial-theme", draw, { signal });
    const observer = new ResizeObserver(draw);
    observer.observe(byId("diagram"));
    signal.addEventListener("abort", () => observer.disconnect());
  }

  resize() {
    this.diagram.resize();
    this.overview.resize();
  }

  /** The hand moves along the strip: draw once for each picture of the screen, however many events there are. */
  scrubbed() {
    const now = performance.now();
    this.movesFast = now - this.lastScrub < FAST_MOVES;
    this.lastScrub = now;
    if (this.scrubFrame) return;
    this.clock.jumpToTime(Number(this.scrub.value));
    this.scrubFrame = requestAnimationFrame(() => {
      this.scrubFrame = 0;
      if (Number(this.scrub.value) !== this.clock.now) this.clock.jumpToTime(Number(this.scrub.value));
    });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (byId("run").hidden) return;
    const focused = /** @type {HTMLElement} */ (event.target);
    // a dialog that has just been closed keeps the focus until the next picture
    const target = focused.closest("dialog") ? document.body : focused;
    const tag = target.tagName;
    if (tag === "INPUT" && target.id !== "scrub") return;
    if (tag === "SELECT" || tag === "TEXTAREA") return;
    if (event.key === " " && (tag === "BUTTON" || tag === "SUMMARY")) return;
    const turn = (/** @type {number} */ by) => (event.shiftKey ? this.stepOfProcess(by) : this.clock.stepBy(by));
    /** @type {Record<string, () => void>} */
    const keys = {
      " ": () => this.clock.toggle(),
      k: () => this.clock.toggle(),
      ArrowRight: () => turn(1),
      ArrowLeft: () => turn(-1),
      Home: () => this.jump(-1),
      End: () => this.jump(this.run.count - 1),
      n: () => this.nextEntry(1),
      N: () => this.nextEntry(-1),
      p: () => this.selectProcess((this.inspector.pinned + 1) % this.run.n),
      P: () => this.selectProcess((Math.max(0, this.inspector.pinned) - 1 + this.run.n) % this.run.n),
      m: () => this.nextMessage(),
      w: () => this.nextWatch(),
      "+": () => this.diagram.zoom(0.6),
      "=": () => this.diagram.zoom(0.6),
      "-": () => this.diagram.zoom(1 / 0.6),
      ",": () => this.pan(-0.25),
      ".": () => this.pan(0.25),
      "[": () => this.shiftSpeed(-1),
      "]": () => this.shiftSpeed(1),
      Escape: () => this.release(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {number} share */
  pan(share) {
    this.diagram.pan(share);
    this.overview.draw();
  }

  /** @param {number} event */
  jump(event) {
    this.clock.playing = false;
    this.diagram.follows = true;
    this.clock.jump(event);
  }

  /** @param {number} by */
  nextEntry(by) {
    this.clock.stepWhere(by, (event) => this.run.kind[event] === this.run.K.enter);
  }

  /**
   * The next step of the process that is shown.
   * @param {number} by
   */
  stepOfProcess(by) {
    const p = this.inspector.process;
    this.selectProcess(p);
    const steps = this.run.steps;
    this.clock.stepWhere(by, (event) => this.run.node[event] === p && steps[this.run.stepOf(event)] === event);
  }

  /** Choose one message under way after the other. */
  nextMessage() {
    const packets = this.run.underWay(this.clock.at);
    const place = packets.indexOf(/** @type {any} */ (this.inspector.packet));
    this.selectPacket(packets.length ? packets[(place + 1) % packets.length] : null);
  }

  nextWatch() {
    if (this.watch.disabled) return;
    this.watch.selectedIndex = (this.watch.selectedIndex + 1) % this.watch.options.length;
    this.setWatch();
  }

  setWatch() {
    const states = this.inspector.states;
    if (!states || this.watch.value === "") this.ring.watched = null;
    else {
      const variable = Number(this.watch.value);
      const name = states.doc.variables[variable].name.split(".").pop() ?? "";
      this.ring.points = this.run.doc.pointers.includes(name);
      this.ring.watched = (p) => states.value(p, variable, this.clock.at);
    }
    this.draw();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.clock.speed = speed;
    this.speed.value = String(speed);
  }

  /** @param {number} by */
  shiftSpeed(by) {
    const place = SPEEDS.indexOf(this.clock.speed) + by;
    this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, place))]);
  }

  /** @param {import("./spacetime.js").Thing} thing @param {number} time */
  picked(thing, time) {
    if (thing.kind === "packet") this.selectPacket(thing.packet);
    else if (thing.kind === "process") {
      this.selectProcess(thing.process);
      if (!Number.isNaN(time)) {
        this.clock.playing = false;
        this.clock.jumpToTime(time);
      }
    }
  }

  /** @param {number} p */
  selectProcess(p) {
    this.inspector.pinned = p;
    this.ring.process = this.diagram.process = p;
    this.draw();
  }

  /** @param {import("./model.js").Packet | null} packet */
  selectPacket(packet) {
    this.inspector.packet = this.ring.selected = this.diagram.selected = packet;
    this.draw();
  }

  release() {
    this.selectPacket(null);
    this.selectProcess(-1);
  }

  // -- drawing -------------------------------------------------------------------------------------------

  /** The words cost more than the pictures: while the hand moves fast they follow a few times a second. */
  drawInspector() {
    if (!this.movesFast) this.inspector.draw();
    else if (!this.inspectorTimer) {
      this.inspectorTimer = window.setTimeout(() => {
        this.inspectorTimer = 0;
        this.inspector.draw();
      }, FAST_MOVES);
    }
    this.movesFast = false;
  }

  /** @param {boolean} [still] the view stays where it is */
  draw(still = false) {
    const { clock, run } = this;
    if (!still) this.diagram.follow();
    this.diagram.draw();
    this.overview.draw();
    this.ring.draw();
    if (!clock.glide) this.drawInspector();
    if (!this.scrubFrame) this.scrub.value = String(clock.now);
    const now = run.doc.timed ? timeText(clock.now, run.unit / 20) : `step ${Math.round(clock.now)}`;
    const end = run.doc.timed ? timeText(run.end, run.unit) : String(run.end);
    byId("time").replaceChildren(now, h("span", {}, ` of ${end}`));
    this.scrub.setAttribute("aria-valuetext", `${now} of ${end}`);
    byId("play").setAttribute("aria-pressed", String(clock.playing));
    byId("play").setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    byId("run").dataset.at = String(clock.at);
    byId("run").dataset.step = String(clock.step);
    const step = clock.step;
    const told = clock.playing || step < 0 ? "" : inWords(run, run.steps[step]);
    if (this.live.textContent !== told && !clock.glide) this.live.textContent = told;
    const over = clock.ended && !run.doc.ok;
    byId("run").classList.toggle("broken", over);
    this.after();
  }
}
