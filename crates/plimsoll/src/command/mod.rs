//! The commands, one file (or folder) each.

mod dataset;
pub mod demo;
pub mod doctor;
mod embedded;
pub mod generate;
pub mod get;
pub mod load;
pub mod owners;
pub mod put;
pub mod redirects;
pub mod report;
pub mod schema;
pub mod serve;
