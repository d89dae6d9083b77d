//! Many machines, one run: the protocol between a coordinator and its agents, and the rules that both follow.
//!
//! A coordinator starts one run on several agents at the same moment and gathers their intervals. No request of the
//! load passes through the coordinator. The order of events is:
//!
//! 1. *Join.* The coordinator says hello. The agent refuses another version of the protocol or another build.
//! 2. *Prepare.* The coordinator sends the plan and its hash. The agent refuses a plan whose hash differs.
//! 3. *Probe.* When all agents are ready, the coordinator measures the offset of each agent's clock ([`clock`]). If the
//!    starts could differ by more than the limit, the run is aborted.
//! 4. *Start.* The coordinator picks T0 and sends it to each agent in the agent's own clock. Each agent reports the
//!    instant at which it really started.
//! 5. *Run.* The agents send each record of their runs. The coordinator renews their lease. An agent stops if its lease
//!    is not renewed.
//! 6. *Done.* Each agent reports how many records it sent, so that the coordinator notices if a record was lost.
//!
//! [`agent::Agent`] and [`coordinator::Coordinator`] are state machines. They do no I/O and read no clock: the caller
//! passes in messages and instants, and carries out the returned actions. [`transport`] moves the messages.

pub mod agent;
pub mod away;
pub mod clock;
pub mod coordinator;
pub mod hosts;
pub mod lines;
pub mod message;
pub mod transport;
