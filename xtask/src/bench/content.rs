//! `cargo xtask bench content`: the speed at which one core generates and verifies object content.

use crate::console;
use crate::failure::{Result, check_interrupt};
use crate::goal::GoalResult;
use crate::host;
use crate::median::median;
use content::{Content, ObjectContent, Seed};
use std::hint::black_box;
use std::time::Duration;
use sys::clock::thread_cpu_time;

/// Goal for generating content, in GB per second of CPU time.
const FILL_MIN: f64 = 6.0;
/// Goal for verifying content, in GB per second of CPU time.
const VERIFY_MIN: f64 = 4.0;
/// Buffers: the size in bytes, a typical use of this size, and whether the goals apply to the buffer.
const BUFFERS: [(usize, &str, bool); 5] = [
    (64, "a very small object", false),
    (1 << 10, "a small object", false),
    (16 << 10, "a TLS record", true),
    (256 << 10, "a receive buffer, in the cache", true),
    (64 << 20, "larger than the caches of a core", false),
];
/// CPU time of one round.
const ROUND: Duration = Duration::from_millis(100);

/// Number of rounds.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of rounds for each result. A round takes 0.1 s of CPU time.
    #[arg(long, value_name = "N", default_value = "15", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    host::print_machine();
    console::line("");
    console::line(format_args!(
        "content: GB per second of one thread's CPU time, median of {} rounds (lowest … highest)",
        args.rounds
    ));
    let content = Content::new(Seed(1));
    let object = content.object("object-00000000.bin");
    for (bytes, about, judged) in BUFFERS {
        console::line(format_args!("  {bytes} bytes at a time: {about}"));
        let mut buffer = vec![0; bytes];
        let fill = rates(args.rounds, bytes, || object.fill(0, black_box(&mut buffer)))?;
        print("fill", &fill, judged.then_some(FILL_MIN));
        let verify = rates(args.rounds, bytes, || verify(object, &buffer))?;
        print("verify", &verify, judged.then_some(VERIFY_MIN));
    }
    Ok(())
}

fn verify(object: ObjectContent, bytes: &[u8]) {
    let checked = object.verifier(0).check(black_box(bytes));
    assert!(black_box(checked).is_ok(), "the generated content is reported as wrong");
}

/// Returns the speed in each round, in GB per second of CPU time.
fn rates(rounds: u32, bytes: usize, mut work: impl FnMut()) -> Result<Vec<f64>> {
    // Reading the clock is a system call, so the clock is read once for several small buffers.
    let batch = ((1 << 20) / bytes).max(1);
    let mut rates = Vec::new();
    for _ in 0..rounds {
        check_interrupt()?;
        let start = thread_cpu_time();
        let mut done = 0;
        let used = loop {
            (0..batch).for_each(|_| work());
            done += batch * bytes;
            let used = thread_cpu_time().saturating_sub(start);
            if used >= ROUND {
                break used;
            }
        };
        rates.push(done as f64 / used.as_secs_f64() / 1e9);
    }
    Ok(rates)
}

fn print(name: &str, rates: &[f64], goal: Option<f64>) {
    let middle = median(rates).unwrap_or(f64::NAN);
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let judged = goal.map(|goal| format!("   goal ≥ {goal} GB/s: {}", GoalResult::from(middle >= goal)));
    console::line(format_args!(
        "    {name:<7} {middle:>6.2} GB/s ({low:.2} … {high:.2}){}",
        judged.unwrap_or_default()
    ));
}
