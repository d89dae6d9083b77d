//! Naming schemes. The key of object i is a pure function of i and of its random numbers.
//!
//! A key is `prefix` + number + `extension`. The number has leading zeros. A hash of the object's number can spread the
//! keys over directories. The name of this directory follows the last `/` of the prefix, so all keys stay below the
//! folder that the user specified.

use crate::draw::{Draw, scale};
use crate::error::Invalid;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::num::NonZeroU32;

/// Maximum number of digits of an object number.
const DIGITS_MAX: u8 = 20;
/// Maximum size of a key, as in S3.
const KEY_BYTES_MAX: usize = 1024;
/// Maximum size of a file or directory name. File systems allow 255 bytes, but the name of an unfinished file is longer
/// than its final name.
const SEGMENT_BYTES_MAX: usize = 230;
const DIRECTORIES_MAX: u32 = 1_000_000;

/// A naming scheme. All keys are relative and have no empty, `.` or `..` segments and no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Names {
    parts: Parts,
    /// Length of the prefix up to and including its last `/`. The name of the directory follows at this position.
    folder: usize,
    /// Number of hexadecimal digits of a directory name.
    directory_digits: usize,
}

/// The stored form of a naming scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    prefix: String,
    digits: u8,
    extension: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directories: Option<NonZeroU32>,
}

impl Names {
    /// Creates a scheme whose keys consist of `prefix`, a number with at least `digits` digits, and `extension`. With
    /// `directories` above 0, keys are spread over that many directories.
    ///
    /// # Errors
    /// Fails if a key would not be valid as a file name or S3 key. For example, it may be too long, or have a segment
    /// `..`.
    pub fn new(
        prefix: impl Into<String>,
        digits: u8,
        extension: impl Into<String>,
        directories: Option<NonZeroU32>,
    ) -> Result<Self, Invalid> {
        Parts { prefix: prefix.into(), digits, extension: extension.into(), directories }.try_into()
    }

    /// Appends the key of object `index` to `key`.
    pub(crate) fn write(&self, index: u64, draw: Draw, key: &mut String) {
        let (folder, stem) = self.parts.prefix.split_at_checked(self.folder).unwrap_or_default();
        key.push_str(folder);
        // Writing to a string cannot fail.
        if let Some(directories) = self.parts.directories {
            let (directory, _) = scale(draw.directory, u64::from(directories.get()));
            let _ = write!(key, "{directory:0width$x}/", width = self.directory_digits);
        }
        let _ = write!(key, "{stem}{index:0width$}{}", self.parts.extension, width = usize::from(self.parts.digits));
    }

    /// Returns the number in `key`, or `None` if the last segment of `key` does not match this scheme. Does not check
    /// the directory.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        let last = key.rsplit('/').next()?;
        let digits = last.strip_prefix(&self.parts.prefix[self.folder..])?.strip_suffix(&self.parts.extension)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    }

    /// Returns the longest possible key.
    fn longest(&self) -> String {
        let mut key = String::new();
        self.write(u64::MAX, Draw { size: 0, directory: u64::MAX }, &mut key);
        key
    }
}

impl TryFrom<Parts> for Names {
    type Error = Invalid;

    fn try_from(parts: Parts) -> Result<Self, Invalid> {
        let Parts { prefix, digits, extension, directories } = &parts;
        if !(1..=DIGITS_MAX).contains(digits) {
            return Err(Invalid::new(format!("{digits} digits are not possible: use 1 to {DIGITS_MAX}")));
        }
        if directories.is_some_and(|directories| directories.get() > DIRECTORIES_MAX) {
            return Err(Invalid::new(format!("too many directories: use at most {DIRECTORIES_MAX}")));
        }
        if extension.contains('/') {
            return Err(Invalid::new(format!("`{}`: an extension must not contain /", extension.escape_debug())));
        }
        if prefix.chars().chain(extension.chars()).any(char::is_control) {
            return Err(Invalid::new(format!(
                "`{}`: a name must not contain control characters",
                format!("{prefix}{extension}").escape_debug()
            )));
        }
        let folder = prefix.rfind('/').map_or(0, |slash| slash + 1);
        let last = directories.map_or(0, |directories| directories.get() - 1);
        let names = Self { folder, directory_digits: format!("{last:x}").len(), parts };
        names.check_longest()?;
        Ok(names)
    }
}

