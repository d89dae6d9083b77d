//! The plan of a run, from the flags that all kinds of load share. Reports every mistake in the flags.

use super::args::{Args, Checks, Load, Output, Requests};
use super::connections::{check_https, connections};
use super::dialect::DialectSettings;
use crate::execute::{RunOptions, own_descriptors};
use crate::failure::Failure;
use crate::live_metrics::LiveMetrics;
use crate::progress::{Progress, View};
use crate::saved::OutputFormat;
use engine::plan::{
    ArrivalTimes, Auth, Choice, Follow, HttpPlan, LoadModel, Mix, Part, Plan, RedirectHosts, RedirectRule,
    RedirectRules, ResumedUploads, Spread, StopAfter, Targets, Timeouts,
};
use engine::schedule::{Profile, Spacing, StagePlan};
use measure::units::format_span;
use measure::{Enumerated, Objective};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use study::objective_monitor::SLICE;
use wire::gateway::Depth;
use wire::{Header, HeaderName, Version};

const DEFAULT_CONCURRENCY: f64 = 10.0;
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_IN_FLIGHT_MAX: u64 = 10_000;
const THREADS_MAX: u64 = 1024;
/// Maximum number of repeats. The maximum limits memory use, because all results stay in memory until the last repeat
/// ends.
const REPEAT_MAX: u64 = 1000;
const CONCURRENCY_MAX: u64 = 1_000_000;
/// Maximum number of operations per second. No client can reach this rate, and a higher rate would use all CPU time for
/// the schedule alone.
const RATE_MAX: f64 = 10_000_000.0;

/// The part of a plan that depends on the command: the requests and their objects.
#[derive(Debug)]
pub struct Workload {
    /// The objects.
    pub targets: Targets,
    /// The order in which objects are chosen.
    pub choice: Choice,
    /// `true` if the run ends after one operation per object.
    pub once: bool,
    /// The requests.
    pub mix: Mix,
    /// Authentication of requests.
    pub auth: Auth,
    /// Distribution of requests over several origins.
    pub spread: Spread,
}

/// Returns the plan of a run.
pub fn plan(args: &Args, workload: Workload) -> Result<Plan, Failure> {
    let bounds = args.checks.objective.iter().chain(&args.checks.abort_when);
    for kind in bounds.filter_map(Objective::kind) {
        if !workload.mix.requests().iter().any(|request| request.kind == kind) {
            return Err(Failure::usage(format!("--objective: this load has no operations of kind `{}`", kind.name())));
        }
    }
    plan_outside_run(args, workload)
}

/// Default timeout for the head of a response, and for the time without a new byte of a body.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the plan of requests outside of a run. Such requests have no objectives.
pub fn plan_outside_run(args: &Args, workload: Workload) -> Result<Plan, Failure> {
    let Workload { targets, choice, once, mix, auth, spread } = workload;
    check_https(&args.connections, &targets)?;
    let (flags, timeouts) = (&args.load, &args.timeouts);
    let threads = flags.threads.map_or(sys::limits::available_cores() as u64, NonZeroU64::get);
    if threads > THREADS_MAX {
        return Err(Failure::usage(format!("--threads {threads}: the maximum is {THREADS_MAX}")));
    }
    let threads = threads as u32;
    let load = load(flags, threads, mix.parallel_max())?;
    let repeat = args.output.repeat;
    if repeat.get() > REPEAT_MAX {
        return Err(Failure::usage(format!("--repeat {repeat}: the maximum is {REPEAT_MAX}")));
    }
    let once = NonZeroU64::new(targets.count()).filter(|_| once);
    let follow = follow(&args.requests, &auth);
    let connections = connections(args, &targets, spread)?;
    Ok(Plan {
        targets: Arc::new(targets),
        choice,
        mix,
        http: HttpPlan {
            version: if args.requests.http10 { Version::Http10 } else { Version::Http11 },
            keep_alive: !args.connections.no_keepalive,
        },
        auth,
        stop: stop(flags, &load, once)?,
        load,
        warmup: flags.warmup,
        drain: flags.drain,
        timeouts: Timeouts {
            connect: timeouts.timeout_connect,
            head: timeouts.timeout_head.unwrap_or(TIMEOUT),
            idle: timeouts.timeout_idle.unwrap_or(TIMEOUT),
            total: timeouts.timeout_total,
        },
        follow,
        connections,
        retry: None,
        resumed_uploads: ResumedUploads::default(),
        threads,
        seed: flags.seed,
        group_by: args.output.group_by.as_deref().map(group_by).transpose()?,
        log_ops: args.output.log_ops,
        nic_speed: args.connections.nic_speed,
        arrival_times: ArrivalTimes::Sampled,
        part: Part::WHOLE,
        slices: (!args.checks.abort_when.is_empty()).then_some(SLICE),
    })
}

