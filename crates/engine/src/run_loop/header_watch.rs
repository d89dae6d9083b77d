//! Of all that a head says, what a run asks about.

use super::words::Heard;
use crate::plan::{Checks, Plan};

/// Bytes of a `Server` header that are kept.
const SOFTWARE_BYTES_MAX: usize = 256;

/// A tag of an object is never longer; others are taken for none.
const ETAG_BYTES_MAX: usize = 1024;

/// Looks for the few header fields that something depends on.
pub(super) struct HeaderWatch<'a> {
    group_by: Option<&'a str>,
    group_value: &'a mut Vec<u8>,
    heard: &'a mut Heard,
    /// Where the `Server` header goes, while it is not known.
    software: Option<&'a mut Option<String>>,
    /// Where the tag of the object goes, when it is asked for.
    etag: Option<&'a mut Option<Box<str>>>,
    wanted: &'a [wire::header::Header],
    /// One bit for each wanted field.
    pub matched: u64,
}

impl<'a> HeaderWatch<'a> {
    pub fn new(
        plan: &'a Plan,
        checks: &'a Checks,
        group_value: &'a mut Vec<u8>,
        heard: &'a mut Heard,
        software: Option<&'a mut Option<String>>,
        etag: Option<&'a mut Option<Box<str>>>,
    ) -> Self {
        let (group_by, wanted) = (plan.group_by.as_deref(), checks.headers.as_slice());
        Self { group_by, group_value, heard, software, etag, wanted, matched: 0 }
    }

    #[inline]
    pub fn see(&mut self, name: &[u8], value: &[u8]) {
        self.heard.see(name, value);
        if let Some(software) = &mut self.software
            && name.eq_ignore_ascii_case(b"server")
        {
            **software = Some(String::from_utf8_lossy(&value[..value.len().min(SOFTWARE_BYTES_MAX)]).into_owned());
        }
        if let Some(etag) = &mut self.etag
            && name.eq_ignore_ascii_case(b"etag")
            && value.len() <= ETAG_BYTES_MAX
        {
            **etag = std::str::from_utf8(value).ok().map(Into::into);
        }
        if self.group_by.is_some_and(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes())) {
            self.group_value.clear();
            self.group_value.extend_from_slice(value);
        }
        for (index, header) in self.wanted.iter().enumerate() {
            if header.name.as_str().as_bytes().eq_ignore_ascii_case(name) && value == header.value.as_str().as_bytes() {
                self.matched |= 1 << index.min(63);
            }
        }
    }
}
