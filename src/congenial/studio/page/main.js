// @ts-check
/** Starts the page: with the run that is in it, or as the studio of the server that it came from. */

import { ExploreView } from "./explore_view.js";
import { RunView } from "./run_view.js";
import { Studio } from "./studio.js";
import { byId } from "./words.js";

/** Light, dark, or as the system is. */
function theme() {
  const root = document.documentElement;
  try {
    root.dataset.theme = localStorage.getItem("congenial-theme") ?? "";
  } catch {
    root.dataset.theme = "";
  }
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("congenial-theme", root.dataset.theme);
    } catch {
      // a page opened from a file may have no storage
    }
    document.dispatchEvent(new Event("congenial-theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("congenial-theme")));
}

function help() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("help"));
  const open = () => {
    if (!dialog.open) dialog.showModal();
  };
  byId("help-open").addEventListener("click", open);
  byId("help-close").addEventListener("click", () => dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.key === "?" && !/INPUT|SELECT|TEXTAREA/.test(/** @type {HTMLElement} */ (event.target).tagName)) open();
  });
}

/**
 * A part of the page that holds data; null if there is none.
 * @param {string} id
 */
function embedded(id) {
  return document.getElementById(id)?.textContent || null;
}

/** @param {unknown} error */
function fail(error) {
  byId("problem").textContent = `This page could not be shown: ${error instanceof Error ? error.message : error}`;
  byId("problem").hidden = false;
}

try {
  theme();
  help();
  const run = embedded("run-document");
  if (run) {
    byId("run").hidden = false;
    // the states are read after the first picture, for they may be many
    const states = () =>
      new Promise((done, failed) =>
        setTimeout(() => {
          try {
            done(JSON.parse(embedded("states-document") ?? "null"));
          } catch (error) {
            failed(error);
          }
        }, 30),
      );
    const explored = embedded("explore-document");
    if (explored) new ExploreView({}, JSON.parse(explored)).open(JSON.parse(run), /** @type {any} */ (states));
    else new RunView(JSON.parse(run), /** @type {any} */ (states));
  } else new Studio().begin().catch(fail);
} catch (error) {
  fail(error);
}
