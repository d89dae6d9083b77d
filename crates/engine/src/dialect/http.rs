//! Plain HTTP: a name is a path below the base.

use super::{Ask, Dialect, Form};
use measure::OpKind;

/// Files below a URL.
#[derive(Clone, Copy, Debug)]
pub struct Http;

impl Dialect for Http {
    fn form(&self, ask: Ask) -> Option<Form> {
        match ask {
            Ask::Read => Some(Form::plain("GET", OpKind::Get)),
            Ask::Write => Some(Form::plain("PUT", OpKind::Put)),
            Ask::List => None,
        }
    }

    fn container(&self, _: Ask, base: &str) -> Option<String> {
        Some(base.to_owned())
    }
}
