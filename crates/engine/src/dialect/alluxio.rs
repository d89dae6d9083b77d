//! The S3 API of Alluxio workers: the bucket is in the path, requests are not signed, and a worker that does not have an object redirects
//! to its owner with a 307.

use super::{Ask, Dialect, Form};
use measure::OpKind;

/// Objects of a bucket. Any worker can be asked for them.
#[derive(Clone, Copy, Debug)]
pub struct Alluxio;

impl Dialect for Alluxio {
    fn form(&self, ask: Ask) -> Option<Form> {
        match ask {
            Ask::Read => Some(Form::plain("GET", OpKind::Get)),
            Ask::Write => Some(Form::plain("PUT", OpKind::Put)),
            Ask::List => None,
        }
    }

    /// The base is the path of the bucket.
    fn container(&self, _: Ask, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
