/** The heat map: colors show how many operations there were by time and by response time. */

import uPlot from "uplot";
import { count as counted, instant, time } from "../format";
import { table } from "../dom";
import type { HeatPlot, Times } from "../report_data";
import { scale } from "./legend";
import { base, type Drawn, timeAxis, valueAxis } from "./plot";
import { theme } from "./theme";

const STEPS = 7;

/** Returns the index of the color for a count. The scale is logarithmic, so that one slow response in a thousand is visible. */
export function step(count: number, most: number): number {
  if (count <= 0) return -1;
  if (most <= 1) return STEPS - 1;
  return Math.min(STEPS - 1, Math.floor((Math.log(count) / Math.log(most)) * (STEPS - 0.001)));
}

function most(plot: HeatPlot): number {
  return plot.columns.reduce((all, column) => column.reduce((sum, count) => Math.max(sum, count), all), 0);
}

function band(plot: HeatPlot, row: number): string {
  return `${time(plot.edges[row] ?? 0)} to ${time(plot.edges[row + 1] ?? 0)}`;
}

/**
 * Returns the table. It has a line for each column with operations: their number, and the fastest, the most frequent and
 * the slowest response time.
 */
function rows(plot: HeatPlot): HTMLElement {
  const cells = plot.columns.flatMap((column, index) => {
    const sum = column.reduce((all, count) => all + count, 0);
    if (sum === 0) return [];
    const used = column.map((count) => count > 0);
    const [first, last] = [used.indexOf(true), used.lastIndexOf(true)];
    const at = column.indexOf(Math.max(...column));
    const found = [time(plot.edges[first] ?? 0), band(plot, at), time(plot.edges[last + 1] ?? 0)];
    return [[instant(index * plot.column_seconds), counted(sum), ...found]];
  });
  return table("Numbers of this chart", ["from", "succeeded", "all above", "most in", "all below"], [true], cells);
}

function paint(plot: HeatPlot, highest: number): (self: uPlot) => void {
  return (self) => {
    const x = plot.columns.map((_, column) => Math.round(self.valToPos(column * plot.column_seconds, "x", true)));
    x.push(Math.round(self.valToPos(plot.columns.length * plot.column_seconds, "x", true)));
    const y = plot.edges.map((edge) => Math.round(self.valToPos(edge, "y", true)));
    const { left, top, width, height } = self.bbox;
    self.ctx.save();
    self.ctx.beginPath();
    self.ctx.rect(left, top, width, height);
    self.ctx.clip();
    plot.columns.forEach((column, index) => {
      const [from = 0, to = 0] = [x[index], x[index + 1]];
      column.forEach((count, row) => {
        const color = theme.now.heat[step(count, highest)];
        const [below = 0, above = 0] = [y[row], y[row + 1]];
        if (color === undefined) return;
        self.ctx.fillStyle = color;
        self.ctx.fillRect(from, above, Math.max(1, to - from), Math.max(1, below - above));
      });
    });
    self.ctx.restore();
  };
}

/** Returns the text for the position of the cursor. */
function under(plot: HeatPlot, self: uPlot): string {
  const { left = -1, top = -1 } = self.cursor;
  if (left < 0 || top < 0) return "";
  const column = Math.floor(self.posToVal(left, "x") / plot.column_seconds);
  const value = self.posToVal(top, "y");
  const row = plot.edges.findIndex((edge, index) => edge <= value && value < (plot.edges[index + 1] ?? 0));
  const count = plot.columns[column]?.[row] ?? 0;
  return row < 0 ? "" : `${instant(column * plot.column_seconds)} · ${band(plot, row)} · ${counted(count)} succeeded`;
}

/** Returns the plot. It has the same time axis as the other charts. */
export function heat(plot: HeatPlot, times: Times): Drawn {
  const highest = most(plot);
  const [low = 1, high = 10] = [plot.edges[0], plot.edges[plot.edges.length - 1]];
  const end = Math.max(times.end, plot.column_seconds);
  const mount: Drawn["mount"] = (into, read, done) => {
    const options = base(into, {
      scales: {
        x: { time: false, range: (_, from, to) => [from, to] },
        y: { distr: 3, log: 10, range: () => [low, high] },
      },
      axes: [timeAxis(), valueAxis("time", true)],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      cursor: { sync: { key: "time", scales: ["x", null] }, points: { show: false } },
      hooks: { drawAxes: [paint(plot, highest)], draw: [done], setCursor: [(self: uPlot) => read(under(plot, self))] },
    });
    return new uPlot(options, [[times.starts[0] ?? 0, end], [null, null]], into);
  };
  const sum = plot.columns.reduce((all, column) => column.reduce((part, count) => part + count, all), 0);
  const summary = `${counted(sum)} operations between ${time(low)} and ${time(high)}`;
  return { summary, legend: scale(STEPS, "1", `${counted(highest)} operations`), table: () => rows(plot), mount };
}
