//! The matrix of a study, with its cells, the command that measures each cell, and the environment of the hooks.

mod cell;
mod command;
mod hook_environment;

pub use cell::{CELLS_MAX, Cell, cells, directory_name};
pub use command::{TrialCommand, flags};
pub use hook_environment::hook_environment;
