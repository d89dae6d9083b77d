/** Charts with lines over time. A line is level within a column. */

import uPlot from "uplot";
import { el, table } from "../dom";
import { instant, shown } from "../format";
import type { Line, SeriesPlot, Times, Unit, Values } from "../report_data";
import { key } from "./legend";
import { base, type Drawn, timeAxis, valueAxis, valueScale } from "./plot";
import { faint, theme } from "./theme";

/** Returns every value twice: for the start and for the end of its column. */
function doubled(values: Values): Values {
  return values.flatMap((value) => [value, value]);
}

/** Returns the start and the end of every column. */
export function bounds(times: Times): number[] {
  return times.starts.flatMap((start, column) => [start, times.starts[column + 1] ?? times.end]);
}

/** Returns the lowest and highest value of a line. */
export function extremes(line: Line): [number, number] | null {
  const values = [...line.values, ...line.low, ...line.high].filter((value): value is number => value !== null);
  if (values.length === 0) return null;
  return values.reduce<[number, number]>(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

function summary(plot: SeriesPlot): string {
  const parts = plot.lines.map((line) => {
    const found = extremes(line);
    return found ? `${line.label} from ${shown(plot.unit, found[0])} to ${shown(plot.unit, found[1])}` : `${line.label}: nothing`;
  });
  return parts.join("; ");
}

/** Returns the text for the value of a line in a column. */
function at(unit: Unit, line: Line, column: number): string {
  const value = line.values[column];
  if (value === null || value === undefined) return "–";
  const [low, high] = [line.low[column], line.high[column]];
  const range = typeof low === "number" && typeof high === "number" && low !== high;
  return shown(unit, value) + (range ? ` (${shown(unit, low)} to ${shown(unit, high)})` : "");
}

function rows(plot: SeriesPlot, times: Times): HTMLElement {
  const cells = times.starts.map((start, column) => [instant(start), ...plot.lines.map((line) => at(plot.unit, line, column))]);
  return table("Numbers of this chart", ["from", ...plot.lines.map((line) => line.label)], [true], cells);
}

/** Returns the series of a line, and the two invisible series that bound its band. */
function drawn(line: Line): uPlot.Series[] {
  const common = { points: { show: false } };
  const main = { ...common, label: line.label, width: 1.5, stroke: () => theme.now.roles[line.role] };
  const bound = { ...common, width: 0, stroke: "transparent" };
  return line.low.length > 0 ? [main, bound, bound] : [main];
}

/** Shades the stages before and after the window. */
function shade(times: Times): (self: uPlot) => void {
  return (self) => {
    const [from, to] = times.window ?? [times.starts[0] ?? 0, times.end];
    const { left, top, width, height } = self.bbox;
    const place = (seconds: number) => Math.min(left + width, Math.max(left, self.valToPos(seconds, "x", true)));
    self.ctx.save();
    self.ctx.fillStyle = theme.now.shade;
    self.ctx.fillRect(left, top, place(from) - left, height);
    self.ctx.fillRect(place(to), top, left + width - place(to), height);
    self.ctx.restore();
  };
}

/** Draws a dashed line for each notable event. */
function mark(times: Times): (self: uPlot) => void {
  return (self) => {
    const { left, top, width, height } = self.bbox;
    self.ctx.save();
    self.ctx.strokeStyle = theme.now.soft;
    self.ctx.lineWidth = devicePixelRatio;
    self.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { at } of times.marks) {
      const place = self.valToPos(at, "x", true);
      if (place < left || place > left + width) continue;
      self.ctx.beginPath();
      self.ctx.moveTo(place, top);
      self.ctx.lineTo(place, top + height);
      self.ctx.stroke();
    }
    self.ctx.restore();
  };
}

/** Returns the events of a column. An event after the end of the chart belongs to the last column. */
export function marksWithin(times: Times, column: number): string[] {
  const isLast = column + 1 >= times.starts.length;
  const [from, to] = [times.starts[column] ?? 0, isLast ? Infinity : (times.starts[column + 1] ?? times.end)];
  return times.marks.filter(({ at }) => at >= from && at < to).map(({ label }) => label);
}

/** Returns the plot. */
export function series(plot: SeriesPlot, times: Times): Drawn {
  const data: Values[] = [bounds(times)];
  const all: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const line of plot.lines) {
    const first = all.length;
    all.push(...drawn(line));
    data.push(doubled(line.values));
    if (line.low.length > 0) {
      data.push(doubled(line.low), doubled(line.high));
      bands.push({ series: [first + 2, first + 1], fill: () => faint(theme.now.roles[line.role], 0.22) });
    }
  }
  const mount: Drawn["mount"] = (into, read, done) => {
    const update = (self: uPlot) => {
      const place = self.cursor.idx;
      if (place === null || place === undefined) return read("");
      const index = Math.floor(place / 2);
      const parts = plot.lines.map((line) => `${line.label} ${at(plot.unit, line, index)}`);
      read([instant(times.starts[index] ?? 0), ...parts, ...marksWithin(times, index)].join(" · "));
    };
    const options = base(into, {
      scales: { x: { time: false }, y: valueScale(plot.unit, plot.log) },
      axes: [timeAxis(), valueAxis(plot.unit, plot.log)],
      series: all,
      bands,
      cursor: { y: false, sync: { key: "time" }, points: { show: false } },
      hooks: { drawClear: [shade(times), mark(times)], draw: [done], setCursor: [update] },
    });
    return new uPlot(options, data as uPlot.AlignedData, into);
  };
  const legend = el("ul", { class: "legend" }, ...plot.lines.map((line) => key(line.role, line.label)));
  return { summary: summary(plot), legend, table: () => rows(plot, times), mount };
}
