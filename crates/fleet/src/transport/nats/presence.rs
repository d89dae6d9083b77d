//! Finds out whether an agent is still connected to the bus.
//!
//! The server replies to a message for which it has no subscriber. So the coordinator asks about an agent that has been
//! silent for a moment, and learns that its process has ended long before its silence would show it. An agent that is only
//! slow is still subscribed.

use std::time::{Duration, Instant};

/// An agent that is silent for this long is asked about.
const ASK_AFTER: Duration = Duration::from_millis(1500);
/// Time between two questions.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// An agent without a subscription for this long has left. After a restart of the server, agents need a moment to connect
/// again.
const GONE_AFTER: Duration = Duration::from_millis(2500);

/// The state of an agent's connection.
pub struct Presence {
    heard: Instant,
    asked: Instant,
    /// Time of the first reply that the agent has no subscription, since it was heard for the last time.
    absent_since: Option<Instant>,
}

impl Presence {
    /// Creates the state of an agent that was just heard.
    pub fn new(now: Instant) -> Self {
        Self { heard: now, asked: now, absent_since: None }
    }

    /// A message of the agent arrived, or the bus is away, so that nothing is known.
    pub fn on_heard(&mut self, now: Instant) {
        (self.heard, self.absent_since) = (now, None);
    }

    /// The server replied that the agent has no subscription.
    pub fn on_absent(&mut self, now: Instant) {
        self.absent_since.get_or_insert(now);
    }

    /// Returns whether to ask now.
    pub fn must_ask(&mut self, now: Instant) -> bool {
        let is_due = now >= self.heard + ASK_AFTER && now >= self.asked + ASK_EVERY;
        if is_due {
            self.asked = now;
        }
        is_due
    }

    /// Returns whether the agent has left.
    pub fn is_gone(&self, now: Instant) -> bool {
        self.absent_since.is_some_and(|since| now >= since + GONE_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the time after which an agent counts as gone. From `leaves` to `returns`, it has no subscription. Otherwise
    /// it is silent, but subscribed.
    fn gone_after(leaves: Duration, returns: Duration) -> Option<Duration> {
        let start = Instant::now();
        let mut presence = Presence::new(start);
        let mut now = start;
        while now < start + 60 * SECOND {
            let is_absent = now >= start + leaves && now < start + returns;
            if presence.must_ask(now) && is_absent {
                presence.on_absent(now);
            }
            if now == start + returns {
                presence.on_heard(now);
            }
            if presence.is_gone(now) {
                return Some(now - start);
            }
            now += Duration::from_millis(50);
        }
        None
    }

    #[test]
    fn an_agent_that_left_is_noticed_within_five_seconds() {
        let noticed = gone_after(Duration::ZERO, 60 * SECOND).expect("it is noticed");
        assert!(noticed <= 5 * SECOND, "{noticed:?}");
        let later = gone_after(10 * SECOND, 60 * SECOND).expect("it is noticed");
        assert!(later <= 15 * SECOND, "{later:?}");
    }

    #[test]
    fn an_agent_that_is_silent_or_comes_back_soon_has_not_left() {
        assert_eq!(gone_after(60 * SECOND, 60 * SECOND), None);
        assert_eq!(gone_after(5 * SECOND, 7 * SECOND), None);
    }

    #[test]
    fn an_agent_that_is_heard_is_not_asked_about() {
        let start = Instant::now();
        let mut presence = Presence::new(start);
        for second in 0..10 {
            presence.on_heard(start + second * SECOND);
            assert!(!presence.must_ask(start + second * SECOND + SECOND));
        }
    }
}
