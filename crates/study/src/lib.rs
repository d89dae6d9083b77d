//! Studies: many runs that answer one question.
//!
//! A *scenario* says what is asked, a *matrix* makes cells of it, and a *search* finds the load line by asking for one level
//! after the other. Nothing here makes load or knows a flag of the program: a cell is a command with settings whose names and
//! values the program checks, and a level is a number that the program is asked to try.

pub mod decision;
pub mod document;
mod hidden;
pub mod hooks;
pub mod level;
pub mod line;
pub mod matrix;
pub mod scenario;
pub mod trials;
mod variables;

pub use document::{Fault, Position};
pub use hidden::hidden;
pub use hooks::Hooks;
pub use line::{Search, Step};
pub use scenario::Scenario;
pub use variables::names;
