/** A group of small charts with the same axes, and buttons that choose the metric. */

import { sign } from "./charts/legend";
import { valueRange } from "./charts/points";
import { letter } from "./charts/shapes";
import { el } from "./dom";
import { figure } from "./figure";
import * as live from "./live";
import type { Choice, Group, Times } from "./report_data";

/** Returns the lowest and highest value of all charts of a metric, which share one axis. */
export function sharedRange(choice: Choice): [number, number] | null {
  const all = choice.charts.flatMap((chart) => (chart.kind === "points" ? [valueRange(chart)] : []));
  const found = all.filter((one): one is [number, number] => one !== null);
  return found.length > 0 ? [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))] : null;
}

/** A group, with a function that draws it once it is on the page. */
export interface ShownGroup {
  element: HTMLElement;
  draw: () => void;
}

/** Returns the section of a group. */
export function group(found: Group, times: Times): ShownGroup {
  const charts = el("div", { class: "multiples", id: `${found.id}-charts` });
  const about = el("p", { class: "about", "aria-live": "polite" });
  let plots: (() => void)[] = [];
  const buttons = found.choices.map((choice) => {
    const button = el("button", { type: "button", "aria-pressed": "false", "aria-controls": charts.id }, choice.label);
    button.addEventListener("click", () => choose(choice));
    return button;
  });
  const choose = (choice: Choice) => {
    plots.forEach((remove) => remove());
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(found.choices[index] === choice)));
    const shared = { range: sharedRange(choice) };
    const figures = choice.charts.map((chart) => figure(chart, times, shared));
    about.textContent = choice.caption;
    charts.classList.toggle("single", figures.length === 1);
    charts.replaceChildren(...figures.map((shown) => shown.element));
    plots = figures.map((shown) => live.add(shown.draw()));
  };
  const title = `${found.id}-title`;
  const element = el(
    "section",
    { id: found.id, class: "group", "aria-labelledby": title },
    el("h2", { id: title }, found.title),
    el("p", {}, found.caption),
    el("div", { class: "choices", role: "group", "aria-label": "Metric" }, ...buttons),
    about,
    el("ul", { class: "legend" }, ...found.lines.map((label, order) => sign(letter(order), order, label))),
    charts,
  );
  return { element, draw: () => found.choices[0] && choose(found.choices[0]) };
}
