/** What colours mean, in words. */

import { el } from "../dom";
import type { Role } from "../model";

/** A line's colour and name. */
export function key(role: Role, label: string): HTMLElement {
  return el("li", {}, el("span", { class: `swatch ${role}`, "aria-hidden": "true" }), label);
}

/** The colours of a heat map from few to many. */
export function scale(steps: number, least: string, most: string): HTMLElement {
  const colors = Array.from({ length: steps }, (_, step) => el("span", { class: `swatch heat-${step}`, "aria-hidden": "true" }));
  return el("ul", { class: "legend" }, el("li", {}, least, el("span", { class: "ramp" }, ...colors), most));
}
