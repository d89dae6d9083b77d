//! The JSON that the script of an HTML report reads. Change it together with `ui/src/report_data.ts`, which must match.

use measure::ResultWord;
use serde::Serialize;

/// A report.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Title of the file.
    pub title: String,
    /// Result, what limited the run, and notes.
    pub overview: OverviewData,
    /// Main metrics.
    pub headline: Vec<Headline>,
    /// Charts, in order.
    pub charts: Vec<Chart>,
    /// Groups of small charts, shown after the charts.
    pub groups: Vec<Group>,
    /// Columns that all charts over time share. Times are in seconds from the start of the run.
    pub times: Times,
    /// The sections of the text report.
    pub sections: Vec<Section>,
}

/// The result, what limited the run, and notes for interpreting the numbers.
#[derive(Debug, Serialize)]
pub struct OverviewData {
    /// The result in one word, such as `PASS`.
    pub word: String,
    /// Tone of the result.
    pub tone: Tone,
    /// Texts that follow the result in the first line.
    pub pieces: Vec<String>,
    /// Further sentences and notes.
    pub notes: Vec<String>,
}

/// The tone of a result. The tone determines the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The result is good.
    Good,
    /// The run is incomplete.
    Caution,
    /// The run failed, or its numbers cannot be used.
    Bad,
}

impl Tone {
    /// Returns the tone in which the page shows a result: good, caution or bad.
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
    /// Further text about the value, such as its range.
    pub detail: String,
}

/// The columns that charts over time share.
#[derive(Debug, Default, Serialize)]
pub struct Times {
    /// Start of each column, ascending.
    pub starts: Vec<f64>,
    /// End of the last column.
    pub end: f64,
    /// Number of intervals in each column. The last column may have fewer.
    pub merged: usize,
    /// Start and end of the measured window.
    pub window: Option<(f64, f64)>,
    /// Notable events.
    pub marks: Vec<TimeMark>,
}

/// A notable event on the axis of time.
#[derive(Debug, Serialize)]
pub struct TimeMark {
    /// Time in seconds from the start of the run.
    pub at: f64,
    /// Description of the event.
    pub label: String,
}

/// A chart with its title and caption.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// ID of the chart in the file.
    pub id: String,
    /// Title.
    pub title: String,
    /// Explanation of the chart.
    pub caption: String,
    /// Content of the chart.
    #[serde(flatten)]
    pub plot: Plot,
}

/// A group of small charts with the same axes. All charts show one metric, which the reader selects.
#[derive(Debug, Serialize)]
pub struct Group {
    /// ID of the group in the file.
    pub id: String,
    /// Title.
    pub title: String,
    /// Explanation of the charts.
    pub caption: String,
    /// Names of the lines, indexed by [`Marks::order`].
    pub lines: Vec<String>,
    /// Metrics from which the reader selects. At the start, the group shows the first of them.
    pub choices: Vec<Choice>,
}

/// A metric that a group can show.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// Name of the metric.
    pub label: String,
    /// Instructions for reading the charts.
    pub caption: String,
    /// The charts of this metric.
    pub charts: Vec<Chart>,
}

/// The content of a chart.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Plot {
    /// Lines over time, with one value for each column of [`Times`].
    Series {
        /// Unit of the vertical axis.
        unit: Unit,
        /// `true` if the vertical axis is logarithmic.
        log: bool,
        /// The lines.
        lines: Vec<Line>,
    },
    /// Times by quantile. The horizontal axis is log10(1 / (1 − q)).
    Quantiles {
        /// The quantiles, from 0 to 0.9999.
        quantiles: Vec<f64>,
        /// The lines, in nanoseconds. A line has fewer values than `quantiles` if there are too few samples for the
        /// highest quantiles.
        lines: Vec<Line>,
    },
    /// Number of operations by time and by response time.
    Heat {
        /// Length of a column in seconds. The first column begins at the start of the run.
        column_seconds: f64,
        /// Lower edge of each row, followed by the upper edge of the last row, in nanoseconds.
        edges: Vec<f64>,
        /// Counts by column, then by row.
        columns: Vec<Vec<u64>>,
    },
    /// Marks that are joined by lines. The horizontal axis shows loads, or the values of a setting.
    Points {
        /// Horizontal axis.
        across: Across,
        /// Unit of the vertical axis.
        unit: Unit,
        /// `true` if the vertical axis is logarithmic.
        log: bool,
        /// The lines.
        lines: Vec<Marks>,
        /// Bounds that objectives set, or other reference values.
        bounds: Vec<Bound>,
        /// Load lines.
        brackets: Vec<Bracket>,
    },
}

/// The horizontal axis of a chart with marks.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Across {
    /// An axis of loads.
    Load {
        /// Name of the axis, such as `operations in flight`.
        label: String,
        /// Unit of the loads.
        unit: Unit,
        /// `true` if the axis is logarithmic.
        log: bool,
    },
    /// An axis with the values of a setting, evenly spaced. The position of a mark is the index of its value.
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
    /// Index of the line's color, and of the shape of its marks with [`Shape::Plain`].
    pub order: usize,
    /// The marks, from left to right.
    pub points: Vec<Mark>,
}

/// A mark.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Value; `None` if it was not measured.
    pub y: Option<f64>,
    /// Lowest and highest value of the repeats; `None` if there is only one value.
    pub range: Option<(f64, f64)>,
    /// Shape.
    pub shape: Shape,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The default shape for the marks of the line.
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

/// A load line, which lies between `passed` and `failed`.
#[derive(Clone, Debug, Serialize)]
pub struct Bracket {
    /// Name.
    pub label: String,
    /// Index of the load line's color.
    pub order: usize,
    /// Highest load that passed.
    pub passed: f64,
    /// Lowest load above `passed` that failed; `None` if no load failed.
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
    /// Bytes.
    Size,
    /// A count.
    Count,
    /// Nanoseconds.
    Time,
    /// A fraction, such as 0.02 for 2 %.
    Share,
    /// A multiple of another value.
    Ratio,
}

/// The role of a line. The role determines the line's color, which is the same in all charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The main line of the chart.
    Main,
    /// A second line, for comparison.
    Secondary,
    /// A third line.
    Third,
    /// Failures.
    Failed,
    /// The first of several lines that have no other role. This line has the first color.
    #[serde(rename = "line-0")]
    Line0,
    /// The second color.
    #[serde(rename = "line-1")]
    Line1,
    /// The third color.
    #[serde(rename = "line-2")]
    Line2,
    /// The fourth color.
    #[serde(rename = "line-3")]
    Line3,
    /// The fifth color.
    #[serde(rename = "line-4")]
    Line4,
    /// The sixth color.
    #[serde(rename = "line-5")]
    Line5,
}

/// A line of a chart.
#[derive(Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name.
    pub label: String,
    /// Color.
    pub role: Role,
    /// One value for each column; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
    /// Lowest value within each column. Empty if each column has a single interval.
    pub low: Vec<Option<f64>>,
    /// Highest value within each column. Empty if each column has a single interval.
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
    /// A label with one or more texts.
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
        /// For each column, `true` if it contains text. Text is aligned to the left.
        left: Vec<bool>,
        /// The cells.
        rows: Vec<Vec<String>>,
    },
    /// Preformatted text, in which line breaks and spaces are kept.
    Verbatim {
        /// Label above the text.
        label: String,
        /// The text.
        text: String,
    },
}
