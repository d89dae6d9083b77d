//! The objectives of a level of a search, watched over the sum of all agents.
//!
//! Each agent sends the counts of its slices. The slices of all agents begin at the same instants, because all clocks
//! count from T0. The level is decided on the sums, by the same rules as a level of a single process.

use crate::command::line::MonitorOfLevel;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use study::objective_monitor::{Decision, LevelEvidence, ObjectiveMonitor, SliceCounts};

/// Maximum number of slices of an agent that wait for the slices of the other agents. A silent agent counts as lost
/// long before this limit, even if the bus was away for as long as it may be (300 s, with ten slices per second).
const WAITING_MAX: usize = 4000;

/// The counts of slices that an agent sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentSlices {
    /// The slices, oldest first.
    pub slices: Vec<SliceCounts>,
}

/// The objectives of a level.
pub struct Watch<'m> {
    monitor_of: MonitorOfLevel<'m>,
    monitor: Option<ObjectiveMonitor>,
    agents: Vec<Waiting>,
    decision: Option<Decision>,
}

/// The slices of an agent that wait for those of the others.
#[derive(Default)]
struct Waiting {
    slices: VecDeque<SliceCounts>,
    /// `true` if no slice follows.
    is_over: bool,
}

impl<'m> Watch<'m> {
    /// Creates the watch of a level that this number of agents runs.
    pub fn new(monitor_of: MonitorOfLevel<'m>, agents: usize) -> Self {
        let agents = std::iter::repeat_with(Waiting::default).take(agents).collect();
        Self { monitor_of, monitor: None, agents, decision: None }
    }

    /// Begins to watch. `in_flight_max` is the maximum number of operations in flight of all agents together.
    pub fn begin(&mut self, in_flight_max: u64) {
        self.monitor = Some((self.monitor_of)(in_flight_max));
    }

    /// Adds slices of an agent. Returns what is wrong with them, if the agent must not be trusted any more.
    pub fn add(&mut self, from: usize, slices: Vec<SliceCounts>) -> Option<&'static str> {
        let agent = self.agents.get_mut(from)?;
        agent.slices.extend(slices);
        if agent.slices.len() > WAITING_MAX {
            return Some("it is too far ahead of the other agents");
        }
        self.advance().err()
    }

    /// Remembers that an agent sends no more slices.
    pub fn over(&mut self, from: usize) {
        if let Some(agent) = self.agents.get_mut(from) {
            agent.is_over = true;
        }
    }

    /// Returns the decision that ended the level; `None` if there is no decision yet.
    pub fn decision(&self) -> Option<Decision> {
        self.decision
    }

    /// Returns what the monitor observed; `None` if the level has not begun on all agents.
    pub fn evidence(&self) -> Option<LevelEvidence> {
        self.monitor.as_ref().map(ObjectiveMonitor::evidence)
    }

    /// Adds up the slices that all agents have sent, and passes the sums to the monitor.
    fn advance(&mut self) -> Result<(), &'static str> {
        let Some(monitor) = &mut self.monitor else { return Ok(()) };
        while self.agents.iter().all(|agent| agent.is_over || !agent.slices.is_empty()) {
            let first = self.agents.iter().filter_map(|agent| agent.slices.front()).map(|slice| slice.start).min();
            let Some(first) = first else { return Ok(()) };
            let mut sum: Option<SliceCounts> = None;
            for agent in &mut self.agents {
                let Some(slice) = agent.slices.pop_front_if(|slice| slice.start == first) else { continue };
                match &mut sum {
                    Some(sum) => sum.merge(&slice).map_err(|_| "its slices have other objectives")?,
                    None => sum = Some(slice),
                }
            }
            let decided = sum.and_then(|sum| monitor.add_counts(&sum));
            self.decision = self.decision.or(decided);
        }
        Ok(())
    }
}
