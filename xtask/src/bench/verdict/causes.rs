//! The rows of the matrix: what is planted, in which variants, and which names are right for it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the program can name as the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The target.
    Target,
    /// The link between the two.
    Link,
    /// A thread of the client.
    ClientCpu,
    /// The client's network card.
    ClientNic,
    /// Descriptors or local ports of the client.
    ClientResources,
    /// Others on the same cores.
    SharedHost,
    /// The slots.
    Concurrency,
    /// The schedule.
    Rate,
    /// No name.
    #[serde(alias = "unknown")]
    NotDetermined,
}

impl Limit {
    /// The head of its column.
    pub fn short(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Link => "link",
            Self::ClientCpu => "client CPU",
            Self::ClientNic => "NIC",
            Self::ClientResources => "resources",
            Self::SharedHost => "shared",
            Self::Concurrency => "concurr.",
            Self::Rate => "rate",
            Self::NotDetermined => "not det.",
        }
    }

    /// Whether it lies on the client's side.
    pub fn is_client(self) -> bool {
        matches!(self, Self::ClientCpu | Self::ClientNic | Self::ClientResources | Self::SharedHost)
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cause {
    /// The target takes the same time for each request, however many there are.
    TargetDelay,
    /// The same with exponential service times.
    TargetExponential,
    /// The target stands still for a while.
    TargetStall,
    /// A queue with few servers, overloaded.
    TargetQueue,
    /// The same with exponential service times.
    TargetQueueExponential,
    /// A target that hands out a fixed number of bytes per second.
    TargetRateCap,
    /// The client's group has a small CPU quota.
    ClientQuota,
    /// The client is stopped and continued all the time.
    ClientDutyCycle,
    /// Signed uploads with a spinning process on the only core of the client.
    ClientNeighbor,
    /// The client stands still for a second.
    ClientStopped,
    /// One of its threads stands still for a second.
    ClientThreadStopped,
    /// Stops of 50 ms, each followed by a burst, at a target with little to spare.
    ClientBursts,
    /// Uploads of which each byte is hashed, as fast as possible.
    ClientSignedUpload,
    /// Signed uploads with two spinning processes on the cores of all.
    SharedHost,
    /// Two spinning processes at a low rate for 10 s: the result must not contradict itself.
    SharedHostLowRate,
    /// A link of 40 Mbit/s.
    LinkFull,
    /// More slots than descriptors.
    Descriptors,
    /// More connections than local ports.
    Ports,
    /// Few slots at a target with much to spare.
    Concurrency,
    /// The same, at nginx.
    ConcurrencyNginx,
    /// A low rate at a target with much to spare.
    Rate,
    /// The same, at nginx.
    RateNginx,
    /// Few slots at a target with much to spare, without a look at other numbers of slots.
    OneLevel,
}

/// How the load is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// By a schedule.
    Open,
    /// By slots.
    Closed,
}

impl Model {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// Which way the bodies go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the client.
    Get,
    /// To the target.
    Put,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/1.1 inside TLS.
    Tls,
    /// HTTP/2 inside TLS.
    Http2,
}

/// One way to carry out a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Open or closed.
    pub model: Model,
    /// Download or upload.
    pub direction: Direction,
    /// Protocol.
    pub protocol: Protocol,
}

/// How the target works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discipline {
    /// Requests served at once; 0 for all.
    pub servers: u32,
    /// Service time, or its mean.
    pub service: Duration,
    /// Whether service times are exponential.
    pub exponential: bool,
    /// Bytes per second, one request after the other; 0 for no cap.
    pub rate: u64,
    /// Bytes of a body.
    pub size: u64,
    /// When it stands still, from the first request, and for how long.
    pub stall: Option<(Duration, Duration)>,
}

/// Arrivals per second, and slots, of the two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Open: per second.
    pub rate: u32,
    /// Closed: slots.
    pub slots: u32,
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const WARMUP: Duration = ms(1_000);

const FAST: Discipline =
    Discipline { servers: 0, service: Duration::ZERO, exponential: false, rate: 0, size: 1024, stall: None };

