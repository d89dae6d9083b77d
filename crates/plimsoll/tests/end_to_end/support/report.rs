//! A report as other programs read it.

use super::{Ended, Request};
use serde_json::Value;

/// The JSON report of a run.
pub struct Report(pub Value);

impl Report {
    /// What the program printed with `--json`: one document and nothing else.
    #[track_caller]
    pub fn read(ended: &Ended) -> Self {
        match serde_json::from_str(&ended.stdout) {
            Ok(value) => Self(value),
            Err(error) => panic!("stdout is not JSON: {error}: {:?}\nstderr: {}", ended.stdout, ended.stderr),
        }
    }

    #[track_caller]
    pub fn number(&self, pointer: &str) -> u64 {
        self.at(pointer).as_u64().unwrap_or_else(|| panic!("{pointer} is no count: {}", self.at(pointer)))
    }

    #[track_caller]
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_else(|| panic!("{pointer} is no text: {}", self.at(pointer)))
    }

    #[track_caller]
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", self.0))
    }

    #[track_caller]
    pub fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().unwrap_or_else(|| panic!("{pointer} is no list"))
    }

    /// A figure of the bytes, over warm-up, window and drain.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> u64 {
        ["warmup", "measured", "drain"].map(|stage| self.number(&format!("/bytes/{stage}/{name}"))).iter().sum()
    }

    /// Attempts that ended in a class; 0 when it is not listed.
    pub fn class(&self, name: &str) -> u64 {
        let row = self.list("/failures/classes").iter().find(|row| row["class"] == name);
        row.and_then(|row| row["attempts"].as_u64()).unwrap_or(0)
    }

    /// Attempts that ended for a cause; 0 when it is not listed.
    pub fn cause(&self, name: &str) -> u64 {
        let row = self.list("/failures/causes").iter().find(|row| row["cause"] == name);
        row.and_then(|row| row["attempts"].as_u64()).unwrap_or(0)
    }

    /// A quantile of a distribution of times, in milliseconds.
    #[track_caller]
    pub fn quantile_ms(&self, pointer: &str, q: f64) -> f64 {
        let row = self.list(pointer).iter().find(|row| row["q"] == q);
        let row = row.unwrap_or_else(|| panic!("no q {q} in {}", self.at(pointer)));
        row["nanos"].as_u64().unwrap_or_else(|| panic!("{row} has no value")) as f64 / 1e6
    }

    /// Counters that must agree and do not.
    #[track_caller]
    pub fn violations(&self) -> usize {
        self.list("/accounting/violations").len()
    }

    /// The operations of a clean run of `n`: all ended well, and the figures can be used.
    #[track_caller]
    pub fn expect_clean(&self, n: u64) {
        assert_eq!(self.violations(), 0, "{}", self.at("/accounting"));
        assert_eq!(self.text("/result/word"), "pass", "{}", self.at("/result"));
        for name in ["offered", "started", "completed", "ok"] {
            assert_eq!(self.number(&format!("/operations/{name}")), n, "{name}: {}", self.at("/failures"));
        }
        for name in ["failed", "dropped", "unfinished", "resends"] {
            assert_eq!(self.number(&format!("/operations/{name}")), 0, "{name}: {}", self.at("/failures"));
        }
    }

    /// That attempts and bytes, both ways, equal what the server wrote into its log.
    #[track_caller]
    pub fn expect_joins(&self, log: &[Request]) {
        let sum = |of: fn(&Request) -> u64| log.iter().map(of).sum::<u64>();
        assert_eq!(self.number("/operations/attempts"), log.len() as u64, "attempts and log lines");
        assert_eq!(self.bytes("body_bytes"), sum(|request| request.body_bytes), "body bytes");
        let received = self.bytes("body_bytes") + self.bytes("overhead_bytes");
        assert_eq!(received, sum(|request| request.bytes), "bytes received, with heads");
        assert_eq!(self.bytes("sent_bytes"), sum(|request| request.received_bytes), "bytes sent");
    }
}
