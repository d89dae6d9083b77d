//! A metric with its samples, independent of the format in which it is sent.

use crate::BucketCounts;

/// Names and values of the labels of a sample.
pub type Labels = Vec<(&'static str, String)>;

/// Unit of a metric. The unit is the last part of the metric's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things, a share or a state.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// Value of a counter or a gauge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// Any other number.
    Real(f64),
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<V> {
    /// Labels.
    pub labels: Labels,
    /// Value.
    pub value: V,
}

impl<V> Sample<V> {
    /// Returns a sample.
    pub fn new(labels: impl IntoIterator<Item = (&'static str, String)>, value: V) -> Self {
        Self { labels: labels.into_iter().collect(), value }
    }
}

/// The samples of a metric. The variant is the type of the metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Totals that only rise.
    Counter(Vec<Sample<Number>>),
    /// Values that may rise and fall.
    Gauge(Vec<Sample<Number>>),
    /// Facts in the labels. The value is always 1.
    Info(Vec<Labels>),
    /// Histograms of times.
    Histogram(Vec<Sample<BucketCounts>>),
}

impl Samples {
    /// Returns whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Counter(samples) | Self::Gauge(samples) => samples.is_empty(),
            Self::Info(samples) => samples.is_empty(),
            Self::Histogram(samples) => samples.is_empty(),
        }
    }
}

/// A metric with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Name without the unit, and without the suffix `_total` or `_info`.
    pub name: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Description, as a sentence.
    pub help: &'static str,
    /// Samples.
    pub samples: Samples,
}

impl Unit {
    /// Returns the unit as the last part of a metric's name; `None` if the name has no unit.
    #[must_use]
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Seconds => Some("seconds"),
            Self::Bytes => Some("bytes"),
        }
    }
}
