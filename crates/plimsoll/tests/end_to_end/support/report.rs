//! The JSON report, parsed as by another program.

use super::{Ended, Request};
use serde_json::Value;

/// The JSON report of a run.
pub struct Report(pub Value);

impl Report {
    /// Parses the output of `--json`, which must be a single document.
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

    /// Returns the sum of a byte count over warm-up, window and drain.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> u64 {
        ["warmup", "measured", "drain"].map(|stage| self.number(&format!("/bytes/{stage}/{name}"))).iter().sum()
    }

    /// Returns the number of attempts in a class, or 0 if the class is not listed.
    pub fn class(&self, name: &str) -> u64 {
        let row = self.list("/failures/classes").iter().find(|row| row["class"] == name);
        row.and_then(|row| row["attempts"].as_u64()).unwrap_or(0)
    }

    /// Returns the number of attempts that failed for a cause, or 0 if the cause is not listed.
    pub fn cause(&self, name: &str) -> u64 {
        let row = self.list("/failures/causes").iter().find(|row| row["cause"] == name);
        row.and_then(|row| row["attempts"].as_u64()).unwrap_or(0)
    }

    /// Returns a quantile of a distribution of times, in milliseconds.
    #[track_caller]
    pub fn quantile_ms(&self, pointer: &str, q: f64) -> f64 {
        let row = self.list(pointer).iter().find(|row| row["q"] == q);
        let row = row.unwrap_or_else(|| panic!("no q {q} in {}", self.at(pointer)));
        row["nanos"].as_u64().unwrap_or_else(|| panic!("{row} has no value")) as f64 / 1e6
    }

    /// Returns the number of violated accounting rules.
    #[track_caller]
    pub fn violations(&self) -> usize {
        self.list("/accounting/violations").len()
    }

    /// Asserts that a run of `n` operations was clean: all of them succeeded, and the numbers are usable.
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

    /// Asserts that the attempts and the bytes in both directions equal the server's log.
    #[track_caller]
    pub fn expect_joins(&self, log: &[Request]) {
        let sum = |of: fn(&Request) -> u64| log.iter().map(of).sum::<u64>();
        assert_eq!(self.number("/operations/attempts"), log.len() as u64, "attempts differ from log lines");
        assert_eq!(self.bytes("body_bytes"), sum(|request| request.body_bytes), "body bytes differ");
        let received = self.bytes("body_bytes") + self.bytes("overhead_bytes");
        assert_eq!(received, sum(|request| request.bytes), "received bytes differ");
        assert_eq!(self.bytes("sent_bytes"), sum(|request| request.received_bytes), "sent bytes differ");
    }
}
