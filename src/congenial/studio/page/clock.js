// @ts-check
/** Where in the run a page is: the time, and the last event that has happened. It plays, steps and jumps. */

const GLIDE = 220; // milliseconds that a step takes on the screen
export const SPEEDS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 64, 256];

export class Clock {
  /** @param {import("./model.js").Run} run @param {() => void} changed called after every change */
  constructor(run, changed) {
    this.run = run;
    this.changed = changed;
    this.now = 0;
    this.at = -1;
    this.playing = false;
    this.speed = 1;
    /** @type {{from: number, to: number, at: number, began: number} | null} a step that is being shown */
    this.glide = null;
    this.last = 0;
    this.frame = 0;
  }

  get ended() {
    return this.at >= this.run.count - 1;
  }

  /** The step that happened last; -1 before the first. */
  get step() {
    return this.run.stepOf(this.at);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.ended) this.jump(-1);
    this.settle();
    this.playing = true;
    this.last = performance.now();
    this.schedule();
    this.changed();
  }

  pause() {
    this.playing = false;
    this.settle();
    this.changed();
  }

  /** Show the end of a step immediately. */
  settle() {
    if (this.glide) {
      this.at = this.glide.at;
      this.now = this.glide.to;
      this.glide = null;
    }
  }

  /**
   * To just after an event; -1: to the beginning.
   * @param {number} at
   */
  jump(at) {
    this.glide = null;
    this.at = Math.max(-1, Math.min(this.run.count - 1, at));
    this.now = this.at < 0 ? Math.min(0, this.run.t[0] ?? 0) : this.run.t[this.at];
    this.changed();
  }

  /** @param {number} time */
  jumpToTime(time) {
    this.glide = null;
    this.now = Math.max(0, Math.min(this.run.end, time));
    this.at = this.run.lastAt(this.now);
    this.changed();
  }

  /**
   * One step forward, or back.
   * @param {number} by
   */
  stepBy(by) {
    this.playing = false;
    this.settle();
    const target = this.run.endOfStep(Math.max(-1, Math.min(this.run.steps.length - 1, this.step + by)));
    this.glideTo(target);
  }

  /**
   * The next step, or the one before, for which something holds.
   * @param {number} by @param {(event: number) => boolean} wanted
   */
  stepWhere(by, wanted) {
    this.playing = false;
    this.settle();
    for (let step = this.step + by; step >= 0 && step < this.run.steps.length; step += by) {
      for (let event = this.run.steps[step]; event <= this.run.endOfStep(step); event++) {
        if (wanted(event)) {
          this.jump(this.run.endOfStep(step));
          return true;
        }
      }
    }
    this.changed();
    return false;
  }

  /** @param {number} at */
  glideTo(at) {
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (calm || at < this.at || at < 0) {
      this.jump(at);
      return;
    }
    this.glide = { from: this.now, to: this.run.t[at], at, began: performance.now() };
    this.schedule();
    this.changed();
  }

  schedule() {
    if (!this.frame) this.frame = requestAnimationFrame((time) => this.tick(time));
  }

  /** @param {number} time */
  tick(time) {
    this.frame = 0;
    if (this.glide) {
      const share = Math.min(1, (time - this.glide.began) / GLIDE);
      const { from, to } = this.glide;
      if (share >= 1) this.settle();
      else this.now = from + Math.max(0, share) * (to - from);
    } else if (this.playing) {
      const passed = Math.min(0.1, Math.max(0, time - this.last) / 1000);
      this.last = time;
      this.now = Math.min(this.run.end, this.now + passed * this.speed * this.run.unit);
      this.at = Math.max(this.at, this.run.lastAt(this.now));
      if (this.ended && !this.run.doc.more) this.playing = false;
    }
    this.changed();
    if (this.playing || this.glide) this.schedule();
  }
}
