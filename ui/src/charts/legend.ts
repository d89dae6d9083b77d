/** Legends, which explain colors and signs. */

import { el } from "../dom";
import type { Role } from "../report_data";
import { LINES } from "./theme";

/** Returns an entry for a line: its color and its name. */
export function key(role: Role, label: string): HTMLElement {
  return el("li", {}, el("span", { class: `swatch ${role}`, "aria-hidden": "true" }), label);
}

/** Returns the colors of a heat map, from few operations to many. */
export function scale(steps: number, least: string, most: string): HTMLElement {
  const colors = Array.from({ length: steps }, (_, step) => el("span", { class: `swatch heat-${step}`, "aria-hidden": "true" }));
  return el("ul", { class: "legend" }, el("li", {}, least, el("span", { class: "ramp" }, ...colors), most));
}

/** Returns an entry for a sign, in the color of a line, with its meaning. */
export function sign(letter: string, order: number | null, label: string): HTMLElement {
  const color = order === null ? "" : ` line-${order % LINES}`;
  return el("li", {}, el("span", { class: `sign${color}`, "aria-hidden": "true" }, letter), label);
}
