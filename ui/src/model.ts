/**
 * The JSON of a report's file. Its counterpart is crates/report/src/html/model.rs; change the two together.
 *
 * All texts are escaped and bounded, and are set only as text.
 */

export interface Report {
  title: string;
  overview: Overview;
  headline: Headline[];
  charts: Chart[];
  groups: Group[];
  times: Times;
  sections: Section[];
}

export interface Overview {
  word: string;
  tone: "good" | "caution" | "bad";
  pieces: string[];
  notes: string[];
}

export interface Headline {
  label: string;
  value: string;
  detail: string;
}

/** The columns of all charts over time, in seconds from the start of the run. */
export interface Times {
  starts: number[];
  end: number;
  /** Intervals in each column. */
  merged: number;
  window: [number, number] | null;
}

export type Chart = ChartText & (SeriesPlot | QuantilesPlot | HeatPlot | PointsPlot);

export interface ChartText {
  id: string;
  title: string;
  caption: string;
}

export interface SeriesPlot {
  kind: "series";
  unit: Unit;
  log: boolean;
  lines: Line[];
}

export interface QuantilesPlot {
  kind: "quantiles";
  quantiles: number[];
  lines: Line[];
}

export interface HeatPlot {
  kind: "heat";
  column_seconds: number;
  /** Begins of the rows and the end of the last one, in nanoseconds. */
  edges: number[];
  /** Counts of each column by row. */
  columns: number[][];
}

/** Small charts on the same axes, which show one of several metrics at a time. */
export interface Group {
  id: string;
  title: string;
  caption: string;
  /** Names of the lines, in the order of their marks. */
  lines: string[];
  choices: Choice[];
}

export interface Choice {
  label: string;
  caption: string;
  charts: Chart[];
}

/** Marks over loads, or over the values of a setting, joined by lines. */
export interface PointsPlot {
  kind: "points";
  across: Across;
  unit: Unit;
  log: boolean;
  lines: Marks[];
  bounds: Bound[];
  brackets: Bracket[];
}

/** The horizontal axis of marks. The position of a value is its index. */
export type Across =
  | { kind: "load"; label: string; unit: Unit; log: boolean }
  | { kind: "values"; label: string; names: string[] };

export interface Marks {
  label: string;
  /** Index of the color, and of the shape of plain marks. */
  order: number;
  points: Mark[];
}

export interface Mark {
  x: number;
  y: number | null;
  /** Range of the value. */
  range: [number, number] | null;
  shape: "plain" | "passed" | "failed";
}

export interface Bound {
  label: string;
  value: number;
}

/** A load line: it lies between a load that passed and one that failed, or above one that passed. */
export interface Bracket {
  label: string;
  order: number;
  passed: number;
  failed: number | null;
}

/** Units: operations per second, bytes per second, a count, nanoseconds, a share of 1, a multiple. */
export type Unit = "rate" | "bytes" | "count" | "time" | "share" | "ratio";

export type Role = "main" | "secondary" | "third" | "failed";

export type Values = (number | null)[];

export interface Line {
  label: string;
  role: Role;
  values: Values;
  /** Lowest and highest value of each column; empty if each column is one interval. */
  low: Values;
  high: Values;
}

export interface Section {
  title: string;
  blocks: Block[];
}

export type Block =
  | { kind: "line"; text: string }
  | { kind: "item"; label: string; texts: string[] }
  | { kind: "verbatim"; label: string; text: string }
  | { kind: "table"; head: string[]; left: boolean[]; rows: string[][] };
