//! Tests that compare signatures with the examples that Amazon publishes and with the `aws-sigv4` crate.

mod examples;
mod oracle;
mod refusals;
mod round_trips;

use wire::sigv4::{Keys, Request, Secret, Signer, Timestamp};

/// The keys of Amazon's examples.
const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
/// The time 20130524T000000Z in Unix seconds.
const EXAMPLE_TIME: u64 = 1_369_353_600;

fn keys() -> Keys {
    Keys::new(ACCESS_KEY, Secret::new(SECRET_KEY), None).unwrap()
}

fn signer() -> Signer {
    Signer::new(keys(), "us-east-1", "s3")
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_unix_seconds(seconds)
}

/// Converts headers to the form that [`Request`] takes.
fn bytes<'a>(headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a [u8])> {
    headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
}

/// Parses the header lines of a signature, as a server does.
fn lines(signed: &[u8]) -> Vec<(&str, &[u8])> {
    let text = std::str::from_utf8(signed).expect("signing writes text");
    text.split_terminator("\r\n")
        .map(|line| line.split_once(": ").map(|(name, value)| (name, value.as_bytes())).expect("it is a header"))
        .collect()
}

/// Returns all headers of a request, followed by the headers in `added`, which contain its signature.
fn signed<'a>(request: &Request<'a>, added: &'a [u8]) -> Vec<(&'a str, &'a [u8])> {
    request.headers.iter().copied().chain(lines(added)).collect()
}
