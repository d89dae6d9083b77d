//! The keys of a cloud machine's role, from the machine's metadata service (IMDSv2). Three requests return a token, the
//! name of the role, and the keys.
//!
//! The service is used only if the user selects it. Machines outside a cloud do not have this service, and their users
//! would not expect such a request.

use super::{Credentials, Source, Surroundings};
use crate::failure::Failure;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use wire::{Event, HeaderValue, RequestKind, ResponseReader, Scheme, Url};

const ENDPOINT: &str = "http://169.254.169.254";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
/// Timeout for connecting, and for each whole response. A short timeout is enough, because the service runs on the
/// machine's own network.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a response, in bytes. A response with keys and their token has about 2 KiB.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Requests the keys of this machine's role.
pub fn request_credentials(around: &Surroundings) -> Result<Credentials, Failure> {
    if around.get("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(Failure::usage("--credentials imds cannot work while AWS_EC2_METADATA_DISABLED is set: unset it"));
    }
    let endpoint = around.get("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
    let endpoint =
        Url::parse(&endpoint).map_err(|error| Failure::usage(format!("AWS_EC2_METADATA_SERVICE_ENDPOINT: {error}")))?;
    if endpoint.origin().scheme == Scheme::Https {
        return Err(Failure::usage("AWS_EC2_METADATA_SERVICE_ENDPOINT cannot use https://: use plain http://"));
    }
    let service = Service { endpoint };
    let token = service.request("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "21600")?;
    let get = |path: &str| service.request("GET", path, "X-aws-ec2-metadata-token", token.trim());
    let roles = get(ROLES)?;
    let role = roles.lines().next().map(str::trim).unwrap_or_default();
    if role.is_empty() || !role.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte)) {
        return Err(failed("has no role for this machine: attach a role, or set keys another way"));
    }
    keys_of(role, &get(&format!("{ROLES}{role}"))?)
}

/// Parses the keys in a response.
fn keys_of(role: &str, response: &str) -> Result<Credentials, Failure> {
    let response: serde_json::Value =
        serde_json::from_str(response).map_err(|_| failed("sent something other than keys"))?;
    let source = Source::Imds(role.to_owned());
    Credentials::from_json(&response, "Token", source)?.ok_or_else(|| failed("sent no keys for this machine's role"))
}

fn failed(what: &str) -> Failure {
    Failure::could_not_run(format!("the metadata service {what}"))
}

struct Service {
    endpoint: Url,
}

impl Service {
    /// Sends a request on a new connection, and returns the body if the status is 200.
    fn request(&self, method: &str, path: &str, name: &str, value: &str) -> Result<String, Failure> {
        let value = HeaderValue::parse(value).map_err(|_| failed("sent a token that is not a valid header value"))?;
        let origin = self.endpoint.origin();
        let place = format!("at {origin}");
        let unreachable = |error: &std::io::Error| {
            failed(&format!(
                "cannot be reached {place} ({error}): check that this is a cloud machine and that IMDSv2 is enabled"
            ))
        };
        let deadline = Instant::now() + TIMEOUT;
        let addresses = (&*origin.host, origin.port).to_socket_addrs().map_err(|error| unreachable(&error))?;
        let address = addresses.into_iter().next().ok_or_else(|| failed("has no address"))?;
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(|error| unreachable(&error))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{name}: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.endpoint.host_header(),
            value.as_str()
        );
        stream.set_write_timeout(Some(TIMEOUT)).map_err(|error| unreachable(&error))?;
        stream.write_all(head.as_bytes()).map_err(|error| unreachable(&error))?;
        let (status, body) = response(&mut stream, deadline).map_err(|error| unreachable(&error))?;
        if status != 200 {
            return Err(failed(&format!("sent status {status} for {method} {path}")));
        }
        String::from_utf8(body).map_err(|_| failed("sent something other than text"))
    }
}

/// Reads the status and the body of a response. The response must be complete before the deadline.
fn response(stream: &mut TcpStream, deadline: Instant) -> std::io::Result<(u16, Vec<u8>)> {
    let bad = |what: &str| std::io::Error::other(what.to_owned());
    let mut reader = ResponseReader::new();
    reader.start(RequestKind::Other);
    let (mut body, mut buffer) = (Vec::new(), vec![0; 8 * 1024]);
    while !reader.is_complete() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            reader.end_of_stream().map_err(|_| bad("it closed too early"))?;
            break;
        }
        let mut piece = &buffer[..count];
        loop {
            let progress = reader.read(piece, &mut |_, _| {}).map_err(|_| bad("it does not speak HTTP"))?;
            if let Event::Body(range) = &progress.event {
                body.extend_from_slice(&piece[range.clone()]);
                if body.len() > RESPONSE_BYTES_MAX {
                    return Err(bad("its response is larger than 64 KiB"));
                }
            }
            piece = &piece[progress.consumed..];
            if matches!(progress.event, Event::NeedMore | Event::End) {
                break;
            }
        }
    }
    let status = reader.head().map(|head| head.status).ok_or_else(|| bad("it sent nothing"))?;
    Ok((status, body))
}
