/** Reads the report out of its file and puts it on the page. */

import type uPlot from "uplot";
import { readTheme, theme } from "./charts/theme";
import { figure } from "./figure";
import type { Report } from "./model";
import { page } from "./page";

function start(): void {
  const data = document.getElementById("data")?.textContent;
  if (!data) return;
  const report = JSON.parse(data) as Report;
  document.title = `Plimsoll report: ${report.title}`;
  theme.now = readTheme();
  const figures = report.charts.map((chart) => figure(chart, report.times));
  document.body.prepend(...page(report, figures.map((shown) => shown.element)));
  recolor(figures.map((shown) => shown.draw()));
}

/** Draws charts anew when the page changes its colours, on the screen or for paper. */
function recolor(plots: uPlot[]): void {
  const again = () => {
    theme.now = readTheme();
    plots.forEach((plot) => plot.redraw(false));
  };
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", again);
}

start();
