//! The commands, one file (or folder) each.

pub mod demo;
pub mod doctor;
mod embedded;
pub mod generate;
pub mod get;
pub mod owners;
pub mod redirects;
pub mod report;
pub mod schema;
pub mod serve;
