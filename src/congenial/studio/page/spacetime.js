// @ts-check
/** The space-time diagram: a line for each process, bars where it waits or is inside, an arrow for each message. Time runs
 * to the right. Only what is visible is drawn. */

import { groupColour, isStriped, pageColours, textOn } from "./palette.js";
import { shortName, timeText } from "./words.js";
import { upperBound } from "./model.js";

const GUTTER = 46;
const AXIS = 24;
const MOST_ARROWS = 1000; // visible at the same time; with more, only the bars are drawn
const MOST_LABELS = 60;
const NEAR = 7; // pixels within which a click hits
const LEAST_ROW = 20;
const MOST_ROW = 96;
const NARROW = 3; // pixels below which a bar is only a line
const FUTURE = 0.28;
const HERE = 0.72; // where in the view the present is while it follows

/** @typedef {{kind: "packet", packet: import("./model.js").Packet} | {kind: "process", process: number} |
 *   {kind: "event", event: number}} Thing */

export class SpaceTime {
  /**
   * @param {HTMLCanvasElement} canvas @param {import("./model.js").Run} run @param {import("./clock.js").Clock} clock
   * @param {(thing: Thing, time: number) => void} picked
   */
  constructor(canvas, run, clock, picked) {
    this.canvas = canvas;
    this.run = run;
    this.clock = clock;
    this.picked = picked;
    this.span = Math.min(1.1 * Math.max(run.end, run.unit * (run.doc.timed ? 1 : 10)), run.unit * (run.doc.timed ? 9 : 24));
    this.from = -0.02 * this.span;
    this.follows = true;
    this.top = 0;
    /** @type {import("./model.js").Packet | null} */
    this.selected = null;
    this.process = -1;
    /** @type {{x1: number, y1: number, x2: number, y2: number, packet: import("./model.js").Packet}[]} */
    this.arrows = [];
    this.crowded = false;
    /** @type {{x: number, y: number}[]} where names of messages are written */
    this.labels = [];
    /** Everything in view as if it had happened. It is drawn again only when it looks different. */
    this.layer = document.createElement("canvas");
    this.layerKey = "";
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.resize();
    this.listen();
  }

