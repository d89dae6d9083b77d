/** Reads the report from the data in its file, and puts it on the page. */

import { readTheme, theme } from "./charts/theme";
import { figure } from "./figure";
import { group } from "./group";
import * as live from "./live";
import type { Report } from "./report_data";
import { page } from "./page";

function start(): void {
  const data = document.getElementById("data")?.textContent;
  if (!data) return;
  const report = JSON.parse(data) as Report;
  document.title = `Plimsoll report: ${report.title}`;
  theme.now = readTheme();
  const figures = report.charts.map((chart) => figure(chart, report.times));
  const groups = report.groups.map((found) => group(found, report.times));
  document.body.prepend(...page(report, figures.map((shown) => shown.element), groups.map((shown) => shown.element)));
  figures.forEach((shown) => live.add(shown.draw()));
  groups.forEach((shown) => shown.draw());
  recolor();
}

/** Redraws the charts when the colors of the page change, for the screen or for print. */
function recolor(): void {
  const redraw = () => {
    theme.now = readTheme();
    live.redraw();
  };
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
}

start();
