// @ts-check
/** The whole run in one strip below everything: the processes inside, by group, and where we are. */

import { groupColour, pageColours } from "./palette.js";

export class Overview {
  /**
   * @param {HTMLCanvasElement} canvas @param {import("./model.js").Run} run @param {import("./clock.js").Clock} clock
   * @param {import("./spacetime.js").SpaceTime} diagram
   */
  constructor(canvas, run, clock, diagram) {
    this.canvas = canvas;
    this.run = run;
    this.clock = clock;
    this.diagram = diagram;
    /** @type {HTMLCanvasElement | null} the strip without what moves */
    this.still = null;
    this.key = "";
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.resize();
  }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.round(this.canvas.clientWidth * this.ratio);
    this.height = Math.round(this.canvas.clientHeight * this.ratio);
  }

  draw() {
    const { width, height, ratio } = this;
    if (!width || !height) return;
    const colours = pageColours();
    const key = `${width} ${height} ${colours.surface} ${this.run.count}`;
    if (!this.still || this.key !== key) {
      this.key = key;
      this.canvas.width = width;
      this.canvas.height = height;
      this.still = this.drawStill(width, height, colours);
    }
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    const scale = width / Math.max(this.run.end, 1e-9);
    pen.clearRect(0, 0, width, height);
    pen.drawImage(this.still, 0, 0);
    const from = Math.max(0, this.diagram.from) * scale;
    const to = Math.min(width, (this.diagram.from + this.diagram.span) * scale);
    pen.strokeStyle = colours.muted;
    pen.lineWidth = ratio;
    pen.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
    pen.fillStyle = colours.accent;
    pen.fillRect(this.clock.now * scale - ratio, 0, 2 * ratio, height);
  }

  /**
   * One row for each process, or for several if there are many.
   * @param {number} width @param {number} height @param {ReturnType<typeof pageColours>} colours
   */
  drawStill(width, height, colours) {
    const still = document.createElement("canvas");
    still.width = width;
    still.height = height;
    const pen = still.getContext("2d");
    if (!pen) return still;
    const { run } = this;
    const scale = width / Math.max(run.end, 1e-9);
    const row = height / run.n;
    for (let p = 0; p < run.n; p++) {
      let drawn = -1; // the last pixel of this row that has been drawn
      for (const stretch of run.stretches[p]) {
        if (stretch.what === "waiting") continue;
        const x1 = run.t[stretch.start] * scale;
        const x2 = Math.max(x1 + 1, (stretch.end < run.count ? run.t[stretch.end] : run.end) * scale);
        if (x2 <= drawn) continue;
        drawn = Math.ceil(x2);
        pen.fillStyle = stretch.what === "inside" ? groupColour(stretch.groups[0]) : stretch.what === "crashed" ? colours.bad : colours.muted;
        pen.fillRect(x1, p * row, x2 - x1, Math.max(1, row - 0.5));
      }
    }
    return still;
  }
}
