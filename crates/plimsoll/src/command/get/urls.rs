//! The URLs to load, from the command line or from a list.

use super::args::Args;
use crate::failure::Failure;
use crate::input_file::{Limits, Lines};
use crate::load::URLS_MAX;
use crate::redact;
use crate::secret_reference;
use engine::plan::Targets;
use std::fmt::Display;
use std::path::Path;
use wire::{Credentials, Url};

/// Returns the objects that the URLs name, and the credentials that the URLs contain.
pub fn targets(args: &Args) -> Result<(Targets, Option<String>), Failure> {
    let mut urls = Urls { targets: Targets::default(), credentials: None, most: URLS_MAX };
    for text in &args.urls {
        urls.add(text, &format_args!("`{}`", redact::url_text(text)), secret_reference::of_url)?;
    }
    if let Some(path) = &args.url_file {
        urls.add_list(path)?;
    }
    let Urls { targets, credentials, .. } = urls;
    if credentials.is_some() && targets.origins().len() > 1 {
        return Err(Failure::usage(
            "credentials in a URL apply only to the host of that URL; for several hosts use -u user:password",
        ));
    }
    if targets.items().is_empty() {
        return Err(Failure::usage(match &args.url_file {
            Some(path) => format!("{} contains no URL: write one per line", path.display()),
            None => "no URL given: use `plimsoll get http://host:port/path`".to_owned(),
        }));
    }
    Ok((targets, credentials))
}

/// Returns user and password of a URL, separated by a colon.
type ReadCredentials = fn(&Credentials) -> Result<String, Failure>;

/// Returns the credentials of a URL from a list. Such a URL cannot refer to environment variables.
fn as_written(found: &Credentials) -> Result<String, Failure> {
    Ok(format!("{}:{}", found.user(), found.password()))
}

struct Urls {
    targets: Targets,
    credentials: Option<String>,
    most: usize,
}

impl Urls {
    /// Adds a URL. `place` is the source of the URL, for error messages. `read` returns its user and password.
    fn add(&mut self, text: &str, place: &dyn Display, read: ReadCredentials) -> Result<(), Failure> {
        let refused = |why: &dyn Display| Err(Failure::usage(format!("{place}: {why}")));
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => return refused(&error),
        };
        if let Some(found) = url.credentials() {
            let found = read(found)?;
            if self.credentials.get_or_insert_with(|| found.clone()) != &found {
                return refused(
                    &"the URLs have different credentials; use the same in all URLs, or remove them and use -u",
                );
            }
        }
        if self.targets.items().len() >= self.most {
            return refused(&format_args!("more than {} URLs; split the list", self.most));
        }
        if !self.targets.push(&url) {
            return refused(&format_args!("more than {} different hosts; split the list", engine::plan::ORIGINS_MAX));
        }
        Ok(())
    }

    /// Adds the URLs of a file. Blank lines and lines that start with # are skipped.
    fn add_list(&mut self, path: &Path) -> Result<(), Failure> {
        let mut lines = Lines::open(path, Limits::LIST)?;
        while let Some((text, place)) = lines.next()? {
            if !text.is_empty() && !text.starts_with('#') {
                self.add(text, &place, as_written)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_too_many_urls_is_refused() {
        let mut urls = Urls { targets: Targets::default(), credentials: None, most: 3 };
        for number in 0..3 {
            urls.add(&format!("http://host/{number}"), &"here", as_written).expect("the list has room");
        }
        let refused = urls.add("http://host/3", &"urls, line 4", as_written);
        let Err(Failure::Message(_, text)) = refused else { panic!("one URL too many was accepted: {refused:?}") };
        assert!(text.starts_with("urls, line 4: more than 3 URLs"), "{text}");
    }
}
