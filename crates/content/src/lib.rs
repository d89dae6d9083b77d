//! Generated content of objects, and datasets.
//!
//! The bytes of an object are a pure function of (seed, key, offset). The size and key of an object are pure functions
//! of (seed, index). Nothing is stored. Any machine that knows the seed can generate and verify any range of any
//! object, in any order. A few words are enough to describe a dataset of 250 million objects. The bytes cannot be
//! compressed. Eight lines of Python can generate them too (docs/content.md).
//!
//! This crate contains no I/O and no HTTP code.
//!
//! ```
//! use content::{Content, Seed};
//!
//! let content = Content::new(Seed(1));
//! let object = content.object("data/object-00000000.bin");
//! let mut body = [0; 100];
//! object.fill(5_000_000_000, &mut body);
//! assert!(object.verifier(5_000_000_000).check(&body).is_ok());
//!
//! body[7] ^= 1;
//! let mismatch = object.verifier(5_000_000_000).check(&body).unwrap_err();
//! assert_eq!(mismatch.offset, 5_000_000_007);
//! ```

mod bytes;
mod dataset;
mod draw;
mod error;
mod names;
mod sizes;
mod verify;

pub use bytes::{Content, ObjectContent, Seed};
pub use dataset::{Dataset, Description, Object, Remainder};
pub use error::Invalid;
pub use names::Names;
pub use sizes::{SIZE_MAX, Sizes};
pub use verify::{Excerpt, Mismatch, Verifier};