impl Cause {
    /// The variant of a repeat. Twelve repeats go through all of a row that has all.
    pub fn variant(self, repeat: u32) -> Variant {
        use Direction::{Get, Put};
        use Model::{Closed, Open};
        let all = Variant {
            model: [Open, Closed][repeat as usize % 2],
            direction: [Get, Put][repeat as usize / 2 % 2],
            protocol: [Protocol::Http1, Protocol::Tls, Protocol::Http2][repeat as usize % 3],
        };
        match self {
            Self::ClientBursts | Self::SharedHostLowRate | Self::Rate => Variant { model: Open, ..all },
            Self::RateNginx => Variant { model: Open, direction: Get, ..all },
            Self::Concurrency | Self::OneLevel => Variant { model: Closed, ..all },
            Self::ConcurrencyNginx => Variant { model: Closed, direction: Get, ..all },
            _ if self.is_signed() => Variant { model: Closed, direction: Put, protocol: Protocol::Http1 },
            Self::Descriptors | Self::Ports => Variant { model: Closed, direction: Get, protocol: Protocol::Http1 },
            _ => all,
        }
    }

    /// How the target works.
    pub fn discipline(self) -> Discipline {
        let queue = Discipline { servers: 4, service: ms(20), ..FAST };
        match self {
            Self::TargetDelay => Discipline { service: ms(20), ..FAST },
            Self::TargetExponential => Discipline { service: ms(20), exponential: true, ..FAST },
            // 14 % of 5 s and 17.5 % of 4 s: not a share that is itself printed as a percentile, where one operation more or less
            // decides. It begins after the warm-up.
            Self::TargetStall => Discipline { service: ms(5), stall: Some((WARMUP + ms(1500), ms(700))), ..FAST },
            Self::TargetQueue => queue,
            Self::TargetQueueExponential => Discipline { exponential: true, ..queue },
            Self::TargetRateCap => Discipline { servers: 1, rate: 10_000_000, size: 50_000, ..FAST },
            Self::ClientBursts => Discipline { servers: 1, service: Duration::from_micros(800), ..FAST },
            Self::ClientStopped | Self::ClientThreadStopped | Self::ClientDutyCycle => {
                Discipline { service: ms(5), ..FAST }
            }
            _ if self.is_signed() => Discipline { size: 1 << 20, ..FAST },
            Self::LinkFull => Discipline { size: 100_000, ..FAST },
            Self::Concurrency | Self::OneLevel => Discipline { service: ms(5), ..FAST },
            Self::Rate | Self::SharedHostLowRate => Discipline { service: ms(2), ..FAST },
            _ => FAST,
        }
    }

    /// How much load.
    pub fn amount(self) -> Amount {
        let of = |rate, slots| Amount { rate, slots };
        match self {
            Self::TargetDelay | Self::TargetExponential | Self::TargetStall => of(300, 8),
            Self::Rate | Self::RateNginx | Self::Concurrency | Self::OneLevel => of(300, 8),
            // 200/s is what these carry.
            Self::TargetQueue | Self::TargetQueueExponential | Self::TargetRateCap => of(380, 16),
            // More than a quota of a few percent can do.
            Self::ClientQuota => of(8_000, 64),
            Self::ClientDutyCycle | Self::ClientStopped | Self::ClientThreadStopped => of(500, 16),
            Self::ClientBursts => of(600, 16),
            Self::LinkFull => of(100, 16),
            Self::SharedHostLowRate => of(500, 16),
            Self::ClientSignedUpload | Self::ClientNeighbor | Self::SharedHost => of(0, 8),
            Self::Descriptors => of(0, 400),
            Self::ConcurrencyNginx => of(0, 1),
            Self::Ports => of(0, 64),
        }
    }

