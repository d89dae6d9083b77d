//! The record of a link: its description, its measured properties, and the data that other processes need to use it.

use super::processes;
use crate::LinkSpec;
use crate::error::{LinkError, failed};
use crate::probe::Measured;
use crate::tun::{Buffers, Counts};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use sys::namespace::{Network, enter_user_namespace};

/// A process, with data that distinguishes it from a later process with the same ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Number of the process. This number also names the link.
    pub process: u32,
    /// Start time of the process, in ticks since the boot of the system.
    pub started_ticks: u64,
}

impl Owner {
    /// Returns this process.
    ///
    /// # Errors
    /// Fails if `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        let process = std::process::id();
        let started_ticks = processes::started_ticks(process).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { process, started_ticks })
    }

    fn runs(self) -> bool {
        processes::started_ticks(self.process) == Some(self.started_ticks)
    }
}

/// The part of a record that depends on the back end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "via", rename_all = "snake_case")]
pub enum Ends {
    /// Network namespaces.
    Tun {
        /// Numbers of the namespaces.
        namespaces: Vec<u64>,
        /// Path through which other processes enter the near end ([`crate::tun::End::place`]).
        near: PathBuf,
        /// Path through which other processes enter the far end.
        far: PathBuf,
        /// Address of the target, as seen from the near end.
        address: IpAddr,
        /// Congestion control of TCP at both ends.
        congestion: String,
        /// Maximum sizes of the TCP buffers at both ends.
        buffers: Buffers,
        /// Counts of the direction down, followed by the counts of the direction up.
        counts: Box<[Counts; 2]>,
    },
    /// A relay.
    Relay {
        /// Address to which clients connect.
        address: SocketAddr,
        /// Host and port of the target, as entered by the user.
        target: String,
    },
}

/// Record of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The process that owns the link.
    pub owner: Owner,
    /// ID of the boot of the system. After a reboot, nothing of the link exists.
    pub boot: String,
    /// The direction from the target to the client, as text.
    pub down: String,
    /// The direction from the client to the target, as text.
    pub up: String,
    /// The part that depends on the back end.
    pub ends: Ends,
    /// Results of the probe. `None` until the probe has ended.
    pub measured: Option<Measured>,
    /// Measured properties that differ from the description, as clauses.
    pub differences: Vec<String>,
    /// Number of times that the owner has written the record.
    pub updates: u64,
}

/// State of a recorded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The owner of the link runs.
    Running,
    /// The owner of the link has ended without removing the record.
    Abandoned,
}

/// One of the two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end of the client.
    Near,
    /// The end of the target.
    Far,
}

impl Record {
    /// Creates the record of a link of this process, before it is measured.
    ///
    /// # Errors
    /// Fails if `/proc` cannot be read.
    pub fn of(spec: &LinkSpec, ends: Ends) -> io::Result<Self> {
        Ok(Self {
            owner: Owner::current()?,
            boot: processes::boot()?,
            down: spec.down.to_string(),
            up: spec.up.to_string(),
            ends,
            measured: None,
            differences: Vec::new(),
            updates: 0,
        })
    }

    /// Returns the state of the link, which depends on whether its owner still runs.
    #[must_use]
    pub fn state(&self) -> LinkState {
        if self.owner.runs() && self.is_from_this_boot() { LinkState::Running } else { LinkState::Abandoned }
    }

    fn is_from_this_boot(&self) -> bool {
        processes::boot().is_ok_and(|boot| boot == self.boot)
    }

    /// Kills the processes at the ends of the link, and waits until they have ended. Returns the numbers of the killed
    /// processes.
    ///
    /// # Errors
    /// Fails if `/proc` cannot be read.
    pub(crate) fn end_processes(&self) -> io::Result<Vec<u32>> {
        match &self.ends {
            Ends::Tun { .. } if self.is_from_this_boot() => processes::end_all(self.owner),
            Ends::Tun { .. } | Ends::Relay { .. } => Ok(Vec::new()),
        }
    }

    /// Returns the numbers of the network namespaces; empty for a relay.
    #[must_use]
    pub fn namespaces(&self) -> &[u64] {
        match &self.ends {
            Ends::Tun { namespaces, .. } => namespaces,
            Ends::Relay { .. } => &[],
        }
    }

    /// Prepares this process to enter the ends of the link. If the link belongs to a user namespace, moves this process
    /// to that namespace. Call this function before the process starts its first thread.
    ///
    /// # Errors
    /// Fails if the link has ended, or belongs to another user.
    pub fn prepare_to_enter(&self) -> Result<(), LinkError> {
        if self.namespaces().is_empty() {
            return Ok(());
        }
        let theirs = PathBuf::from(format!("/proc/{}/ns/user", self.owner.process));
        enter_user_namespace(&theirs)
            .map_err(failed("enter the user namespace of the link (does it belong to another user?)"))
    }

    /// Returns the network namespace of a side. `None` for a relay, which has no namespaces.
    ///
    /// # Errors
    /// Fails if the link has ended, or belongs to another user.
    pub fn network(&self, side: Side) -> Result<Option<Network>, LinkError> {
        let Ends::Tun { near, far, .. } = &self.ends else { return Ok(None) };
        let place = if side == Side::Near { near } else { far };
        Network::open(place).map(Some).map_err(failed("open the link (has it ended?)"))
    }
}