impl Names {
    fn check_longest(&self) -> Result<(), Invalid> {
        let key = self.longest();
        let prefix = self.parts.prefix.escape_debug();
        if key.len() > KEY_BYTES_MAX || key.split('/').any(|segment| segment.len() > SEGMENT_BYTES_MAX) {
            return Err(Invalid::new(format!(
                "the names are too long: a key may have {KEY_BYTES_MAX} bytes, and each part between slashes \
                 {SEGMENT_BYTES_MAX}: shorten the prefix or the extension"
            )));
        }
        if key.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(Invalid::new(format!(
                "`{prefix}`: a prefix must not begin with / or contain an empty part, . or .. between slashes"
            )));
        }
        Ok(())
    }
}

impl From<Names> for Parts {
    fn from(names: Names) -> Self {
        names.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::draw::Draws;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn key(names: &Names, index: u64) -> String {
        let mut key = String::new();
        names.write(index, Draws::new(Seed(2)).of(index), &mut key);
        key
    }

    fn names(prefix: &str, directories: u32) -> Result<Names, Invalid> {
        Names::new(prefix, 8, ".bin", NonZeroU32::new(directories))
    }

    #[test]
    fn keys_consist_of_prefix_number_and_extension() {
        let plain = names("data/object-", 0).unwrap();
        assert_eq!(key(&plain, 0), "data/object-00000000.bin");
        assert_eq!(key(&plain, 249_999_999), "data/object-249999999.bin");
        let short = Names::new("", 1, "", None).unwrap();
        assert_eq!((key(&short, 7), key(&short, u64::MAX)), ("7".into(), u64::MAX.to_string()));
    }

    #[test]
    fn the_directory_stays_below_the_folder() {
        let spread = names("data/object-", 256).unwrap();
        let made = key(&spread, 12);
        let directory = made.strip_prefix("data/").and_then(|rest| rest.strip_suffix("/object-00000012.bin"));
        assert!(
            directory.is_some_and(|directory| directory.len() == 2 && u32::from_str_radix(directory, 16).is_ok()),
            "{made}"
        );
        let spread = names("o", 257).unwrap();
        assert_eq!(key(&spread, 12).find('/'), Some(3));
    }

    #[test]
    fn keys_are_spread_evenly_over_directories() {
        let spread = names("", 16).unwrap();
        let mut counts = [0_u32; 16];
        for index in 0..16_000 {
            let directory = key(&spread, index);
            counts[usize::from_str_radix(&directory[..1], 16).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (846..=1154).contains(count)), "seed 2: {counts:?}");
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_makes_keys_that_stay_inside(
            prefix in "[a-c./]{0,8}", digits in 0_u8..25, extension in "[.1/]{0,3}", directories in 0_u32..40, index in any::<u64>(),
        ) {
            if let Ok(names) = Names::new(prefix, digits, extension, NonZeroU32::new(directories)) {
                let key = key(&names, index);
                prop_assert!(key.split('/').all(|segment| !matches!(segment, "" | "." | "..")), "{}", key);
                let stored = serde_json::to_string(&names).unwrap();
                prop_assert_eq!(serde_json::from_str::<Names>(&stored).unwrap(), names);
            }
        }
    }

    #[test]
    fn keys_are_unique() {
        for (prefix, directories) in [("o", 0), ("o1", 3)] {
            let names = Names::new(prefix, 1, "1", NonZeroU32::new(directories)).unwrap();
            let keys: HashSet<String> = (0..2_000).map(|index| key(&names, index)).collect();
            assert_eq!(keys.len(), 2_000);
        }
    }

    #[test]
    fn harmful_names_are_rejected() {
        let long = "x".repeat(300);
        let deep = "x/".repeat(600);
        for (prefix, wanted) in [
            ("/etc/", "must not begin with /"),
            ("../", ".."),
            ("a/../b", ".."),
            ("a//b", "empty part"),
            ("a\nb", "control"),
            ("a\u{1b}[2J", "control"),
            (&long, "too long"),
            (&deep, "too long"),
        ] {
            let message = names(prefix, 0).unwrap_err().to_string();
            assert!(message.contains(wanted) && !message.contains(char::is_control), "{prefix}: {message}");
        }
        assert!(Names::new("", 0, "", None).is_err() && Names::new("", 21, "", None).is_err());
        assert!(Names::new("", 8, "a/b", None).is_err());
        assert!(names("", DIRECTORIES_MAX + 1).is_err());
        let stored = r#"{"prefix":"../","digits":8,"extension":""}"#;
        assert!(serde_json::from_str::<Names>(stored).is_err(), "names that are read from JSON must be checked too");
    }
}
