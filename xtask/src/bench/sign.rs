//! `cargo xtask bench sign`: the CPU time to sign an S3 request.

use crate::console;
use crate::failure::{Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::median::median;
use std::hint::black_box;
use wire::sigv4::{Keys, Payload, Request, Secret, SignError, Signer, Timestamp, Verifier};

/// Goal, in µs of CPU time.
const GOAL_US: f64 = 10.0;
/// Number of requests in a round, which takes tens of milliseconds.
const REQUESTS: u32 = 10_000;
/// Time of the first signature: 20130524T000000Z, as in Amazon's examples. Each request is one second later.
const FIRST_SECOND: u64 = 1_369_353_600;

/// Number of rounds.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of rounds of 10,000 requests. The benchmark prints the median of the rounds.
    #[arg(long, value_name = "N", default_value = "21", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    host::print_machine();
    let keys = Keys::new("AKIAIOSFODNN7EXAMPLE", Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), None)
        .map_err(|error| failure(error.to_string()))?;
    let get: &[(&str, &[u8])] = &[("host", b"127.0.0.1:9000"), ("range", b"bytes=1048576-2097151")];
    let get = Request { method: "GET", path: "/bucket/some/prefix/object-0000123456", query: "", headers: get };
    let list = Request { query: "list-type=2&max-keys=1000&prefix=some%2Fprefix%2F&encoding-type=url", ..get };
    let mut signer = Signer::new(keys.clone(), "us-east-1", "s3");
    let mut out = Vec::new();

    console::line("");
    console::line(format_args!(
        "sign: CPU time per request on one thread, {} rounds of {REQUESTS} requests",
        args.rounds
    ));
    let mut sign = |request: &Request, second: u64| -> std::result::Result<(), SignError> {
        out.clear();
        signer.sign(time(second), request, &Payload::Unsigned, &mut out)?;
        black_box(&out);
        Ok(())
    };
    print("GET, header", args, Some(GOAL_US), |second| sign(&get, second).is_ok())?;
    print("list, header", args, Some(GOAL_US), |second| sign(&list, second).is_ok())?;
    let mut signer = Signer::new(keys.clone(), "us-east-1", "s3");
    let mut query = Vec::new();
    print("GET, presigned URL", args, Some(GOAL_US), |second| {
        query.clear();
        let signed = signer.presign(time(second), 3600, &get, &mut query).is_ok();
        black_box(&query);
        signed
    })?;
    let mut verifier = Verifier::new(None);
    let mut added = Vec::new();
    print("sign and verify a GET", args, None, |second| {
        added.clear();
        let signed = signer.sign(time(second), &get, &Payload::Unsigned, &mut added).is_ok();
        let text = String::from_utf8_lossy(&added);
        let lines = text.split_terminator("\r\n").filter_map(|line| line.split_once(": "));
        let all: Vec<_> =
            lines.map(|(name, value)| (name, value.as_bytes())).chain(get.headers.iter().copied()).collect();
        let received = Request { headers: &all, ..get };
        signed && verifier.verify(&received, time(second), |_| Some(&keys)).is_ok()
    })
}

fn time(second: u64) -> Timestamp {
    Timestamp::from_unix_seconds(FIRST_SECOND + second)
}

/// Measures and prints the CPU time of one call of `work`, which returns whether it succeeded.
fn print(name: &str, args: &Args, goal: Option<f64>, mut work: impl FnMut(u64) -> bool) -> Result<()> {
    let mut times_us = Vec::new();
    for _ in 0..args.rounds {
        check_interrupt()?;
        let before = sys::clock::thread_cpu_time();
        for second in 0..REQUESTS {
            if !work(second.into()) {
                return Err(failure(format_args!("{name}: cannot sign a request")));
            }
        }
        times_us.push((sys::clock::thread_cpu_time() - before).as_secs_f64() * 1e6 / f64::from(REQUESTS));
    }
    let middle = median(&times_us).unwrap_or(f64::NAN);
    let low = times_us.iter().copied().fold(f64::INFINITY, f64::min);
    let high = times_us.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let judged = goal.map(|goal| format!("   goal ≤ {goal} µs: {}", GoalResult::from(middle <= goal)));
    let judged = judged.unwrap_or_default();
    console::line(format_args!("  {name:<24} median {middle:.2} µs ({low:.2} … {high:.2}){judged}"));
    Ok(())
}
