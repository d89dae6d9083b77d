/** What all charts share: size, axes, and cursor. */

import uPlot from "uplot";
import { decades, logTicks, TIME_STEPS, top } from "../axis";
import { instant, tick } from "../format";
import type { Unit } from "../report_data";
import { theme } from "./theme";

/** The parts of a chart on the page. */
export interface Drawn {
  /** Summary of the chart in a sentence. */
  summary: string;
  /** Legend, which explains the lines or colors. */
  legend: HTMLElement;
  /** Name of the horizontal axis, unless it shows time or percentiles. */
  across?: string;
  /** Returns a table with the numbers of the chart. */
  table: () => HTMLElement;
  /** Draws the chart into an element. */
  mount: (into: HTMLElement, read: (text: string) => void, done: () => void) => uPlot;
}

/** Minimum distance between ticks that are not evenly spaced, in pixels. */
const APART = 34;

export const FONT = "12px system-ui, sans-serif";
const HEIGHT = 220;
/** Height of the space below a chart for the labels of its axis, in pixels. */
export const TICKS_ROOM = 28;

/** Returns the width and height of a plot for a box of this width. */
export function size(width: number, height = HEIGHT): { width: number; height: number } {
  return { width: Math.max(200, Math.floor(width)), height };
}

/** Returns the options that all charts share. */
export function base(into: HTMLElement, options: Omit<uPlot.Options, "width" | "height">, height = HEIGHT): uPlot.Options {
  return {
    ...size(into.clientWidth, height),
    padding: [10, 22, 0, 4],
    legend: { show: false },
    ...options,
  };
}

/** Returns an axis in the colors of the page. */
export function axis(options: uPlot.Axis): uPlot.Axis {
  return {
    font: FONT,
    stroke: () => theme.now.soft,
    grid: { stroke: () => theme.now.grid, width: 1 },
    ticks: { stroke: () => theme.now.grid, width: 1, size: 4 },
    ...options,
  };
}

/** Returns the time axis, which starts at the start of the run. */
export function timeAxis(): uPlot.Axis {
  return axis({ size: TICKS_ROOM, incrs: TIME_STEPS, space: 70, values: (_, marks) => marks.map(instant) });
}

/** Returns the width that the longest label of an axis needs. */
function room(self: uPlot, labels: string[] | null): number {
  self.ctx.save();
  self.ctx.font = FONT.replace("12px", `${12 * devicePixelRatio}px`);
  const widths = (labels ?? []).map((label) => self.ctx.measureText(label).width / devicePixelRatio);
  self.ctx.restore();
  return Math.ceil(Math.max(20, ...widths)) + 14;
}

/** Returns the labels of ticks. Going from right to left, a label that would touch its neighbor on the right is left empty. */
export function apart(places: number[], texts: string[], least = APART): string[] {
  let last = Infinity;
  const kept = places.map((place, index) => ({ place, text: texts[index] ?? "" })).reverse().map(({ place, text }) => {
    if (last - place < least) return "";
    last = place;
    return text;
  });
  return kept.reverse();
}

/** Returns the vertical axis, which shows values. */
export function valueAxis(unit: Unit, log: boolean): uPlot.Axis {
  const values = (_: uPlot, marks: number[]) => marks.map((mark) => tick(unit, mark));
  const marks = (_: uPlot, __: number, low: number, high: number) => logTicks(low, high);
  return axis({ size: room, space: 36, values, ...(log ? { splits: marks, filter: (_: uPlot, all: number[]) => all } : {}) });
}

/** Returns the scale of the vertical axis. It starts at 0, or is logarithmic. */
export function valueScale(unit: Unit, log: boolean): uPlot.Scale {
  if (log) {
    return { distr: 3, log: 10, range: (_, low, high) => (low > 0 && high > 0 ? decades(low, high) : [1, 10]) };
  }
  const range = (_: uPlot, __: number, high: number): [number, number] => [0, unit === "share" ? Math.max(1, top(high)) : top(high)];
  return { range };
}
