//! Messages as lines of JSON with a limit on their length.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, Read};

/// Maximum length of a line without its line feed: the largest message that a NATS server accepts by default.
pub const LINE_MAX: usize = 1024 * 1024;

/// Reason why a line is not a message.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is longer than [`LINE_MAX`].
    #[error("a message is longer than {LINE_MAX} bytes")]
    TooLong,
    /// The stream ended in the middle of a line.
    #[error("a message was cut off")]
    CutOff,
    /// The line is not a message. The error does not quote the line.
    #[error("a message is malformed")]
    Malformed,
    /// The stream failed.
    #[error("cannot read a message: {0}")]
    Io(#[from] io::Error),
}

/// Returns the message as a line that ends with a line feed.
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<u8>, LineError> {
    let mut line = serde_json::to_vec(message).map_err(|_| LineError::Malformed)?;
    if line.len() > LINE_MAX {
        return Err(LineError::TooLong);
    }
    line.push(b'\n');
    Ok(line)
}

/// Reads one message. Returns `None` at the end of the stream. Keeps no more than [`LINE_MAX`] bytes in memory.
pub fn read<M: DeserializeOwned>(stream: &mut impl BufRead) -> Result<Option<M>, LineError> {
    let mut line = Vec::new();
    let limit = u64::try_from(LINE_MAX + 1).unwrap_or(u64::MAX);
    stream.take(limit).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(if line.len() >= LINE_MAX { LineError::TooLong } else { LineError::CutOff });
    }
    serde_json::from_slice(&line).map(Some).map_err(|_| LineError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FromAgent, ToAgent};

    #[test]
    fn messages_come_back_in_order() {
        let sent = [ToAgent::Probe { number: 7 }, ToAgent::Lease, ToAgent::Abort];
        let bytes: Vec<u8> = sent.iter().flat_map(|message| encode(message).expect("short")).collect();
        let mut stream = bytes.as_slice();
        for message in sent {
            assert_eq!(read::<ToAgent>(&mut stream).expect("good"), Some(message));
        }
        assert_eq!(read::<ToAgent>(&mut stream).expect("ended"), None);
    }

    #[test]
    fn a_record_may_contain_line_feeds() {
        let message = FromAgent::Record { number: 0, record: "a\nb".to_owned() };
        let line = encode(&message).expect("short");
        assert_eq!(read(&mut line.as_slice()).expect("good"), Some(message));
    }

    #[test]
    fn long_lines_are_refused_on_both_ends() {
        let record = "x".repeat(LINE_MAX);
        assert!(matches!(encode(&FromAgent::Record { number: 0, record }), Err(LineError::TooLong)));
        let endless = vec![b' '; LINE_MAX * 2];
        assert!(matches!(read::<ToAgent>(&mut endless.as_slice()), Err(LineError::TooLong)));
    }

    #[test]
    fn damaged_lines_are_errors_that_do_not_quote_them() {
        assert!(matches!(read::<ToAgent>(&mut &br#"{"type":"lease"}"#[..]), Err(LineError::CutOff)));
        for line in ["hunter2\n", "{\"type\":\"hunter2\"}\n", "{\"type\":\"probe\",\"number\":1,\"hunter2\":2}\n", "\n"]
        {
            let error = read::<ToAgent>(&mut line.as_bytes()).expect_err("malformed");
            assert!(matches!(error, LineError::Malformed), "{line}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
