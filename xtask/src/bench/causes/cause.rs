//! The planted causes, their variants, and the limits that are correct for each cause.

use super::behavior::{Amount, Behavior, Stall};
use super::limit::Limit;
use super::variant::{Direction, Model, Protocol, Variant};
use clap::ValueEnum;
use std::time::Duration;

/// A planted cause: a row of the confusion matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cause {
    /// The target needs the same time for every request at any load.
    TargetDelay,
    /// Like target-delay, with exponential service times.
    TargetExponential,
    /// The target pauses once.
    TargetStall,
    /// The target pauses shortly before the end of the run, and continues after it.
    TargetEndStall,
    /// The target refuses most requests at once (a token bucket).
    TargetRefuses,
    /// The target serves only a few requests at a time, and is overloaded.
    TargetQueue,
    /// Like target-queue, with exponential service times.
    TargetQueueExponential,
    /// The target serves one upload at a time, and is overloaded by uploads, which are a tenth of the requests.
    TargetUploadQueue,
    /// The target sends a fixed number of bytes per second.
    TargetRateCap,
    /// The client's control group has a small CPU quota.
    ClientQuota,
    /// The client is stopped and continued periodically.
    ClientDutyCycle,
    /// The client makes signed uploads, and another process spins on the client's only core.
    ClientNeighbor,
    /// The client is stopped for a second.
    ClientStopped,
    /// One thread of the client is stopped for a second.
    ClientThreadStopped,
    /// The client is stopped for 50 ms again and again. Each stop is followed by a burst of requests. The target is
    /// nearly saturated.
    ClientBursts,
    /// The client sends uploads as fast as possible, and computes a hash over every byte.
    ClientSignedUpload,
    /// The client makes signed uploads, and two processes spin on the cores of client and target.
    SharedHost,
    /// The rate is low for 10 s, and two processes spin on the cores of client and target. The report must not contain
    /// contradictions.
    SharedHostLowRate,
    /// The network link has only 40 Mbit/s.
    LinkFull,
    /// There are more slots than file descriptors.
    Descriptors,
    /// There are more connections than local ports.
    Ports,
    /// There are few slots, and the target has capacity left.
    Concurrency,
    /// There are few slots, and the target is nginx.
    ConcurrencyNginx,
    /// There are few slots. The target has capacity left, but pauses for 200 ms in each second. No probes are made.
    ConcurrencyPauses,
    /// The rate is low, and the target has capacity left.
    Rate,
    /// The rate is low, and the target is nginx.
    RateNginx,
    /// There are few slots, and the target has capacity left. The runs have no probes with other numbers of slots.
    OneLevel,
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Duration of the warm-up.
const WARMUP: Duration = ms(1_000);
/// Duration of a run whose target pauses at its end, in seconds.
const END_STALL_SECONDS: u64 = 3;

/// A target that responds at once.
const FAST: Behavior = Behavior {
    servers: 0,
    uploads_only: false,
    service: Duration::ZERO,
    exponential: false,
    rate: 0,
    size: 1024,
    tokens: 0,
    stall: None,
};

impl Cause {
    /// Returns the variant for repeat number `repeat`. Twelve repeats cover all variants that make sense for a cause.
    pub fn variant(self, repeat: u32) -> Variant {
        use Direction::{Get, Put};
        use Model::{Closed, Open};
        let all = Variant {
            model: [Open, Closed][repeat as usize % 2],
            direction: [Get, Put][repeat as usize / 2 % 2],
            protocol: [Protocol::Http1, Protocol::Tls, Protocol::Http2][repeat as usize % 3],
        };
        match self {
            Self::ClientBursts
            | Self::SharedHostLowRate
            | Self::Rate
            | Self::TargetUploadQueue
            | Self::TargetEndStall => Variant { model: Open, ..all },
            Self::TargetRefuses => Variant { model: Closed, ..all },
            Self::RateNginx => Variant { model: Open, direction: Get, ..all },
            Self::Concurrency | Self::OneLevel | Self::ConcurrencyPauses => Variant { model: Closed, ..all },
            Self::ConcurrencyNginx => Variant { model: Closed, direction: Get, ..all },
            _ if self.is_signed() => Variant { model: Closed, direction: Put, protocol: Protocol::Http1 },
            Self::Descriptors | Self::Ports => Variant { model: Closed, direction: Get, protocol: Protocol::Http1 },
            _ => all,
        }
    }

