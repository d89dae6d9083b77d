/** Charts with marks that are joined by lines. The horizontal axis shows loads, or the values of a setting. */

import uPlot from "uplot";
import { beyond, decades, logTicks, top } from "../axis";
import { el, table } from "../dom";
import { shown, tick } from "../format";
import type { Across, Bracket, Mark, Marks, PointsPlot } from "../report_data";
import { sign } from "./legend";
import { apart, axis, base, type Drawn, FONT, TICKS_ROOM, valueAxis } from "./plot";
import { draw as drawMark, FAILED, letter, PASSED } from "./shapes";
import { faint, LINES, theme } from "./theme";

/** Height of a small chart, in pixels. */
export const SMALL = 170;

/** Minimum distance between ticks of the axis of values, in pixels. */
const VALUE_ROOM = 16;

/** Returns the label of a position on the axis. */
function named(across: Across, x: number): string {
  return across.kind === "load" ? shown(across.unit, x) : (across.names[x] ?? "");
}

/** Returns all horizontal positions that have a mark, in ascending order. */
export function positions(plot: PointsPlot): number[] {
  if (plot.across.kind === "values") return plot.across.names.map((_, index) => index);
  const all = new Set(plot.lines.flatMap((line) => line.points.map((mark) => mark.x)));
  return [...all].sort((a, b) => a - b);
}

/** Returns the lowest and highest value, or null if there are no values. */
export function valueRange(plot: PointsPlot): [number, number] | null {
  const marks = plot.lines.flatMap((line) => line.points).flatMap((mark) => [mark.y, ...(mark.range ?? [])]);
  const values = [...marks, ...plot.bounds.map((bound) => bound.value)].filter((value): value is number => value !== null);
  const shown = plot.log ? values.filter((value) => value > 0) : values;
  return shown.length > 0 ? [Math.min(...shown), Math.max(...shown)] : null;
}

/** Returns the ends of the vertical axis. */
function ends(plot: PointsPlot, found: [number, number] | null): [number, number] {
  const [low, high] = found ?? [1, 1];
  if (plot.log) return decades(low, high);
  // An axis from 0 % would hide one failure in a hundred or in a thousand, so start higher if possible.
  if (plot.unit === "share") return [[0.99, 0.9].find((from) => low >= from) ?? 0, Math.max(1, high)];
  return [0, top(high)];
}

/** Formats a value with its range. */
function value(plot: PointsPlot, mark: Mark): string {
  if (mark.y === null) return "–";
  const range = mark.range && mark.range[0] !== mark.range[1];
  return shown(plot.unit, mark.y) + (range ? ` (${mark.range?.map((end) => shown(plot.unit, end)).join(" to ")})` : "");
}

function at(plot: PointsPlot, line: Marks, x: number): string {
  const found = line.points.filter((mark) => mark.x === x).map((mark) => value(plot, mark));
  return found.length > 0 ? found.join(", ") : "–";
}

/** Returns a text that states whether the objectives were met at a position. */
function outcome(plot: PointsPlot, x: number): string {
  const all = plot.lines.flatMap((line) => line.points.filter((mark) => mark.x === x).map((mark) => mark.shape));
  const [passed, failed] = [all.includes("passed"), all.includes("failed")];
  return passed && failed ? "passed and failed" : passed ? "passed" : failed ? "failed" : "–";
}

function isJudged(plot: PointsPlot): boolean {
  return plot.lines.some((line) => line.points.some((mark) => mark.shape !== "plain"));
}

function rows(plot: PointsPlot): HTMLElement {
  const judged = isJudged(plot);
  const cells = positions(plot).map((x) => [
    named(plot.across, x),
    ...(judged ? [outcome(plot, x)] : []),
    ...plot.lines.map((line) => at(plot, line, x)),
  ]);
  const head = [plot.across.label, ...(judged ? ["objectives"] : []), ...plot.lines.map((line) => line.label)];
  return table("Numbers of this chart", head, judged ? [true, true] : [true], cells);
}

function summary(plot: PointsPlot): string {
  const of = (line: Marks) => {
    const found = valueRange({ ...plot, lines: [line], bounds: [] });
    return found ? `${line.label} from ${shown(plot.unit, found[0])} to ${shown(plot.unit, found[1])}` : `${line.label}: nothing`;
  };
  return [...plot.lines.map(of), ...plot.brackets.map((bracket) => bracketText(plot.across, bracket))].join("; ");
}

function bracketText(across: Across, bracket: Bracket): string {
  const passed = named(across, bracket.passed);
  return bracket.failed === null ? `${bracket.label} at least ${passed}` : `${bracket.label} between ${passed} and ${named(across, bracket.failed)}`;
}

function color(order: number): string {
  return theme.now.lines[order % LINES] ?? theme.now.ink;
}

/** Draws load lines behind everything else. */
function brackets(plot: PointsPlot): (self: uPlot) => void {
  return (self) => {
    const { ctx, bbox } = self;
    ctx.save();
    for (const bracket of plot.brackets) {
      const from = self.valToPos(bracket.passed, "x", true);
      const to = bracket.failed === null ? from : self.valToPos(bracket.failed, "x", true);
      // Give the band a minimum width, because the band of a precise search would be too narrow to see.
      const width = Math.max(3 * devicePixelRatio, to - from);
      ctx.fillStyle = faint(color(bracket.order), bracket.failed === null ? 0.6 : 0.25);
      ctx.fillRect(from, bbox.top, width, bbox.height);
    }
    ctx.restore();
  };
}

