//! Reasons why streams fail. A reason is derived from the library's error kind and from an error code, never from text.

use h2::Reason;

/// Reason why a stream failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The peer refused the stream with REFUSED_STREAM, which means that the peer did not process the request (RFC 9113
    /// §8.7).
    Refused,
    /// The peer sent GOAWAY with a number below the number of this stream. The peer accepts no more streams, and has
    /// not processed this stream.
    AboveGoaway,
    /// The peer reset the stream with this code.
    Reset(u32),
    /// The peer ended the connection with this code.
    GoneAway(u32),
    /// The connection ended.
    Closed,
    /// The frames of the stream violate the protocol. The connection remains usable.
    BadStream(u32),
    /// Data on the connection is not valid HTTP/2.
    BadConnection(u32),
    /// There were too many interim responses.
    TooManyInterim,
    /// A defect of this program.
    Defect,
}

impl Failure {
    /// Classifies an error of a stream.
    pub(super) fn of(error: &h2::Error) -> Self {
        let code = error.reason().map_or(0, u32::from);
        match (error.is_remote(), error.is_library()) {
            _ if error.is_io() => Self::Closed,
            (true, _) if error.is_go_away() => Self::AboveGoaway,
            (true, _) if error.reason() == Some(Reason::REFUSED_STREAM) => Self::Refused,
            (true, _) => Self::Reset(code),
            (_, true) if error.is_go_away() => Self::BadConnection(code),
            (_, true) => Self::BadStream(code),
            _ => Self::Defect,
        }
    }

    /// Classifies an error of the connection itself.
    pub(super) fn of_connection(error: &h2::Error) -> Self {
        match Self::of(error) {
            Self::AboveGoaway => Self::GoneAway(error.reason().map_or(0, u32::from)),
            other => other,
        }
    }

    /// Returns the error code, which reports show with an example of the failure.
    pub(crate) fn detail(self) -> Option<String> {
        match self {
            Self::Reset(code) | Self::GoneAway(code) | Self::BadStream(code) | Self::BadConnection(code) => {
                Some(format!("code {code} ({:?})", Reason::from(code)))
            }
            Self::Refused | Self::AboveGoaway | Self::Closed | Self::TooManyInterim | Self::Defect => None,
        }
    }
}
