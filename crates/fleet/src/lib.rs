//! Many machines, one run: the protocol between a coordinator and its agents, and the rules that both follow.
//!
//! A coordinator starts one run on several agents at the same moment and gathers their intervals. No request of the
//! load passes through the coordinator. The order of events is:
//!
//! 1. *Join.* The coordinator says hello. The agent refuses another version of the protocol or another build.
//! 2. *Prepare.* The coordinator sends the plan and its hash. The agent refuses a plan whose hash differs.
//! 3. *Probe.* When all agents are ready, the coordinator measures the offset of each agent's clock ([`clock`]) with
//!    sixteen probes of four timestamps each. Only the probe with the smallest round trip is used, and half of this
//!    round trip is the largest possible error. The sum of the two largest errors is the largest possible spread of
//!    the starts. If it exceeds the limit, the run is aborted.
//! 4. *Start.* The coordinator picks T0 and sends it to each agent in the agent's own clock. Each agent reports the
//!    instant at which it really started.
//! 5. *Run.* The agents send each record of their runs. Records are numbered: a repeated record is ignored, and an
//!    agent counts as lost if one of its records is missing. The records of a lost agent are kept. The coordinator
//!    renews the agents' leases. An agent stops if its lease is not renewed for 30 seconds, or when its pipe ends.
//! 6. *Done.* Each agent reports how many records it sent, so that the coordinator notices if a record was lost.
//!
//! [`agent::Agent`] and [`coordinator::Coordinator`] are state machines. They do no I/O and read no clock: the caller
//! passes in messages and instants, and carries out the returned actions. `tests/simulated.rs` therefore tests them in
//! simulated time. [`transport`] moves the messages, which are lines of JSON of at most 1 MiB, over pipes or a bus.

pub mod agent;
pub mod away;
pub mod clock;
pub mod coordinator;
pub mod hosts;
pub mod lines;
pub mod message;
pub mod transport;
