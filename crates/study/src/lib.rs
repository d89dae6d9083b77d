//! Studies: many runs that answer one question.
//!
//! A *scenario* names targets, settings and a matrix. Every combination of values in the matrix is a *cell*. Every
//! measurement of a cell on a target is a *trial*. A *search* finds the load line by trying one level after the other.
//!
//! This crate generates no load, and does not know the program's flags. In this crate, a cell is a command with
//! settings that the program checks, and a level is a number that the program tries.

pub mod load_line;
pub mod matrix;
pub mod objective_monitor;
pub mod scenario;
pub mod trial_order;
