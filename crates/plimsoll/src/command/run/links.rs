//! The emulated links of a study. A target that the study starts runs at the far end of a path. Any other target is reached
//! through a relay.

use super::Planned;
use super::served_address::is_served;
use super::target_process::{Place, TargetProcess};
use crate::command::link::{Held, Holder, PathArgs};
use crate::failure::Failure;
use link::{DirectionSpec, LinkSetting, SpecError};
use std::path::Path;
use study::matrix::TrialCommand;
use study::scenario::{Diagnostic, LINK, Position, Target};
use wire::Url;

/// Returns the mistakes in the links of all trials, each mistake only once. `has_wrong_url` returns whether the URLs of a
/// trial are known to be wrong.
pub fn check(planned: &[Planned], has_wrong_url: &dyn Fn(&TrialCommand) -> bool) -> Vec<Diagnostic> {
    let mut faults: Vec<Diagnostic> = Vec::new();
    for trial in planned {
        let Some(text) = &trial.command.link else { continue };
        let place = trial.command.positions.iter().find(|(name, _)| name == LINK);
        let mistakes = match text.parse::<LinkSetting>() {
            Err(error) => of_items(text, error).iter().map(ToString::to_string).collect(),
            Ok(_) if is_served(trial) => Vec::new(),
            Ok(setting) if setting.congestion.is_some() => {
                let target = &trial.target;
                vec![format!(
                    "target `{target}` is reached through a relay, which cannot set `congestion`; leave it out"
                )]
            }
            Ok(_) if has_wrong_url(&trial.command) => Vec::new(),
            Ok(_) => target_of(trial).err().into_iter().collect(),
        };
        for mistake in mistakes {
            let at = place.map_or(Position::START, |(_, at)| *at);
            let fault = Diagnostic::new(at, format!("`{LINK}`: {mistake}"));
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// Returns the mistakes in the single items of a link, or else its first mistake.
fn of_items(text: &str, first: SpecError) -> Vec<SpecError> {
    let of_word = |word: &str| match word.split_once('=') {
        Some(("congestion", _)) => Vec::new(),
        Some(("down" | "up", items)) => {
            items.split(',').filter_map(|item| item.parse::<DirectionSpec>().err()).collect()
        }
        _ => word.split(',').filter_map(|item| item.parse::<DirectionSpec>().err()).collect::<Vec<_>>(),
    };
    let found: Vec<SpecError> = text.split_whitespace().flat_map(of_word).collect();
    if found.is_empty() { vec![first] } else { found }
}

/// Gets the permission to make paths, if a trial needs a path. Call this function before this process starts its first
/// thread.
pub fn gain_permissions(planned: &[Planned]) -> Result<(), Failure> {
    if planned.iter().any(|trial| trial.command.link.is_some() && is_served(trial)) {
        link::permissions::gain().map_err(Failure::could_not_run)?;
    }
    Ok(())
}

/// Returns the host and port of a trial's only target, for a relay.
fn target_of(trial: &Planned) -> Result<String, String> {
    let urls =
        trial.command.arguments.iter().filter(|word| word.starts_with("http://") || word.starts_with("https://"));
    let mut targets: Vec<String> =
        urls.filter_map(|url| Url::parse(url).ok()).map(|url| url.origin().to_string()).collect();
    targets.dedup();
    match targets.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(format!("target `{}` needs an http:// or https:// URL for its relay", trial.target)),
        _ => Err(format!("target `{}` has URLs of several servers, but a relay leads to only one", trial.target)),
    }
}

/// The link of the current trial, with the servers at its far end.
pub(super) struct OpenLink {
    text: String,
    setting: LinkSetting,
    seed: u64,
    // Fields are dropped in this order, so the servers end before the path.
    servers: Vec<TargetProcess>,
    path: Option<Holder>,
    relays: Vec<(String, Holder)>,
}

impl OpenLink {
    pub fn new(text: &str, seed: u64) -> Result<Self, Failure> {
        let setting = text.parse().map_err(|error: SpecError| Failure::usage(error))?;
        Ok(Self { text: text.to_owned(), setting, seed, servers: Vec::new(), path: None, relays: Vec::new() })
    }

    /// Returns whether this link has the given description.
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Returns the number of the path, and the addresses of a target's servers at its far end. The path and the server are
    /// started if necessary.
    pub fn serve(&mut self, target: &Target, base: &Path) -> Result<(u32, Vec<String>), Failure> {
        let path = match self.path.take() {
            Some(path) => path,
            None => Holder::start(&PathArgs::of(&self.setting, self.seed), Held::WithHolder)?,
        };
        let record = self.path.insert(path).record();
        if !self.servers.iter().any(|server| server.is_of(&target.name)) {
            let place = Place::of(record).map_err(Failure::could_not_run)?;
            self.servers.extend(TargetProcess::start(target, base, &place)?);
        }
        let server = self.servers.iter().find(|server| server.is_of(&target.name));
        let addresses = server.map(|server| server.addresses().to_vec()).unwrap_or_default();
        Ok((record.owner.process, addresses))
    }

    /// Returns the number of the relay to a trial's target. The relay is started if necessary.
    pub fn relay_to(&mut self, trial: &Planned) -> Result<u32, Failure> {
        let target = target_of(trial).map_err(Failure::usage)?;
        let known =
            self.relays.iter().find(|(known, _)| *known == target).map(|(_, relay)| relay.record().owner.process);
        if let Some(number) = known {
            return Ok(number);
        }
        let relay = Holder::start_relay(&target, &self.setting.spec, self.seed)?;
        let number = relay.record().owner.process;
        self.relays.push((target, relay));
        Ok(number)
    }
}
