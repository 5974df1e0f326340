// @ts-check
/** Talks to the studio's server, shows when it cannot, and goes on when it can again. */

import { byId } from "./words.js";

const HEARTBEAT = 5000; // milliseconds between two questions whether the studio is there
const AGAIN = 1000; // after it was not
const ENOUGH = 4000; // for an answer
const SEEN = 2500; // how long it is shown that the studio is back

/** The studio does not answer. */
export class Lost extends Error {
  constructor() {
    super("The studio does not answer. Is `congenial studio` still running? Try again when it is.");
  }
}

/** @type {(() => void)[]} what waits for the studio */
let waiting = [];
let lost = false;

/**
 * What the server says; an error says what happened.
 * @param {string} path @param {object} [body]
 */
export async function ask(path, body) {
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {});
  } catch {
    noteLost();
    throw new Lost();
  }
  if (!answer.headers.get("content-type")?.startsWith("application/json")) throw new Error("Another studio runs there now. Open the address that it has printed.");
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? `the studio answered ${answer.status}`);
  return said;
}

/**
 * The same for what goes on by itself: if the studio is lost, wait until it is back, and ask again.
 * @param {string} path @param {object} [body]
 */
export async function askPatiently(path, body) {
  for (;;) {
    try {
      return await ask(path, body);
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      await new Promise((done) => waiting.push(() => done(null)));
    }
  }
}

/** Notice when the studio is gone, even if nothing is asked of it. */
export function watchConnection() {
  byId("connection-again").addEventListener("click", () => isThere());
  setInterval(() => {
    if (!lost && !document.hidden) isThere();
  }, HEARTBEAT);
}

async function isThere() {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), ENOUGH);
  try {
    const answer = await fetch("api/alive", { signal: patience.signal, cache: "no-store" });
    if (answer.ok) noteBack();
    else say("Another studio runs there now. Open the address that it has printed.");
    return true;
  } catch {
    noteLost();
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function noteLost() {
  if (lost) return;
  lost = true;
  say("The studio does not answer. Trying again ...");
  byId("connection-again").hidden = false;
  const again = async () => {
    if (!lost || (await isThere())) return;
    setTimeout(again, AGAIN);
  };
  setTimeout(again, AGAIN);
}

function noteBack() {
  if (!lost) return;
  lost = false;
  say("The studio is back.");
  byId("connection").classList.add("good");
  byId("connection-again").hidden = true;
  setTimeout(() => {
    if (!lost) byId("connection").hidden = true;
  }, SEEN);
  const ready = waiting;
  waiting = [];
  for (const done of ready) done();
}

/** @param {string} text */
function say(text) {
  byId("connection-said").textContent = text;
  byId("connection").classList.remove("good");
  byId("connection").hidden = false;
}
