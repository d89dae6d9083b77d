//! The S3 API of Alluxio workers. The bucket is in the path, and requests are not signed. A worker that does not have
//! an object sends a 307 redirect to the worker that has the object.

use super::{Access, Dialect, Form};

/// Objects of a bucket. Any worker accepts requests for these objects.
#[derive(Clone, Copy, Debug)]
pub struct Alluxio;

impl Dialect for Alluxio {
    fn form(&self, access: Access) -> Option<Form> {
        Form::by_method(access)
    }

    /// Returns `base`, because it is already the path of the bucket.
    fn container(&self, _: Access, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
