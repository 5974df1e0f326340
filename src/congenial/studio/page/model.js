// @ts-check
/** A run as a page knows it: the events of the run document, and what follows from them. */

/**
 * @typedef {object} RunDocument
 * @property {number} n
 * @property {string} algorithm
 * @property {string} title
 * @property {string} problem
 * @property {boolean} groups
 * @property {string} reference
 * @property {[string, string][]} about
 * @property {string} verdict
 * @property {boolean} ok
 * @property {boolean} timed
 * @property {boolean} cutShort
 * @property {boolean} [more] whether the run goes on
 * @property {string[]} pointers
 * @property {string[]} [names] what processes are called, if not by their numbers
 * @property {string[]} [groupNames]
 * @property {number} [second] the time that one second shows at normal speed
 * @property {string[]} kinds
 * @property {number[]} t
 * @property {number[]} kind
 * @property {number[]} node
 * @property {number[]} peer
 * @property {number[]} ref
 * @property {[string, Record<string, any>][]} messages
 * @property {any[]} values
 */

/**
 * A stretch of time in which a process waits, is inside, has crashed or is paused. `end` is the event that ends it, or
 * the number of events if none does.
 * @typedef {{what: "waiting" | "inside" | "crashed" | "paused", groups: number[], start: number, end: number}} Stretch
 */

/** A message on its way to one receiver: `got` is the event of its arrival or loss, or the number of events.
 * @typedef {{index: number, src: number, dst: number, sent: number, got: number, lost: boolean}} Packet */

const CAUSES = ["request", "exit", "issue", "deliver", "timer", "suspect", "trust", "crash", "recover"];
const OWN_STEPS = [...CAUSES, "drop", "pause", "resume", "cut", "heal"];
const BLOCK = 256;

export class Run {
  /** @param {RunDocument} doc */
  constructor(doc) {
    this.doc = doc;
    this.n = doc.n;
    /** @type {Record<string, number>} */
    this.K = Object.fromEntries(doc.kinds.map((name, number) => [name, number]));
    this.count = 0;
    this.end = 0;
    this.t = new Float64Array(0);
    this.node = this.peer = this.ref = new Int32Array(0);
    this.kind = new Uint8Array(0);
    /** @type {string[]} */
    this.messageKinds = [];
    /** @type {number[]} the events with which steps begin */
    this.steps = [];
    /** @type {number[]} the events in which a process enters */
    this.entries = [];
    /** @type {number[]} suspicions, and their ends */
    this.suspicions = [];
    /** @type {number[]} partitions, and their ends */
    this.cuts = [];
    /** @type {Stretch[][]} of each process, in order */
    this.stretches = [];
    /** @type {Packet[]} in the order of sending */
    this.packets = [];
    /** @type {Map<number, Packet>} by the event of their arrival or loss */
    this.byArrival = new Map();
    /** @type {Map<number, Packet>} the first of each sending */
    this.bySending = new Map();
    /** @type {number[]} of each block of packets, the last event at which one of them is under way */
    this.blockEnd = [];
    this.read();
    this.unit = this.typicalFlight();
  }

  /** Work everything out from the document. */
  read() {
    const doc = this.doc;
    this.count = doc.t.length;
    this.end = this.count ? doc.t[this.count - 1] : 0;
    this.t = Float64Array.from(doc.t);
    this.node = Int32Array.from(doc.node);
    this.peer = Int32Array.from(doc.peer);
    this.ref = Int32Array.from(doc.ref);
    this.kind = Uint8Array.from(doc.kind);
    this.messageKinds = [...new Set(doc.messages.map((message) => message[0]))].sort();
    this.steps = [];
    this.entries = [];
    this.suspicions = [];
    this.cuts = [];
    this.stretches = Array.from({ length: this.n }, () => []);
    this.packets = [];
    this.byArrival.clear();
    this.bySending.clear();
    this.blockEnd = [];
    this.findSteps();
    this.findStretches();
    this.findPackets();
  }

  /**
   * More has happened.
   * @param {Partial<RunDocument>} part what follows, in the same columns, and how the run stands now
   */
  extend(part) {
    for (const column of /** @type {const} */ (["t", "kind", "node", "peer", "ref", "messages", "values"])) {
      /** @type {any} */ (this.doc)[column] = /** @type {any[]} */ (this.doc[column]).concat(part[column] ?? []);
    }
    for (const name of /** @type {const} */ (["more", "verdict", "ok", "cutShort"])) {
      if (part[name] !== undefined) /** @type {any} */ (this.doc)[name] = part[name];
    }
    if (part.t?.length) this.read();
  }

  /** @param {number} p */
  name(p) {
    return this.doc.names?.[p] ?? String(p);
  }

  /** @param {number} group */
  groupName(group) {
    return this.doc.groupNames?.[group] ?? String(group);
  }

