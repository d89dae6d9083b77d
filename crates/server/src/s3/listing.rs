//! Pages of keys, as S3 lists them. A page contains keys with a given prefix. Keys that are equal up to a delimiter are
//! grouped, and listed as one common prefix.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Maximum number of entries on a page.
pub(super) const PAGE_MAX: usize = 1000;

/// A request for a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListRequest<'a> {
    pub(super) prefix: &'a str,
    /// The delimiter; if empty, keys are not grouped.
    pub(super) delimiter: &'a str,
    /// Only names that sort after this name are listed.
    pub(super) after: &'a str,
    /// Maximum number of entries, up to [`PAGE_MAX`].
    pub(super) most: usize,
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<T> {
    pub(super) entries: Vec<Entry<T>>,
    /// `true` if more entries follow the last one.
    pub(super) truncated: bool,
}

/// An entry of a page: a key, or the common prefix of several keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<T> {
    Key(String, T),
    Prefix(String),
}

impl<T> Entry<T> {
    /// Returns the key or the prefix.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Key(name, _) | Self::Prefix(name) => name,
        }
    }
}

impl<T> Page<T> {
    /// Returns the name after which the next page starts.
    pub(super) fn next(&self) -> Option<&str> {
        self.entries.last().filter(|_| self.truncated).map(Entry::name)
    }
}

/// Returns the page of `keys` for this request.
pub(super) fn page<T: Clone>(keys: &BTreeMap<String, T>, request: ListRequest<'_>) -> Page<T> {
    let most = request.most.min(PAGE_MAX);
    let mut page = Page { entries: Vec::new(), truncated: false };
    if most == 0 {
        return page;
    }
    let mut from = if request.after >= request.prefix {
        Bound::Excluded(request.after.to_owned())
    } else {
        Bound::Included(request.prefix.to_owned())
    };
    while let Some((key, value)) = keys.range((from, Bound::Unbounded)).next() {
        let Some(rest) = key.strip_prefix(request.prefix) else { break };
        let grouped = if request.delimiter.is_empty() { None } else { rest.find(request.delimiter) };
        let entry = match grouped {
            None => Entry::Key(key.clone(), value.clone()),
            Some(at) => Entry::Prefix(key[..request.prefix.len() + at + request.delimiter.len()].to_owned()),
        };
        // After a common prefix, skip all keys with this prefix.
        from = match &entry {
            Entry::Key(..) => Bound::Excluded(key.clone()),
            Entry::Prefix(prefix) => beyond(prefix),
        };
        if entry.name() <= request.after && !request.after.is_empty() {
            continue;
        }
        if page.entries.len() == most {
            page.truncated = true;
            break;
        }
        page.entries.push(entry);
    }
    page
}

/// Returns the beginning of the range of keys that sort after all keys with `prefix`.
fn beyond(prefix: &str) -> Bound<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Strings are ordered by characters. The code points from U+D800 to U+DFFF are skipped, because they are
        // surrogates, not characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            characters.push(next);
            return Bound::Included(characters.into_iter().collect());
        }
    }
    // The prefix consists only of the largest character. Every key that sorts after the prefix therefore begins with
    // it.
    Bound::Excluded(prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn keys(names: &[&str]) -> BTreeMap<String, ()> {
        names.iter().map(|name| ((*name).to_owned(), ())).collect()
    }

    /// Returns all names of a list in order, for comparison. This simple implementation looks at each key on its own.
    fn expected(keys: &BTreeMap<String, ()>, prefix: &str, delimiter: &str) -> Vec<String> {
        let below = keys.keys().filter(|key| key.starts_with(prefix));
        let names = below.map(|key| match key[prefix.len()..].find(delimiter) {
            Some(at) if !delimiter.is_empty() => key[..prefix.len() + at + delimiter.len()].to_owned(),
            _ => key.clone(),
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[test]
    fn keys_below_a_delimiter_are_grouped() {
        let keys = keys(&["a", "b/1", "b/2", "b/c/3", "b0", "d/"]);
        let names = |prefix, delimiter| -> Vec<String> {
            let page = page(&keys, ListRequest { prefix, delimiter, after: "", most: 10 });
            page.entries.iter().map(|entry| entry.name().to_owned()).collect()
        };
        assert_eq!(names("", "/"), ["a", "b/", "b0", "d/"]);
        assert_eq!(names("b/", "/"), ["b/1", "b/2", "b/c/"]);
        assert_eq!(names("b", ""), ["b/1", "b/2", "b/c/3", "b0"]);
        assert_eq!(names("x", "/"), [""; 0]);
        let none = page(&keys, ListRequest::default());
        assert_eq!((none.entries.len(), none.truncated, none.next()), (0, false, None));
    }

    #[test]
    fn a_page_has_at_most_a_thousand_entries() {
        let keys: BTreeMap<String, ()> = (0..1001).map(|number| (format!("{number:04}"), ())).collect();
        let page = page(&keys, ListRequest { most: usize::MAX, ..ListRequest::default() });
        assert_eq!((page.entries.len(), page.next()), (PAGE_MAX, Some("0999")));
    }

    proptest! {
        #[test]
        fn joined_pages_are_the_whole_list(
            names in prop::collection::btree_set("[ab/\u{10ffff}]{1,5}", 0..30),
            prefix in "[ab/]{0,2}",
            delimiter in "(/|b|ab)?",
            most in 1_usize..5,
        ) {
            let keys: BTreeMap<String, ()> = names.into_iter().map(|name| (name, ())).collect();
            let mut seen = Vec::new();
            let mut after = String::new();
            loop {
                let page = page(&keys, ListRequest { prefix: &prefix, delimiter: &delimiter, after: &after, most });
                prop_assert!(page.entries.len() <= most);
                seen.extend(page.entries.iter().map(|entry| entry.name().to_owned()));
                let Some(next) = page.next() else { break };
                after = next.to_owned();
            }
            prop_assert_eq!(seen, expected(&keys, &prefix, &delimiter));
        }
    }
}
