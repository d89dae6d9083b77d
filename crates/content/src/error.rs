//! The error for invalid descriptions of objects.

/// An invalid description. The message is one line that names the mistake and shows a valid form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
