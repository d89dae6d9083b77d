//! From the flags that all load has in common to the parts of a plan: every mistake that can be made in them is told here.

use super::args::{Args, Checks, Connections, Load, Requests, Tls};
use super::dialect::Beside;
use super::headers::BASE64;
use crate::execute::{Output, Print, own_descriptors};
use crate::failure::Failure;
use base64::Engine;
use engine::http2::{STREAMS_DEFAULT, STREAMS_MAX};
use engine::plan::{
    Auth, Choice, ConnectTo, ConnectionPlan, Follow, Http2Plan, HttpPlan, LoadModel, Mix, Plan, RedirectRule,
    RedirectRules, Route, Spread, StopAfter, Targets, Timeouts,
};
use engine::schedule::{Profile, Spacing, StagePlan};
use engine::tls::{self, TlsPlan, TlsSettings};
use measure::{Enumerated, Objective};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use study::decision::SLICE;
use wire::gateway::Depth;
use wire::{Header, HeaderName, Scheme, Url, Version};

const DEFAULT_CONCURRENCY: f64 = 10.0;
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_IN_FLIGHT_MAX: u64 = 10_000;
const THREADS_MAX: u64 = 1024;
/// Results of all repeats are held until the last one has ended.
const REPEAT_MAX: u64 = 1000;
const CONCURRENCY_MAX: u64 = 1_000_000;
/// No client makes more; above it a schedule would be nothing but arithmetic.
const RATE_MAX: f64 = 10_000_000.0;

/// What is asked of whom: all that the common flags do not say.
#[derive(Debug)]
pub struct Asked {
    /// The objects.
    pub targets: Targets,
    /// Which of them comes when.
    pub choice: Choice,
    /// The run ends when each object has had its turn.
    pub once: bool,
    /// The requests.
    pub mix: Mix,
    /// Who asks.
    pub auth: Auth,
    /// Which of several origins is asked.
    pub spread: Spread,
}

/// The plan of what is asked, as the flags say.
pub fn plan(args: &Args, asked: Asked) -> Result<Plan, Failure> {
    let bounds = args.checks.objective.iter().chain(&args.checks.abort_when);
    for kind in bounds.filter_map(Objective::kind) {
        if !asked.mix.requests().iter().any(|request| request.kind == kind) {
            return Err(Failure::usage(format!("--objective: no operation of this load is a `{}`", kind.name())));
        }
    }
    aside(args, asked)
}

/// The same for requests that belong to no run, so that no objective is about them.
pub fn aside(args: &Args, asked: Asked) -> Result<Plan, Failure> {
    let Asked { targets, choice, once, mix, auth, spread } = asked;
    for_https(&args.connections, &targets)?;
    let (flags, timeouts) = (&args.load, &args.timeouts);
    let threads = flags.threads.map_or(sys::limits::available_cores() as u64, NonZeroU64::get);
    if threads > THREADS_MAX {
        return Err(Failure::usage(format!("--threads {threads}: at most {THREADS_MAX}")));
    }
    let threads = threads as u32;
    let load = load(flags, threads, mix.parallel_max())?;
    let repeat = args.shown.repeat;
    if repeat.get() > REPEAT_MAX {
        return Err(Failure::usage(format!("--repeat {repeat}: at most {REPEAT_MAX}")));
    }
    let once = NonZeroU64::new(targets.count()).filter(|_| once);
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
            head: timeouts.timeout_head,
            idle: timeouts.timeout_idle,
            total: timeouts.timeout_total,
        },
        follow: follow(&args.requests),
        connections: connections(args, spread)?,
        threads,
        seed: flags.seed,
        group_by: args.shown.group_by.as_deref().map(group_by).transpose()?,
        log_ops: args.shown.log_ops,
        slices: (!args.checks.abort_when.is_empty()).then_some(SLICE),
    })
}

/// What the flags say of slots and of who asks, for those who open sessions.
pub fn beside(args: &Args) -> Beside {
    let (requests, load) = (&args.requests, &args.load);
    // A file of header lines may hold them too; what is no line is refused later.
    let header = |line: &String| line.starts_with('@') || Header::parse(line).is_ok_and(|header| header.is_secret());
    let identified = !requests.cookies.is_empty() || requests.user.is_some() || requests.headers.iter().any(header);
    let fixed = load.rate.is_none() && load.stages.is_empty();
    let slots = load.concurrency.or(NonZeroU64::new(DEFAULT_CONCURRENCY as u64));
    Beside { identified, slots: slots.filter(|_| fixed), depth: Depth::Structure }
}