/** Draws the bounds that objectives set, with their labels. */
function bounds(self: uPlot, plot: PointsPlot): void {
  const { ctx, bbox } = self;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = theme.now.roles.failed;
  ctx.lineWidth = 1.2 * devicePixelRatio;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.font = FONT.replace("12px", `${11 * devicePixelRatio}px`);
  ctx.textAlign = "left";
  for (const bound of plot.bounds) {
    const y = self.valToPos(bound.value, "y", true);
    // At the top of the chart, there is no space for the label above the line.
    const above = y - bbox.top > 16 * devicePixelRatio;
    ctx.textBaseline = above ? "bottom" : "top";
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(bound.label, bbox.left + 4 * devicePixelRatio, y + (above ? -2 : 3) * devicePixelRatio);
  }
  ctx.restore();
}

/** Draws a line, its marks, and the ranges of the marks. */
function line(self: uPlot, found: Marks): void {
  const { ctx } = self;
  const ratio = devicePixelRatio;
  const drawn = found.points.flatMap((mark) => (mark.y === null ? [] : [{ mark, x: self.valToPos(mark.x, "x", true), y: self.valToPos(mark.y, "y", true) }]));
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color(found.order);
  ctx.lineWidth = 1.5 * ratio;
  ctx.beginPath();
  drawn.forEach(({ x, y }, index) => (index === 0 ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
  ctx.stroke();
  for (const { mark, x, y } of drawn) {
    if (mark.range) whisker(self, x, mark.range);
    ctx.lineWidth = 2 * ratio;
    drawMark(ctx, mark, found.order, x, y, 4 * ratio);
  }
  ctx.restore();
}

function whisker(self: uPlot, x: number, range: [number, number]): void {
  const { ctx } = self;
  const [low, high] = range.map((end) => self.valToPos(end, "y", true)) as [number, number];
  const half = 4 * devicePixelRatio;
  ctx.lineWidth = 1.2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, low);
  ctx.lineTo(x, high);
  for (const y of [low, high]) {
    ctx.moveTo(x - half, y);
    ctx.lineTo(x + half, y);
  }
  ctx.stroke();
}

/** Returns the horizontal axis and its scale. */
function horizontal(plot: PointsPlot, all: number[]): { axis: uPlot.Axis; scale: uPlot.Scale } {
  const across = plot.across;
  if (across.kind === "values") {
    const widest = (texts: string[]) => Math.max(VALUE_ROOM, ...texts.map((text) => text.length * 7 + 6));
    const values = (self: uPlot, marks: number[]) => {
      const texts = marks.map((mark) => across.names[mark] ?? "");
      return apart(marks.map((mark) => self.valToPos(mark, "x")), texts, widest(texts));
    };
    const range = (): [number, number] => [-0.5, across.names.length - 0.5];
    return { axis: axis({ size: TICKS_ROOM, splits: () => all, values }), scale: { time: false, range } };
  }
  const values = (self: uPlot, marks: number[]) => apart(marks.map((mark) => self.valToPos(mark, "x")), marks.map((mark) => tick(across.unit, mark)), 40);
  const [low, high] = beyond(all[0] ?? 1, all[all.length - 1] ?? 1, across.log);
  const range = (): [number, number] => [low, high];
  if (!across.log) return { axis: axis({ size: TICKS_ROOM, space: 60, values }), scale: { time: false, range } };
  const splits = () => logTicks(low, high);
  const filter = (_: uPlot, marks: number[]) => marks;
  return { axis: axis({ size: TICKS_ROOM, splits, filter, values }), scale: { time: false, distr: 3, log: 10, range } };
}

function legend(plot: PointsPlot): HTMLElement {
  const judged = isJudged(plot);
  const plain = (found: Marks) => found.points.every((mark) => mark.shape === "plain");
  const keys = plot.lines.map((found) => sign(plain(found) ? letter(found.order) : "━", found.order, found.label));
  if (judged) keys.push(sign(PASSED, null, "passed"), sign(FAILED, null, "failed"));
  keys.push(...plot.brackets.map((bracket) => sign("▮", bracket.order, bracketText(plot.across, bracket))));
  keys.push(...plot.bounds.map((bound) => el("li", {}, el("span", { class: "sign bound", "aria-hidden": "true" }, "╌╌"), bound.label)));
  return el("ul", { class: "legend" }, ...keys);
}

/** The vertical axis that several small charts share. */
export interface SharedAxis {
  /** Lowest and highest value of all charts. */
  range: [number, number] | null;
}

/** Returns the plot of a chart with marks. With a `shared` axis, the chart is small and has no legend of its own. */
export function points(plot: PointsPlot, shared?: SharedAxis): Drawn {
  const all = positions(plot);
  const [low, high] = ends(plot, shared ? shared.range : valueRange(plot));
  const mount: Drawn["mount"] = (into, read, done) => {
    const update = (self: uPlot) => {
      const x = all[self.cursor.idx ?? -1];
      if (x === undefined) return read("");
      read([named(plot.across, x), ...plot.lines.map((found) => `${found.label} ${at(plot, found, x)}`)].join(" · "));
    };
    const drawAll = (self: uPlot) => {
      bounds(self, plot);
      plot.lines.forEach((found) => line(self, found));
      done();
    };
    const x = horizontal(plot, all);
    const options = base(
      into,
      {
        scales: { x: x.scale, y: { range: () => [low, high], ...(plot.log ? { distr: 3 as const, log: 10 as const } : {}) } },
        axes: [x.axis, valueAxis(plot.unit, plot.log)],
        series: [{}, { paths: () => null, points: { show: false } }],
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        hooks: { drawAxes: [brackets(plot)], draw: [drawAll], setCursor: [update] },
      },
      shared ? SMALL : undefined,
    );
    return new uPlot(options, [all, all.map(() => null)], into);
  };
  return { summary: summary(plot), legend: shared ? el("ul", { class: "legend" }) : legend(plot), across: plot.across.label, table: () => rows(plot), mount };
}
