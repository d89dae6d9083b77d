/** Small charts on the same axes, and the choice of the figure that they show. */

import { sign } from "./charts/legend";
import { reach } from "./charts/points";
import { letter } from "./charts/shapes";
import { el } from "./dom";
import { figure } from "./figure";
import * as live from "./live";
import type { Choice, Group, Times } from "./model";

/** Lowest and highest value of all charts of a figure: they have one axis. */
export function together(choice: Choice): [number, number] | null {
  const all = choice.charts.flatMap((chart) => (chart.kind === "points" ? [reach(chart)] : []));
  const found = all.filter((one): one is [number, number] => one !== null);
  return found.length > 0 ? [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))] : null;
}

/** A group on the page; it is drawn once it stands there. */
export interface ShownGroup {
  element: HTMLElement;
  draw: () => void;
}

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
    const beside = { reach: together(choice) };
    const figures = choice.charts.map((chart) => figure(chart, times, beside));
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
    el("div", { class: "choices", role: "group", "aria-label": "Figure" }, ...buttons),
    about,
    el("ul", { class: "legend" }, ...found.lines.map((label, order) => sign(letter(order), order, label))),
    charts,
  );
  return { element, draw: () => found.choices[0] && choose(found.choices[0]) };
}
