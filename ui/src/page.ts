/** The text of a report: the result, the main metrics, and the sections. */

import { el, slug, table } from "./dom";
import type { Block, Headline, Overview, Report, Section } from "./report_data";

/** Returns the result, what limited the run, and the notes that a reader needs to interpret the numbers. */
function overview(found: Overview): HTMLElement {
  const [first = "", ...others] = found.pieces;
  const line = el("p", { class: "result" }, el("strong", { class: `badge ${found.tone}` }, found.word), " ", el("span", {}, first));
  const element = el("section", { "aria-label": "Result" }, line);
  if (others.length > 0) element.append(el("p", { class: "pieces" }, others.join(" · ")));
  if (found.notes.length > 0) element.append(el("ul", { class: "notes" }, ...found.notes.map((note) => el("li", {}, note))));
  return element;
}

/** Returns the main metrics. */
function headline(metrics: Headline[]): HTMLElement {
  const one = (metric: Headline) =>
    el("div", {}, el("dt", {}, metric.label), el("dd", { class: "value" }, metric.value), el("dd", {}, metric.detail));
  return el("dl", { class: "headline" }, ...metrics.map(one));
}

/** Returns the elements of blocks, in order. Consecutive items become one list. */
function blocks(title: string, all: Block[]): HTMLElement[] {
  const elements: HTMLElement[] = [];
  for (const block of all) {
    switch (block.kind) {
      case "line":
        elements.push(el("p", {}, block.text));
        break;
      case "verbatim":
        elements.push(el("pre", { tabindex: "0", role: "region", "aria-label": block.label }, block.text));
        break;
      case "table":
        elements.push(table(title, block.head, block.left, block.rows));
        break;
      case "item": {
        const last = elements[elements.length - 1];
        const list = last instanceof HTMLDListElement ? last : el("dl", { class: "items" });
        if (list !== last) elements.push(list);
        list.append(el("div", {}, el("dt", {}, block.label), ...block.texts.map((text) => el("dd", {}, text))));
      }
    }
  }
  return elements;
}

function section(found: Section): HTMLElement {
  const id = slug(found.title);
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, found.title), ...blocks(found.title, found.blocks));
}

/** Returns links to the charts and sections. */
function contents(report: Report): HTMLElement {
  const links: [string, string][] = report.sections.map((found) => [slug(found.title), found.title]);
  links.unshift(...report.groups.map((found): [string, string] => [found.id, found.title]));
  if (report.charts.length > 0) links.unshift(["charts", "Charts"]);
  const items = links.map(([id, title]) => el("li", {}, el("a", { href: `#${id}` }, title)));
  return el("nav", { "aria-label": "Contents" }, el("ul", {}, ...items));
}

/** Arranges small charts in pairs. If one remains, it takes the full width. */
function paired(figures: HTMLElement[]): HTMLElement[] {
  const small = figures.filter((figure) => !figure.classList.contains("wide"));
  if (small.length % 2 === 1) small[small.length - 1]?.classList.add("wide");
  return figures;
}

/** Returns the page with its figures. */
export function page(report: Report, figures: HTMLElement[], groups: HTMLElement[]): Node[] {
  const charts = el("section", { id: "charts", "aria-labelledby": "charts-title" }, el("h2", { id: "charts-title" }, "Charts"));
  charts.append(el("div", { class: "charts" }, ...paired(figures)));
  const main = el("main", { id: "main", tabindex: "-1" }, overview(report.overview));
  if (report.headline.length > 0) main.append(headline(report.headline));
  main.append(contents(report));
  if (figures.length > 0) main.append(charts);
  if (figures.length + groups.length === 0) main.append(el("p", { class: "empty" }, "Nothing was measured, so there are no charts."));
  main.append(...groups);
  main.append(...report.sections.map(section));
  const skip = el("a", { class: "skip", href: "#main" }, "Skip to the report");
  const header = el("header", {}, el("h1", {}, "Plimsoll report"), el("p", {}, report.title));
  return [skip, header, main];
}