    /// Returns the behavior of the target.
    pub fn behavior(self) -> Behavior {
        let queue = Behavior { servers: 4, service: ms(20), ..FAST };
        match self {
            Self::TargetDelay => Behavior { service: ms(20), ..FAST },
            Self::TargetExponential => Behavior { service: ms(20), exponential: true, ..FAST },
            // The pause is 14 % of a run of 5 s, and 17.5 % of a run of 4 s. Neither 86 % nor 82.5 % is near a printed
            // percentile. Otherwise a single operation could decide whether that percentile falls into the pause. The
            // pause begins after the warm-up.
            Self::TargetStall => Behavior {
                service: ms(5),
                stall: Some(Stall { at: WARMUP + ms(1500), length: ms(700), every: None }),
                ..FAST
            },
            Self::TargetEndStall => Behavior {
                service: ms(5),
                stall: Some(Stall { at: WARMUP + ms(END_STALL_SECONDS * 1000 - 500), length: ms(1100), every: None }),
                ..FAST
            },
            Self::TargetRefuses => Behavior { tokens: 100, ..FAST },
            Self::TargetQueue => queue,
            Self::TargetQueueExponential => Behavior { exponential: true, ..queue },
            Self::TargetUploadQueue => Behavior { servers: 1, uploads_only: true, service: ms(60), ..FAST },
            Self::TargetRateCap => Behavior { servers: 1, rate: 10_000_000, size: 50_000, ..FAST },
            Self::ClientBursts => Behavior { servers: 1, service: Duration::from_micros(800), ..FAST },
            Self::ClientStopped | Self::ClientThreadStopped | Self::ClientDutyCycle => {
                Behavior { service: ms(5), ..FAST }
            }
            _ if self.is_signed() => Behavior { size: 1 << 20, ..FAST },
            Self::LinkFull => Behavior { size: 100_000, ..FAST },
            Self::Concurrency | Self::OneLevel => Behavior { service: ms(5), ..FAST },
            Self::ConcurrencyPauses => {
                let stall = Stall { at: ms(450), length: ms(200), every: Some(ms(1_000)) };
                Behavior { service: ms(20), stall: Some(stall), ..FAST }
            }
            Self::Rate | Self::SharedHostLowRate => Behavior { service: ms(2), ..FAST },
            _ => FAST,
        }
    }

    /// Returns the amount of load.
    pub fn amount(self) -> Amount {
        let of = |rate, slots| Amount { rate, slots };
        match self {
            Self::TargetDelay
            | Self::TargetExponential
            | Self::TargetStall
            | Self::TargetEndStall
            | Self::TargetUploadQueue => of(300, 8),
            Self::TargetRefuses => of(0, 16),
            Self::Rate | Self::RateNginx | Self::Concurrency | Self::OneLevel => of(300, 8),
            // These targets sustain only 200 requests per second.
            Self::TargetQueue | Self::TargetQueueExponential | Self::TargetRateCap => of(380, 16),
            // With a quota of a few percent of a core, the client cannot generate this load.
            Self::ClientQuota => of(8_000, 64),
            Self::ClientDutyCycle | Self::ClientStopped | Self::ClientThreadStopped => of(500, 16),
            Self::ClientBursts => of(600, 16),
            Self::ConcurrencyPauses => of(300, 32),
            Self::LinkFull => of(100, 16),
            Self::SharedHostLowRate => of(500, 16),
            Self::ClientSignedUpload | Self::ClientNeighbor | Self::SharedHost => of(0, 8),
            Self::Descriptors => of(0, 400),
            Self::ConcurrencyNginx => of(0, 1),
            Self::Ports => of(0, 64),
        }
    }

