/** Common parts of all charts: size, axes, cursor. */

import uPlot from "uplot";
import { decades, logTicks, TIME_STEPS, top } from "../axis";
import { instant, tick } from "../format";
import type { Unit } from "../model";
import { theme } from "./theme";

/** A chart on the page. */
export interface Drawn {
  /** Summary in a sentence. */
  summary: string;
  /** Meaning of its lines or colors. */
  legend: HTMLElement;
  /** Name of the horizontal axis, if it is not time or a percentile. */
  across?: string;
  /** Its numbers as a table. */
  table: () => HTMLElement;
  /** Draws it into an element. */
  mount: (into: HTMLElement, read: (text: string) => void, done: () => void) => uPlot;
}

/** Pixels between ticks that are not evenly spaced. */
const APART = 34;

export const FONT = "12px system-ui, sans-serif";
const HEIGHT = 220;
/** Room below a chart for the ticks of its axis. */
export const TICKS_ROOM = 28;

/** Returns width and height of a plot in a box of this width. */
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

/** Returns the axis of time, from the start of the run. */
export function timeAxis(): uPlot.Axis {
  return axis({ size: TICKS_ROOM, incrs: TIME_STEPS, space: 70, values: (_, marks) => marks.map(instant) });
}

/** Returns the room for the longest label of an axis. */
function room(self: uPlot, labels: string[] | null): number {
  self.ctx.save();
  self.ctx.font = FONT.replace("12px", `${12 * devicePixelRatio}px`);
  const widths = (labels ?? []).map((label) => self.ctx.measureText(label).width / devicePixelRatio);
  self.ctx.restore();
  return Math.ceil(Math.max(20, ...widths)) + 14;
}

/** Returns the labels of ticks from right to left, without those that would touch the one before. */
export function apart(places: number[], texts: string[], least = APART): string[] {
  let last = Infinity;
  const kept = places.map((place, index) => ({ place, text: texts[index] ?? "" })).reverse().map(({ place, text }) => {
    if (last - place < least) return "";
    last = place;
    return text;
  });
  return kept.reverse();
}

/** Returns the axis of values. */
export function valueAxis(unit: Unit, log: boolean): uPlot.Axis {
  const values = (_: uPlot, marks: number[]) => marks.map((mark) => tick(unit, mark));
  const marks = (_: uPlot, __: number, low: number, high: number) => logTicks(low, high);
  return axis({ size: room, space: 36, values, ...(log ? { splits: marks, filter: (_: uPlot, all: number[]) => all } : {}) });
}

/** Returns the scale of values: from 0 up, or by decades. */
export function valueScale(unit: Unit, log: boolean): uPlot.Scale {
  if (log) {
    return { distr: 3, log: 10, range: (_, low, high) => (low > 0 && high > 0 ? decades(low, high) : [1, 10]) };
  }
  const range = (_: uPlot, __: number, high: number): [number, number] => [0, unit === "share" ? Math.max(1, top(high)) : top(high)];
  return { range };
}