/// Where the result goes, as the flags say.
pub fn output(args: &Args) -> Output {
    let shown = &args.shown;
    Output {
        directory: shown.out.clone(),
        print: if shown.json { Print::Json } else { shown.print },
        live: !shown.quiet,
        repeat: shown.repeat.get(),
        objectives: objectives(&args.checks),
        accept_not_enough_data: args.checks.accept_not_enough_data,
        abort: args.checks.abort_when.clone(),
        decision: None,
        probe: args.load.probe,
    }
}

/// What the run is held to: operations must end well to some share, whatever else is asked.
fn objectives(checks: &Checks) -> Vec<Objective> {
    let asked = &checks.objective;
    let typed = checks.success.map(|percent| Objective::success_at_least(percent / 100.0));
    let default = if asked.iter().any(Objective::is_on_success) { None } else { Some(Objective::DEFAULT) };
    typed.or(default).into_iter().chain(asked.iter().copied()).collect()
}

fn follow(flags: &Requests) -> Follow {
    let trap = |allowed| if allowed { RedirectRule::Allow } else { RedirectRule::Deny };
    let traps = RedirectRules { downgrade: trap(flags.allow_downgrade), private: trap(flags.allow_private_redirects) };
    if flags.no_follow { Follow::Never } else { Follow::UpTo(flags.redirects_max, traps) }
}

/// What does not go with https.
fn for_https(flags: &Connections, targets: &Targets) -> Result<(), Failure> {
    let Some(origin) = targets.origins().iter().find(|origin| origin.scheme == Scheme::Https) else { return Ok(()) };
    let refused = |why: &str| Err(Failure::usage(format!("https://{}: {why}", origin.host_header())));
    if flags.proxy.is_some() {
        return refused("--proxy is for http:// alone: tunnels through a proxy (CONNECT) are not spoken yet");
    }
    if flags.receive_low_water.is_some() {
        return refused("--receive-low-water is for http:// alone: inside TLS the sizes to come are not known");
    }
    if tls::server_name(origin).is_none() {
        return refused("no certificate can be for a host of that name: check the spelling");
    }
    Ok(())
}

/// `parallel` is how many requests of an operation can be on their way at once.
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
        return Err(Failure::usage(format!("-c {concurrency}: at most {CONCURRENCY_MAX}")));
    }
    let level_max = if flags.rate.is_some() { RATE_MAX } else { CONCURRENCY_MAX as f64 };
    let levels = stages.iter().map(|stage| stage.level).chain(flags.rate.map(measure::units::Rate::as_f64));
    if let Some(level) = levels.into_iter().find(|level| *level > level_max) {
        return Err(Failure::usage(format!(
            "{level} is too much: a rate is at most {RATE_MAX}/s, and slots {CONCURRENCY_MAX}"
        )));
    }
    if let Some(most) = flags.in_flight_max.filter(|most| most.get() > CONCURRENCY_MAX) {
        return Err(Failure::usage(format!("--in-flight-max {most}: at most {CONCURRENCY_MAX}")));
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
            // Stages without -c start from nothing; a level of slots is a whole number.
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
        (Some(asked), Some(once)) => Some(asked.min(once)),
        (asked, once) => asked.or(once),
    };
    let bytes = match flags.bytes {
        Some(size) => Some(NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--bytes 0: give a size above 0"))?),
        None => None,
    };
    let counted = ops.is_some() || bytes.is_some() || flags.ops_per_slot.is_some();
    if staged.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage(
            "--stages: no stage takes any time: write one like 10s:100, or -c or -R for a constant load",
        ));
    }
    let time = flags.duration.or(staged).or((!counted).then_some(DEFAULT_DURATION));
    if time.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage("-d 0: give a duration above 0"));
    }
    Ok(StopAfter { time, ops, ops_per_slot: flags.ops_per_slot, bytes })
}

