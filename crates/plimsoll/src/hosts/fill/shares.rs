//! The shares of a fill of several hosts: which host has which share, and which agent continues it.

use crate::command::fill::share::{HeldShare, ShareRecord};
use crate::failure::Failure;
use crate::hosts::coordinate::TakeRecords;
use crate::hosts::ended;
use crate::hosts::loads::{Loads, refuse_losses};
use crate::hosts::plan_text::{FillLoad, PlanText};
use crate::progress;
use fleet::coordinator::Settings;
use report::number::plural;
use std::time::Duration;

/// Largest difference of the starts. The agents need not start together.
const SPREAD_MAX: Duration = Duration::from_secs(3600);

/// Asks all agents for the shares that their hosts have.
pub(super) fn survey(loads: &mut Loads<'_>) -> Result<Vec<Vec<HeldShare>>, Failure> {
    let (settings, names) = (settings(loads, FillLoad::Survey)?, loads.names());
    let records = SurveyRecords { held: vec![Vec::new(); names.len()] };
    let (outcome, records) = loads.carry_out(settings, names, records)?;
    let ended = ended(outcome)?;
    refuse_losses(&ended, "a fill")?;
    if sys::signals::interrupts().count > 0 {
        return Err(progress::requests_interrupted("interrupted before the first upload"));
    }
    Ok(records.held)
}

/// Returns the settings of a load of the fill.
pub(super) fn settings(loads: &mut Loads<'_>, load: FillLoad) -> Result<Settings, Failure> {
    let plan = PlanText { fill: Some(load), ..loads.plan() };
    Ok(Settings { spread_max: SPREAD_MAX, ..loads.next_settings(&plan)? })
}

/// Returns the number of the share of each agent. An agent gets a share that its host has. If several hosts have a share,
/// the one that has stored most of it gets it. The remaining shares are new for their agents.
pub(super) fn assign(held: &[Vec<HeldShare>], count: usize) -> Result<Vec<u32>, String> {
    let of = u32::try_from(count).unwrap_or(u32::MAX);
    if let Some(other) = held.iter().flatten().map(|held| held.share.of).find(|other| *other != of) {
        return Err(format!(
            "the hosts have this fill in {}, so it needs {}; use as many as before, or another --out",
            plural(other.into(), "share"),
            plural(other.into(), "host")
        ));
    }
    let mut known: Vec<(u64, usize, u32)> = Vec::new();
    for (agent, held) in held.iter().enumerate() {
        known.extend(held.iter().map(|held| (held.fill.stored, agent, held.share.index)));
    }
    known.sort_by_key(|(stored, agent, share)| (std::cmp::Reverse(*stored), *agent, *share));
    let mut shares: Vec<Option<u32>> = vec![None; count];
    for (_, agent, share) in known {
        if share < of && shares[agent].is_none() && !shares.contains(&Some(share)) {
            shares[agent] = Some(share);
        }
    }
    let mut free = (0..of).filter(|share| !shares.contains(&Some(*share))).collect::<Vec<_>>().into_iter();
    Ok(shares.into_iter().map(|share| share.or_else(|| free.next()).unwrap_or(0)).collect())
}

/// The shares that hosts have, as their agents report them.
struct SurveyRecords {
    held: Vec<Vec<HeldShare>>,
}

impl TakeRecords for SurveyRecords {
    fn take(&mut self, from: usize, record: &str, _: u64) -> Result<Option<&'static str>, Failure> {
        Ok(match (serde_json::from_str(record), self.held.get_mut(from)) {
            (Ok(ShareRecord::Held(shares)), Some(held)) => {
                *held = shares;
                None
            }
            _ => Some("a record is malformed"),
        })
    }

    fn lost(&mut self, _: usize) {}

    fn is_decided(&self) -> bool {
        false
    }

    fn tick(&mut self, _: Option<u64>) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::fill::Costs;
    use report::{FleetFill, JsonFill};
    use store::fill_directory::Share;

    fn held(shares: &[(u32, u32, u64)]) -> Vec<HeldShare> {
        let empty = FleetFill { objects: 9, object_bytes: 9, agents: Vec::new(), end: None, tolerate_lost: 0 };
        let costs = Costs::none();
        let share = |(index, of, stored): &(u32, u32, u64)| HeldShare {
            share: Share { index: *index, of: *of },
            fill: JsonFill { stored: *stored, ..report::json_fleet_fill(&empty, &costs) },
        };
        shares.iter().map(share).collect()
    }

    #[test]
    fn each_share_stays_with_its_journal() {
        assert_eq!(assign(&[held(&[]), held(&[]), held(&[])], 3), Ok(vec![0, 1, 2]), "a new fill");
        let moved = [held(&[(2, 3, 5)]), held(&[]), held(&[(0, 3, 5)])];
        assert_eq!(assign(&moved, 3), Ok(vec![2, 1, 0]), "the hosts are named in another order");
        let twice = [held(&[(0, 2, 5)]), held(&[(0, 2, 9)])];
        assert_eq!(assign(&twice, 2), Ok(vec![1, 0]), "the host that has stored more keeps the share");
        let shared = [held(&[(0, 2, 5), (1, 2, 5)]), held(&[(0, 2, 5), (1, 2, 5)])];
        assert_eq!(assign(&shared, 2), Ok(vec![0, 1]), "two agents of one host");
        assert_eq!(assign(&[held(&[(7, 1, 5)])], 1), Ok(vec![0]), "a share that does not exist");
    }

    #[test]
    fn another_number_of_hosts_is_refused() {
        let refused = assign(&[held(&[(0, 3, 5)]), held(&[])], 2).unwrap_err();
        assert_eq!(
            refused,
            "the hosts have this fill in 3 shares, so it needs 3 hosts; use as many as before, or another --out"
        );
    }
}
