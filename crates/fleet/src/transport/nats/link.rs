//! One end of a link between a coordinator and an agent, over a bus that loses messages. The link delivers every
//! message once and in order.
//!
//! Messages of the protocol are split into numbered pieces. The receiver acknowledges pieces that arrive in order, and
//! ignores pieces after a gap. The sender keeps pieces until they are acknowledged, and repeats them after
//! [`REPEAT_AFTER`]. The link does no I/O and reads no clock.

use super::super::SendError;
use super::frame::Head;
use crate::lines::LINE_MAX;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time after which pieces without an acknowledgement are sent again.
pub const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// Maximum number of pieces that are sent without waiting for an acknowledgement.
const WINDOW: u64 = 16;

/// Limits of the messages that wait for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of messages.
    pub messages: usize,
    /// Maximum number of their bytes. It may be exceeded by one message.
    pub bytes: usize,
}

/// A piece of a message.
struct Piece {
    body: Vec<u8>,
    last: bool,
}

/// One end of a link.
pub struct Link {
    /// Maximum length of the body of a piece.
    piece_max: usize,
    /// Limits of the messages that wait for an acknowledgement.
    limits: QueueLimits,
    /// Pieces that are not acknowledged. The first has the number `first`.
    pieces: VecDeque<Piece>,
    first: u64,
    /// Number of the next piece to send.
    next: u64,
    /// Number of messages in `pieces`, and of their bytes.
    messages: usize,
    bytes: usize,
    repeat_at: Option<Instant>,
    /// Number of the next piece to receive.
    expected: u64,
    /// The beginning of a message whose end has not arrived.
    partial: Vec<u8>,
    owes_receipt: bool,
}

impl Link {
    /// Returns an end that sends pieces of at most `piece_max` bytes.
    pub fn new(piece_max: usize, limits: QueueLimits) -> Self {
        Self {
            piece_max: piece_max.max(1),
            limits,
            pieces: VecDeque::new(),
            first: 0,
            next: 0,
            messages: 0,
            bytes: 0,
            repeat_at: None,
            expected: 0,
            partial: Vec::new(),
            owes_receipt: false,
        }
    }

    /// Adds a message to send.
    ///
    /// # Errors
    /// [`SendError::Full`] if too many messages wait for an acknowledgement.
    pub fn push(&mut self, message: &[u8]) -> Result<(), SendError> {
        if self.is_full() {
            return Err(SendError::Full);
        }
        let mut parts = message.chunks(self.piece_max).peekable();
        while let Some(part) = parts.next() {
            self.pieces.push_back(Piece { body: part.to_vec(), last: parts.peek().is_none() });
        }
        self.messages += 1;
        self.bytes += message.len();
        Ok(())
    }

    /// Returns whether there is no space for another message.
    pub fn is_full(&self) -> bool {
        self.messages >= self.limits.messages || self.bytes >= self.limits.bytes
    }

    /// Returns whether everything was acknowledged.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the time at which [`Self::next_to_send`] repeats pieces.
    pub fn repeat_at(&self) -> Option<Instant> {
        self.repeat_at
    }

    /// Returns the next piece or acknowledgement to send. Call this function until it returns `None`.
    pub fn next_to_send(&mut self, now: Instant) -> Option<(Head, Vec<u8>)> {
        if std::mem::take(&mut self.owes_receipt) {
            return Some((self.receipt(), Vec::new()));
        }
        if self.repeat_at.is_some_and(|at| now >= at) {
            self.next = self.first;
            self.repeat_at = None;
        }
        let ahead = self.next - self.first;
        let piece = self.pieces.get(usize::try_from(ahead).ok()?).filter(|_| ahead < WINDOW)?;
        let head = Head::Piece { number: self.next, last: piece.last };
        let body = piece.body.clone();
        self.next += 1;
        self.repeat_at.get_or_insert(now + REPEAT_AFTER);
        Some((head, body))
    }

    /// Returns an acknowledgement of everything that has arrived.
    pub fn receipt(&self) -> Head {
        Head::Received { next: self.expected }
    }

    /// Handles an acknowledgement.
    pub fn on_received(&mut self, now: Instant, next: u64) {
        // Ignore an acknowledgement of pieces that were never sent.
        if next <= self.first || next > self.next.max(self.first) {
            return;
        }
        while self.first < next {
            let Some(piece) = self.pieces.pop_front() else { break };
            self.first += 1;
            self.messages -= usize::from(piece.last);
            self.bytes -= piece.body.len();
        }
        self.next = self.next.max(self.first);
        self.repeat_at = (self.next > self.first).then(|| now + REPEAT_AFTER);
    }

    /// Handles a piece. Returns the message that it completes.
    ///
    /// # Errors
    /// Fails if the message is too long.
    pub fn on_piece(&mut self, number: u64, last: bool, body: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        // A repeated piece is acknowledged again, because the acknowledgement may be lost.
        self.owes_receipt = true;
        if number != self.expected {
            return Ok(None);
        }
        // `LINE_MAX` does not count the line feed at the end of a message.
        if self.partial.len() + body.len() > LINE_MAX + 1 {
            return Err(TooLong);
        }
        self.expected += 1;
        self.partial.extend_from_slice(body);
        Ok(last.then(|| std::mem::take(&mut self.partial)))
    }
}