fn connections(args: &Args, spread: Spread) -> Result<ConnectionPlan, Failure> {
    let flags = &args.connections;
    let route = match (&flags.proxy, &flags.unix_socket) {
        (Some(text), _) => proxy(text)?,
        (None, Some(path)) => Route::Unix(path.clone()),
        (None, None) => Route::Direct,
    };
    Ok(ConnectionPlan {
        spread,
        route,
        connect_to: flags.connect_to.iter().map(|rule| connect_to(rule)).collect::<Result<_, _>>()?,
        known: HashMap::new(),
        from: flags.local_address.clone().into(),
        http2: http2(args)?,
        tls: Arc::new(tls(&args.tls, args.requests.http2)?),
        requests_max: flags.requests_per_connection,
        open_max: usize::MAX,
        receive_low_water: flags
            .receive_low_water
            .and_then(|size| usize::try_from(size.0).ok())
            .filter(|bytes| *bytes > 1),
    })
}

fn http2(args: &Args) -> Result<Option<Http2Plan>, Failure> {
    let streams = args.connections.streams.unwrap_or(STREAMS_DEFAULT);
    if streams.get() > STREAMS_MAX {
        return Err(Failure::usage(format!("--streams {streams}: at most {STREAMS_MAX}")));
    }
    Ok(args.requests.http2.then_some(Http2Plan { streams }))
}

fn tls(flags: &Tls, http2: bool) -> Result<TlsPlan, Failure> {
    let identity = flags.cert.as_ref().map(|certificate| tls::Identity {
        certificate: certificate.clone(),
        key: flags.key.as_ref().unwrap_or(certificate).clone(),
    });
    let trust = match (flags.insecure, flags.cacert.as_slice()) {
        (true, _) => tls::Trust::Any,
        (false, []) => tls::Trust::System,
        (false, files) => tls::Trust::Files(files.to_vec()),
    };
    let mut settings = TlsSettings { trust, identity, resumption: !flags.no_tls_resumption, ..TlsSettings::default() };
    if http2 {
        settings.protocols.insert(0, (*b"h2").into());
    }
    tls::configure(&settings).map_err(|error| Failure::usage(error.to_string()))
}

fn proxy(text: &str) -> Result<Route, Failure> {
    let url = Url::parse(text).map_err(|error| Failure::usage(format!("--proxy: {error}")))?;
    if url.origin().scheme == Scheme::Https {
        return Err(Failure::usage("--proxy: only proxies that are spoken to over http:// are supported"));
    }
    let basic = |found: &wire::Credentials| {
        format!("Basic {}", BASE64.encode(format!("{}:{}", found.user(), found.password()))).into()
    };
    Ok(Route::Proxy { origin: url.origin().clone(), authorization: url.credentials().map(basic) })
}

/// Reads `HOST:PORT:TO_HOST:TO_PORT`; IPv6 addresses stand in brackets.
fn connect_to(rule: &str) -> Result<ConnectTo, Failure> {
    let wrong = || Failure::usage(format!("--connect-to `{rule}`: write it like example.com:80:127.0.0.1:8080"));
    let mut parts = Vec::new();
    let mut rest = rule;
    loop {
        let end = match rest.strip_prefix('[') {
            Some(inner) => inner.find(']').ok_or_else(wrong)? + 2,
            None => rest.find(':').unwrap_or(rest.len()),
        };
        parts.push(&rest[..end]);
        match rest[end..].strip_prefix(':') {
            Some(tail) => rest = tail,
            None if end == rest.len() => break,
            None => return Err(wrong()),
        }
    }
    let &[host, port, to_host, to_port] = parts.as_slice() else { return Err(wrong()) };
    let some = |text: &str| (!text.is_empty()).then(|| text.trim_matches(['[', ']']).to_owned());
    let number = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| wrong()) };
    let to = some(to_host).or_else(|| some(host)).ok_or_else(wrong)?;
    Ok(ConnectTo { host: some(host), port: number(port)?, to_host: to, to_port: number(to_port)? })
}

fn group_by(name: &str) -> Result<Box<str>, Failure> {
    let name = HeaderName::parse(name).map_err(|error| Failure::usage(format!("--group-by: {error}")))?;
    if name.is_secret() {
        return Err(Failure::usage(format!(
            "--group-by {name}: values of this header are taken for secrets, which no report shows; name another header"
        )));
    }
    Ok(name.as_str().into())
}
