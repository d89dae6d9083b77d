//! A link as one value of a scenario: `1Gbit/s,40ms up=100Mbit/s,40ms congestion=cubic`.

use super::{DirectionSpec, LinkSpec, SpecError};
use std::fmt;
use std::str::FromStr;

/// A path and the congestion control at its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSetting {
    /// Both directions.
    pub spec: LinkSpec,
    /// Congestion control of TCP at both ends. `None` means the default of the host.
    pub congestion: Option<String>,
}

/// Maximum length of the name of a congestion control (the kernel's `TCP_CA_NAME_MAX`, without the final zero byte).
const CONGESTION_LENGTH_MAX: usize = 15;

impl FromStr for LinkSetting {
    type Err = SpecError;

    /// Parses words that are separated by spaces. A word that begins with neither `up=` nor `congestion=` describes the
    /// direction down. Each kind of word may appear once.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut setting = Self::default();
        let mut given: Vec<&'static str> = Vec::new();
        for word in text.split_whitespace() {
            let name = match word.split_once('=').map(|(name, _)| name) {
                Some("up") => "up",
                Some("congestion") => "congestion",
                _ => "down",
            };
            if given.contains(&name) {
                // If the name of the word is unknown, the error must be about this name, and not about a second
                // direction.
                return Err(word
                    .parse::<DirectionSpec>()
                    .err()
                    .filter(|_| name == "down")
                    .unwrap_or(SpecError::Twice(name)));
            }
            given.push(name);
            let value = |prefix: &str| word.strip_prefix(prefix).unwrap_or(word);
            match name {
                "up" => setting.spec.up = value("up=").parse()?,
                "congestion" => setting.congestion = Some(congestion(value("congestion="))?),
                _ => setting.spec.down = value("down=").parse()?,
            }
        }
        if !given.contains(&"down") && !given.contains(&"up") {
            return Err(SpecError::Empty);
        }
        setting.spec.check()?;
        Ok(setting)
    }
}

/// Checks that a congestion control can have this name.
///
/// # Errors
/// Fails if no congestion control can have this name.
pub fn congestion(name: &str) -> Result<String, SpecError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let is_name = !name.is_empty() && name.len() <= CONGESTION_LENGTH_MAX && name.chars().all(fits);
    if is_name { Ok(name.to_owned()) } else { Err(SpecError::Congestion(name.to_owned())) }
}

impl fmt::Display for LinkSetting {
    /// Writes a form that parses to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec.down)?;
        if self.spec.up != DirectionSpec::default() {
            write!(f, " up={}", self.spec.up)?;
        }
        match &self.congestion {
            Some(name) => write!(f, " congestion={name}"),
            None => Ok(()),
        }
    }
}
