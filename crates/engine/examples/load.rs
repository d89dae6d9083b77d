//! Generates load on a URL and prints a summary.
//!
//! Usage: `cargo run --release -p engine --example load -- http://127.0.0.1:8080/`

use engine::Plan;
use engine::plan::{LoadModel, StopAfter, Targets};
use engine::schedule::Profile;
use measure::Summary;
use std::error::Error;
use std::num::NonZeroU64;
use std::time::Duration;

/// Reads `url` for the given time, with 16 requests in flight.
pub fn load(url: &str, time: Duration) -> Result<Summary, Box<dyn Error>> {
    let mut targets = Targets::default();
    if !targets.push(&url.parse()?) {
        return Err("too many origins".into());
    }
    let slots = Profile::slots(NonZeroU64::new(16).ok_or("no slots")?);
    let mut plan = Plan::new(targets, LoadModel::Closed { slots, think: Duration::ZERO });
    plan.stop = StopAfter { time: Some(time), ..StopAfter::default() };
    Ok(engine::run_to_summary(&plan)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: load URL")?;
    let summary = load(&url, Duration::from_secs(5))?;
    println!("{} succeeded, {} failed", summary.all.ok, summary.all.failed);
    println!("{:.0} requests/s, {:.1} MB/s", summary.ok_rate().unwrap_or(0.0), summary.goodput().unwrap_or(0.0) / 1e6);
    for q in [0.5, 0.99] {
        let time = summary.all.response.quantile(q).map(Duration::from_nanos);
        println!("p{}: {:?}", q * 100.0, time.unwrap_or_default());
    }
    Ok(())
}
