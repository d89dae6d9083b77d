//! The HTTP server of live metrics. The threads of the server are not load threads. Everything that a client can use is
//! limited: connections, time and the size of a request.

use super::Shared;
use crate::failure::Failure;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use telemetry::text::Format;
use wire::{Method, RequestReader};

/// Maximum number of connections. Further connections are closed.
const CONNECTIONS_MAX: usize = 8;
/// Maximum size of a request. A request of Prometheus has less than 1 KiB.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Maximum time of a connection, which has one request.
const CONNECTION_MAX: Duration = Duration::from_secs(5);
/// Pause after a connection could not be accepted, for example because there are too few file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

const WELCOME: &str = "plimsoll: live metrics of the running load are at /metrics\n";

/// Parses the value of `--metrics`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an address to listen on: use a form such as 127.0.0.1:9464"))
}

/// Starts the server. Returns its address with its actual port. The server runs until the program ends.
///
/// # Errors
/// Fails if the server cannot listen on the address.
pub fn start(address: SocketAddr, shared: Arc<Shared>) -> Result<SocketAddr, Failure> {
    let failed = |error: io::Error| cannot_listen(address, &error);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let pages = Arc::new(Pages { shared, encoded: Mutex::default() });
    let work = move || sys::scheduling::behind_others(|| accept(&listener, &pages));
    thread::Builder::new().name("metrics".to_owned()).spawn(work).map_err(failed)?;
    Ok(bound)
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    let fix = match error.kind() {
        ErrorKind::AddrInUse => "another program listens there; choose another port, or port 0 for any free one",
        ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose a higher port",
        ErrorKind::AddrNotAvailable => "choose an address that `ip address` lists, or 127.0.0.1",
        _ => "choose another address",
    };
    Failure::could_not_run(format!("--metrics {address}: cannot listen: {error}; {fix}"))
}

/// The metrics as text. The text is encoded again only when the metrics have changed, and not for each request.
struct Pages {
    shared: Arc<Shared>,
    encoded: Mutex<Vec<Encoded>>,
}

/// The text of one version of the metrics, in one format.
struct Encoded {
    format: Format,
    version: u64,
    text: Arc<str>,
}

impl Pages {
    fn text(&self, format: Format) -> Arc<str> {
        let mut encoded = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.shared.lock().version;
        if let Some(known) = encoded.iter().find(|known| known.format == format && known.version == version) {
            return Arc::clone(&known.text);
        }
        let versioned = self.shared.lock().clone();
        let text: Arc<str> = format.encode(versioned.state.families()).into();
        encoded.retain(|known| known.format != format);
        encoded.push(Encoded { format, version: versioned.version, text: Arc::clone(&text) });
        text
    }
}

fn accept(listener: &TcpListener, pages: &Arc<Pages>) {
    let open = Arc::<AtomicUsize>::default();
    for connection in listener.incoming() {
        let Ok(connection) = connection else {
            thread::sleep(PAUSE);
            continue;
        };
        let Some(place) = Place::take(&open) else { continue };
        let pages = Arc::clone(pages);
        let work = move || {
            let _place = place;
            // A client that is gone or too slow gets no response.
            let _ = serve(connection, &pages);
        };
        // If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("metrics".to_owned()).spawn(work);
    }
}

/// One of the [`CONNECTIONS_MAX`] connections.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let taken = open.fetch_add(1, Ordering::AcqRel);
        let place = Self(Arc::clone(open));
        (taken < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The parts of a request that this server uses.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    method: Method,
    path: String,
    accept: Option<String>,
}

/// A response.
struct Response {
    status: &'static str,
    content_type: &'static str,
    body: Arc<str>,
}

