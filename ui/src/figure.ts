/** A chart on the page: title, what it shows, legend, what is under the cursor, and its figures as a table. */

import type uPlot from "uplot";
import { heat } from "./charts/heat";
import { type Drawn, size } from "./charts/plot";
import { type Beside, points } from "./charts/points";
import { quantiles } from "./charts/quantiles";
import { series } from "./charts/series";
import { el } from "./dom";
import type { Chart, Times } from "./model";

/** What the chart draws, by its kind. */
function drawn(chart: Chart, times: Times, beside?: Beside): Drawn {
  switch (chart.kind) {
    case "series":
      return series(chart, times);
    case "quantiles":
      return quantiles(chart);
    case "heat":
      return heat(chart, times);
    case "points":
      return points(chart, beside);
  }
}

/** What is wide or full of detail takes the width of the page. */
function isWide(chart: Chart): boolean {
  if (chart.kind === "points") return chart.unit === "time";
  return chart.kind !== "series" || chart.unit === "time";
}

/** A table that is made when it is first asked for. */
function behind(make: () => HTMLElement): HTMLElement {
  const details = el("details", {}, el("summary", {}, "Figures"));
  details.addEventListener("toggle", () => details.append(make()), { once: true });
  return details;
}

/** A figure that can be drawn once it stands on the page. */
export interface Shown {
  element: HTMLElement;
  draw: () => uPlot;
}

/** The figure of a chart; one of several small ones when it has others `beside` it. */
export function figure(chart: Chart, times: Times, beside?: Beside): Shown {
  const what = drawn(chart, times, beside);
  const kind = beside ? "small" : isWide(chart) ? "wide" : "";
  const place = el("div", { class: "plot", role: "img", "aria-label": `${chart.title}: ${what.summary}` });
  const readout = el("p", { class: "readout", "aria-hidden": "true" });
  const element = el(
    "figure",
    { id: chart.id, ...(kind ? { class: kind } : {}) },
    el("h3", {}, chart.title),
    ...(beside ? [] : [what.legend]),
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

/** Keeps a chart as wide as its place. */
function follow(plot: uPlot, place: HTMLElement): uPlot {
  const height = plot.height;
  new ResizeObserver(() => {
    const wanted = size(place.clientWidth, height);
    if (wanted.width !== plot.width) plot.setSize(wanted);
  }).observe(place);
  return plot;
}
