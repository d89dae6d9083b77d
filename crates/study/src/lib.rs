//! Studies: many runs that answer one question.
//!
//! A *scenario* names targets, settings and a matrix. Every combination of values in the matrix is a *cell*. Every
//! measurement of a cell on a target is a *trial*. A *search* finds the load line, which is the highest load that meets
//! all objectives. The search tries one level of the load after the other.
//!
//! This crate generates no load, and does not know the program's flags. The program checks the settings of a cell, and
//! runs the levels of a search.

pub mod load_line;
pub mod matrix;
pub mod objective_monitor;
pub mod scenario;
pub mod trial_order;
