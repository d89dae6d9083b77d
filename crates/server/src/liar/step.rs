//! The steps of a script.

use std::time::Duration;

use serde::Deserialize;

use measure::units::parse_span;

/// Maximum number of bytes in one `send`.
const SEND_BYTES_MAX: usize = 1 << 20;
/// Maximum number of bytes that one `repeat` sends.
pub(super) const REPEAT_BYTES_MAX: u64 = 256 << 20;
/// Maximum duration of a sleep, and of a pause in a `repeat`.
const SLEEP_MAX: Duration = Duration::from_secs(10);

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Read a complete request. If the client closes instead, the script ends.
    ExpectRequest,
    /// Read a complete request, and close unless it passes the check.
    Expect(RequestCheck),
    /// Read the head of a request, but not its body, and close unless the head passes the check. The next
    /// [`Self::ExpectRequest`] or [`Self::Expect`] reads the body of this request.
    ExpectHead(RequestCheck),
    /// Read a complete HTTP/2 request. If the client closes instead, the script ends.
    ExpectStream,
    /// Wait, and close if anything arrives in this time.
    Quiet(Duration),
    Send(Box<[u8]>),
    /// Respond to every request with these bytes, until the client closes.
    EachRequest(Box<[u8]>),
    Repeat(Repeat),
    Sleep(Duration),
    /// End the server's stream, but continue reading.
    HalfClose,
    /// Close without a reset.
    Close,
    /// Close with a reset, which may destroy bytes that were sent just before.
    Reset,
    /// Accept no more connections: the kernel refuses them.
    CloseListener,
}

/// A check of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RequestCheck {
    /// Header fields that the request must have.
    pub(super) with: Vec<Box<str>>,
    /// Header fields that the request must not have.
    pub(super) without: Vec<Box<str>>,
    /// The complete body of the request.
    pub(super) body: Option<Box<str>>,
}

/// A step that sends the same bytes repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) what: Box<[u8]>,
    /// The pause between two repetitions.
    pub(super) pause: Duration,
    pub(super) until: RepeatEnd,
}

/// The condition that ends the repetitions. They always end when the client closes the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatEnd {
    Times(u32),
    /// The client closes the connection, or the liar has sent 256 MiB.
    Closed,
}

/// A step in TOML: a string, or a table with one key.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawStep {
    ExpectRequest,
    Expect(RequestCheck),
    ExpectHead(RequestCheck),
    ExpectStream,
    Quiet(Box<str>),
    Send(Box<str>),
    SendHex(Box<str>),
    EachRequest(Box<str>),
    Repeat(RawRepeat),
    Sleep(Box<str>),
    HalfClose,
    Close,
    Reset,
    CloseListener,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRepeat {
    what: Option<Box<str>>,
    what_hex: Option<Box<str>>,
    times: Option<u32>,
    #[serde(default)]
    until_closed: bool,
    pause: Option<Box<str>>,
}

impl TryFrom<RawStep> for Step {
    /// The mistake, and a valid alternative.
    type Error = String;

    fn try_from(raw: RawStep) -> Result<Self, String> {
        Ok(match raw {
            RawStep::ExpectRequest => Self::ExpectRequest,
            RawStep::Expect(check) => Self::Expect(check),
            RawStep::ExpectHead(check) if check.body.is_some() => {
                return Err("a head has no body; check the body in the next step".to_owned());
            }
            RawStep::ExpectHead(check) => Self::ExpectHead(check),
            RawStep::ExpectStream => Self::ExpectStream,
            RawStep::Quiet(text) => Self::Quiet(pause(&text)?),
            RawStep::Send(text) => Self::Send(sound(text.as_bytes())?),
            RawStep::EachRequest(text) => Self::EachRequest(sound(text.as_bytes())?),
            RawStep::SendHex(digits) => Self::Send(sound(&from_hex(&digits)?)?),
            RawStep::Repeat(raw) => Self::Repeat(raw.try_into()?),
            RawStep::Sleep(text) => Self::Sleep(pause(&text)?),
            RawStep::HalfClose => Self::HalfClose,
            RawStep::Close => Self::Close,
            RawStep::Reset => Self::Reset,
            RawStep::CloseListener => Self::CloseListener,
        })
    }
}

impl TryFrom<RawRepeat> for Repeat {
    type Error = String;

    fn try_from(raw: RawRepeat) -> Result<Self, String> {
        let until = match (raw.times, raw.until_closed) {
            (Some(times), false) => RepeatEnd::Times(times),
            (None, true) => RepeatEnd::Closed,
            _ => return Err("repeat needs either `times = n` or `until_closed = true`".to_owned()),
        };
        let what = match (raw.what, raw.what_hex) {
            (Some(text), None) => sound(text.as_bytes())?,
            (None, Some(digits)) => sound(&from_hex(&digits)?)?,
            _ => return Err("repeat needs either `what` or `what_hex`".to_owned()),
        };
        let pause = raw.pause.as_deref().map_or(Ok(Duration::ZERO), pause)?;
        Ok(Self { what, pause, until })
    }
}

fn sound(bytes: &[u8]) -> Result<Box<[u8]>, String> {
    if (1..=SEND_BYTES_MAX).contains(&bytes.len()) {
        Ok(bytes.into())
    } else {
        Err("nothing to send, or more than 1 MiB".to_owned())
    }
}

fn pause(text: &str) -> Result<Duration, String> {
    match parse_span(text) {
        Ok(span) if span <= SLEEP_MAX => Ok(span),
        Ok(_) => Err("a pause may be at most 10s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses pairs of hexadecimal digits, with any white space between them.
fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2));
    let digits = digits.ok_or_else(|| "send_hex must contain pairs of hexadecimal digits".to_owned())?;
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
