//! Tests of reports, from saved runs to each format.
//!
//! All of them are one program, because each program takes several seconds to build.

mod absurd;
mod common;
mod compare;
mod export;
mod golden;
mod merge;
mod result;
mod rolled_up;
mod widths;
