/**
 * What a report holds: the JSON of its file. Its counterpart is crates/report/src/html/data.rs; the two change together.
 *
 * All texts come escaped and bounded, and are set as text alone.
 */

export interface Report {
  title: string;
  verdict: Verdict;
  headline: Headline[];
  charts: Chart[];
  groups: Group[];
  times: Times;
  sections: Section[];
}

export interface Verdict {
  word: string;
  tone: "good" | "caution" | "bad";
  pieces: string[];
  lines: string[];
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
  /** Where rows begin, and the last one ends, in nanoseconds. */
  edges: number[];
  /** Counts of each column by row. */
  columns: number[][];
}

/** Small charts on the same axes, of one of several figures at a time. */
export interface Group {
  id: string;
  title: string;
  caption: string;
  /** What its lines are called, in the order of their marks. */
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

/** What lies on the horizontal axis of marks; a value's place is its number, from 0 on. */
export type Across =
  | { kind: "load"; label: string; unit: Unit; log: boolean }
  | { kind: "values"; label: string; names: string[] };

export interface Marks {
  label: string;
  /** Gives the line its colour, and its plain marks their shape. */
  order: number;
  points: Mark[];
}

export interface Mark {
  x: number;
  y: number | null;
  /** From where to where the value reaches. */
  range: [number, number] | null;
  shape: "plain" | "held" | "failed";
}

export interface Bound {
  label: string;
  value: number;
}

/** A load line: between a load that held and one that did not, or from one on. */
export interface Bracket {
  label: string;
  order: number;
  held: number;
  failed: number | null;
}

/** What values are: operations per second, bytes per second, things, nanoseconds, of 1, times another. */
export type Unit = "rate" | "bytes" | "count" | "time" | "share" | "ratio";

export type Role = "main" | "beside" | "third" | "failed";

export type Values = (number | null)[];

export interface Line {
  label: string;
  role: Role;
  values: Values;
  /** The lowest and highest of each column; empty where each column is one interval. */
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
