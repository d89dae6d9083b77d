//! The S3 API of Alluxio workers. The bucket is in the path, and requests are not signed. A worker that does not have
//! an object sends a 307 redirect to the worker that has the object.

use super::{Access, Dialect, Form};
use measure::OpKind;

/// Objects of a bucket. Any worker accepts requests for these objects.
#[derive(Clone, Copy, Debug)]
pub struct Alluxio;

impl Dialect for Alluxio {
    fn form(&self, access: Access) -> Option<Form> {
        match access {
            Access::Read => Some(Form::plain("GET", OpKind::Get)),
            Access::Write => Some(Form::plain("PUT", OpKind::Put)),
            Access::Delete => Some(Form::plain("DELETE", OpKind::Delete)),
            Access::List => None,
        }
    }

    /// Returns the base, which is already the path of the bucket.
    fn container(&self, _: Access, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
