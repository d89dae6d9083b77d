//! Probability distributions: binomial, normal and Student's t.

pub mod binomial;
pub mod normal;
pub(crate) mod student;
