//! The creation, use and removal of a link by commands and scenarios.

use crate::error::{LinkError, failed};
use crate::probe::{Difference, Measured, measure, measure_relay};
use crate::relay::Relay;
use crate::spec::{Direction, LinkSpec};
use crate::state::{Cleaned, Ends, Record, Registered, Registry};
use crate::tun::{Path, Settings};
use std::net::SocketAddr;

/// A link that was measured and recorded. Dropping this value removes the link and its record, and kills the processes
/// at its ends.
#[derive(Debug)]
pub struct Session {
    carrier: Carrier,
    record: Record,
    cleaned: Vec<Cleaned>,
    // Fields are dropped in the order of their declaration. This field comes after the path, so that the record is
    // removed after the path.
    registered: Registered,
}

/// The back end of the link.
#[derive(Debug)]
enum Carrier {
    Tun(Path),
    // The relay ends when it is dropped.
    Relay { _relay: Relay },
}

impl Session {
    /// Removes earlier links whose owners were killed. Then creates a path of the back end tun, records the path and
    /// measures it.
    ///
    /// # Errors
    /// Fails if the description has a mistake, a permission is missing, or a system call fails. After a failure,
    /// nothing of the link remains.
    pub fn tun(spec: &LinkSpec, settings: &Settings, registry: &Registry) -> Result<Self, LinkError> {
        let path = Path::open(spec, settings)?;
        let ends = ends_of(&path);
        Self::start(spec, Carrier::Tun(path), ends, registry)
    }

    /// Like [`Self::tun`], but starts a relay to `target`, which has the address `to`.
    ///
    /// # Errors
    /// See [`Self::tun`]. Also fails if the relay cannot reproduce the description.
    pub fn relay(
        spec: &LinkSpec,
        (target, to): (&str, SocketAddr),
        seed: u64,
        registry: &Registry,
    ) -> Result<Self, LinkError> {
        let relay = Relay::start(spec, to, seed)?;
        let ends = Ends::Relay { address: relay.address(), target: target.to_owned() };
        Self::start(spec, Carrier::Relay { _relay: relay }, ends, registry)
    }

    fn start(spec: &LinkSpec, carrier: Carrier, ends: Ends, registry: &Registry) -> Result<Self, LinkError> {
        let cleaned = registry.clean().map_err(failed("clean up after earlier links"))?;
        let record = Record::of(spec, ends).map_err(failed("describe the link"))?;
        // The record is written before the measurement, so that the link can be cleaned up even if the process is
        // killed during the measurement.
        let registered = registry.register(&record).map_err(failed("write the record of the link"))?;
        let mut session = Self { carrier, record, cleaned, registered };
        let measured: Measured = match &session.carrier {
            Carrier::Tun(path) => measure(path, spec)?,
            Carrier::Relay { .. } => measure_relay(spec)?,
        };
        session.record.differences = measured.differences(spec).iter().map(Difference::to_string).collect();
        session.record.measured = Some(measured);
        session.publish()?;
        Ok(session)
    }

    /// Returns the path. `None` for a relay.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.carrier {
            Carrier::Tun(path) => Some(path),
            Carrier::Relay { .. } => None,
        }
    }

    /// Returns the record, with the counts of the last [`Self::publish`].
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the earlier links whose remains were removed.
    #[must_use]
    pub fn cleaned(&self) -> &[Cleaned] {
        &self.cleaned
    }

    /// Writes the current counts to the record, for other processes.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn publish(&mut self) -> Result<(), LinkError> {
        if let Carrier::Tun(path) = &self.carrier {
            self.record.ends = ends_of(path);
        }
        self.record.updates += 1;
        self.registered.write(&self.record).map_err(failed("write the record of the link"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Processes that still run at an end would keep its namespace alive.
        let _ = self.record.end_processes();
    }
}

fn ends_of(path: &Path) -> Ends {
    Ends::Tun {
        namespaces: vec![path.near().namespace_id(), path.far().namespace_id()],
        near: path.near().place(),
        far: path.far().place(),
        address: path.far().address().into(),
        congestion: path.far().congestion().to_owned(),
        buffers: path.buffers(),
        counts: Box::new([Direction::Down, Direction::Up].map(|direction| path.counts(direction))),
    }
}
