/** Times by percentile. Each nine takes as much room as the one before, so that the tail is seen. */

import uPlot from "uplot";
import { PERCENTILE_MARKS, place, quantileAt } from "../axis";
import { el, table } from "../dom";
import { percentile, shown, time } from "../format";
import type { Line, QuantilesPlot } from "../model";
import { key } from "./legend";
import { apart, axis, base, type Drawn, MARKS_ROOM, valueAxis, valueScale } from "./plot";
import { theme } from "./theme";

/** Percentiles in the table and in the summary. */
const TOLD = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/** The value of a line at a quantile; null where the line has ended. */
export function valueAt(plot: QuantilesPlot, line: Line, q: number): number | null {
  const index = plot.quantiles.findIndex((found) => Math.abs(found - q) < 1e-9);
  return line.values[index] ?? null;
}

function told(plot: QuantilesPlot, line: Line, q: number): string {
  const value = valueAt(plot, line, q);
  return value === null ? "–" : time(value);
}

function rows(plot: QuantilesPlot): HTMLElement {
  const cells = TOLD.map((q) => [percentile(q), ...plot.lines.map((line) => told(plot, line, q))]);
  return table("Figures of this chart", ["percentile", ...plot.lines.map((line) => line.label)], [true], cells);
}

function summary(plot: QuantilesPlot): string {
  const of = (line: Line) => `${line.label} p50 ${told(plot, line, 0.5)}, p99 ${told(plot, line, 0.99)}`;
  return plot.lines.map(of).join("; ");
}

function texts(self: uPlot, marks: number[]): string[] {
  return apart(marks.map((x) => self.valToPos(x, "x")), marks.map((x) => percentile(quantileAt(x))));
}

/** A chart by percentile. */
export function quantiles(plot: QuantilesPlot): Drawn {
  const x = plot.quantiles.map(place);
  const values = plot.lines.map((line) => x.map((_, index) => line.values[index] ?? null));
  const styles: uPlot.Series[] = plot.lines.map((line) => ({
    label: line.label,
    width: 2,
    stroke: () => theme.now.roles[line.role],
    points: { show: false },
    ...(line.role === "main" ? {} : { dash: line.role === "failed" ? [2, 3] : [6, 3] }),
  }));
  const mount: Drawn["mount"] = (into, read, done) => {
    const tell = (self: uPlot) => {
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
        axis({ size: MARKS_ROOM, splits: () => PERCENTILE_MARKS.map(place), values: texts }),
        valueAxis("time", true),
      ],
      series: [{}, ...styles],
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { draw: [done], setCursor: [tell] },
    });
    return new uPlot(options, [x, ...values] as uPlot.AlignedData, into);
  };
  const legend = el("ul", { class: "legend" }, ...plot.lines.map((line) => key(line.role, line.label)));
  return { summary: summary(plot), legend, table: () => rows(plot), mount };
}