    /// The names that are right.
    pub fn right(self, variant: Variant) -> &'static [Limit] {
        use Limit::{
            ClientCpu, ClientNic, ClientResources, Concurrency, Link, NotDetermined, Rate, SharedHost, Target,
        };
        let open = variant.model == Model::Open;
        match self {
            // It would serve more at once in the same time: what limits is how many there are.
            Self::TargetDelay | Self::TargetExponential if open => &[Rate],
            Self::TargetDelay | Self::TargetExponential | Self::Concurrency | Self::ConcurrencyNginx => &[Concurrency],
            // One number of slots does not always tell the two apart.
            Self::OneLevel => &[Concurrency, NotDetermined],
            // All that was asked for was served, some of it late. Slots lost what they would have done meanwhile.
            Self::TargetStall if open => &[Rate],
            Self::TargetStall => &[Target, Concurrency],
            Self::TargetQueue | Self::TargetQueueExponential | Self::TargetRateCap => &[Target],
            Self::ClientQuota | Self::ClientSignedUpload => &[ClientCpu],
            Self::ClientNeighbor | Self::SharedHost => &[SharedHost],
            // Who stopped a process cannot be seen from inside.
            Self::ClientDutyCycle | Self::ClientStopped | Self::ClientThreadStopped | Self::ClientBursts => {
                &[ClientCpu, SharedHost]
            }
            // The load is low enough that the neighbors may not matter.
            Self::SharedHostLowRate => &[Rate, SharedHost],
            Self::LinkFull => &[Link, ClientNic],
            // With too few descriptors it does not begin.
            Self::Descriptors => &[ClientResources, NotDetermined],
            Self::Ports => &[ClientResources],
            Self::Rate | Self::RateNginx => &[Rate],
        }
    }

    /// Its name, as on the command line.
    pub fn label(self) -> &'static str {
        match self {
            Self::TargetDelay => "target-delay",
            Self::TargetExponential => "target-exponential",
            Self::TargetStall => "target-stall",
            Self::TargetQueue => "target-queue",
            Self::TargetQueueExponential => "target-queue-exponential",
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
            Self::Rate => "rate",
            Self::RateNginx => "rate-nginx",
            Self::OneLevel => "one-level",
        }
    }

    /// Whether nginx is the target, whose log is not exact enough for a truth.
    pub fn is_nginx(self) -> bool {
        matches!(self, Self::ConcurrencyNginx | Self::RateNginx)
    }

    /// Whether it uploads to S3 with every byte hashed: work for which the client needs far more CPU time than any target, so that
    /// what is taken from the client is what limits the run.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::ClientSignedUpload | Self::ClientNeighbor | Self::SharedHost)
    }

    /// How long its load lasts before anything counts. Closed and open runs begin with handshakes, which the log of the target does
    /// not show. Where connections are what is planted, nothing comes before.
    pub fn warmup(self) -> Duration {
        if matches!(self, Self::Ports | Self::Descriptors) { Duration::ZERO } else { WARMUP }
    }

    /// Whether the program is to look at other numbers of slots as well: one does not always tell target from slots.
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

    /// How long its runs are, where that is fixed.
    pub fn seconds(self) -> Option<u64> {
        (self == Self::SharedHostLowRate).then_some(10)
    }

    /// Whether the truth of its times can be computed. What a fast target and full cores do to closed loops is not in the log of
    /// the target, nor is what a link does.
    pub fn has_truth(self, variant: Variant) -> bool {
        let fast = self.discipline().service.is_zero() && self.discipline().rate == 0;
        let outside = matches!(self, Self::LinkFull | Self::Descriptors | Self::Ports);
        !(self.is_nginx() || outside || fast && variant.model == Model::Closed)
    }
}

impl Variant {
    /// In words.
    pub fn text(self) -> String {
        let model = self.model.text();
        let direction = if self.direction == Direction::Get { "get" } else { "put" };
        let protocol = match self.protocol {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Tls => "TLS",
            Protocol::Http2 => "HTTP/2",
        };
        format!("{model} {direction} {protocol}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn twelve_repeats_go_through_all_variants() {
        let seen: HashSet<String> = (0..12).map(|repeat| Cause::TargetQueue.variant(repeat).text()).collect();
        assert_eq!(seen.len(), 12);
    }

    #[test]
    fn overloaded_targets_are_overloaded_and_others_are_not() {
        for &cause in Cause::value_variants() {
            let (target, amount) = (cause.discipline(), cause.amount());
            let work = target.service.as_secs_f64()
                + if target.rate > 0 { target.size as f64 / target.rate as f64 } else { 0.0 };
            let carries = if target.servers == 0 { f64::INFINITY } else { f64::from(target.servers) / work };
            let is_target = cause.right(cause.variant(0)) == [Limit::Target];
            assert_eq!(f64::from(amount.rate) > 1.5 * carries, is_target, "{cause:?}");
            assert!(is_target || f64::from(amount.rate) < 0.8 * carries, "{cause:?}");
            for repeat in 0..12 {
                let variant = cause.variant(repeat);
                assert_eq!(cause.to_possible_value().unwrap().get_name(), cause.label());
                let load = if variant.model == Model::Open { amount.rate } else { amount.slots };
                assert!(load > 0 && !cause.right(variant).is_empty(), "{cause:?} {}", variant.text());
            }
        }
    }
}
