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

export type Chart = ChartText & (SeriesPlot | QuantilesPlot | HeatPlot);

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

/** What values are: operations per second, bytes per second, things, nanoseconds, of 1. */
export type Unit = "rate" | "bytes" | "count" | "time" | "share";

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
  | { kind: "table"; head: string[]; left: boolean[]; rows: string[][] };
