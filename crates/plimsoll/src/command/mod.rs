//! The commands. Each has its own module.

pub mod agent;
pub mod cleanup;
pub mod collect;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod fill;
pub mod fleet;
pub mod generate;
pub mod get;
pub mod line;
pub mod link;
pub mod load_command;
pub mod merge;
pub mod mix;
pub mod owners;
pub mod prepare;
pub mod put;
pub mod redirects;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
