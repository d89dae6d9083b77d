//! Default names of run directories.

use crate::utc::Utc;
use std::path::{Path, PathBuf};

/// Maximum number of characters of the target in the name of a directory.
const TARGET_CHARS_MAX: usize = 60;

/// Returns an unused directory for a new run under `base`, for example `20261121-023000-localhost_8080`. The name
/// consists of the start in UTC, and of host and port of the URL `target`. Characters other than ASCII letters, digits,
/// `-` and `.` become `_`, and credentials are left out. If the directory exists, `-2`, `-3`, and so on is appended.
/// Creates nothing on disk.
#[must_use]
pub fn default_directory(base: &Path, unix_ms: u64, target: &str) -> PathBuf {
    let utc = Utc::from_unix_ms(unix_ms);
    let name = format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}-{}",
        utc.year,
        utc.month,
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        host_and_port(target)
    );
    let numbered = (2_u32..).map(|number| base.join(format!("{name}-{number}")));
    std::iter::once(base.join(&name)).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| base.join(&name))
}

/// Returns host and port of a URL, or of any other text, in a form that is safe in file names.
#[must_use]
pub fn host_and_port(target: &str) -> String {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    let name: String = host.chars().map(safe).take(TARGET_CHARS_MAX).collect();
    if name.is_empty() { "run".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_contain_the_host_and_no_secrets() {
        let name = |target: &str| {
            let path = default_directory(Path::new("runs"), 1_795_228_200_000, target);
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("http://localhost:8080/a/b?c"), "20261121-023000-localhost_8080");
        assert_eq!(name("https://me:secret@h:1/x@y"), "20261121-023000-h_1");
        assert_eq!(name("http://[::1]:80/"), "20261121-023000-___1__80");
        assert_eq!(name(""), "20261121-023000-run");
    }

    #[test]
    fn an_existing_name_gets_a_number() {
        let base = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for _ in 0..3 {
            let path = default_directory(base.path(), 0, "http://h");
            std::fs::create_dir(&path).unwrap();
            names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        assert_eq!(names, ["19700101-000000-h", "19700101-000000-h-2", "19700101-000000-h-3"]);
    }

    proptest! {
        #[test]
        fn a_name_never_leaves_its_base(target in ".{0,300}", unix_ms in 0_u64..u64::MAX) {
            let path = default_directory(Path::new("base"), unix_ms, &target);
            prop_assert_eq!(path.parent(), Some(Path::new("base")));
            let name = path.file_name().unwrap().to_str().unwrap();
            prop_assert!(name.len() < 110 && !name.starts_with('.'), "{}", name);
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)), "{}", name);
        }
    }
}
