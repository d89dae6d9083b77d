//! The schedule of operations.
//!
//! The load over time is a [`Profile`]. The level of a profile is constant, or changes linearly in stages. In the open
//! model, the level is a number of operations per second, and [`Arrivals`] computes the intended start of the n-th
//! operation. In the closed model, the level is the number of slots in use.

mod arrivals;
mod profile;
mod tickets;

pub use arrivals::{Arrivals, Spacing};
pub use profile::{Profile, ProfileError, StagePlan};
pub use tickets::{Budget, Draw, Tickets};
