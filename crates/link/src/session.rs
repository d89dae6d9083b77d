//! A link from its start to its end: what commands and scenarios use.

use crate::error::{LinkError, failed};
use crate::probe::{Difference, Measured, measure};
use crate::spec::{Direction, LinkSpec};
use crate::state::{Cleaned, Record, Registered, Registry};
use crate::tun::{Health, Path, Settings};

/// A measured and recorded path of the back end tun. Dropping it removes the path and its record.
#[derive(Debug)]
pub struct Session {
    spec: LinkSpec,
    path: Path,
    measured: Measured,
    cleaned: Vec<Cleaned>,
    // The record is removed after the path.
    _registered: Registered,
}

impl Session {
    /// Cleans up after earlier links whose owners were killed, makes a path, records it and measures it.
    ///
    /// # Errors
    /// Fails if the description has a mistake, a right is missing, or a system call fails. Nothing is left behind.
    pub fn start(spec: &LinkSpec, settings: &Settings, registry: &Registry) -> Result<Self, LinkError> {
        let cleaned = registry.clean().map_err(failed("clean up after earlier links"))?;
        let path = Path::open(spec, settings)?;
        let record = Record::of(&path, spec).map_err(failed("describe the link"))?;
        let registered = registry.register(&record).map_err(failed("write the record of the link"))?;
        let measured = measure(&path, spec)?;
        Ok(Self { spec: *spec, path, measured, cleaned, _registered: registered })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what the probe measured before the path was used.
    #[must_use]
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// Returns what was left of earlier links, and was removed.
    #[must_use]
    pub fn cleaned(&self) -> &[Cleaned] {
        &self.cleaned
    }

    /// Returns in what the measured path differs from its description. If there is a difference, results over this path
    /// are UNUSABLE.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        self.measured.differences(&self.spec)
    }

    /// Returns whether the emulator had enough CPU time and memory for all traffic so far, in the worse direction. If not,
    /// the emulator is what limited a run.
    #[must_use]
    pub fn health(&self) -> Health {
        let healths = [Direction::Down, Direction::Up].map(|direction| self.path.counts(direction).health());
        healths.into_iter().find(|health| *health != Health::Good).unwrap_or(Health::Good)
    }
}
