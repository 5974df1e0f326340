// @ts-check
/** Saves pictures and tables as files. */

import { drawChart } from "./chart.js";
import { s } from "./words.js";

const PAPER = { ink: "#1b1f23", muted: "#5b646b", line: "#e2e4e0", surface: "#ffffff", accent: "#0072b2" };
const SHARP = 2; // pixels of a PNG for one of the picture

/** @param {string} name @param {Blob} content */
export function download(name, content) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(content);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * A picture that stands by itself, on white, with a title and a legend.
 * @param {import("./chart.js").Scene} scene
 */
export function pictureText(scene) {
  const height = Math.max(560, 110 + 18 * scene.series.length);
  const svg = s("svg", { xmlns: "http://www.w3.org/2000/svg", width: 960, height });
  drawChart(svg, { ...scene, width: 960, height, colours: PAPER, legend: true, hot: "", guide: null });
  return new XMLSerializer().serializeToString(svg);
}

/**
 * The same as pixels.
 * @param {string} picture @returns {Promise<Blob>}
 */
export async function pixels(picture) {
  const address = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * SHARP;
    canvas.height = image.height * SHARP;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the browser could not draw the picture"))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
