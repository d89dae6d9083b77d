//! The objects that a bucket contains.

use super::{LocationClient, get};
use crate::failure::Failure;
use crate::load::URLS_MAX;
use crate::progress::{LiveLine, requests_failed};
use engine::plan::{RequestPlan, Targets};
use report::number::{count, plural};
use std::time::Instant;
use wire::s3::{ListResult, ListedObject};

impl LocationClient<'_> {
    /// Returns the objects below the prefix with their sizes, in the order of their keys.
    pub fn list_objects(&self) -> Result<Targets, Failure> {
        let found = self.list(|object| (self.location.path(&object.key).into(), object.size))?;
        let sizes: Vec<u64> = found.iter().map(|(_, size)| *size).collect();
        let paths = found.into_iter().map(|(path, _)| (0, path));
        let mut targets = Targets::of_paths(self.location.origins.clone(), paths);
        for (item, size) in targets.items_mut().iter_mut().zip(sizes) {
            item.size = Some(size);
        }
        Ok(targets)
    }

    /// Returns the keys of the objects below the prefix, in order.
    pub fn list_keys(&self) -> Result<Vec<Box<str>>, Failure> {
        self.list(|object| object.key)
    }

    /// Reads the listing, and shows the progress. `keep` returns the part of an entry to keep. An empty listing is an
    /// error.
    fn list<T>(&self, keep: impl Fn(ListedObject) -> T) -> Result<Vec<T>, Failure> {
        let (begun, mut live) = (Instant::now(), LiveLine::new());
        let found = self.list_pages(keep, |number| {
            live.message(begun.elapsed(), &format!("listing the bucket: {} so far", plural(number, "object")));
        });
        live.clear();
        let found = found?;
        if found.is_empty() {
            return Err(Failure::could_not_run(match self.location.prefix.as_str() {
                "" => "the bucket is empty: write objects first, for example with `plimsoll prepare`".to_owned(),
                prefix => format!("no object has the prefix `{prefix}`: check the prefix, or leave it out"),
            }));
        }
        Ok(found)
    }

    /// Reads all pages of the listing. `tick` is called after each page, with the number of objects so far.
    fn list_pages<T>(&self, keep: impl Fn(ListedObject) -> T, mut tick: impl FnMut(u64)) -> Result<Vec<T>, Failure> {
        let prefix = wire::percent::parameter(&self.location.prefix);
        let mut found = Vec::new();
        let mut from = String::new();
        loop {
            let query = format!("list-type=2&max-keys=1000&encoding-type=url&prefix={prefix}{from}");
            let reply = self.send(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
            if reply.status != 200 {
                return Err(Failure::could_not_run(format!("cannot list objects: {}", reply.description())));
            }
            let page = ListResult::parse(&reply.message)
                .map_err(|error| Failure::could_not_run(format!("cannot parse the listing: {error}")))?;
            found.extend(page.objects.into_iter().map(&keep));
            if found.len() > URLS_MAX {
                return Err(Failure::could_not_run(format!(
                    "more than {} objects: list a longer prefix",
                    count(URLS_MAX as u64)
                )));
            }
            tick(found.len() as u64);
            if sys::signals::interrupts().count > 0 {
                return Err(requests_failed("interrupted while the bucket was listed"));
            }
            let Some(next) = page.next else { return Ok(found) };
            from = format!("&continuation-token={}", wire::percent::parameter(&next));
        }
    }
}