/// Returns the settings that affect a dialect.
pub fn dialect_settings(args: &Args) -> DialectSettings {
    let (requests, load) = (&args.requests, &args.load);
    // Ignore invalid header lines here, because they are refused later. Treat a file of header lines as secret.
    let header = |line: &String| line.starts_with('@') || Header::parse(line).is_ok_and(|header| header.is_secret());
    let identified = !requests.cookies.is_empty() || requests.user.is_some() || requests.headers.iter().any(header);
    let fixed = load.rate.is_none() && load.stages.is_empty();
    let slots = load.concurrency.or(NonZeroU64::new(DEFAULT_CONCURRENCY as u64));
    DialectSettings { identified, slots: slots.filter(|_| fixed), depth: Depth::Structure }
}

/// Returns the options of a run, as the flags specify.
pub fn run_options(args: &Args) -> RunOptions {
    let output = &args.output;
    RunOptions {
        directory: output.out.clone(),
        format: output.print.or(output.json, output.full),
        progress: progress(output),
        repeat: output.repeat.get(),
        number: None,
        objectives: objectives(&args.checks),
        accept_not_enough_data: args.checks.accept_not_enough_data,
        abort: args.checks.abort_when.clone(),
        monitor: None,
        probe: args.load.probe,
        link: args.connections.link,
        collect: output.collect.clone(),
        collect_every: output.collect_every,
        metrics: LiveMetrics::published(),
        part: None,
    }
}

/// Returns progress that is shown as the flags specify.
fn progress(output: &Output) -> Progress {
    let prints_nothing = output.print.or(output.json, output.full) == OutputFormat::None;
    let default = if output.quiet || prints_nothing { View::None } else { View::Full };
    Progress::new(output.view.unwrap_or(default))
}

/// Returns the objectives of the run. There is always an objective for the share of successful operations.
fn objectives(checks: &Checks) -> Vec<Objective> {
    let given = &checks.objective;
    let typed = checks.success.map(|percent| Objective::success_at_least(percent / 100.0));
    let default = if given.iter().any(Objective::is_on_success) { None } else { Some(Objective::DEFAULT) };
    typed.or(default).into_iter().chain(given.iter().copied()).collect()
}

fn follow(flags: &Requests, auth: &Auth) -> Follow {
    let trap = |allowed| if allowed { RedirectRule::Allow } else { RedirectRule::Deny };
    let is_s3 = matches!(auth, Auth::S3 { .. } | Auth::S3Anonymous);
    let traps = RedirectRules {
        downgrade: trap(flags.allow_downgrade),
        private: trap(flags.allow_private_redirects),
        hosts: if is_s3 && !flags.allow_other_hosts { RedirectHosts::Named } else { RedirectHosts::Any },
    };
    if flags.no_follow { Follow::Never } else { Follow::UpTo(flags.redirects_max, traps) }
}

