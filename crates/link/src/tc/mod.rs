//! The back end *tc*: the kernel's own emulator, netem, between two network namespaces.
//!
//! This module only builds the commands of `ip` and `tc` (package iproute2). Tests compare only the text of the
//! commands. **The commands have not been run**: the kernels of the machines on which Plimsoll is developed do not have
//! netem.
//!
//! Differences from the back end tun:
//!
//! * netem draws a separate jitter for each segment, so it may reorder segments.
//! * netem loses whole frames of several segments. The devices are therefore limited to frames of one segment, which
//!   takes more CPU time.
//! * Namespaces need names. After a crash, they remain until [`Commands::remove`] is run.

#[cfg(test)]
mod tests;

use crate::spec::{Direction, DirectionSpec, LinkSpec, bytes_in};
use measure::units::DataRate;
use std::fmt;
use std::time::Duration;

/// Prefix of the names of everything that this back end creates.
pub const PREFIX: &str = "plimsoll";
const DEVICE: &str = "plimsoll0";
const NEAR_ADDRESS: &str = "198.18.0.1/30";
const FAR_ADDRESS: &str = "198.18.0.2/30";
/// Bytes of a full segment, with its Ethernet header.
const SEGMENT_BYTES: u64 = 1514;
/// Largest queue of netem, in segments.
const LIMIT_MAX: u64 = 10_000_000;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the program.
    pub program: &'static str,
    /// Arguments.
    pub arguments: Vec<String>,
}

impl fmt::Display for Step {
    /// Formats the command as a shell command. No argument needs quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.arguments.join(" "))
    }
}

/// The commands that create and remove a path.
#[derive(Clone, Debug)]
pub struct Commands {
    near: String,
    far: String,
    link: LinkSpec,
}

impl Commands {
    /// Creates the commands for a path. `owner` is the ID of the process that owns the path.
    #[must_use]
    pub fn new(link: &LinkSpec, owner: u32) -> Self {
        Self { near: format!("{PREFIX}-{owner}-near"), far: format!("{PREFIX}-{owner}-far"), link: *link }
    }

    /// Returns the name of the namespace at the near end.
    #[must_use]
    pub fn near(&self) -> &str {
        &self.near
    }

    /// Returns the name of the namespace at the far end.
    #[must_use]
    pub fn far(&self) -> &str {
        &self.far
    }

    /// Returns the commands that create the path, in order.
    #[must_use]
    pub fn make(&self) -> Vec<Step> {
        let Self { near, far, link } = self;
        let mut steps = vec![
            ip(&format!("netns add {near}")),
            ip(&format!("netns add {far}")),
            ip(&format!("link add {DEVICE} netns {near} type veth peer name {DEVICE} netns {far}")),
        ];
        for (namespace, address, direction) in
            [(near, NEAR_ADDRESS, Direction::Up), (far, FAR_ADDRESS, Direction::Down)]
        {
            steps.extend([
                ip(&format!("-netns {namespace} link set lo up")),
                // Limit frames to one segment, because netem drops whole frames.
                ip(&format!("-netns {namespace} link set {DEVICE} gso_max_segs 1")),
                ip(&format!("-netns {namespace} address add {address} dev {DEVICE}")),
                ip(&format!("-netns {namespace} link set {DEVICE} up")),
            ]);
            // Each end limits the traffic that it sends.
            if let Some(netem) = netem(link, direction) {
                steps.push(tc(&format!("-netns {namespace} qdisc add dev {DEVICE} root {netem}")));
            }
        }
        steps
    }

    /// Returns the commands that remove the path. Each command may fail if its namespace does not exist.
    #[must_use]
    pub fn remove(&self) -> Vec<Step> {
        vec![ip(&format!("netns delete {}", self.near)), ip(&format!("netns delete {}", self.far))]
    }

    /// Returns the command that shows the traffic and the drops of a direction.
    #[must_use]
    pub fn show(&self, direction: Direction) -> Step {
        let namespace = match direction {
            Direction::Down => &self.far,
            Direction::Up => &self.near,
        };
        tc(&format!("-netns {namespace} -statistics -json qdisc show dev {DEVICE}"))
    }
}

/// Returns the command that succeeds only if the kernel has netem. Run the command in a separate network namespace.
#[must_use]
pub fn check_kernel() -> Step {
    tc("qdisc add dev lo root netem delay 1ms")
}

/// Returns the netem arguments for a direction; `None` if the direction changes nothing.
fn netem(link: &LinkSpec, direction: Direction) -> Option<String> {
    let spec = link.direction(direction);
    if *spec == DirectionSpec::default() {
        return None;
    }
    let mut text = format!("netem limit {}", limit(link, direction));
    if !spec.delay.is_zero() {
        text += &format!(" delay {}us", micros(spec.delay));
    }
    if !spec.jitter.is_zero() {
        text += &format!(" {}us", micros(spec.jitter));
    }
    for (name, share) in [("loss", spec.loss), ("reorder", spec.reorder)] {
        if share > 0.0 {
            text += &format!(" {name} {}%", share * 100.0);
        }
    }
    if let Some(rate) = spec.rate {
        text += &format!(" rate {}bit", rate.as_bits());
    }
    Some(text)
}

fn micros(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1000)
}

/// Returns netem's limit in segments. Unlike the queue of [`DirectionSpec`], this limit includes the delayed segments.
fn limit(link: &LinkSpec, direction: Direction) -> u64 {
    let spec = link.direction(direction);
    let in_flight = |rate: DataRate| bytes_in(rate, spec.delay + spec.jitter);
    let bytes = spec.rate.map(|rate| in_flight(rate) + link.queue_bytes(direction).unwrap_or(0));
    bytes.map_or(LIMIT_MAX, |bytes| bytes.div_ceil(SEGMENT_BYTES).clamp(1, LIMIT_MAX))
}

fn ip(arguments: &str) -> Step {
    step("ip", arguments)
}

fn tc(arguments: &str) -> Step {
    step("tc", arguments)
}

fn step(program: &'static str, arguments: &str) -> Step {
    Step { program, arguments: arguments.split(' ').map(str::to_owned).collect() }
}
