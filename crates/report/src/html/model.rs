//! The JSON that the script of an HTML report reads. Its counterpart is `ui/src/model.ts`; change the two together.

use measure::ResultWord;
use serde::Serialize;

/// A report.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Title of the file.
    pub title: String,
    /// Result, limit and notes.
    pub overview: OverviewData,
    /// Main metrics.
    pub headline: Vec<Headline>,
    /// Charts, in order.
    pub charts: Vec<Chart>,
    /// Groups of small charts, which follow the charts.
    pub groups: Vec<Group>,
    /// Columns of all charts over time, in seconds from the start of the run.
    pub times: Times,
    /// The sections of the text report.
    pub sections: Vec<Section>,
}

/// The result, what limited the run, and what must be known next to the numbers.
#[derive(Debug, Serialize)]
pub struct OverviewData {
    /// Like `PASS`.
    pub word: String,
    /// Tone of the result.
    pub tone: Tone,
    /// Texts that follow it in the first line.
    pub pieces: Vec<String>,
    /// Further sentences and notes.
    pub notes: Vec<String>,
}

/// The tone of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// All is well.
    Good,
    /// The run is incomplete.
    Caution,
    /// The run failed, or its numbers cannot be used.
    Bad,
}

impl Tone {
    /// Returns the tone of a result.
    pub fn of(word: ResultWord) -> Self {
        match word {
            ResultWord::Pass => Self::Good,
            ResultWord::Partial => Self::Caution,
            ResultWord::Unusable | ResultWord::Fail => Self::Bad,
        }
    }
}

impl OverviewData {
    /// Returns the overview of a result.
    pub fn of(word: ResultWord, pieces: Vec<String>, notes: Vec<String>) -> Self {
        Self { word: word.text().into(), tone: Tone::of(word), pieces, notes }
    }
}

/// A main metric.
#[derive(Debug, Serialize)]
pub struct Headline {
    /// Name of the metric.
    pub label: String,
    /// Value with its unit.
    pub value: String,
    /// Related value or condition.
    pub detail: String,
}

/// The columns of charts over time.
#[derive(Debug, Default, Serialize)]
pub struct Times {
    /// Begin of each column, ascending.
    pub starts: Vec<f64>,
    /// End of the last one.
    pub end: f64,
    /// Intervals in each column; the last column may have fewer.
    pub merged: usize,
    /// The measured window.
    pub window: Option<(f64, f64)>,
}

/// A chart with its title and caption.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// ID in the file.
    pub id: String,
    /// Title.
    pub title: String,
    /// What the chart shows, and how to read it.
    pub caption: String,
    /// Content.
    #[serde(flatten)]
    pub plot: Plot,
}

/// Small charts on the same axes, which show one of several metrics at a time.
#[derive(Debug, Serialize)]
pub struct Group {
    /// ID in the file.
    pub id: String,
    /// Title.
    pub title: String,
    /// What the charts show.
    pub caption: String,
    /// Names of the lines, in the order of [`Marks::order`].
    pub lines: Vec<String>,
    /// Metrics to choose from; the first one is shown first.
    pub choices: Vec<Choice>,
}

/// A metric that a group can show.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// Name of the metric.
    pub label: String,
    /// How to read the charts.
    pub caption: String,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// The content of a chart.
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
        /// Begins of the rows and the end of the last one, in nanoseconds.
        edges: Vec<f64>,
        /// Counts of each column by row.
        columns: Vec<Vec<u64>>,
    },
    /// Marks over loads, or over the values of a setting, joined by lines.
    Points {
        /// Horizontal axis.
        across: Across,
        /// Unit of the vertical axis.
        unit: Unit,
        /// Whether that axis is logarithmic.
        log: bool,
        /// The lines.
        lines: Vec<Marks>,
        /// Bounds of objectives, or other reference values.
        bounds: Vec<Bound>,
        /// Load lines.
        brackets: Vec<Bracket>,
    },
}

/// The horizontal axis of marks.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Across {
    /// Loads.
    Load {
        /// Name, like `operations in flight`.
        label: String,
        /// Their unit.
        unit: Unit,
        /// Whether the axis is logarithmic.
        log: bool,
    },
    /// Values of a setting, evenly spaced. The position of a mark is the index of a value.
    Values {
        /// Name of the setting.
        label: String,
        /// The values.
        names: Vec<String>,
    },
}

/// A line with marks.
#[derive(Clone, Debug, Serialize)]
pub struct Marks {
    /// Name.
    pub label: String,
    /// Index of its color, and of the shape of its plain marks.
    pub order: usize,
    /// The marks, from left to right.
    pub points: Vec<Mark>,
}

/// A mark.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Its value.
    pub y: Option<f64>,
    /// Range of the value; `None` if there is only one value.
    pub range: Option<(f64, f64)>,
    /// Shape.
    pub shape: Shape,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Shape of its line.
    Plain,
    /// All objectives were met.
    Passed,
    /// An objective was missed.
    Failed,
}

/// A reference value.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// Meaning of the value.
    pub label: String,
    /// The value.
    pub value: f64,
}

/// A load line: it lies between a load that passed and one that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Bracket {
    /// Name.
    pub label: String,
    /// Index of its color.
    pub order: usize,
    /// Highest load that passed.
    pub passed: f64,
    /// Lowest load above it that failed; `None` if none failed.
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
    /// A count.
    Count,
    /// Nanoseconds.
    Time,
    /// A share of 1.
    Share,
    /// A multiple of another value.
    Ratio,
}

/// The color of a line. The same meaning has the same color in all charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Subject of the chart.
    Main,
    /// Second line, for comparison.
    Secondary,
    /// Third line.
    Third,
    /// Failures.
    Failed,
}

/// A line of a chart.
#[derive(Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name.
    pub label: String,
    /// Color.
    pub role: Role,
    /// Values.
    pub values: Vec<Option<f64>>,
    /// Lowest value of each column; empty if each column is one interval.
    pub low: Vec<Option<f64>>,
    /// Highest value of each column.
    pub high: Vec<Option<f64>>,
}

/// A section of the report.
#[derive(Debug, Serialize)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Content, in order.
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
        /// Texts, one per line.
        texts: Vec<String>,
    },
    /// A table.
    Table {
        /// Titles of the columns; empty for a table without titles.
        head: Vec<String>,
        /// Whether a column is text.
        left: Vec<bool>,
        /// The cells.
        rows: Vec<Vec<String>>,
    },
    /// Text whose line ends and spaces are kept.
    Verbatim {
        /// Meaning of the value.
        label: String,
        /// The text.
        text: String,
    },
}
