//! Messages of the bus. Each has a head, a line of JSON, and may have a body: a piece of a message of the protocol.

use crate::message::{BadRunId, RunId};
use serde::{Deserialize, Serialize};

/// Maximum length of a head with its line feed. The names in it have at most 64 bytes.
pub const HEAD_MAX: usize = 512;

/// Name of an agent on the bus. It follows the rules of [`RunId`], so that it can be part of a path or a subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentName(String);

impl AgentName {
    /// Returns a name for an agent on the host of this name. `unique` distinguishes it from others on the host.
    #[must_use]
    pub fn on_host(host: &str, unique: u32) -> Self {
        let allowed = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let host: String = host.chars().take(40).map(allowed).collect();
        let host = if host.is_empty() { "agent".to_owned() } else { host };
        Self(format!("{host}-{unique:06x}"))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = BadRunId;

    fn try_from(text: String) -> Result<Self, BadRunId> {
        RunId::try_from(text).map(|id| Self(id.into()))
    }
}

/// Purpose of a message of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Head {
    /// A coordinator asks which agents are free.
    Call,
    /// The reply of an agent.
    Offer {
        /// `true` if the agent belongs to another run.
        busy: bool,
    },
    /// A piece of a message of the protocol.
    Piece {
        /// Number of the piece, from 0 without gaps.
        number: u64,
        /// `true` if the piece ends a message.
        last: bool,
    },
    /// All pieces below this number have arrived.
    Received {
        /// Number of the next piece.
        next: u64,
    },
    /// The sender has left the run.
    Bye,
}

/// A message of the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The run.
    pub run: RunId,
    /// Purpose of the message.
    pub head: Head,
    /// Body of a piece; otherwise empty.
    pub body: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    run: RunId,
    head: Head,
}

impl Frame {
    /// Returns a message without a body.
    pub fn new(run: &RunId, head: Head) -> Self {
        Self { run: run.clone(), head, body: Vec::new() }
    }

    /// Returns the bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(&Line { run: self.run.clone(), head: self.head }).unwrap_or_default();
        debug_assert!(bytes.len() < HEAD_MAX, "{}", bytes.len());
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Parses a message. Returns `None` if it is malformed. Anybody on the bus may send malformed messages, so they are
    /// ignored.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().take(HEAD_MAX).position(|byte| *byte == b'\n')?;
        let (line, body) = bytes.split_at_checked(end)?;
        let Line { run, head } = serde_json::from_slice(line).ok()?;
        let body = body.get(1..)?.to_vec();
        let may_have_body = matches!(head, Head::Piece { .. });
        (may_have_body || body.is_empty()).then_some(Self { run, head, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId::try_from("r".repeat(64)).expect("a good name")
    }

    #[test]
    fn frames_come_back() {
        let pieces = [(Head::Piece { number: u64::MAX, last: false }, &b"a\nb\xff"[..])];
        let heads = [Head::Call, Head::Offer { busy: true }, Head::Received { next: u64::MAX }, Head::Bye];
        for (head, body) in heads.into_iter().map(|head| (head, &b""[..])).chain(pieces) {
            let frame = Frame { run: run(), head, body: body.to_vec() };
            let bytes = frame.encode();
            assert!(bytes.len() <= HEAD_MAX + body.len());
            assert_eq!(Frame::decode(&bytes), Some(frame));
        }
    }

    #[test]
    fn malformed_frames_are_ignored() {
        let long = [&b" ".repeat(HEAD_MAX)[..], &Frame::new(&run(), Head::Bye).encode()].concat();
        for bytes in [
            &b""[..],
            b"\n",
            b"{}\n",
            br#"{"run":"a","head":{"type":"bye"}}"#,
            b"{\"run\":\"A B\",\"head\":{\"type\":\"bye\"}}\n",
            b"{\"run\":\"a\",\"head\":{\"type\":\"received\",\"next\":1,\"more\":1}}\n",
            b"{\"run\":\"a\",\"head\":{\"type\":\"bye\"},\"more\":1}\n",
            b"{\"run\":\"a\",\"head\":{\"type\":\"bye\"}}\nbody",
            &long,
        ] {
            assert_eq!(Frame::decode(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn the_name_of_an_agent_is_harmless() {
        assert_eq!(AgentName::on_host("Client-1.lan", 0xA1).as_str(), "client-1-lan-0000a1");
        for host in ["", "ä/../b c*>", &"x".repeat(200)] {
            let name = AgentName::on_host(host, u32::MAX);
            assert_eq!(AgentName::try_from(name.as_str().to_owned()), Ok(name.clone()), "{name:?}");
        }
        assert!(AgentName::try_from("a.b".to_owned()).is_err());
    }
}
