//! The control measurement for lateness. A thread does nothing but read the clock. A gap is a time in which the machine
//! did not run this thread.
//!
//! From time to time, a machine pauses its threads: for interrupts, for other threads, or because the hypervisor uses
//! the core for milliseconds. During such a gap, no program on the core can be on time. The lateness that the gaps
//! cause is therefore a lower bound for the lateness of any program on that core.

use crate::failure::{Context, Failure, Result, failure};
use crate::process::{Affinity, CLIENT_CORE, SERVER_CORE};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Minimum length of a gap. Shorter times between two readings of the clock are the cost of reading the clock.
const GAP_MIN: Duration = Duration::from_micros(5);

/// Gaps in which a spinning thread did not run.
#[derive(Clone, Debug, PartialEq)]
pub struct SpinGaps {
    /// Length of the measurement, in seconds.
    seconds: f64,
    /// Lengths of the gaps, in seconds, longest first.
    gaps: Vec<f64>,
}

impl SpinGaps {
    /// Spins on the client's core for `length`, while another thread spins on the server's core.
    pub fn measure(length: Duration) -> Result<Self> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let companion = scope.spawn(|| {
                pin(SERVER_CORE)?;
                while !over.load(Ordering::Relaxed) {
                    spin_loop();
                }
                Ok(())
            });
            let spinner = scope.spawn(|| pin(CLIENT_CORE).map(|()| Self::spin(length)));
            let gaps = spinner.join().unwrap_or_else(|_| Err(panicked()));
            over.store(true, Ordering::Relaxed);
            companion.join().unwrap_or_else(|_| Err(panicked()))?;
            gaps
        })
    }

    fn spin(length: Duration) -> Self {
        let start = Instant::now();
        let (mut last, mut gaps) = (start, Vec::new());
        while last - start < length {
            let now = Instant::now();
            if now - last >= GAP_MIN {
                gaps.push((now - last).as_secs_f64());
            }
            last = now;
        }
        Self::new((last - start).as_secs_f64(), gaps)
    }

    fn new(seconds: f64, mut gaps: Vec<f64>) -> Self {
        gaps.sort_unstable_by(|a, b| b.total_cmp(a));
        Self { seconds, gaps }
    }

    /// Returns the longest gap, in seconds.
    pub fn longest(&self) -> f64 {
        self.gaps.first().copied().unwrap_or(0.0)
    }

    /// Returns quantile `q` of the lateness in seconds, for arrivals at uniformly distributed times.
    ///
    /// Let T be the length of the measurement. An arrival falls into a gap of length g with a probability of g / T. The
    /// arrival then waits until the end of the gap, for a time that is uniformly distributed in 0..g. The share of
    /// arrivals that wait for longer than x is Σ max(0, g − x) / T. If the k longest gaps are longer than x, this share
    /// is 1 − q for x = (Σ g − (1 − q)·T) / k.
    pub fn lateness(&self, q: f64) -> f64 {
        let allowed = (1.0 - q) * self.seconds;
        let mut sum = 0.0;
        for (index, gap) in self.gaps.iter().enumerate() {
            sum += gap;
            let x = (sum - allowed) / (index + 1) as f64;
            let next = self.gaps.get(index + 1).copied().unwrap_or(0.0);
            if x >= next {
                return x;
            }
        }
        0.0
    }
}

fn pin(place: Affinity) -> Result<()> {
    match place {
        Affinity::Core(core) => sys::limits::pin_current_thread(core).cannot(format_args!("use core {core}")),
        Affinity::AllCores => Ok(()),
    }
}

fn panicked() -> Failure {
    failure("a spinning thread panicked")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shuffle::Shuffler;

    /// Computes the quantile by simulating many evenly spaced arrivals. All gaps are placed one after the other.
    fn brute_force(seconds: f64, gaps: &[f64], q: f64) -> f64 {
        const ARRIVALS: usize = 200_000;
        let mut ends = Vec::new();
        let mut at = 0.0;
        for gap in gaps {
            ends.push((at, at + gap));
            at += gap;
        }
        let mut waits: Vec<f64> = (0..ARRIVALS)
            .map(|number| {
                let arrival = (number as f64 + 0.5) / ARRIVALS as f64 * seconds;
                let inside = |(from, to): &&(f64, f64)| (*from..*to).contains(&arrival);
                ends.iter().find(inside).map_or(0.0, |(_, to)| to - arrival)
            })
            .collect();
        waits.sort_unstable_by(f64::total_cmp);
        waits[(ARRIVALS as f64 * q) as usize]
    }

    #[test]
    fn lateness_agrees_with_simulated_arrivals() {
        const SEED: u64 = 5;
        let mut shuffler = Shuffler::new(SEED);
        for round in 0..40 {
            // The gaps have very different lengths. Depending on the round, they fill a small part of the time or all
            // of it.
            let gaps: Vec<f64> = (0..1 + round % 7).map(|_| 10_f64.powf(-4.0 + 3.0 * shuffler.unit())).collect();
            let seconds = gaps.iter().sum::<f64>() * (1.0 + 40.0 * shuffler.unit() * f64::from(round % 3));
            let spinning = SpinGaps::new(seconds, gaps.clone());
            for q in [0.5, 0.9, 0.99] {
                let (formula, counted) = (spinning.lateness(q), brute_force(seconds, &gaps, q));
                // The time between two arrivals.
                let step = seconds / 200_000.0;
                assert!(
                    (formula - counted).abs() <= 2.0 * step,
                    "{formula} {counted}, q {q}, {spinning:?}, seed {SEED}"
                );
            }
        }
    }

    #[test]
    fn known_gaps_have_known_lateness() {
        // There is one gap of 40 ms in a second, so 4 % of the arrivals wait until its end: 3 % for at least 10 ms, and
        // 1 % for at least 30 ms.
        let one = SpinGaps::new(1.0, vec![0.04]);
        assert!((one.lateness(0.99) - 0.03).abs() < 1e-12 && (one.lateness(0.97) - 0.01).abs() < 1e-12);
        assert_eq!(one.lateness(0.95), 0.0);
        assert_eq!((one.longest(), SpinGaps::new(1.0, Vec::new()).lateness(0.99)), (0.04, 0.0));
    }

    #[test]
    fn gaps_of_a_spinning_thread_are_measured() {
        let gaps = SpinGaps::measure(Duration::from_millis(50)).unwrap();
        assert!(gaps.seconds >= 0.05 && gaps.gaps.iter().sum::<f64>() <= gaps.seconds, "{gaps:?}");
        assert!(gaps.lateness(0.99) <= gaps.longest());
    }
}