  /** @param {number[]} groups @param {string} between */
  groupNames(groups, between) {
    return groups.map((group) => this.groupName(group)).join(between);
  }

  /** @param {number} event @returns {string} */
  kindName(event) {
    return this.doc.kinds[this.kind[event]];
  }

  findSteps() {
    const own = new Set(OWN_STEPS.map((name) => this.K[name]));
    const { enter, suspect, trust, cut, heal, drop, send } = this.K;
    if (this.doc.names?.length) own.add(enter); // seen from outside, an entry is no part of another step
    for (let event = 0; event < this.count; event++) {
      const kind = this.kind[event];
      const lostAtOnce = kind === drop && event > 0 && this.ref[event] >= 0 && this.t[this.ref[event]] === this.t[event];
      if ((own.has(kind) && !lostAtOnce) || (event === 0 && kind !== send)) this.steps.push(event);
      if (kind === enter) this.entries.push(event);
      if (kind === suspect || kind === trust) this.suspicions.push(event);
      if (kind === cut || kind === heal) this.cuts.push(event);
    }
    if (this.count && this.steps[0] !== 0) this.steps.unshift(0);
  }

  findStretches() {
    const K = this.K;
    /** @type {(Stretch | null)[]} */
    const open = Array(this.n).fill(null);
    /** @type {(Stretch | null)[]} */
    const paused = Array(this.n).fill(null);
    /** @param {number} p @param {number} event */
    const close = (p, event) => {
      const stretch = open[p];
      if (stretch) stretch.end = event;
      open[p] = null;
    };
    /** @param {number} p @param {Stretch} stretch */
    const begin = (p, stretch) => {
      close(p, stretch.start);
      open[p] = stretch;
      this.stretches[p].push(stretch);
    };
    for (let event = 0; event < this.count; event++) {
      const p = this.node[event];
      const kind = this.kind[event];
      const blank = { start: event, end: this.count };
      if (kind === K.request) begin(p, { what: "waiting", groups: this.value(event), ...blank });
      else if (kind === K.enter) begin(p, { what: "inside", groups: [this.value(event)[0]], ...blank });
      else if (kind === K.exit || kind === K.eject || kind === K.recover) close(p, event);
      else if (kind === K.crash) begin(p, { what: "crashed", groups: [], ...blank });
      if (kind === K.pause) {
        paused[p] = { what: "paused", groups: [], ...blank };
        this.stretches[p].push(/** @type {Stretch} */ (paused[p]));
      } else if ((kind === K.resume || kind === K.crash) && paused[p]) {
        /** @type {Stretch} */ (paused[p]).end = event;
        paused[p] = null;
      }
    }
  }

  findPackets() {
    const { send, deliver, drop } = this.K;
    /** @type {Map<number, Packet[]>} */
    const bySending = new Map();
    for (let event = 0; event < this.count; event++) {
      const kind = this.kind[event];
      if (kind === send) bySending.set(event, []);
      else if (kind === deliver || kind === drop) {
        const sent = this.ref[event];
        const packet = { index: 0, src: this.peer[event], dst: this.node[event], sent, got: event, lost: kind === drop };
        bySending.get(sent)?.push(packet);
      }
    }
    for (const [sent, packets] of bySending) {
      const everyone = this.peer[sent] < 0;
      const expected = everyone ? this.n - 1 : 1;
      if (packets.length < expected) this.addMissing(sent, packets);
      if (packets.length) this.bySending.set(sent, packets[0]);
      for (const packet of packets) {
        packet.index = this.packets.length;
        this.packets.push(packet);
        this.byArrival.set(packet.got, packet);
      }
    }
    for (let start = 0; start < this.packets.length; start += BLOCK) {
      let last = 0;
      for (let at = start; at < Math.min(start + BLOCK, this.packets.length); at++) last = Math.max(last, this.packets[at].got);
      this.blockEnd.push(last);
    }
  }

  /**
   * Those that are still under way when the run ends.
   * @param {number} sent @param {Packet[]} packets
   */
  addMissing(sent, packets) {
    const src = this.node[sent];
    const there = new Set(packets.map((packet) => packet.dst));
    const receivers = this.peer[sent] >= 0 ? [this.peer[sent]] : [...Array(this.n).keys()].filter((p) => p !== src);
    for (const dst of receivers) {
      if (!there.has(dst)) packets.push({ index: 0, src, dst, sent, got: this.count, lost: false });
    }
  }