/// Returns the load model. `parallel` is the maximum number of requests that one operation makes at the same time.
fn load(flags: &Load, threads: u32, parallel: u64) -> Result<LoadModel, Failure> {
    let stages: Vec<StagePlan> =
        flags.stages.iter().map(|(length, level)| StagePlan { length: *length, level: *level }).collect();
    let profile = |level: f64| {
        let profile = match (flags.ramp, stages.is_empty()) {
            (Some(ramp), _) => Profile::ramp(level, ramp),
            (None, true) => Profile::constant(level),
            (None, false) => Profile::stages(level, &stages),
        };
        profile.map_err(|error| Failure::usage(format!("--stages: {error}")))
    };
    if let Some(concurrency) = flags.concurrency.filter(|concurrency| concurrency.get() > CONCURRENCY_MAX) {
        return Err(Failure::usage(format!("-c {concurrency}: the maximum is {CONCURRENCY_MAX}")));
    }
    let level_max = if flags.rate.is_some() { RATE_MAX } else { CONCURRENCY_MAX as f64 };
    let levels = stages.iter().map(|stage| stage.level).chain(flags.rate.map(measure::units::Rate::as_f64));
    if let Some(level) = levels.into_iter().find(|level| *level > level_max) {
        return Err(Failure::usage(format!(
            "{level} is too much: the maximum is {RATE_MAX}/s for a rate and {CONCURRENCY_MAX} for operations in flight"
        )));
    }
    if let Some(most) = flags.in_flight_max.filter(|most| most.get() > CONCURRENCY_MAX) {
        return Err(Failure::usage(format!("--in-flight-max {most}: the maximum is {CONCURRENCY_MAX}")));
    }
    match flags.rate {
        Some(rate) => {
            let limits = sys::limits::descriptor_limits().map_or(u64::MAX, |limits| limits.hard);
            let spare = limits.saturating_sub(own_descriptors(threads)) / parallel.max(1);
            let default = DEFAULT_IN_FLIGHT_MAX.min(spare).max(1);
            let in_flight_max = flags.in_flight_max.or(flags.concurrency);
            Ok(LoadModel::Open {
                rate: profile(rate.as_f64())?,
                spacing: if flags.poisson { Spacing::Poisson } else { Spacing::Constant },
                in_flight_max: in_flight_max.or(NonZeroU64::new(default)).unwrap_or(NonZeroU64::MIN),
            })
        }
        None => {
            // Without -c, stages start at 0.
            let from = match (flags.concurrency, stages.is_empty()) {
                (Some(concurrency), _) => concurrency.get() as f64,
                (None, true) => DEFAULT_CONCURRENCY,
                (None, false) => 0.0,
            };
            Ok(LoadModel::Closed { slots: profile(from)?, think: flags.think.unwrap_or_default() })
        }
    }
}

fn stop(flags: &Load, load: &LoadModel, once: Option<NonZeroU64>) -> Result<StopAfter, Failure> {
    let staged = match load {
        LoadModel::Closed { slots: profile, .. } | LoadModel::Open { rate: profile, .. }
            if !flags.stages.is_empty() =>
        {
            Some(profile.length())
        }
        _ => None,
    };
    let ops = match (flags.requests, once) {
        (Some(given), Some(once)) => Some(given.min(once)),
        (given, once) => given.or(once),
    };
    let bytes = match flags.bytes {
        Some(size) => {
            Some(NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--bytes 0: the size must be above 0"))?)
        }
        None => None,
    };
    let counted = ops.is_some() || bytes.is_some() || flags.ops_per_slot.is_some();
    if staged.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage(
            "--stages: all stages take 0s; write a duration, for example 10s:100, or use -c or -R for a constant load",
        ));
    }
    let time = flags.duration.or(staged).or((!counted).then_some(DEFAULT_DURATION));
    if time.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage("-d 0: the duration must be above 0"));
    }
    if let (Some(ramp), Some(time)) = (flags.ramp, time)
        && ramp > time + flags.warmup
    {
        let (ramp, time) = (format_span(ramp), format_span(time));
        return Err(Failure::usage(format!(
            "--ramp {ramp}: a run of {time} ends before the load reaches its full level; use a longer -d, or --stages"
        )));
    }
    Ok(StopAfter { time, ops, ops_per_slot: flags.ops_per_slot, bytes })
}

fn group_by(name: &str) -> Result<Box<str>, Failure> {
    let name = HeaderName::parse(name).map_err(|error| Failure::usage(format!("--group-by: {error}")))?;
    if name.is_secret() {
        return Err(Failure::usage(format!(
            "--group-by {name}: values of this header may be secrets, and reports show no secrets; name another header"
        )));
    }
    Ok(name.as_str().into())
}
