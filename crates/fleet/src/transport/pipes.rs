//! Messages over pipes: the standard input and output of each agent, for example of a program that ssh starts.
//!
//! Each pipe has its own thread, so a slow pipe delays neither the others nor the owner of this end. Queues have limits.
//! If the coordinator falls behind, its readers stop reading, and the agents wait.

use super::mailbox::Mailbox;
use super::{AgentTransport, CoordinatorTransport, QUEUE_MAX, Received, SEND_WAIT, SendError};
use crate::lines::{self, LineError};
use crate::message::{FromAgent, ToAgent};
use serde::de::DeserializeOwned;
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// No time limit. The threads that read and write the pipes have nothing else to do.
const FOREVER: Duration = Duration::MAX;

/// The two pipes of an agent, as seen by the coordinator.
pub struct AgentPipes {
    /// The agent's standard output.
    pub output: Box<dyn Read + Send>,
    /// The agent's standard input.
    pub input: Box<dyn Write + Send>,
}

/// Lines for a pipe. `Closed` ends the pipe.
type Outbox = Mailbox<Received<Vec<u8>>>;

/// The coordinator's end of the pipes of all agents. Dropping it closes the pipes.
pub struct PipesToAgents {
    inbox: Mailbox<(usize, Received<FromAgent>)>,
    agents: Vec<Outbox>,
}

impl PipesToAgents {
    /// Connects to agents, which are numbered in this order.
    #[must_use]
    pub fn new(pipes: Vec<AgentPipes>) -> Self {
        let inbox = Mailbox::new(QUEUE_MAX.saturating_mul(pipes.len().max(1)));
        let connect = |(index, AgentPipes { output, input }): (usize, AgentPipes)| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                read_all(output, |message| inbox.post((index, message), FOREVER), |end| inbox.post_last((index, end)));
            });
            write_all(input).0
        };
        let agents = pipes.into_iter().enumerate().map(connect).collect();
        Self { inbox, agents }
    }
}

impl CoordinatorTransport for PipesToAgents {
    fn send(&mut self, agent: usize, message: &ToAgent) -> Result<(), SendError> {
        let line = Received::Message(lines::encode(message)?);
        self.agents.get(agent).ok_or(SendError::Closed)?.post(line, Duration::ZERO)
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Received<FromAgent>)> {
        self.inbox.take(wait)
    }
}

impl Drop for PipesToAgents {
    fn drop(&mut self) {
        self.inbox.abandon();
        for agent in &self.agents {
            agent.post_last(Received::Closed("the coordinator is gone".to_owned()));
        }
    }
}

/// An agent's end of its pipes. Dropping it sends the remaining messages, but waits only for a limited time.
pub struct PipeToCoordinator {
    inbox: Mailbox<Received<ToAgent>>,
    outbox: Outbox,
    written: Receiver<()>,
}

impl PipeToCoordinator {
    /// Connects to the coordinator.
    #[must_use]
    pub fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let inbox = Mailbox::new(QUEUE_MAX);
        let own = inbox.clone();
        thread::spawn(move || {
            read_all(input, |message| own.post(message, FOREVER), |end| own.post_last(end));
        });
        let (outbox, written) = write_all(output);
        Self { inbox, outbox, written }
    }
}

impl AgentTransport for PipeToCoordinator {
    fn send(&mut self, message: &FromAgent) -> Result<(), SendError> {
        self.outbox.post(Received::Message(lines::encode(message)?), SEND_WAIT)
    }

    fn receive(&mut self, wait: Duration) -> Option<Received<ToAgent>> {
        self.inbox.take(wait)
    }
}

impl Drop for PipeToCoordinator {
    fn drop(&mut self) {
        self.inbox.abandon();
        self.outbox.post_last(Received::Closed(String::new()));
        let _ = self.written.recv_timeout(SEND_WAIT);
    }
}

/// Passes all messages of a pipe to `post`. Then passes the reason why the pipe ended to `end`.
fn read_all<M: DeserializeOwned>(
    pipe: impl Read,
    mut post: impl FnMut(Received<M>) -> Result<(), SendError>,
    end: impl FnOnce(Received<M>),
) {
    let mut pipe = BufReader::new(pipe);
    let reason = loop {
        match lines::read(&mut pipe) {
            Ok(Some(message)) => {
                if post(Received::Message(message)).is_err() {
                    return;
                }
            }
            Ok(None) => break "the connection was closed".to_owned(),
            Err(LineError::CutOff) => break "the connection was closed in the middle of a message".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    end(Received::Closed(reason));
}

/// Starts a thread that writes lines to a pipe until `Closed` or an error. The returned receiver reports the end of the
/// thread.
fn write_all(mut pipe: impl Write + Send + 'static) -> (Outbox, Receiver<()>) {
    let outbox: Outbox = Mailbox::new(QUEUE_MAX);
    let (done, written) = sync_channel(1);
    let lines = outbox.clone();
    thread::spawn(move || {
        while let Some(Received::Message(line)) = lines.take(FOREVER) {
            if pipe.write_all(&line).and_then(|()| pipe.flush()).is_err() {
                break;
            }
        }
        lines.abandon();
        drop(pipe);
        let _ = done.send(());
    });
    (outbox, written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    const SOON: Duration = Duration::from_secs(30);

    /// Connects a coordinator and an agent with two pipes of the system.
    fn connected() -> (PipesToAgents, PipeToCoordinator) {
        let (from_coordinator, to_agent) = io::pipe().expect("can make a pipe");
        let (from_agent, to_coordinator) = io::pipe().expect("can make a pipe");
        let pipes = AgentPipes { output: Box::new(from_agent), input: Box::new(to_agent) };
        (PipesToAgents::new(vec![pipes]), PipeToCoordinator::new(from_coordinator, to_coordinator))
    }

    #[test]
    fn messages_arrive_in_order_and_before_the_end() {
        let (mut coordinator, mut agent) = connected();
        coordinator.send(0, &ToAgent::Probe { number: 3 }).expect("there is space");
        assert_eq!(agent.receive(SOON), Some(Received::Message(ToAgent::Probe { number: 3 })));
        agent.send(&FromAgent::Joined).expect("there is space");
        agent.send(&FromAgent::Ready).expect("there is space");
        drop(agent);
        assert_eq!(coordinator.receive(SOON), Some((0, Received::Message(FromAgent::Joined))));
        assert_eq!(coordinator.receive(SOON), Some((0, Received::Message(FromAgent::Ready))));
        assert!(matches!(coordinator.receive(SOON), Some((0, Received::Closed(_)))));
    }

    #[test]
    fn agents_notice_the_end_of_their_coordinator() {
        let (coordinator, mut agent) = connected();
        drop(coordinator);
        assert!(matches!(agent.receive(SOON), Some(Received::Closed(_))));
    }

    #[test]
    fn an_agent_that_does_not_read_does_not_stop_the_coordinator() {
        let (_unread, to_agent) = io::pipe().expect("can make a pipe");
        let (from_agent, _to_coordinator) = io::pipe().expect("can make a pipe");
        let pipes = AgentPipes { output: Box::new(from_agent), input: Box::new(to_agent) };
        let mut coordinator = PipesToAgents::new(vec![pipes]);
        let plan = ToAgent::Prepare { hash: crate::message::Hash::of(b""), plan: "x".repeat(100_000) };
        let full = (0..=QUEUE_MAX + 1).find_map(|_| coordinator.send(0, &plan).err());
        assert!(matches!(full, Some(SendError::Full)), "{full:?}");
    }
}