  /** Its size has changed. To ask for it at every drawing would make the browser lay out the whole page each time. */
  resize() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.ratio = window.devicePixelRatio || 1;
  }

  // -- what is where -------------------------------------------------------------------------------------

  get row() {
    return Math.max(LEAST_ROW, Math.min(MOST_ROW, (this.height - AXIS - 6) / this.run.n));
  }

  /** @param {number} t */
  x(t) {
    return GUTTER + ((t - this.from) / this.span) * (this.width - GUTTER);
  }

  /** @param {number} x */
  time(x) {
    return this.from + ((x - GUTTER) / (this.width - GUTTER)) * this.span;
  }

  /** @param {number} p */
  y(p) {
    return AXIS + this.row * (p + 0.5) - this.top;
  }

  /** @param {number} factor @param {number} [around] the time that stays in place */
  zoom(factor, around = this.clock.now) {
    const span = Math.max(this.run.unit / 20, Math.min(Math.max(this.run.end, this.run.unit) * 1.1, this.span * factor));
    this.from = Math.max(-0.02 * span, around - ((around - this.from) * span) / this.span);
    this.span = span;
    this.draw();
  }

  /** @param {number} share of the view */
  pan(share) {
    this.follows = false;
    const spare = this.span * 0.1;
    this.from = Math.max(-spare, Math.min(this.run.end - this.span + 5 * spare, this.from + share * this.span));
    this.draw();
  }

  /** Make sure that the present is visible. */
  follow() {
    const place = (this.clock.now - this.from) / this.span;
    if (this.run.end <= this.span) {
      this.from = -0.03 * this.span; // all of it fits
      return;
    }
    if (this.clock.playing && this.follows) {
      if (place > HERE) this.from = this.clock.now - HERE * this.span;
      else if (place < 0.02) this.from = this.clock.now - 0.1 * this.span;
    } else if (place < 0.03 || place > 0.94) {
      this.from = this.clock.now - (place < 0.03 ? 0.3 : HERE) * this.span;
    }
    this.from = Math.max(-0.02 * this.span, this.from);
  }

  // -- the hand ------------------------------------------------------------------------------------------

  listen() {
    const canvas = this.canvas;
    /** @type {{x: number, y: number, from: number, top: number, moved: boolean} | null} */
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, y: event.offsetY, from: this.from, top: this.top, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) {
        canvas.style.cursor = this.hit(event.offsetX, event.offsetY) ? "pointer" : "grab";
        return;
      }
      const dx = event.offsetX - held.x;
      if (Math.abs(dx) + Math.abs(event.offsetY - held.y) > 4) held.moved = true;
      if (held.moved) {
        this.follows = false;
        this.from = held.from - (dx / (this.width - GUTTER)) * this.span;
        this.scroll(held.top - (event.offsetY - held.y));
        this.draw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) this.pick(event.offsetX, event.offsetY);
      held = null;
    });
    canvas.addEventListener("pointercancel", () => (held = null));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY / 300), this.time(event.offsetX));
        else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / this.width);
        else if (this.row * this.run.n > this.height - AXIS) {
          this.scroll(this.top + event.deltaY);
          this.draw();
        } else this.pan(event.deltaY / this.width);
      },
      { passive: false },
    );
  }

  /** @param {number} top */
  scroll(top) {
    this.top = Math.max(0, Math.min(top, this.row * this.run.n + AXIS + 6 - this.height));
  }

  /** @param {number} x @param {number} y @returns {Thing | null} */
  hit(x, y) {
    let best = NEAR;
    let found = null;
    for (const arrow of this.arrows) {
      const away = distance(x, y, arrow);
      if (away < best) {
        best = away;
        found = arrow.packet;
      }
    }
    if (found) return { kind: "packet", packet: found };
    const process = Math.floor((y + this.top - AXIS) / this.row);
    return y > AXIS && process >= 0 && process < this.run.n ? { kind: "process", process } : null;
  }

  /** @param {number} x @param {number} y */
  pick(x, y) {
    const time = Math.max(0, Math.min(this.run.end, this.time(x)));
    if (y <= AXIS) {
      this.clock.playing = false;
      this.clock.jumpToTime(time);
      return;
    }
    const thing = this.hit(x, y);
    if (thing) this.picked(thing, x < GUTTER ? NaN : time);
  }

  // -- drawing -------------------------------------------------------------------------------------------

  draw() {
    const { width, height, canvas, ratio } = this;
    if (!width || !height) return;
    fit(canvas, width * ratio, height * ratio);
    const pen = canvas.getContext("2d");
    if (!pen) return;
    const colours = pageColours();
    this.scroll(this.top);
    this.drawLayer(colours);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.drawAxis(pen, colours);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    const present = Math.max(GUTTER, Math.min(width, this.x(this.clock.now)));
    const middle = Math.round(present * ratio);
    for (const [left, right, alpha] of [
      [0, middle, 1],
      [middle, canvas.width, FUTURE],
    ]) {
      if (right <= left) continue;
      pen.globalAlpha = alpha;
      pen.drawImage(this.layer, left, 0, right - left, canvas.height, left, 0, right - left, canvas.height);
    }
    pen.globalAlpha = 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawNames(pen, colours);
    this.drawPresent(pen, colours, present);
  }

  /**
   * Lines, bars and arrows.
   * @param {ReturnType<typeof pageColours>} colours
   */
  drawLayer(colours) {
    const { width, height, layer, ratio, run } = this;
    const key = [this.from, this.span, this.top, width, height, ratio, colours.surface, this.selected?.index, this.process, run.count].join();
    if (key === this.layerKey) return;
    this.layerKey = key;
    fit(layer, width * ratio, height * ratio);
    const pen = layer.getContext("2d");
    if (!pen) return;
    const packets = run.packetsBetween(this.from, this.from + this.span, MOST_ARROWS);
    this.crowded = packets === null;
    this.arrows = [];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.save();
    pen.textBaseline = "middle";
    pen.beginPath();
    pen.rect(GUTTER, AXIS, width - GUTTER, height - AXIS);
    pen.clip();
    this.drawLines(pen, colours);
    this.drawStretches(pen, colours);
    this.drawArrows(pen, colours, packets ?? []);
    pen.restore();
  }

  /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours */
  drawAxis(pen, colours) {
    const step = niceStep((this.span * 90) / Math.max(1, this.width - GUTTER));
    pen.strokeStyle = colours.line;
    pen.fillStyle = colours.muted;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    pen.beginPath();
    for (let t = Math.ceil(Math.max(0, this.from) / step) * step; t <= this.from + this.span; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      if (x < GUTTER) continue;
      pen.moveTo(x, AXIS - 4);
      pen.lineTo(x, this.height);
      if (x > GUTTER + 14 && x < this.width - 14) pen.fillText(timeText(t, step), x, AXIS / 2 - 1);
    }
    pen.stroke();
  }

  /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours */
  drawLines(pen, colours) {
    pen.strokeStyle = colours.muted;
    pen.lineWidth = 1;
    pen.beginPath();
    const right = Math.min(this.width, this.x(this.run.end));
    for (let p = 0; p < this.run.n; p++) {
      const y = Math.round(this.y(p)) + 0.5;
      if (y < AXIS || y > this.height) continue;
      pen.moveTo(Math.max(GUTTER, this.x(0)), y);
      pen.lineTo(right, y);
    }
    pen.stroke();
  }

  /**
   * Where stretches are narrower than a pixel or two, one of them stands for its neighbours.
   * @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours
   */
  drawStretches(pen, colours) {
    const run = this.run;
    const thick = Math.min(22, this.row * 0.56);
    const [left, right] = [GUTTER, this.width];
    const first = run.lastAt(this.time(left)) + 1;
    for (let p = 0; p < run.n; p++) {
      const y = this.y(p);
      if (y < AXIS - this.row || y > this.height + this.row) continue;
      const stretches = run.stretches[p];
      let place = upperBound(stretches, first, (stretch) => stretch.start) - 1;
      place = Math.max(0, place - 2);
      let drawn = -Infinity; // up to where narrow ones have been drawn
      for (; place < stretches.length; place++) {
        const stretch = stretches[place];
        const x1 = this.x(run.t[stretch.start]);
        if (x1 > right) break;
        const x2 = stretch.end < run.count ? this.x(run.t[stretch.end]) : this.x(run.end);
        if (x2 < left) continue;
        if (x2 - x1 >= NARROW) this.drawStretch(pen, colours, stretch, Math.max(x1, left - 40), Math.min(x2, right + 40), y, thick);
        else if (x2 > drawn) {
          drawn = Math.max(x1 + 1.5, x2);
          this.drawNarrow(pen, colours, stretch, x1, drawn, y, thick);
        }
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours
   * @param {import("./model.js").Stretch} stretch @param {number} x1 @param {number} x2 @param {number} y
   * @param {number} thick
   */
  drawNarrow(pen, colours, stretch, x1, x2, y, thick) {
    const high = stretch.what === "waiting" ? Math.max(5, thick * 0.42) : thick;
    pen.fillStyle = stretch.what === "crashed" ? colours.bad : stretch.what === "paused" ? colours.muted : groupColour(stretch.groups[0] ?? 0);
    pen.fillRect(x1, y - high / 2, x2 - x1, high);
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours
   * @param {import("./model.js").Stretch} stretch @param {number} x1 @param {number} x2 @param {number} y
   * @param {number} thick
   */
  drawStretch(pen, colours, stretch, x1, x2, y, thick) {
    const group = stretch.groups[0] ?? 0;
    if (stretch.what === "inside") {
      pen.fillStyle = groupColour(group);
      pen.beginPath();
      /** @type {any} */ (pen).roundRect(x1, y - thick / 2, x2 - x1, thick, Math.min(4, (x2 - x1) / 2));
      pen.fill();
      if (isStriped(group)) hatch(pen, x1, x2, y, thick, textOn(group), 7);
      const name = this.run.groupName(group);
      if (this.run.doc.groups && x2 - x1 > 7 + 7 * name.length) {
        pen.fillStyle = textOn(group);
        pen.textAlign = "center";
        pen.font = "600 11px system-ui, sans-serif";
        pen.fillText(name, (Math.max(x1, GUTTER) + x2) / 2, y + 0.5);
      }
    } else if (stretch.what === "waiting") {
      const thin = Math.max(5, thick * 0.42);
      pen.fillStyle = colours.surface;
      pen.fillRect(x1, y - thin / 2, x2 - x1, thin);
      pen.strokeStyle = groupColour(group);
      pen.lineWidth = 1.3;
      pen.strokeRect(x1, y - thin / 2, x2 - x1, thin);
      hatch(pen, x1, x2, y, thin, groupColour(group), 5);
    } else {
      const dead = stretch.what === "crashed";
      pen.fillStyle = colours.surface;
      pen.fillRect(x1, y - thick / 2, x2 - x1, thick);
      hatch(pen, x1, x2, y, thick, dead ? colours.bad : colours.muted, dead ? 4 : 9);
      pen.fillStyle = dead ? colours.bad : colours.muted;
      pen.textAlign = "left";
      pen.font = "600 11px system-ui, sans-serif";
      if (x2 - x1 > 60) {
        const text = dead ? "crashed" : "paused";
        const at = Math.max(x1, GUTTER) + 6;
        pen.fillStyle = colours.surface;
        pen.fillRect(at - 3, y - 7, pen.measureText(text).width + 6, 14);
        pen.fillStyle = dead ? colours.bad : colours.muted;
        pen.fillText(text, at, y + 0.5);
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours
   * @param {import("./model.js").Packet[]} packets
   */
  drawArrows(pen, colours, packets) {
    const labels = packets.length <= MOST_LABELS;
    this.labels = [];
    pen.font = "10.5px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const packet of packets) {
      const chosen = this.selected === packet || (this.process >= 0 && (packet.src === this.process || packet.dst === this.process));
      const arrow = this.arrow(packet);
      this.arrows.push(arrow);
      pen.strokeStyle = pen.fillStyle = packet.lost ? colours.bad : this.selected === packet ? colours.accent : colours.message;
      pen.lineWidth = this.selected === packet ? 2.5 : chosen ? 1.5 : packets.length > 400 ? 0.6 : 1;
      pen.globalAlpha = packets.length > 400 && !chosen ? 0.45 : 1;
      pen.setLineDash(packet.lost ? [4, 3] : []);
      pen.beginPath();
      pen.moveTo(arrow.x1, arrow.y1);
      pen.lineTo(arrow.x2, arrow.y2);
      pen.stroke();
      pen.setLineDash([]);
      const angle = Math.atan2(arrow.y2 - arrow.y1, arrow.x2 - arrow.x1);
      if (packet.lost) cross(pen, arrow.x2, arrow.y2, 4);
      else if (packet.got < this.run.count) head(pen, arrow.x2, arrow.y2, angle, packets.length > 400 ? 4 : 7);
      const length = Math.hypot(arrow.x2 - arrow.x1, arrow.y2 - arrow.y1);
      if (this.selected === packet || (labels && length > 70 && this.isFree(arrow))) this.label(pen, colours, packet, arrow, angle);
    }
  }

  /**
   * Is there room for the name of a message? If so, it is taken.
   * @param {{x1: number, y1: number, x2: number, y2: number}} arrow
   */
  isFree(arrow) {
    const place = middle(arrow);
    if (this.labels.some(({ x, y }) => Math.abs(x - place.x) < 34 && Math.abs(y - place.y) < 30)) return false;
    this.labels.push(place);
    return true;
  }

  /** @param {import("./model.js").Packet} packet */
  arrow(packet) {
    const run = this.run;
    let end = run.arrival(packet);
    let y2 = this.y(packet.dst);
    const x1 = this.x(run.t[packet.sent]);
    const y1 = this.y(packet.src);
    if (packet.lost && end - run.t[packet.sent] < run.unit / 3) {
      end = run.t[packet.sent] + run.unit * 0.35;
      y2 = y1 + (y2 - y1) * 0.4;
    } else if (packet.got >= run.count) y2 = y1 + (y2 - y1) * 0.7;
    return { x1, y1, x2: this.x(end), y2, packet };
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours
   * @param {import("./model.js").Packet} packet @param {{x1: number, y1: number, x2: number, y2: number}} arrow
   * @param {number} angle
   */
  label(pen, colours, packet, arrow, angle) {
    const text = shortName(...this.run.message(packet.sent));
    pen.save();
    const { x, y } = middle(arrow);
    pen.translate(x, y);
    pen.rotate(angle);
    pen.fillStyle = this.selected === packet ? colours.accent : packet.lost ? colours.bad : colours.muted;
    pen.lineWidth = 3;
    pen.strokeStyle = colours.surface;
    pen.lineJoin = "round";
    pen.strokeText(text, 0, -7);
    pen.fillText(text, 0, -7);
    pen.restore();
  }

  /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours */
  drawNames(pen, colours) {
    pen.fillStyle = colours.surface;
    pen.fillRect(0, AXIS, GUTTER - 2, this.height - AXIS);
    pen.textAlign = "right";
    for (let p = 0; p < this.run.n; p++) {
      const y = this.y(p);
      if (y < AXIS + 4 || y > this.height) continue;
      const chosen = p === this.process;
      pen.fillStyle = chosen ? colours.accent : colours.ink;
      pen.font = `${chosen ? 700 : 500} 12px system-ui, sans-serif`;
      pen.fillText(this.run.name(p), GUTTER - 12, y + 0.5);
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof pageColours>} colours @param {number} x */
  drawPresent(pen, colours, x) {
    pen.strokeStyle = pen.fillStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x, AXIS - 6);
    pen.lineTo(x, this.height);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x - 5, AXIS - 11);
    pen.lineTo(x + 5, AXIS - 11);
    pen.lineTo(x, AXIS - 3);
    pen.fill();
    if (this.crowded) {
      pen.fillStyle = colours.muted;
      pen.textAlign = "right";
      pen.font = "11px system-ui, sans-serif";
      const text = "zoom in (+) to see messages";
      const wide = pen.measureText(text).width;
      pen.fillStyle = colours.surface;
      pen.fillRect(this.width - wide - 16, this.height - 22, wide + 12, 18);
      pen.fillStyle = colours.muted;
      pen.fillText(text, this.width - 10, this.height - 13);
    }
  }
}

/**
 * Give a canvas a size. To set it, even to the same, would clear it.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
function fit(canvas, width, height) {
  if (canvas.width !== Math.round(width)) canvas.width = Math.round(width);
  if (canvas.height !== Math.round(height)) canvas.height = Math.round(height);
}

/**
 * Where the name of a message is written.
 * @param {{x1: number, y1: number, x2: number, y2: number}} arrow
 */
function middle({ x1, y1, x2, y2 }) {
  return { x: x1 + (x2 - x1) * 0.42, y: y1 + (y2 - y1) * 0.42 };
}

/**
 * The distance of a point from an arrow.
 * @param {number} x @param {number} y @param {{x1: number, y1: number, x2: number, y2: number}} arrow
 */
function distance(x, y, { x1, y1, x2, y2 }) {
  const square = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
  const share = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / square));
  return Math.hypot(x - x1 - share * (x2 - x1), y - y1 - share * (y2 - y1));
}

/**
 * 1, 2 or 5 times a power of ten.
 * @param {number} least
 */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

/**
 * @param {CanvasRenderingContext2D} pen @param {number} x1 @param {number} x2 @param {number} y @param {number} thick
 * @param {string} colour @param {number} gap
 */
function hatch(pen, x1, x2, y, thick, colour, gap) {
  pen.save();
  pen.beginPath();
  pen.rect(x1, y - thick / 2, x2 - x1, thick);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = Math.floor((x1 - thick) / gap) * gap; x < x2; x += gap) {
    pen.moveTo(x, y + thick / 2);
    pen.lineTo(x + thick, y - thick / 2);
  }
  pen.stroke();
  pen.restore();
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} angle @param {number} size */
function head(pen, x, y, angle, size) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x - size * Math.cos(angle - 0.4), y - size * Math.sin(angle - 0.4));
  pen.lineTo(x - size * Math.cos(angle + 0.4), y - size * Math.sin(angle + 0.4));
  pen.fill();
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} size */
function cross(pen, x, y, size) {
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x - size, y - size);
  pen.lineTo(x + size, y + size);
  pen.moveTo(x - size, y + size);
  pen.lineTo(x + size, y - size);
  pen.stroke();
}
