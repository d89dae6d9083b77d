//! The target of a request, and the object or file at that target.

use measure::units::{ByteSize, UnitError};

/// The path prefix of blackhole objects. The name after the prefix begins with the size of the object.
const BLACKHOLE: &str = "/blackhole/";

/// A target, split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// Percent-encoded path, which begins with `/`.
    pub(crate) path: &'a str,
    /// Query without the question mark.
    pub(crate) query: Option<&'a str>,
}

/// The kind of resource at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetKind<'a> {
    /// A blackhole object of this many bytes.
    Blackhole(u64),
    /// A file or directory below the served directory.
    File(&'a str),
}

impl<'a> Target<'a> {
    /// Splits a target in origin form (`/path?query`) or absolute form (`http://host/path?query`, as sent to proxies).
    /// Returns `None` for other forms.
    pub(crate) fn parse(target: &'a str) -> Option<Self> {
        let local = if target.starts_with('/') {
            target
        } else {
            let (scheme, rest) = target.split_once("://")?;
            if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
                return None;
            }
            rest.find('/').map_or("/", |at| &rest[at..])
        };
        let (path, query) = match local.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (local, None),
        };
        Some(Self { path, query })
    }

    /// Returns the kind of resource at this path. In the name of a blackhole object, `-` and more text may follow the
    /// size. There can therefore be several objects of the same size.
    ///
    /// # Errors
    /// Fails if the path begins with `/blackhole/`, but no valid size follows.
    pub(crate) fn kind(self) -> Result<TargetKind<'a>, UnitError> {
        match self.path.strip_prefix(BLACKHOLE) {
            Some(name) => size_of_name(name).map(TargetKind::Blackhole),
            None => Ok(TargetKind::File(self.path)),
        }
    }
}

/// Returns the size in a name like `1MiB` or `1MiB-000123`.
pub(crate) fn size_of_name(name: &str) -> Result<u64, UnitError> {
    let size = name.split_once('-').map_or(name, |(size, _)| size);
    size.parse().map(|ByteSize(bytes)| bytes)
}

/// Returns the path of object number `index` among objects of the same size, for example `/blackhole/1MiB-000123`.
#[must_use]
pub fn object_name(size: ByteSize, index: u64) -> String {
    format!("{size}-{index:06}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_of_a_target_parse_alike() {
        for (text, path, query) in [
            ("/", "/", None),
            ("/a/b%20c?x=1?y", "/a/b%20c", Some("x=1?y")),
            ("http://host/a?", "/a", Some("")),
            ("HTTPS://host:1", "/", None),
            ("//a", "//a", None),
        ] {
            assert_eq!(Target::parse(text), Some(Target { path, query }), "{text}");
        }
        for text in ["*", "", "a/b", "ftp://host/", "host:80", "http:/x"] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn object_names_contain_their_size() {
        assert_eq!(object_name(ByteSize(1 << 20), 123), "1MiB-000123");
        for size in [0, 1, 1000, 1024, 1_500_000, u64::MAX] {
            assert_eq!(size_of_name(&object_name(ByteSize(size), 7)), Ok(size));
        }
    }

    #[test]
    fn blackhole_names_need_a_valid_size() {
        let named = |text: &'static str| Target::parse(text).unwrap().kind();
        assert_eq!(named("/blackhole/1KiB?x"), Ok(TargetKind::Blackhole(1024)));
        for text in ["/blackhole/", "/blackhole/1KiB/", "/blackhole/16EiB", "/blackhole/1K", "/blackhole/-1"] {
            assert!(named(text).is_err(), "{text}");
        }
        for text in ["/blackhole/1KiB-000123", "/blackhole/1024-a-b/c"] {
            assert_eq!(named(text), Ok(TargetKind::Blackhole(1024)), "{text}");
        }
        assert_eq!(named("/blackhole"), Ok(TargetKind::File("/blackhole")));
        assert_eq!(named("/blackhole%2f1"), Ok(TargetKind::File("/blackhole%2f1")));
    }

    proptest! {
        #[test]
        fn every_blackhole_size_parses(bytes in any::<u64>(), query in "[ -~]{0,10}") {
            let text = format!("/blackhole/{bytes}?{query}");
            let target = Target::parse(&text).unwrap();
            prop_assert_eq!(target.kind(), Ok(TargetKind::Blackhole(bytes)));
            prop_assert_eq!(target.query, Some(query.as_str()));
        }

        #[test]
        fn any_target_is_split_or_rejected(text in "\\PC{0,40}") {
            if let Some(target) = Target::parse(&text) {
                prop_assert!(target.path.starts_with('/') && !target.path.contains('?'));
                prop_assert!(text.ends_with(target.query.unwrap_or(target.path)) || target.path == "/");
            }
        }
    }
}
