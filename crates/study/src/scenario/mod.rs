//! A scenario: the YAML file that describes a study.

mod hooks;
mod model;
mod parser;
mod redaction;
#[cfg(test)]
mod tests;
mod variables;
pub mod yaml;

pub use hooks::{AGENTS, CACHE_STATE, Hooks, LINK};
pub use model::{Axis, AxisValue, Order, Part, Scenario, Setting, Target, TargetServer};
pub use parser::{Faulty, Rest};
pub use redaction::replace_values;
pub use variables::{Variable, variable_names, variables};
pub use yaml::{Diagnostic, Position};
