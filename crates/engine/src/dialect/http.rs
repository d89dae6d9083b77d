//! Plain HTTP. A name is a path below the base URL.

use super::{Access, Dialect, Form};
use measure::OpKind;

/// Files below a URL.
#[derive(Clone, Copy, Debug)]
pub struct Http;

impl Dialect for Http {
    fn form(&self, access: Access) -> Option<Form> {
        match access {
            Access::Read => Some(Form::plain("GET", OpKind::Get)),
            Access::Write => Some(Form::plain("PUT", OpKind::Put)),
            Access::Delete => Some(Form::plain("DELETE", OpKind::Delete)),
            Access::List => None,
        }
    }

    fn container(&self, _: Access, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
