//! Servers that a study starts for its targets, and stops at its end. A server may be at the far end of a link.

use super::Planned;
use super::links::OpenLink;
use super::served_address::{is_served, with_addresses};
use super::target_process::{Place, TargetProcess};
use crate::failure::Failure;
use std::net::IpAddr;
use std::path::Path;
use study::scenario::Scenario;

/// The servers of a study, and the link of the current trial. The servers and the link end with the study.
pub struct Servers<'s> {
    scenario: &'s Scenario,
    /// Directory of the study.
    base: &'s Path,
    running: Vec<TargetProcess>,
    link: Option<OpenLink>,
}

impl<'s> Servers<'s> {
    /// Starts the servers that these trials need, except those behind links. The servers listen at this address.
    pub fn start(
        scenario: &'s Scenario,
        base: &'s Path,
        planned: &[&Planned],
        address: IpAddr,
    ) -> Result<Self, Failure> {
        let mut running = Vec::new();
        for target in &scenario.targets {
            let needs = |trial: &&&Planned| trial.command.link.is_none() && trial.target == target.name;
            if planned.iter().filter(needs).any(|trial| is_served(trial)) {
                running.extend(TargetProcess::start(target, base, &Place::here(address))?);
            }
        }
        Ok(Self { scenario, base, running, link: None })
    }

    /// Returns a trial with the addresses of its servers, and with its link. Hooks find the first address in PLIMSOLL_SERVED. A
    /// link stays open as long as trials with the same link follow each other.
    pub fn resolved(&mut self, trial: &Planned) -> Result<Planned, Failure> {
        let Some(wanted) = &trial.command.link else {
            self.link = None;
            let server = self.running.iter().find(|server| server.is_of(&trial.target));
            return Ok(with_addresses(trial, server.map_or(&[], TargetProcess::addresses), None));
        };
        let link = match self.link.take().filter(|link| link.is(wanted)) {
            Some(link) => link,
            None => OpenLink::new(wanted, self.scenario.seed)?,
        };
        let link = self.link.insert(link);
        let target = self.scenario.targets.iter().find(|target| target.name == trial.target);
        match target.filter(|_| is_served(trial)) {
            Some(target) => {
                let (number, addresses) = link.serve(target, self.base)?;
                Ok(with_addresses(trial, &addresses, Some(number)))
            }
            None => Ok(with_addresses(trial, &[], Some(link.relay_to(trial)?))),
        }
    }
}
