//! Header fields of a response that a run needs.

use super::header_values::HeaderValues;
use crate::plan::{Checks, EXPECTED_HEADERS_MAX, Plan, Subject};

/// Maximum number of bytes of a `Server` header that are kept.
const SOFTWARE_BYTES_MAX: usize = 256;

/// Maximum length of an ETag that is kept, in bytes. Longer ETags are ignored.
const ETAG_BYTES_MAX: usize = 1024;

/// Bit that is set if the ETag is the object's name.
const NAME_BIT: u128 = 1 << (u128::BITS - 1);
const _: () =
    assert!(EXPECTED_HEADERS_MAX < u128::BITS as usize, "each required field needs a bit, and so does the name");

/// Receiver of the header fields of a response. The watch keeps the few fields that a run needs.
pub(in crate::run_loop) struct HeaderWatch<'a> {
    group_by: Option<&'a str>,
    group_value: &'a mut Vec<u8>,
    values: &'a mut HeaderValues,
    /// Variable in which the value of `Server` must be stored, if it is still needed.
    software: Option<&'a mut Option<String>>,
    /// Variable in which the ETag must be stored, if it is needed.
    etag: Option<&'a mut Option<Box<str>>>,
    wanted: &'a [wire::header::Header],
    /// Required ETag, which is the name of the object. `true` means that the ETag of an encoded body is also accepted.
    named: Option<(&'a str, bool)>,
    /// One bit for each required field. The bit is set if the response contains the field. The last bit is set if the
    /// ETag is the object's name.
    pub matched: u128,
    /// `true` if only the fields of [`HeaderValues`] are needed.
    values_only: bool,
}

impl<'a> HeaderWatch<'a> {
    /// Returns a watch for the response to a request. The request is given by its index in the plan's mix of requests
    /// and by its subject.
    pub fn new(
        plan: &'a Plan,
        (request, subject): (usize, Subject),
        group_value: &'a mut Vec<u8>,
        values: &'a mut HeaderValues,
        software: Option<&'a mut Option<String>>,
        etag: Option<&'a mut Option<Box<str>>>,
    ) -> Self {
        let checks = &plan.mix.requests()[request].checks;
        let (group_by, wanted) = (plan.group_by.as_deref(), checks.headers.as_slice());
        let named = if checks.etag_is_name { name(plan, checks, subject) } else { None };
        let values_only =
            software.is_none() && etag.is_none() && group_by.is_none() && wanted.is_empty() && named.is_none();
        Self { group_by, group_value, values, software, etag, wanted, named, matched: 0, values_only }
    }

    /// Keeps a field if it is needed.
    #[inline]
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        self.values.add(name, value);
        if !self.values_only {
            self.note(name, value);
        }
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
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
        for (index, header) in self.wanted.iter().enumerate().take(EXPECTED_HEADERS_MAX) {
            if header.name.as_str().as_bytes().eq_ignore_ascii_case(name) && value == header.value.as_str().as_bytes() {
                self.matched |= 1 << index;
            }
        }
        if let Some((wanted, encoded)) = self.named
            && name.eq_ignore_ascii_case(b"etag")
            && is_tag_of(value, wanted, encoded)
        {
            self.matched |= NAME_BIT;
        }
    }
}

/// Returns the name of a listed object, which is the last part of its path.
fn name<'a>(plan: &'a Plan, checks: &Checks, subject: Subject) -> Option<(&'a str, bool)> {
    let Subject::Target(index) = subject else { return None };
    let path = plan.targets.items().get(usize::try_from(index).ok()?)?.target.split('?').next()?;
    Some((path.rsplit('/').next()?, checks.encoding_asked))
}

fn is_tag_of(value: &[u8], name: &str, encoded: bool) -> bool {
    let tag = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let plain = tag.map(|tag| if encoded { tag.strip_suffix(b".gz").unwrap_or(tag) } else { tag });
    plain == Some(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_tag_of;

    #[test]
    fn etags_are_compared_with_names() {
        assert!(is_tag_of(b"\"abc\"", "abc", false) && is_tag_of(b"\"abc.gz\"", "abc", true));
        for other in [&b"abc"[..], b"\"abd\"", b"W/\"abc\"", b"\"abc.gz\"", b"\"", b""] {
            assert!(!is_tag_of(other, "abc", false), "{other:?}");
        }
    }
}