  /** How long a message usually takes: what one second shows at normal speed. */
  typicalFlight() {
    if (this.doc.second) return this.doc.second;
    if (!this.doc.timed || !this.count) return 1; // a step
    const arrived = this.packets.filter((packet) => packet.got < this.count && !packet.lost);
    const every = Math.max(1, Math.floor(arrived.length / 400));
    const times = arrived.filter((_, at) => at % every === 0).map((packet) => this.t[packet.got] - this.t[packet.sent]);
    times.sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] || 0;
    return median > 0 ? median : Math.max(this.end / Math.max(1, this.steps.length), 1e-9);
  }

  /**
   * The value that an event refers to.
   * @param {number} event
   */
  value(event) {
    return this.doc.values[this.ref[event]];
  }

  /**
   * Class and fields of the message that an event is about.
   * @param {number} event @returns {[string, Record<string, any>]}
   */
  message(event) {
    const sent = this.kind[event] === this.K.send ? event : this.ref[event];
    return sent < 0 ? ["?", {}] : this.doc.messages[this.ref[sent]];
  }

  /**
   * The last event that has happened at a time; -1 before the first.
   * @param {number} time
   */
  lastAt(time) {
    return upperBound(this.t, time) - 1;
  }

  /**
   * The step that an event belongs to; -1 before the first.
   * @param {number} event
   */
  stepOf(event) {
    return upperBound(this.steps, event) - 1;
  }

  /**
   * The last event of a step; -1 before the first.
   * @param {number} step
   */
  endOfStep(step) {
    if (step < 0) return -1;
    return step + 1 < this.steps.length ? this.steps[step + 1] - 1 : this.count - 1;
  }

  /**
   * What a process does just after an event: its stretch, or null if it is idle.
   * @param {number} p @param {number} at
   */
  stretchAt(p, at) {
    const found = this.stretches[p];
    let place = upperBound(found, at, (stretch) => stretch.start) - 1;
    for (let tries = 0; place >= 0 && tries < 3; place--, tries++) {
      if (found[place].end > at) return found[place];
    }
    return null;
  }

  /**
   * The packets under way just after an event.
   * @param {number} at @returns {Packet[]}
   */
  underWay(at) {
    const found = [];
    for (let block = 0; block < this.blockEnd.length; block++) {
      const start = block * BLOCK;
      if (this.packets[start].sent > at) break;
      if (this.blockEnd[block] <= at) continue;
      for (let place = start; place < Math.min(start + BLOCK, this.packets.length); place++) {
        const packet = this.packets[place];
        if (packet.sent > at) break;
        if (packet.got > at) found.push(packet);
      }
    }
    return found;
  }

  /**
   * The packets that are under way at some time between two, at most `most`.
   * @param {number} from @param {number} to @param {number} most @returns {Packet[] | null} null: there are more
   */
  packetsBetween(from, to, most) {
    const first = lowerBound(this.t, from);
    const last = upperBound(this.t, to) - 1;
    const found = [];
    for (let block = 0; block < this.blockEnd.length; block++) {
      const start = block * BLOCK;
      if (this.packets[start].sent > last) break;
      if (this.blockEnd[block] < first) continue;
      for (let place = start; place < Math.min(start + BLOCK, this.packets.length); place++) {
        const packet = this.packets[place];
        if (packet.sent > last) break;
        if (packet.got >= first) found.push(packet);
      }
      if (found.length > most) return null;
    }
    return found;
  }

  /**
   * When a packet arrives, or would if the run went on.
   * @param {Packet} packet
   */
  arrival(packet) {
    return packet.got < this.count ? this.t[packet.got] : Math.max(this.end, this.t[packet.sent] + 2 * this.unit);
  }

  /**
   * Which process suspects which one just after an event: pairs.
   * @param {number} at @returns {[number, number][]}
   */
  suspectedAt(at) {
    /** @type {Map<string, [number, number]>} */
    const pairs = new Map();
    for (const event of this.suspicions) {
      if (event > at) break;
      const key = `${this.node[event]} ${this.peer[event]}`;
      if (this.kind[event] === this.K.suspect) pairs.set(key, [this.node[event], this.peer[event]]);
      else pairs.delete(key);
    }
    return [...pairs.values()];
  }

  /**
   * The partitions in force just after an event: the sides of each.
   * @param {number} at @returns {number[][][]}
   */
  partitionsAt(at) {
    /** @type {number[][][]} */
    const inForce = [];
    for (const event of this.cuts) {
      if (event > at) break;
      const sides = this.value(event);
      if (this.kind[event] === this.K.cut) inForce.push(sides);
      else {
        const place = inForce.findIndex((other) => JSON.stringify(other) === JSON.stringify(sides));
        if (place >= 0) inForce.splice(place, 1);
      }
    }
    return inForce;
  }
}

/**
 * The first place whose number is at least `wanted`.
 * @param {ArrayLike<number>} numbers @param {number} wanted
 */
export function lowerBound(numbers, wanted) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first place whose number is above `wanted`.
 * @template T
 * @param {ArrayLike<T>} things @param {number} wanted
 * @param {(thing: T) => number} [number]
 */
export function upperBound(things, wanted, number = (thing) => /** @type {any} */ (thing)) {
  let low = 0;
  let high = things.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number(things[middle]) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
