//! What the commands that make load have in common: their flags, and what follows from them.

mod args;
pub mod dialect;
mod headers;
pub mod place;
mod plan;
pub mod s3;
pub mod stored;

pub use args::{Args, Help, count, percent, seed};
pub use headers::{checks, headers};
pub use plan::{Asked, beside, output, plan};
