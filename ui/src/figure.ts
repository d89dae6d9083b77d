/** A chart on the page: title, legend, plot, values at the cursor, caption, and a table of its numbers. */

import type uPlot from "uplot";
import { heat } from "./charts/heat";
import { type Drawn, size } from "./charts/plot";
import { type SharedAxis, points } from "./charts/points";
import { quantiles } from "./charts/quantiles";
import { series } from "./charts/series";
import { el } from "./dom";
import type { Chart, Times } from "./report_data";

/** Returns the plot of a chart. */
function drawn(chart: Chart, times: Times, shared?: SharedAxis): Drawn {
  switch (chart.kind) {
    case "series":
      return series(chart, times);
    case "quantiles":
      return quantiles(chart);
    case "heat":
      return heat(chart, times);
    case "points":
      return points(chart, shared);
  }
}

/** Returns whether a chart should take the full width of the page. */
function isWide(chart: Chart): boolean {
  if (chart.kind === "points") return chart.unit === "time";
  return chart.kind !== "series" || chart.unit === "time";
}

/** Returns an element that the reader can open. The table inside it is created when it is opened for the first time. */
function behind(make: () => HTMLElement): HTMLElement {
  const details = el("details", {}, el("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => details.append(make()), { once: true });
  return details;
}

/** A figure, with a function that draws it once it is on the page. */
export interface Shown {
  element: HTMLElement;
  draw: () => uPlot;
}

/** Returns the figure of a chart. With a `shared` axis, it is one of several small charts. */
export function figure(chart: Chart, times: Times, shared?: SharedAxis): Shown {
  const what = drawn(chart, times, shared);
  const kind = shared ? "small" : isWide(chart) ? "wide" : "";
  const place = el("div", { class: "plot", role: "img", "aria-label": `${chart.title}: ${what.summary}` });
  const readout = el("p", { class: "readout", "aria-hidden": "true" });
  const element = el(
    "figure",
    { id: chart.id, ...(kind ? { class: kind } : {}) },
    el("h3", {}, chart.title),
    ...(shared ? [] : [what.legend]),
    place,
    ...(what.across ? [el("p", { class: "across", "aria-hidden": "true" }, what.across)] : []),
    readout,
    el("figcaption", {}, chart.caption),
    behind(what.table),
  );
  const read = (text: string) => (readout.textContent = text);
  const done = () => element.setAttribute("data-drawn", "true");
  return { element, draw: () => follow(what.mount(place, read, done), place) };
}

/** Keeps a chart as wide as its element. */
function follow(plot: uPlot, place: HTMLElement): uPlot {
  const height = plot.height;
  new ResizeObserver(() => {
    const wanted = size(place.clientWidth, height);
    if (wanted.width !== plot.width) plot.setSize(wanted);
  }).observe(place);
  return plot;
}
