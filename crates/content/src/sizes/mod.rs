//! Size distributions. The size of object i is a pure function of the distribution, i, and its random numbers.

mod parse;

use crate::draw::{open_unit, scale};
use measure::statistics::normal;
use measure::units::ByteSize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum size of an object: 8 PiB. An `f64` represents every integer up to this size exactly.
pub const SIZE_MAX: ByteSize = ByteSize(1 << 53);
/// Maximum number of entries in a list of sizes, with or without weights.
const ENTRIES_MAX: usize = 1024;
/// Maximum weight of an entry.
const WEIGHT_MAX: u64 = 1_000_000_000;
/// Maximum sigma of a log-normal distribution. With this sigma, one size in a thousand is more than 10¹³ times the
/// median.
const SIGMA_MAX: f64 = 10.0;

/// A distribution of sizes.
///
/// A distribution has one of these text forms: `1MiB`, `4KiB..1MiB` (uniform), `1MiB,2MiB,5MiB` (in turn),
/// `64KiB:70,1MiB..64MiB:30` (weighted), `loguniform:4KiB..1GiB`, `lognormal:median=1MiB,sigma=1.5,max=1GiB`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A single size, or a uniform distribution over a range.
    One(Span),
    /// The entries in turn. Object i has the size of entry i modulo the number of entries.
    InTurn(Vec<Span>),
    /// Random entries with probabilities proportional to their weights.
    Weighted(Vec<Weighted>),
    /// The logarithm of the size is uniformly distributed.
    LogUniform(Span),
    /// The logarithm of the size is normally distributed. A size outside the span is replaced by the nearer end of the
    /// span.
    LogNormal { median: u64, sigma: f64, span: Span },
}

/// Sizes from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    min: u64,
    max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weighted {
    span: Span,
    weight: u64,
}

impl Sizes {
    /// Creates a distribution with a single size. `None` above [`SIZE_MAX`].
    #[must_use]
    pub fn fixed(size: ByteSize) -> Option<Self> {
        (size <= SIZE_MAX).then_some(Self(Kind::One(Span { min: size.0, max: size.0 })))
    }

    /// Returns the common size of all objects, or `None` if sizes may differ.
    #[must_use]
    pub fn as_fixed(&self) -> Option<ByteSize> {
        match &self.0 {
            Kind::One(span) => span.as_fixed().map(ByteSize),
            _ => None,
        }
    }

    /// Returns the sizes that repeat in turn, or `None` if the sizes are random.
    pub(crate) fn cycle(&self) -> Option<Vec<u64>> {
        match &self.0 {
            Kind::One(span) => Some(vec![span.as_fixed()?]),
            Kind::InTurn(spans) => spans.iter().map(|span| span.as_fixed()).collect(),
            _ => None,
        }
    }

    /// Returns whether all objects are empty.
    pub(crate) fn is_zero(&self) -> bool {
        match &self.0 {
            Kind::One(span) | Kind::LogUniform(span) | Kind::LogNormal { span, .. } => span.max == 0,
            Kind::InTurn(spans) => spans.iter().all(|span| span.max == 0),
            Kind::Weighted(entries) => entries.iter().all(|entry| entry.span.max == 0),
        }
    }

    /// Returns the size in bytes of object `index`, given its random `bits`.
    pub(crate) fn size(&self, index: u64, bits: u64) -> u64 {
        match &self.0 {
            Kind::One(span) => span.uniform(bits),
            Kind::InTurn(spans) => {
                let entry = spans.get((index % spans.len().max(1) as u64) as usize);
                entry.map_or(0, |span| span.uniform(bits))
            }
            Kind::Weighted(entries) => weighted(entries, bits),
            Kind::LogUniform(span) => {
                let low = libm::log(span.min as f64);
                let width = libm::log((span.max + 1) as f64) - low;
                span.nearest(libm::floor(libm::exp(low + open_unit(bits) * width)))
            }
            Kind::LogNormal { median, sigma, span } => {
                let deviations = normal::quantile(open_unit(bits));
                span.nearest(libm::rint(*median as f64 * libm::exp(sigma * deviations)))
            }
        }
    }
}

fn weighted(entries: &[Weighted], bits: u64) -> u64 {
    let total = entries.iter().map(|entry| entry.weight).sum();
    let (mut position, rest) = scale(bits, total);
    for entry in entries {
        if position < entry.weight {
            return entry.span.uniform(rest);
        }
        position -= entry.weight;
    }
    0
}

impl Span {
    fn as_fixed(self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }

    fn uniform(self, bits: u64) -> u64 {
        self.min + scale(bits, self.max - self.min + 1).0
    }

    /// Converts `value` to the nearest size within the span.
    fn nearest(self, value: f64) -> u64 {
        (value as u64).clamp(self.min, self.max)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_fixed() {
            Some(size) => write!(f, "{}", ByteSize(size)),
            None => write!(f, "{}..{}", ByteSize(self.min), ByteSize(self.max)),
        }
    }
}

impl fmt::Display for Sizes {
    /// Formats the distribution as a text that parses to the same distribution.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::One(span) => write!(f, "{span}"),
            Kind::InTurn(spans) => joined(f, spans.iter()),
            Kind::Weighted(entries) => {
                joined(f, entries.iter().map(|entry| format!("{}:{}", entry.span, entry.weight)))
            }
            Kind::LogUniform(span) => write!(f, "loguniform:{}..{}", ByteSize(span.min), ByteSize(span.max)),
            Kind::LogNormal { median, sigma, span } => write!(
                f,
                "lognormal:median={},sigma={sigma},min={},max={}",
                ByteSize(*median),
                ByteSize(span.min),
                ByteSize(span.max)
            ),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, entries: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
    for (number, entry) in entries.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(f, "{comma}{entry}")?;
    }
    Ok(())
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

#[cfg(test)]
mod tests;