/// A message is longer than the protocol allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QueueLimits = QueueLimits { messages: 64, bytes: 100_000 };

    /// Two ends of a link. `loses` decides which messages between them are lost.
    struct Pair {
        ends: [Link; 2],
        now: Instant,
        sent: u64,
    }

    impl Pair {
        fn new(piece_max: usize) -> Self {
            Self { ends: [Link::new(piece_max, LIMITS), Link::new(piece_max, LIMITS)], now: Instant::now(), sent: 0 }
        }

        /// Exchanges messages until both ends are empty. Returns what each end received.
        fn exchange(&mut self, loses: impl Fn(u64) -> bool) -> [Vec<Vec<u8>>; 2] {
            let mut received = [Vec::new(), Vec::new()];
            for _ in 0..100_000 {
                let mut any = false;
                for from in [0, 1] {
                    while let Some((head, body)) = self.ends[from].next_to_send(self.now) {
                        any = true;
                        self.sent += 1;
                        if loses(self.sent) {
                            continue;
                        }
                        match head {
                            Head::Piece { number, last } => {
                                let complete = self.ends[1 - from].on_piece(number, last, &body).expect("short");
                                received[1 - from].extend(complete);
                            }
                            Head::Received { next } => self.ends[1 - from].on_received(self.now, next),
                            other => panic!("{other:?}"),
                        }
                    }
                }
                if self.ends.iter().all(Link::is_empty) {
                    return received;
                }
                if !any {
                    self.now = self.ends.iter().filter_map(Link::repeat_at).min().expect("something is repeated");
                }
            }
            panic!("the exchange does not end");
        }
    }

    /// Returns a pseudorandom number. If the losses followed a pattern, all acknowledgements could be lost.
    fn scattered(number: u64) -> u64 {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
    }

    fn messages(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|number| format!("message {number} {}\n", "x".repeat(number * 7)).into_bytes()).collect()
    }

    #[test]
    fn everything_arrives_once_and_in_order_although_messages_are_lost() {
        for piece_max in [1, 13, 1 << 17] {
            for lost_every in [2, 3, 7, u64::MAX] {
                let mut pair = Pair::new(piece_max);
                let sent = messages(40);
                sent.iter().for_each(|message| pair.ends[0].push(message).expect("there is space"));
                sent.iter().take(3).for_each(|message| pair.ends[1].push(message).expect("there is space"));
                let received = pair.exchange(|number| scattered(number).is_multiple_of(lost_every));
                assert!(received[1] == sent && received[0] == sent[..3], "{piece_max} {lost_every}");
            }
        }
    }

    #[test]
    fn what_is_sent_while_the_bus_is_away_arrives_later() {
        let mut pair = Pair::new(1 << 17);
        let sent = messages(30);
        for message in &sent {
            pair.ends[0].push(message).expect("there is space");
            while pair.ends[0].next_to_send(pair.now).is_some() {}
            pair.now += Duration::from_secs(1);
        }
        assert_eq!(pair.exchange(|_| false)[1], sent);
    }

    #[test]
    fn the_queue_has_a_limit_and_the_window_too() {
        let mut link = Link::new(10, LIMITS);
        let now = Instant::now();
        (0..LIMITS.messages).for_each(|_| link.push(&[0; 25]).expect("there is space"));
        assert!(matches!(link.push(b"x"), Err(SendError::Full)));
        let count = std::iter::from_fn(|| link.next_to_send(now)).count();
        assert_eq!(count as u64, WINDOW);
        link.on_received(now, 3);
        link.push(b"x").expect("a message was acknowledged");
        assert_eq!(std::iter::from_fn(|| link.next_to_send(now)).count(), 3);
        let mut link = Link::new(1 << 17, LIMITS);
        link.push(&vec![0; LIMITS.bytes]).expect("there is space");
        assert!(matches!(link.push(b"x"), Err(SendError::Full)));
        assert_eq!(std::iter::from_fn(|| link.next_to_send(now)).count(), 1);
        link.on_received(now, 1);
        link.push(b"x").expect("the message was acknowledged");
    }

    #[test]
    fn absurd_pieces_and_receipts_do_no_harm() {
        let mut link = Link::new(10, LIMITS);
        let now = Instant::now();
        link.push(b"x").expect("there is space");
        link.on_received(now, u64::MAX);
        assert!(!link.is_empty());
        assert_eq!(link.on_piece(u64::MAX, true, b"x"), Ok(None));
        let half = vec![0; LINE_MAX / 2 + 1];
        assert_eq!(link.on_piece(0, false, &half), Ok(None));
        assert_eq!(link.on_piece(1, false, &half), Err(TooLong));
    }
}
