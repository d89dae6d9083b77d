//! Content of response bodies.

pub(crate) mod files;
pub(crate) mod pattern;
pub(crate) mod source;

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use pattern::Pattern;
use source::Source;

/// The content of a response body.
#[derive(Debug)]
pub(crate) enum Content {
    /// No content, even if the head has a length.
    Empty,
    Text(Cow<'static, [u8]>),
    Pattern,
    File(File),
    /// Content that is generated or fetched while it is sent.
    Source(Box<dyn Source>),
}

impl Content {
    /// Appends `length` bytes of the content, starting at offset `first`, to `out`.
    ///
    /// # Errors
    /// Fails if a file cannot be read or has become shorter.
    pub(crate) fn append(&self, pattern: &Pattern, first: u64, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Empty | Self::Source(_) => {}
            Self::Text(text) => {
                let first = usize::try_from(first).unwrap_or(usize::MAX).min(text.len());
                let last = first.saturating_add(length).min(text.len());
                out.extend_from_slice(&text[first..last]);
            }
            Self::Pattern => pattern.append(first, length, out),
            Self::File(file) => {
                let at = out.len();
                out.resize(at + length, 0);
                file.read_exact_at(&mut out[at..], first)?;
            }
        }
        Ok(())
    }

    /// Returns the default media type, for responses that do not set one.
    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text/plain; charset=utf-8",
            Self::Empty | Self::Pattern | Self::File(_) | Self::Source(_) => "application/octet-stream",
        }
    }
}
