/** A chart on the page: title, what it shows, legend, what is under the cursor, and its figures as a table. */

import type uPlot from "uplot";
import { heat } from "./charts/heat";
import { type Drawn, size } from "./charts/plot";
import { quantiles } from "./charts/quantiles";
import { series } from "./charts/series";
import { el } from "./dom";
import type { Chart, Times } from "./model";

/** What the chart draws, by its kind. */
function drawn(chart: Chart, times: Times): Drawn {
  switch (chart.kind) {
    case "series":
      return series(chart, times);
    case "quantiles":
      return quantiles(chart);
    case "heat":
      return heat(chart, times);
  }
}

/** What is wide or full of detail takes the width of the page. */
function isWide(chart: Chart): boolean {
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

/** The figure of a chart. */
export function figure(chart: Chart, times: Times): Shown {
  const what = drawn(chart, times);
  const place = el("div", { class: "plot", role: "img", "aria-label": `${chart.title}: ${what.summary}` });
  const readout = el("p", { class: "readout", "aria-hidden": "true" });
  const element = el(
    "figure",
    { id: chart.id, ...(isWide(chart) ? { class: "wide" } : {}) },
    el("h3", {}, chart.title),
    what.legend,
    place,
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
  new ResizeObserver(() => {
    const wanted = size(place.clientWidth);
    if (wanted.width !== plot.width) plot.setSize(wanted);
  }).observe(place);
  return plot;
}
