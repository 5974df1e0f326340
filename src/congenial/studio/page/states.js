// @ts-check
/** The variables of every process at every moment, put together from the differences in the states document. */

import { upperBound } from "./model.js";

/**
 * @typedef {{name: string, comment: string, paper: string}} Variable
 * @typedef {{name: string, file: string, line: number, text: string, dim: number[]}} Block
 * @typedef {object} StatesDocument
 * @property {Variable[]} variables
 * @property {string[]} values
 * @property {number[][]} initial
 * @property {number[]} steps
 * @property {number[]} counts
 * @property {number[]} changes
 * @property {Record<string, number[]>} handlers
 * @property {Block[]} blocks
 * @property {number} end
 * @property {string} note
 */

export class States {
  /** @param {StatesDocument} doc @param {import("./model.js").Run} run */
  constructor(doc, run) {
    this.doc = doc;
    this.run = run;
    /** @type {number[][]} the steps of each process that change something: places in `doc.steps` */
    this.ofProcess = Array.from({ length: run.n }, () => []);
    this.offsets = new Int32Array(doc.steps.length + 1);
    doc.steps.forEach((event, place) => {
      this.ofProcess[run.node[event]].push(place);
      this.offsets[place + 1] = this.offsets[place] + doc.counts[place];
    });
  }

  /**
   * The variables of a process just after an event, by number, as numbers of values.
   * @param {number} p @param {number} at @returns {Map<number, number>}
   */
  at(p, at) {
    /** @type {Map<number, number>} */
    const state = new Map();
    const initial = this.doc.initial[p] ?? [];
    for (let place = 0; place < initial.length; place += 2) state.set(initial[place], initial[place + 1]);
    for (const place of this.ofProcess[p]) {
      if (this.doc.steps[place] > at) break;
      this.apply(state, place);
    }
    return state;
  }

  /** @param {Map<number, number>} state @param {number} place */
  apply(state, place) {
    for (let change = this.offsets[place]; change < this.offsets[place + 1]; change++) {
      const value = this.doc.changes[2 * change + 1];
      if (value < 0) state.delete(this.doc.changes[2 * change]);
      else state.set(this.doc.changes[2 * change], value);
    }
  }

  /**
   * One variable of a process just after an event, as text.
   * @param {number} p @param {number} variable @param {number} at
   */
  value(p, variable, at) {
    const places = this.ofProcess[p];
    for (let turn = upperBound(places, at, (place) => this.doc.steps[place]) - 1; turn >= 0; turn--) {
      const place = places[turn];
      for (let change = this.offsets[place]; change < this.offsets[place + 1]; change++) {
        if (this.doc.changes[2 * change] === variable) return this.text(this.doc.changes[2 * change + 1]);
      }
    }
    const initial = this.doc.initial[p] ?? [];
    for (let place = 0; place < initial.length; place += 2) {
      if (initial[place] === variable) return this.text(initial[place + 1]);
    }
    return "";
  }

  /** @param {number | undefined} value */
  text(value) {
    return value === undefined || value < 0 ? "" : this.doc.values[value];
  }

  /**
   * The source that a step may run.
   * @param {number} event with which it begins @returns {Block[]}
   */
  source(event) {
    const run = this.run;
    const kind = run.kindName(event);
    const key = kind === "deliver" ? `deliver ${run.message(event)[0]}` : kind;
    return (this.doc.handlers[key] ?? []).map((block) => this.doc.blocks[block]);
  }
}
