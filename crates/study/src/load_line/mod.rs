//! The load line: the search for the highest load that meets all objectives, and the outcome of each level that it
//! tries.

pub mod level;
pub mod search;
