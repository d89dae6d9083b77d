//! Plain HTTP. A name is a path below the base URL.

use super::{Access, Dialect, Form};

/// Files below a URL.
#[derive(Clone, Copy, Debug)]
pub struct Http;

impl Dialect for Http {
    fn form(&self, access: Access) -> Option<Form> {
        Form::by_method(access)
    }

    fn container(&self, _: Access, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
