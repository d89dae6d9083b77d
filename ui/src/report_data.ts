/**
 * The JSON data of a report. This file must match crates/report/src/html/script_data.rs, so change the two together.
 *
 * All texts are escaped and have a maximum length. They must be inserted only as text.
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

/** The columns that charts over time share, in seconds from the start of the run. */
export interface Times {
  starts: number[];
  end: number;
  /** Number of intervals in each column. The last column may have fewer. */
  merged: number;
  window: [number, number] | null;
  marks: TimeMark[];
}

/** A notable event, in seconds from the start of the run. */
export interface TimeMark {
  at: number;
  label: string;
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
  /** Lower edge of each row and upper edge of the last one, in nanoseconds. */
  edges: number[];
  /** Counts by column, then by row. */
  columns: number[][];
}

/** A group of small charts with the same axes. All of them show the same metric, which the reader chooses. */
export interface Group {
  id: string;
  title: string;
  caption: string;
  /** Names of the lines, indexed by `Marks.order`. */
  lines: string[];
  choices: Choice[];
}

export interface Choice {
  label: string;
  caption: string;
  charts: Chart[];
}

/** Marks joined by lines, over loads or over the values of a setting. */
export interface PointsPlot {
  kind: "points";
  across: Across;
  unit: Unit;
  log: boolean;
  lines: Marks[];
  bounds: Bound[];
  brackets: Bracket[];
}

/** The horizontal axis of a chart with marks. The position of a setting's value is its index. */
export type Across =
  | { kind: "load"; label: string; unit: Unit; log: boolean }
  | { kind: "values"; label: string; names: string[] };

export interface Marks {
  label: string;
  /** Index that selects the line's color, and the shape of its plain marks. */
  order: number;
  points: Mark[];
}

export interface Mark {
  x: number;
  y: number | null;
  /** Lowest and highest value of the repeats; null if there is only one value. */
  range: [number, number] | null;
  shape: "plain" | "passed" | "failed";
}

export interface Bound {
  label: string;
  value: number;
}

/** A load line: the highest load that passed, and the lowest load that failed. The true load line lies between the two. If no load failed, it is at least the load that passed. */
export interface Bracket {
  label: string;
  order: number;
  passed: number;
  failed: number | null;
}

/** A unit: operations per second, bytes per second, a count, nanoseconds, a fraction (0.02 is shown as 2 %), or a multiple of another value. */
export type Unit = "rate" | "bytes" | "size" | "count" | "time" | "share" | "ratio";

export type Role = "main" | "secondary" | "third" | "failed" | "line-0" | "line-1" | "line-2" | "line-3" | "line-4" | "line-5";

export type Values = (number | null)[];

export interface Line {
  label: string;
  role: Role;
  values: Values;
  /** Lowest and highest value within each column. Empty if each column is a single interval. */
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
