/** The chart of times by percentile. The distance from p90 to p99 equals the distance from p99 to p99.9, so that the tail is visible. */

import uPlot from "uplot";
import { PERCENTILE_TICKS, position, quantileAt } from "../axis";
import { el, table } from "../dom";
import { percentile, shown, time } from "../format";
import type { Line, QuantilesPlot } from "../report_data";
import { key } from "./legend";
import { apart, axis, base, type Drawn, TICKS_ROOM, valueAxis, valueScale } from "./plot";
import { theme } from "./theme";

/** Quantiles that the table shows. */
const SHOWN = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/** Returns the value of a line at a quantile, or null if the line ends before it. */
export function valueAt(plot: QuantilesPlot, line: Line, q: number): number | null {
  const index = plot.quantiles.findIndex((found) => Math.abs(found - q) < 1e-9);
  return line.values[index] ?? null;
}

function text(plot: QuantilesPlot, line: Line, q: number): string {
  const value = valueAt(plot, line, q);
  return value === null ? "–" : time(value);
}

function rows(plot: QuantilesPlot): HTMLElement {
  const cells = SHOWN.map((q) => [percentile(q), ...plot.lines.map((line) => text(plot, line, q))]);
  return table("Numbers of this chart", ["percentile", ...plot.lines.map((line) => line.label)], [true], cells);
}

function summary(plot: QuantilesPlot): string {
  const of = (line: Line) => `${line.label} p50 ${text(plot, line, 0.5)}, p99 ${text(plot, line, 0.99)}`;
  return plot.lines.map(of).join("; ");
}

function texts(self: uPlot, marks: number[]): string[] {
  return apart(marks.map((x) => self.valToPos(x, "x")), marks.map((x) => percentile(quantileAt(x))));
}

/** Returns the plot. */
export function quantiles(plot: QuantilesPlot): Drawn {
  const x = plot.quantiles.map(position);
  const values = plot.lines.map((line) => x.map((_, index) => line.values[index] ?? null));
  const styles: uPlot.Series[] = plot.lines.map((line) => ({
    label: line.label,
    width: 2,
    stroke: () => theme.now.roles[line.role],
    points: { show: false },
    ...(line.role === "main" ? {} : { dash: line.role === "failed" ? [2, 3] : [6, 3] }),
  }));
  const mount: Drawn["mount"] = (into, read, done) => {
    const update = (self: uPlot) => {
      const index = self.cursor.idx;
      if (index === null || index === undefined) return read("");
      const parts = plot.lines.map((line) => {
        const value = line.values[index];
        return `${line.label} ${typeof value === "number" ? shown("time", value) : "–"}`;
      });
      read([percentile(plot.quantiles[index] ?? 0), ...parts].join(" · "));
    };
    const options = base(into, {
      scales: { x: { time: false, range: [0, 4] }, y: valueScale("time", true) },
      axes: [
        axis({ size: TICKS_ROOM, splits: () => PERCENTILE_TICKS.map(position), values: texts }),
        valueAxis("time", true),
      ],
      series: [{}, ...styles],
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { draw: [done], setCursor: [update] },
    });
    return new uPlot(options, [x, ...values] as uPlot.AlignedData, into);
  };
  const legend = el("ul", { class: "legend" }, ...plot.lines.map((line) => key(line.role, line.label)));
  return { summary: summary(plot), legend, table: () => rows(plot), mount };
}
