//! What the script of an HTML report reads: the file's JSON. Its counterpart is `ui/src/model.ts`; the two change together.

use serde::Serialize;

/// A report.
#[derive(Debug, Serialize)]
pub struct Document {
    /// The title of the file.
    pub title: String,
    /// What is said before any figure.
    pub verdict: Verdict,
    /// The figures that most people came for.
    pub headline: Vec<Figure>,
    /// Charts, in order.
    pub charts: Vec<Chart>,
    /// Groups of small charts, which follow them.
    pub groups: Vec<Group>,
    /// Begins and ends of the columns of every chart over time, in seconds from the start of the run.
    pub times: Times,
    /// The sections of the text report.
    pub sections: Vec<Section>,
}

/// The verdict, what limited the run, and what must be known beside the figures.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// Like `PASS`.
    pub word: String,
    /// How it is to be taken.
    pub tone: Tone,
    /// What follows it in the first line: the limit first.
    pub pieces: Vec<String>,
    /// Notes.
    pub lines: Vec<String>,
}

/// How a verdict is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The figures can be used.
    Good,
    /// They are what was recorded.
    Caution,
    /// They can not be used.
    Bad,
}

/// One figure of the headline.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The figure with its unit.
    pub value: String,
    /// What belongs to it.
    pub detail: String,
}

/// The columns of charts over time.
#[derive(Debug, Default, Serialize)]
pub struct Times {
    /// Begin of each column, ascending.
    pub starts: Vec<f64>,
    /// End of the last one.
    pub end: f64,
    /// Intervals in each column, the last one aside.
    pub merged: usize,
    /// The measured window.
    pub window: Option<(f64, f64)>,
}

/// A chart with its title and what it shows in words.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// Names it in the file.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is to be seen, and how to read it.
    pub caption: String,
    /// What is drawn.
    #[serde(flatten)]
    pub plot: Plot,
}

/// Small charts on the same axes, of one of several figures at a time.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Names it in the file.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is to be seen.
    pub caption: String,
    /// What its lines are called, in the order of [`Marks::order`].
    pub lines: Vec<String>,
    /// The figures that can be shown; the first one is.
    pub choices: Vec<Choice>,
}

/// A figure that a group can show.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// What it is.
    pub label: String,
    /// How it is to be read.
    pub caption: String,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// What is drawn. Further kinds are further variants.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Plot {
    /// Lines over time, on the columns of [`Times`].
    Series {
        /// Unit of the vertical axis.
        unit: Unit,
        /// Whether that axis is logarithmic.
        log: bool,
        /// The lines.
        lines: Vec<Line>,
    },
    /// Times by quantile, on an axis of log10(1 / (1 − q)).
    Quantiles {
        /// The quantiles, 0 to 0.9999.
        quantiles: Vec<f64>,
        /// The lines, in nanoseconds; shorter than the quantiles where there are too few samples.
        lines: Vec<Line>,
    },
    /// Counts by time and response time.
    Heat {
        /// Length of a column in seconds; the first one begins with the run.
        column_seconds: f64,
        /// Where rows begin, and the last one ends, in nanoseconds.
        edges: Vec<f64>,
        /// Counts of each column by row.
        columns: Vec<Vec<u64>>,
    },
    /// Marks over loads, or over the values of a setting, joined by lines.
    Points {
        /// What lies on the horizontal axis.
        across: Across,
        /// Unit of the vertical axis.
        unit: Unit,
        /// Whether that axis is logarithmic.
        log: bool,
        /// The lines.
        lines: Vec<Marks>,
        /// Values that mean something: bounds of objectives.
        bounds: Vec<Bound>,
        /// Where load lines lie.
        brackets: Vec<Bracket>,
    },
}

/// What lies on the horizontal axis of marks.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Across {
    /// Loads.
    Load {
        /// What they are, like `in flight`.
        label: String,
        /// Their unit.
        unit: Unit,
        /// Whether the axis is logarithmic.
        log: bool,
    },
    /// Values of a setting, evenly spaced; the place of a mark is the number of one, from 0 on.
    Values {
        /// What the setting is called.
        label: String,
        /// The values.
        names: Vec<String>,
    },
}

/// A line with marks.
#[derive(Clone, Debug, Serialize)]
pub struct Marks {
    /// Its name.
    pub label: String,
    /// Gives it its colour, and the shape of its plain marks.
    pub order: usize,
    /// The marks, from left to right.
    pub points: Vec<Mark>,
}

/// A mark.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mark {
    /// Its place from left to right.
    pub x: f64,
    /// Its value.
    pub y: Option<f64>,
    /// From where to where the value reaches; `None` where there is only one.
    pub range: Option<(f64, f64)>,
    /// How it is drawn.
    pub shape: Shape,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// That of its line.
    Plain,
    /// All objectives were met.
    Held,
    /// One was not.
    Failed,
}

/// A value that means something.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// What it is.
    pub label: String,
    /// The value.
    pub value: f64,
}

/// Where a load line lies: between a load that held and one that did not.
#[derive(Clone, Debug, Serialize)]
pub struct Bracket {
    /// Whose it is.
    pub label: String,
    /// Gives it its colour.
    pub order: usize,
    /// The highest load that held.
    pub held: f64,
    /// The lowest above it that did not; `None` where none has failed.
    pub failed: Option<f64>,
}

/// A unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Per second.
    Rate,
    /// Bytes per second.
    Bytes,
    /// Things.
    Count,
    /// Nanoseconds.
    Time,
    /// Of 1.
    Share,
    /// So many times another value.
    Ratio,
}

/// What colour a line has: one meaning is drawn alike in every chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the chart is about.
    Main,
    /// What stands beside it.
    Beside,
    /// A third.
    Third,
    /// Failures.
    Failed,
}

/// One line of a chart.
#[derive(Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its colour.
    pub role: Role,
    /// Its values.
    pub values: Vec<Option<f64>>,
    /// The lowest of each column; empty where each column is one interval.
    pub low: Vec<Option<f64>>,
    /// The highest.
    pub high: Vec<Option<f64>>,
}

/// A section of the report.
#[derive(Debug, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What it holds, in order.
    pub blocks: Vec<Block>,
}

/// Part of a section.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Line {
        /// The text.
        text: String,
    },
    /// A label with its texts.
    Item {
        /// The label.
        label: String,
        /// One text each line.
        texts: Vec<String>,
    },
    /// A table.
    Table {
        /// Titles of the columns; empty for a table without.
        head: Vec<String>,
        /// Whether a column is text.
        left: Vec<bool>,
        /// The cells.
        rows: Vec<Vec<String>>,
    },
    /// Text whose lines and spaces mean something.
    Verbatim {
        /// What it is.
        label: String,
        /// The text.
        text: String,
    },
}