impl Response {
    fn text(status: &'static str, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }
}

/// Serves the only request of a connection.
fn serve(mut connection: TcpStream, pages: &Pages) -> io::Result<()> {
    let deadline = Instant::now() + CONNECTION_MAX;
    let request = read(&mut connection, deadline)?;
    let is_head = request.as_ref().is_ok_and(|request| request.method == Method::Head);
    let response = match request {
        Ok(request) => respond(&request, pages),
        Err(status) => Response::text(status, "the request is not valid, or too large\n"),
    };
    let Response { status, content_type, body } = response;
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Allow: GET, HEAD\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if !is_head {
        bytes.push_str(&body);
    }
    write(&mut connection, bytes.as_bytes(), deadline)?;
    connection.shutdown(std::net::Shutdown::Write)
}

fn respond(request: &Request, pages: &Pages) -> Response {
    if !matches!(request.method, Method::Get | Method::Head) {
        return Response::text("405 Method Not Allowed", "only GET and HEAD are allowed\n");
    }
    match request.path.as_str() {
        "/metrics" => {
            let format = Format::of_accept(request.accept.as_deref());
            Response { status: "200 OK", content_type: format.content_type(), body: pages.text(format) }
        }
        "/" => Response::text("200 OK", WELCOME),
        _ => Response::text("404 Not Found", WELCOME),
    }
}

/// Reads a request without its body. If the request is not valid, returns the status for the response.
fn read(connection: &mut TcpStream, deadline: Instant) -> io::Result<Result<Request, &'static str>> {
    let (mut reader, mut accept, mut received) = (RequestReader::new(), None::<String>, 0);
    let mut buffer = [0; 2048];
    loop {
        connection.set_read_timeout(Some(left(deadline)?))?;
        let bytes = match connection.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        received += bytes;
        let mut visit = |name: &[u8], value: &[u8]| {
            if name.eq_ignore_ascii_case(b"accept") {
                let accept = accept.get_or_insert_default();
                accept.push_str(&String::from_utf8_lossy(value));
                accept.push(',');
            }
        };
        if reader.read(&buffer[..bytes], &mut visit).is_err() {
            return Ok(Err("400 Bad Request"));
        }
        if let Some(head) = reader.head() {
            let path = head.target.split('?').next().unwrap_or_default().to_owned();
            return Ok(Ok(Request { method: head.method.clone(), path, accept }));
        }
        if received > REQUEST_BYTES_MAX {
            return Ok(Err("431 Request Header Fields Too Large"));
        }
    }
}

fn write(connection: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        connection.set_write_timeout(Some(left(deadline)?))?;
        match connection.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time left until the deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> SocketAddr {
        start(SocketAddr::from(([127, 0, 0, 1], 0)), Arc::default()).expect("can listen")
    }

    /// Sends bytes, and returns the whole response.
    fn exchange(address: SocketAddr, request: &str) -> String {
        let mut connection = TcpStream::connect(address).expect("can connect");
        connection.write_all(request.as_bytes()).expect("can send");
        let mut response = String::new();
        // A server that closes with unread bytes resets the connection, after its response.
        let _ = connection.read_to_string(&mut response);
        response
    }

    #[test]
    fn metrics_are_served_in_the_format_that_the_client_prefers() {
        let address = server();
        let get = |accept: &str| exchange(address, &format!("GET /metrics HTTP/1.1\r\nHost: h\r\n{accept}\r\n"));
        let text = get("");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{text}");
        assert!(text.contains("\nplimsoll_build_info{version=\"") && !text.contains("# EOF"), "{text}");
        let text = get("Accept: text/html\r\nAccept: application/openmetrics-text; version=1.0.0\r\n");
        assert!(text.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn other_requests_are_refused() {
        let address = server();
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "200"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
            ("GET /other HTTP/1.1\r\nHost: h\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "405"),
            ("DELETE /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "405"),
            ("nonsense\r\n\r\n", "400"),
        ] {
            let response = exchange(address, request);
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {response}");
            assert!(response.contains("\r\nConnection: close\r\n"), "{response}");
        }
        let large = format!("GET /metrics HTTP/1.1\r\nHost: h\r\nX: {}", "x".repeat(2 * REQUEST_BYTES_MAX));
        let response = exchange(address, &large);
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 431 "), "{response}");
        let head = exchange(address, "HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        assert!(length.and_then(|length| length.parse().ok()).is_some_and(|length: u64| length > 0), "{head}");
    }

    #[test]
    fn connections_beyond_the_limit_are_closed() {
        let address = server();
        let idle: Vec<_> = (0..CONNECTIONS_MAX).map(|_| TcpStream::connect(address).expect("can connect")).collect();
        // The server accepts connections in order, so all places are taken when it accepts the next one.
        let response = exchange(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(response, "");
        drop(idle);
        let begun = Instant::now();
        while exchange(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").is_empty() {
            assert!(begun.elapsed() < CONNECTION_MAX, "closed connections keep their places");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_port_that_is_taken_is_reported_with_a_fix() {
        let address = server();
        let failure = start(address, Arc::default()).unwrap_err().into_message();
        assert!(failure.starts_with(&format!("--metrics {address}: cannot listen: ")), "{failure}");
        assert!(failure.contains("another program listens there; choose another port"), "{failure}");
    }
}
