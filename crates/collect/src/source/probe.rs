//! Probes of the network path. The probes measure the time to open a connection, and the time of a small GET.

use super::Reading;
use super::http::{Endpoint, Response};
use measure::series::{Column, ColumnKind, ColumnUnit, FailureClass, Number, PollFailure};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Creates a column of times.
fn times(name: String) -> Column {
    Column { name, kind: ColumnKind::Gauge, unit: ColumnUnit::Milliseconds }
}

/// Converts a time to milliseconds with three decimals.
fn milliseconds(time: Duration) -> Option<Number> {
    let micros = time.as_micros();
    Number::parse(&format!("{}.{:03}", micros / 1000, micros % 1000))
}

/// A probe that opens a TCP connection and closes it.
#[derive(Debug)]
pub struct ConnectProbe {
    target: String,
    address: SocketAddr,
    column: Column,
}

impl ConnectProbe {
    /// Creates a probe of `HOST:PORT`. Resolves the host name once.
    ///
    /// # Errors
    /// Returns an error if the text has another form, or the name has no address.
    pub fn new(target: &str, column: &str) -> io::Result<Self> {
        let address = target.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))?;
        Ok(Self { target: target.to_owned(), address, column: times(column.to_owned()) })
    }

    pub(super) fn column(&self) -> &Column {
        &self.column
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let begun = Instant::now();
        match TcpStream::connect_timeout(&self.address, bound.max(Duration::from_millis(1))) {
            Ok(_) => Reading::known(vec![milliseconds(begun.elapsed())]),
            Err(error) => {
                let class = match error.kind() {
                    io::ErrorKind::TimedOut => FailureClass::TimedOut,
                    _ => FailureClass::Connect,
                };
                Reading::failed(1, PollFailure::new(class, &format!("{}: {error}", self.target)))
            }
        }
    }
}

/// A probe that makes a small GET request over a new connection.
#[derive(Debug)]
pub struct GetProbe {
    endpoint: Endpoint,
    column: Column,
}

impl GetProbe {
    /// Creates a probe of an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, column: &str) -> Self {
        Self { endpoint, column: times(column.to_owned()) }
    }

    pub(super) fn column(&self) -> &Column {
        &self.column
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let Response { time, body } = self.endpoint.get(bound);
        let reading = match body {
            Ok(_) => Reading::known(vec![milliseconds(time)]),
            Err(failure) => Reading::failed(1, failure),
        };
        Reading { requests: time, ..reading }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const BOUND: Duration = Duration::from_secs(5);

    #[test]
    fn the_time_to_connect_is_measured() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let mut probe = ConnectProbe::new(&target, "probe").unwrap();
        let reading = probe.read(BOUND);
        assert!(reading.values[0].as_ref().is_some_and(|time| time.as_f64() < 5000.0), "{reading:?}");
        assert_eq!(reading.failure, None);
        drop(listener);
        let reading = probe.read(BOUND);
        assert_eq!(reading.values, [None]);
        assert_eq!(reading.failure.map(|failure| failure.class), Some(FailureClass::Connect));
    }

    #[test]
    fn a_text_without_a_port_is_refused() {
        assert!(ConnectProbe::new("127.0.0.1", "probe").is_err());
        assert_eq!(milliseconds(Duration::from_micros(12_034)).unwrap().as_str(), "12.034");
    }
}
