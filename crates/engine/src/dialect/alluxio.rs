//! The S3 API of Alluxio workers: the bucket stands in the path, nothing is signed, and a worker that has not got an object
//! answers 307 with its owner, which is followed as any redirect is.

use super::{Ask, Dialect, Form};
use measure::OpKind;

/// Objects of a bucket at any worker.
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
