//! Variants of a cause: load model, direction and protocol.

/// Load model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Requests start on a schedule.
    Open,
    /// Each slot sends a request as soon as it has the response to its previous request.
    Closed,
}

impl Model {
    /// Returns the name of the model.
    pub fn text(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// Direction of the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From target to client.
    Get,
    /// From client to target.
    Put,
}

/// Protocol of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 over TLS.
    Http2,
}

/// The settings with which a trial plants a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Load model.
    pub model: Model,
    /// Direction of the bodies.
    pub direction: Direction,
    /// Protocol of the connections.
    pub protocol: Protocol,
}

impl Variant {
    /// Returns the name of the variant.
    pub fn text(self) -> String {
        let model = self.model.text();
        let direction = if self.direction == Direction::Get { "get" } else { "put" };
        let protocol = match self.protocol {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Tls => "TLS",
            Protocol::Http2 => "HTTP/2",
        };
        format!("{model} {direction} {protocol}")
    }
}
