//! The ceiling of this client, which is the maximum load that it can make. The embedded server is the target, because
//! it uses little CPU time.

use super::Finding;
use crate::command::load_command::LoadCommand;
use crate::embedded_server;
use crate::execute;
use crate::failure::Failure;
use engine::run_loop::OpEntry;
use engine::{Control, Observer};
use measure::{Instant, Interval, Stage, Summary};
use server::Faults;

/// The intervals of a run. The intervals stay in memory and are not saved.
#[derive(Default)]
struct Keep(Vec<Interval>);

impl Observer for Keep {
    fn interval(&mut self, interval: &Interval, _: &Control, _: Instant) {
        self.0.push(interval.clone());
    }

    fn ops(&mut self, _: &[OpEntry]) {}

    fn tick(&mut self, control: &Control, now: Instant) {
        if sys::signals::interrupts().count > 0 {
            control.stop(now, engine::StopReason::Interrupted);
        }
    }
}

/// Measures the ceiling for small requests and for large bodies.
pub fn measure() -> Result<Vec<Finding>, Failure> {
    let _ = sys::signals::catch_interrupts();
    let (server, address) = embedded_server::start(Faults::default())?;
    let small = load(&format!("get --threads 1 -c 64 -d 2s http://{address}/blackhole/1KiB"))?;
    let large = load(&format!("get --threads 1 -c 8 -d 2s --drain 0s http://{address}/blackhole/1GiB"))?;
    drop(server);
    let requests = small.summary.stats.measured.completed() as f64;
    let gigabytes = large.summary.measured.traffic.body as f64 / 1e9;
    let small_rate = small.summary.completed_rate().unwrap_or(0.0);
    let large_rate = large.summary.throughput().unwrap_or(0.0) / 1e9;
    Ok(vec![
        Finding::fact(
            "small requests",
            format!(
                "one thread can read {:.0}/s of 1 KiB ({:.1} µs of CPU time each); measured {small_rate:.0}/s, with the server on this host",
                requests / small.cpu_seconds,
                small.cpu_seconds * 1e6 / requests.max(1.0),
            ),
        ),
        Finding::fact(
            "large bodies",
            format!(
                "one thread can receive {:.1} GB/s ({:.3} s of CPU time per GB); measured {large_rate:.2} GB/s, with the server on this host",
                gigabytes / large.cpu_seconds,
                large.cpu_seconds / gigabytes.max(1e-9),
            ),
        ),
        Finding::fact("", "measured over loopback, where the server's core does part of the client's network work"),
    ])
}

/// The result of a short load.
pub struct Measured {
    /// Summary of all intervals of the load.
    pub summary: Summary,
    /// CPU time that the only load thread used, in seconds.
    cpu_seconds: f64,
}

/// Makes the load of a command line.
pub fn load(line: &str) -> Result<Measured, Failure> {
    let words = std::iter::once("plimsoll").chain(line.split(' ')).map(Into::into);
    let (mut plan, _) = LoadCommand::parse(words)?.plan()?;
    execute::prepare(&mut plan)?;
    let mut keep = Keep::default();
    engine::run(&plan, &Control::new(None), &mut keep).map_err(Failure::could_not_run)?;
    let measured = keep.0.iter().filter(|interval| interval.stage == Stage::Measured);
    let cpu_seconds: f64 = measured.map(|interval| interval.client.busy * interval.seconds()).sum();
    Ok(Measured { summary: Summary::of(&plan.load.model(), &keep.0), cpu_seconds: cpu_seconds.max(1e-6) })
}
