//! Values of header fields that affect the outcome of a response.

use crate::plan::{Auth, Plan, RequestPlan, ResponseBody};
use wire::checksum::{self, Algorithm, Checksum};

/// Maximum number of bytes of a field's value that are kept.
const VALUE_BYTES_MAX: usize = 256;

/// Header values of the response that is being read.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct HeaderValues {
    /// `true` if this run needs other fields in addition to `Retry-After`.
    all: bool,
    pub date: Vec<u8>,
    pub retry_after: Vec<u8>,
    pub etag: Vec<u8>,
    /// Checksum of the body.
    pub checksum: Option<Checksum>,
    /// Algorithm of a checksum that is announced as a trailer.
    pub announced: Option<Algorithm>,
}

impl HeaderValues {
    /// Returns empty values, for the fields that a plan needs.
    pub fn new(plan: &Plan) -> Self {
        let needs =
            |request: &RequestPlan| request.range.is_some() || matches!(request.response_body, ResponseBody::Hashed(_));
        Self { all: speaks_s3(plan) || plan.mix.requests().iter().any(needs), ..Self::default() }
    }

    /// Removes the values of the previous response.
    #[inline]
    pub fn clear(&mut self) {
        self.retry_after.clear();
        if self.all {
            self.date.clear();
            self.etag.clear();
            (self.checksum, self.announced) = (None, None);
        }
    }

    /// Keeps the value of a field if it is needed.
    #[inline]
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        if self.all || name.len() == b"retry-after".len() {
            self.note(name, value);
        }
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
        let field = match name.len() {
            4 if is("date") => &mut self.date,
            4 if is("etag") => &mut self.etag,
            11 if is("retry-after") => &mut self.retry_after,
            7 | 13 if is("trailer") || is("x-amz-trailer") => {
                self.announced = self.announced.or_else(|| announced_algorithm(value));
                return;
            }
            _ => {
                self.checksum = self.checksum.or_else(|| checksum::of_field(name, value));
                return;
            }
        };
        field.clear();
        field.extend_from_slice(&value[..value.len().min(VALUE_BYTES_MAX)]);
    }

    /// Returns the watched values, read from the header fields of a response.
    #[cfg(test)]
    pub fn of(fields: &[(&str, &str)]) -> Self {
        let mut values = Self { all: true, ..Self::default() };
        fields.iter().for_each(|(name, value)| values.add(name.as_bytes(), value.as_bytes()));
        values
    }
}

fn announced_algorithm(value: &[u8]) -> Option<Algorithm> {
    value.split(|byte| *byte == b',').find_map(|name| Algorithm::of_field(name.trim_ascii()))
}

/// Returns whether the requests of a plan are S3 requests.
pub(in crate::run_loop) fn speaks_s3(plan: &Plan) -> bool {
    matches!(plan.auth, Auth::S3 { .. } | Auth::S3Anonymous)
}
