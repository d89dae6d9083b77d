//! The search for the load line, which is the highest load that meets all objectives. The search tries levels of the
//! load, and each level has an outcome.

pub mod level;
pub mod search;
