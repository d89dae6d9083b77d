//! Text form of a direction: `1Gbit/s,40ms,jitter=2ms,loss=0.1%,reorder=1%,queue=5MB`.

use super::DirectionSpec;
use measure::units::{ByteSize, UnitError, format_span, parse_share, parse_span};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Mistake in the description of a path, with its fix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// A value does not parse.
    #[error("{0}")]
    Value(UnitError),
    /// A property has an unknown name.
    #[error("a link has no `{0}`: use rate, delay, jitter, loss, reorder and queue, e.g. 1Gbit/s,40ms,loss=0.1%")]
    UnknownProperty(String),
    /// A property is given twice.
    #[error("the link's {0} is given twice")]
    Twice(&'static str),
    /// There is nothing to parse.
    #[error("a link needs a rate or a delay, e.g. 1Gbit/s,40ms")]
    Empty,
    /// The rate is too low or too high.
    #[error("the rate of a link must be between 8kbit/s and 400Gbit/s (got {0})")]
    Rate(measure::units::DataRate),
    /// The delay is too long.
    #[error("the delay of a link must be at most 10s (got {})", format_span(*.0))]
    Delay(Duration),
    /// The jitter is longer than the delay.
    #[error("the jitter of a link must be at most its delay of {} (got {})", format_span(*.delay), format_span(*.jitter))]
    Jitter {
        /// The jitter.
        jitter: Duration,
        /// The delay.
        delay: Duration,
    },
    /// The description has reordering but no delay. Without a delay, no segment can overtake another.
    #[error("reordering needs a delay, because a reordered segment overtakes others by skipping it")]
    ReorderWithoutDelay,
    /// The queue is smaller than one segment.
    #[error("the queue of a link must have space for a full segment of 1514B (got {0})")]
    Queue(ByteSize),
    /// No congestion control can have this name.
    #[error("`{0}` is not the name of a congestion control, such as cubic, reno or bbr")]
    Congestion(String),
    /// The bytes in flight and in the queue would need too much memory.
    #[error("the link would store up to {bytes} of data: lower its rate, delay or queue (maximum 4GiB per direction)")]
    TooMuchMemory {
        /// The bytes in flight and in the queue.
        bytes: ByteSize,
    },
}

impl From<UnitError> for SpecError {
    fn from(error: UnitError) -> Self {
        Self::Value(error)
    }
}

/// Names of the properties, which are also the keys in a scenario.
const NAMES: [&str; 6] = ["rate", "delay", "jitter", "loss", "reorder", "queue"];

impl DirectionSpec {
    /// Sets one property from its name and its value as text.
    ///
    /// # Errors
    /// Fails if there is no such property, or if its value is invalid.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SpecError> {
        match name {
            "rate" => self.rate = Some(text.parse()?),
            "delay" => self.delay = parse_span(text)?,
            "jitter" => self.jitter = parse_span(text)?,
            "loss" => self.loss = parse_share(text)?,
            "reorder" => self.reorder = parse_share(text)?,
            "queue" => self.queue = Some(text.parse()?),
            _ => return Err(SpecError::UnknownProperty(name.to_owned())),
        }
        Ok(())
    }

    /// Checks that the properties are consistent. [`super::LinkSpec::check`] also checks both directions together.
    ///
    /// # Errors
    /// Returns the first mistake.
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(rate) = self.rate.filter(|rate| !(Self::RATE_MIN..=Self::RATE_MAX).contains(rate)) {
            return Err(SpecError::Rate(rate));
        }
        if self.delay > Self::DELAY_MAX {
            return Err(SpecError::Delay(self.delay));
        }
        if self.jitter > self.delay {
            return Err(SpecError::Jitter { jitter: self.jitter, delay: self.delay });
        }
        if self.reorder > 0.0 && self.delay.is_zero() {
            return Err(SpecError::ReorderWithoutDelay);
        }
        match self.queue {
            Some(queue) if queue.0 < 1514 => Err(SpecError::Queue(queue)),
            _ => Ok(()),
        }
    }
}

/// Returns the property to which a value without a name belongs. A rate contains a slash, and a delay does not.
fn name_of_bare(text: &str) -> &'static str {
    if text.contains('/') { "rate" } else { "delay" }
}

impl FromStr for DirectionSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        let mut given = [false; NAMES.len()];
        for item in text.split(',').map(str::trim) {
            if item.is_empty() {
                return Err(SpecError::Empty);
            }
            let (name, value) = item.split_once('=').unwrap_or_else(|| (name_of_bare(item), item));
            spec.set(name.trim(), value.trim())?;
            if let Some(place) = NAMES.iter().position(|known| *known == name.trim())
                && std::mem::replace(&mut given[place], true)
            {
                return Err(SpecError::Twice(NAMES[place]));
            }
        }
        spec.check()?;
        Ok(spec)
    }
}

impl fmt::Display for DirectionSpec {
    /// Writes a form that parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.rate {
            write!(f, "{rate},")?;
        }
        f.write_str(&format_span(self.delay))?;
        if !self.jitter.is_zero() {
            write!(f, ",jitter={}", format_span(self.jitter))?;
        }
        for (name, share) in [("loss", self.loss), ("reorder", self.reorder)] {
            if share > 0.0 {
                write!(f, ",{name}={}%", percent(share))?;
            }
        }
        match self.queue {
            Some(queue) => write!(f, ",queue={queue}"),
            None => Ok(()),
        }
    }
}

/// Converts a share to percent, without the rounding error of converting from and to percent (0.1 % / 100 × 100).
fn percent(share: f64) -> f64 {
    (share * 1e14).round() / 1e12
}