    /// Returns the limits that are correct for this cause.
    pub fn right(self, variant: Variant) -> &'static [Limit] {
        use Limit::{
            ClientCpu, ClientNic, ClientResources, Concurrency, Link, NotDetermined, Rate, SharedHost, Target,
        };
        let open = variant.model == Model::Open;
        match self {
            // The target could serve more requests in the same time, so the load itself is the limit.
            Self::TargetDelay | Self::TargetExponential if open => &[Rate],
            Self::TargetDelay | Self::TargetExponential | Self::Concurrency | Self::ConcurrencyNginx => &[Concurrency],
            // A run with only one number of slots does not always show whether the slots or the target limit the rate.
            Self::OneLevel | Self::ConcurrencyPauses => &[Concurrency, NotDetermined],
            // In the open model, all requests are served, some of them late. In the closed model, the slots wait during
            // the pause.
            Self::TargetStall if open => &[Rate],
            Self::TargetStall => &[Target, Concurrency],
            Self::TargetEndStall | Self::TargetRefuses => &[Target],
            Self::TargetQueue | Self::TargetQueueExponential | Self::TargetUploadQueue | Self::TargetRateCap => {
                &[Target]
            }
            Self::ClientQuota | Self::ClientSignedUpload => &[ClientCpu],
            Self::ClientNeighbor | Self::SharedHost => &[SharedHost],
            // A process cannot know what stopped it.
            Self::ClientDutyCycle | Self::ClientStopped | Self::ClientThreadStopped | Self::ClientBursts => {
                &[ClientCpu, SharedHost]
            }
            // With such a low load, the spinning processes may make no difference.
            Self::SharedHostLowRate => &[Rate, SharedHost],
            Self::LinkFull => &[Link, ClientNic],
            // With too few descriptors, the program may also refuse to start.
            Self::Descriptors => &[ClientResources, NotDetermined],
            Self::Ports => &[ClientResources],
            Self::Rate | Self::RateNginx => &[Rate],
        }
    }

    /// Returns the name of the cause on the command line.
    pub fn label(self) -> &'static str {
        match self {
            Self::TargetDelay => "target-delay",
            Self::TargetExponential => "target-exponential",
            Self::TargetStall => "target-stall",
            Self::TargetEndStall => "target-end-stall",
            Self::TargetRefuses => "target-refuses",
            Self::TargetQueue => "target-queue",
            Self::TargetQueueExponential => "target-queue-exponential",
            Self::TargetUploadQueue => "target-upload-queue",
            Self::TargetRateCap => "target-rate-cap",
            Self::ClientQuota => "client-quota",
            Self::ClientDutyCycle => "client-duty-cycle",
            Self::ClientNeighbor => "client-neighbor",
            Self::ClientStopped => "client-stopped",
            Self::ClientThreadStopped => "client-thread-stopped",
            Self::ClientBursts => "client-bursts",
            Self::ClientSignedUpload => "client-signed-upload",
            Self::SharedHost => "shared-host",
            Self::SharedHostLowRate => "shared-host-low-rate",
            Self::LinkFull => "link-full",
            Self::Descriptors => "descriptors",
            Self::Ports => "ports",
            Self::Concurrency => "concurrency",
            Self::ConcurrencyNginx => "concurrency-nginx",
            Self::ConcurrencyPauses => "concurrency-pauses",
            Self::Rate => "rate",
            Self::RateNginx => "rate-nginx",
            Self::OneLevel => "one-level",
        }
    }

    /// Returns whether nginx is the target. The times in nginx's log are too coarse to compute the true response times.
    pub fn is_nginx(self) -> bool {
        matches!(self, Self::ConcurrencyNginx | Self::RateNginx)
    }

    /// Returns whether the load is a mix of downloads and uploads.
    pub fn is_mixed(self) -> bool {
        self == Self::TargetUploadQueue
    }

    /// Returns whether the client uploads to S3 and computes a hash over every byte. The client then needs far more CPU
    /// time than the target, so the client's CPU is the limit if CPU time is short.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::ClientSignedUpload | Self::ClientNeighbor | Self::SharedHost)
    }

    /// Returns the duration of the warm-up. TLS handshakes belong in the warm-up, because they are missing from the
    /// target's log. Causes that concern the connections themselves have no warm-up.
    pub fn warmup(self) -> Duration {
        if matches!(self, Self::Ports | Self::Descriptors) { Duration::ZERO } else { WARMUP }
    }

    /// Returns whether the program probes other numbers of slots. Without probes, a run does not always show whether
    /// the slots or the target limit the rate.
    pub fn is_probed(self, variant: Variant) -> bool {
        let asks = matches!(
            self,
            Self::TargetDelay
                | Self::TargetExponential
                | Self::TargetStall
                | Self::TargetQueue
                | Self::TargetQueueExponential
                | Self::TargetRateCap
                | Self::Concurrency
                | Self::ConcurrencyNginx
        );
        asks && variant.model == Model::Closed
    }

    /// Returns the duration of runs in seconds; `None` if the user may choose the duration.
    pub fn seconds(self) -> Option<u64> {
        match self {
            Self::SharedHostLowRate => Some(10),
            Self::TargetEndStall => Some(END_STALL_SECONDS),
            _ => None,
        }
    }

    /// Returns whether the true response times can be computed from the target's log. This is impossible for a mix,
    /// because the log does not name the kinds of operations, and over a slow link, whose effects are not in the log.
    /// It is also impossible for closed runs with a fast target on busy cores.
    pub fn has_truth(self, variant: Variant) -> bool {
        let fast = self.behavior().service.is_zero() && self.behavior().rate == 0;
        let outside = matches!(self, Self::LinkFull | Self::Descriptors | Self::Ports | Self::TargetRefuses);
        !(self.is_nginx() || self.is_mixed() || outside || fast && variant.model == Model::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn twelve_repeats_cover_all_variants() {
        let seen: HashSet<String> = (0..12).map(|repeat| Cause::TargetQueue.variant(repeat).text()).collect();
        assert_eq!(seen.len(), 12);
    }

    #[test]
    fn only_targets_that_should_limit_are_overloaded() {
        for &cause in Cause::value_variants() {
            let (target, amount) = (cause.behavior(), cause.amount());
            let work = target.service.as_secs_f64()
                + if target.rate > 0 { target.size as f64 / target.rate as f64 } else { 0.0 };
            let capacity = if target.servers == 0 { f64::INFINITY } else { f64::from(target.servers) / work };
            let is_target = cause.right(cause.variant(0)) == [Limit::Target];
            let fails_by_itself = matches!(cause, Cause::TargetEndStall | Cause::TargetRefuses);
            assert_eq!(f64::from(amount.rate) > 1.5 * capacity, is_target && !fails_by_itself, "{cause:?}");
            assert!(is_target || f64::from(amount.rate) < 0.8 * capacity, "{cause:?}");
            for repeat in 0..12 {
                let variant = cause.variant(repeat);
                assert_eq!(cause.to_possible_value().unwrap().get_name(), cause.label());
                let load = if variant.model == Model::Open { amount.rate } else { amount.slots };
                assert!(load > 0 && !cause.right(variant).is_empty(), "{cause:?} {}", variant.text());
            }
        }
    }
}
