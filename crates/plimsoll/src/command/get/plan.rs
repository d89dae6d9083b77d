//! From the flags of `get` to a plan: every mistake that can be made in them is told here.

use super::args::{Args, More, Order};
use super::{read, urls};
use crate::execute::OWN_DESCRIPTORS;
use crate::failure::Failure;
use crate::typed::expand;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use engine::plan::{
    Auth, BodyPlan, Checks, Choice, ConnectTo, ConnectionPlan, Follow, HttpPlan, LoadModel, Mix, Plan, RangeChoice,
    RequestPlan, Route, Spread, StopAfter, Targets, Timeouts, Trap, Traps,
};
use engine::schedule::{Profile, Spacing, StagePlan};
use engine::tls::{self, TlsPlan, TlsSettings};
use measure::OpKind;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::{ByteRange, Header, HeaderName, HeaderValue, Scheme, Url, Version};

const DEFAULT_CONCURRENCY: f64 = 10.0;
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_IN_FLIGHT_MAX: u64 = 10_000;
const BODY_BYTES_MAX: u64 = 64 << 20;
const THREADS_MAX: u64 = 1024;
/// Results of all repeats are held until the last one has ended.
const REPEAT_MAX: u64 = 1000;
const CONCURRENCY_MAX: u64 = 1_000_000;
/// No client makes more; above it a schedule would be nothing but arithmetic.
const RATE_MAX: f64 = 10_000_000.0;

/// The plan that the flags describe.
pub fn of(args: &Args) -> Result<Plan, Failure> {
    let more = &args.more;
    let (targets, credentials) = urls::targets(args)?;
    for_https(args, &targets)?;
    let load = load(args)?;
    let urls = targets.items().len() as u64;
    let range = range(args)?;
    let threads = more.threads.map_or(sys::limits::available_cores() as u64, NonZeroU64::get);
    if threads > THREADS_MAX {
        return Err(Failure::usage(format!("--threads {threads}: at most {THREADS_MAX}")));
    }
    if args.repeat.get() > REPEAT_MAX {
        return Err(Failure::usage(format!("--repeat {}: at most {REPEAT_MAX}", args.repeat)));
    }
    let mut targets = targets;
    if let Some(size) = more.object_size {
        for item in targets.items_mut() {
            item.size = Some(size.0);
        }
    }
    let headers = headers(args, credentials)?;
    let encoding_asked = headers.iter().any(|header| header.name.is("accept-encoding"));
    let checks = Checks {
        statuses: args.expect_status.clone(),
        size: more.expect_size.map(|size| size.0),
        headers: more.expect_header.iter().map(|line| header(line, "--expect-header")).collect::<Result<_, _>>()?,
        encoding_asked,
    };
    let request = RequestPlan { checks, ..request(args, headers, range)? };
    Ok(Plan {
        targets: Arc::new(targets),
        choice: if args.order == Order::Random { Choice::Random } else { Choice::RoundRobin },
        mix: Mix::one(request),
        http: HttpPlan {
            version: if more.http10 { Version::Http10 } else { Version::Http11 },
            keep_alive: !more.no_keepalive,
        },
        auth: Auth::None,
        stop: stop(args, &load, urls)?,
        load,
        warmup: args.warmup,
        drain: more.drain,
        timeouts: Timeouts {
            connect: more.timeout_connect,
            head: more.timeout_head,
            idle: more.timeout_idle,
            total: more.timeout_total,
        },
        follow: follow(args),
        connections: connections(args)?,
        threads: threads as u32,
        seed: more.seed,
        group_by: more.group_by.as_deref().map(group_by).transpose()?,
        log_ops: more.log_ops,
    })
}

fn follow(args: &Args) -> Follow {
    let more = &args.more;
    let trap = |allowed| if allowed { Trap::Allowed } else { Trap::Refused };
    let traps = Traps { downgrade: trap(more.allow_downgrade), private: trap(more.allow_private_redirects) };
    if args.no_follow { Follow::Never } else { Follow::UpTo(more.redirects_max, traps) }
}

/// What does not go with https.
fn for_https(args: &Args, targets: &Targets) -> Result<(), Failure> {
    let Some(origin) = targets.origins().iter().find(|origin| origin.scheme == Scheme::Https) else { return Ok(()) };
    let refused = |why: &str| Err(Failure::usage(format!("https://{}: {why}", origin.host_header())));
    if args.more.proxy.is_some() {
        return refused("--proxy is for http:// alone: tunnels through a proxy (CONNECT) are not spoken yet");
    }
    if args.more.receive_low_water.is_some() {
        return refused("--receive-low-water is for http:// alone: inside TLS the sizes to come are not known");
    }
    if tls::server_name(origin).is_none() {
        return refused("no certificate can be for a host of that name: check the spelling");
    }
    Ok(())
}

fn load(args: &Args) -> Result<LoadModel, Failure> {
    let more = &args.more;
    let stages: Vec<StagePlan> =
        more.stages.iter().map(|(length, level)| StagePlan { length: *length, level: *level }).collect();
    let profile = |level: f64| {
        let profile = match (more.ramp, stages.is_empty()) {
            (Some(ramp), _) => Profile::ramp(level, ramp),
            (None, true) => Profile::constant(level),
            (None, false) => Profile::stages(level, &stages),
        };
        profile.map_err(|error| Failure::usage(format!("--stages: {error}")))
    };
    if let Some(concurrency) = args.concurrency.filter(|concurrency| concurrency.get() > CONCURRENCY_MAX) {
        return Err(Failure::usage(format!("-c {concurrency}: at most {CONCURRENCY_MAX}")));
    }
    let level_max = if args.rate.is_some() { RATE_MAX } else { CONCURRENCY_MAX as f64 };
    let levels = stages.iter().map(|stage| stage.level).chain(args.rate.map(measure::units::Rate::as_f64));
    if let Some(level) = levels.into_iter().find(|level| *level > level_max) {
        return Err(Failure::usage(format!(
            "{level} is too much: a rate is at most {RATE_MAX}/s, and slots {CONCURRENCY_MAX}"
        )));
    }
    if let Some(most) = more.in_flight_max.filter(|most| most.get() > CONCURRENCY_MAX) {
        return Err(Failure::usage(format!("--in-flight-max {most}: at most {CONCURRENCY_MAX}")));
    }
    match args.rate {
        Some(rate) => {
            let limits = sys::limits::descriptor_limits().map_or(u64::MAX, |limits| limits.hard);
            let default = DEFAULT_IN_FLIGHT_MAX.min(limits.saturating_sub(OWN_DESCRIPTORS)).max(1);
            let in_flight_max = more.in_flight_max.or(args.concurrency);
            Ok(LoadModel::Open {
                rate: profile(rate.as_f64())?,
                spacing: if more.poisson { Spacing::Poisson } else { Spacing::Constant },
                in_flight_max: in_flight_max.or(NonZeroU64::new(default)).unwrap_or(NonZeroU64::MIN),
            })
        }
        None => {
            // Stages without -c start from nothing; a level of slots is a whole number.
            let from = match (args.concurrency, stages.is_empty()) {
                (Some(concurrency), _) => concurrency.get() as f64,
                (None, true) => DEFAULT_CONCURRENCY,
                (None, false) => 0.0,
            };
            Ok(LoadModel::Closed { slots: profile(from)?, think: more.think.unwrap_or_default() })
        }
    }
}

fn stop(args: &Args, load: &LoadModel, urls: u64) -> Result<StopAfter, Failure> {
    let more = &args.more;
    let staged = match load {
        LoadModel::Closed { slots: profile, .. } | LoadModel::Open { rate: profile, .. } if !more.stages.is_empty() => {
            Some(profile.length())
        }
        _ => None,
    };
    let once = if args.order == Order::Once { NonZeroU64::new(urls) } else { None };
    let ops = match (args.requests, once) {
        (Some(asked), Some(once)) => Some(asked.min(once)),
        (asked, once) => asked.or(once),
    };
    let bytes = match more.bytes {
        Some(size) => Some(NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--bytes 0: give a size above 0"))?),
        None => None,
    };
    let counted = ops.is_some() || bytes.is_some() || more.ops_per_slot.is_some();
    if staged.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage(
            "--stages: no stage takes any time: write one like 10s:100, or -c or -R for a constant load",
        ));
    }
    let time = args.duration.or(staged).or((!counted).then_some(DEFAULT_DURATION));
    if time.is_some_and(|time| time.is_zero()) {
        return Err(Failure::usage("-d 0: give a duration above 0"));
    }
    Ok(StopAfter { time, ops, ops_per_slot: more.ops_per_slot, bytes })
}

fn range(args: &Args) -> Result<Option<RangeChoice>, Failure> {
    let Some(size) = args.range else { return Ok(None) };
    let length = NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--range 0: give a size above 0, like 1MiB"))?;
    match args.more.range_at {
        None => Ok(Some(RangeChoice::Random { length })),
        Some(offset) => ByteRange::of_length(offset.0, length.get())
            .map(|range| Some(RangeChoice::Fixed(range)))
            .ok_or_else(|| Failure::usage("--range-at: the range ends beyond 2^64 bytes")),
    }
}

fn request(args: &Args, headers: Vec<Header>, range: Option<RangeChoice>) -> Result<RequestPlan, Failure> {
    let more = &args.more;
    let usual = if more.body_file.is_some() { "POST" } else { "GET" };
    let method = if more.head { "HEAD" } else { more.method.as_deref().unwrap_or(usual) };
    let is_token = !method.is_empty()
        && method.len() <= 32
        && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if !is_token {
        return Err(Failure::usage(format!("--method `{method}`: write it like GET, HEAD, POST, PUT or OPTIONS")));
    }
    if range.is_some() && method != "GET" {
        return Err(Failure::usage(format!(
            "--range asks for a part of an object: it goes with GET, not with {method}"
        )));
    }
    let body = match &more.body_file {
        Some(path) => Some(Arc::from(read::whole(path, BODY_BYTES_MAX, "a request body")?)),
        None if matches!(method, "POST" | "PUT" | "PATCH") => Some(Arc::from([])),
        None => None,
    };
    let kind = match (method, range) {
        ("GET", Some(_)) => OpKind::GetRange,
        ("GET", None) => OpKind::Get,
        ("HEAD", _) => OpKind::Head,
        _ => OpKind::Request,
    };
    let body = body.map(BodyPlan::of_bytes);
    Ok(RequestPlan { headers, body, range, ..RequestPlan::new(method, kind) })
}

/// All header fields but Host and Connection, in the order given, with defaults for those that were not.
fn headers(args: &Args, credentials: Option<String>) -> Result<Vec<Header>, Failure> {
    let mut given = Vec::new();
    for line in &args.headers {
        match line.strip_prefix('@') {
            Some(path) => {
                let text = read::text(Path::new(path))?;
                for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
                    given.push(header(line, &format!("{path}, line {number}"))?);
                }
            }
            None => given.push(header(&expand(line, "-H")?, "-H")?),
        }
    }
    for name in ["connection", "content-length", "transfer-encoding", "range"] {
        if given.iter().any(|header| header.name.is(name)) {
            let instead = match name {
                "connection" => "--no-keepalive",
                "range" => "--range SIZE with --range-at OFFSET",
                _ => "--body-file FILE",
            };
            return Err(Failure::usage(format!("-H '{name}: …' is set by the program: write {instead}")));
        }
    }
    let mut add = |name: &str, value: &str| -> Result<(), Failure> {
        let name = HeaderName::parse(name).map_err(Failure::usage)?;
        let value = HeaderValue::parse(value).map_err(|error| Failure::usage(format!("{}: {error}", name.as_str())))?;
        given.push(Header { name, value });
        Ok(())
    };
    if !args.cookies.is_empty() {
        let cookies = args.cookies.iter().map(|text| cookie(text)).collect::<Result<Vec<_>, _>>()?;
        add("Cookie", &cookies.join("; "))?;
    }
    let user = args.user.as_deref().map(|user| expand(user, "-u")).transpose()?.or(credentials);
    if let Some(user) = user {
        if !user.contains(':') {
            return Err(Failure::usage("-u: write it like user:password, @FILE or ${ENV}"));
        }
        add("Authorization", &format!("Basic {}", BASE64.encode(user)))?;
    }
    let defaults = [
        ("User-Agent", concat!("plimsoll/", env!("CARGO_PKG_VERSION"))),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
    ];
    for (name, value) in defaults {
        if !given.iter().any(|header| header.name.is(name)) {
            let name = HeaderName::parse(name).map_err(Failure::usage)?;
            given.push(Header { name, value: HeaderValue::parse(value).map_err(Failure::usage)? });
        }
    }
    Ok(given)
}

/// One cookie or several, as a browser sends them. The message does not repeat what may be a secret.
fn cookie(text: &str) -> Result<String, Failure> {
    let cookies = expand(text, "-C")?;
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
    let pairs: Vec<&str> = cookies.split(';').map(str::trim).filter(|pair| !pair.is_empty()).collect();
    if pairs.is_empty() || !pairs.iter().all(|pair| is_pair(pair)) {
        return Err(Failure::usage(
            "-C: a cookie is a name, = and a value: write it like session=abc or 'a=1; b=2'; @FILE reads it from a file",
        ));
    }
    Ok(pairs.join("; "))
}

fn header(line: &str, place: &str) -> Result<Header, Failure> {
    Header::parse(line).map_err(|error| Failure::usage(format!("{place}: {error}")))
}

fn connections(args: &Args) -> Result<ConnectionPlan, Failure> {
    let more = &args.more;
    let route = match (&more.proxy, &more.unix_socket) {
        (Some(text), _) => proxy(text)?,
        (None, Some(path)) => Route::Unix(path.clone()),
        (None, None) => Route::Direct,
    };
    Ok(ConnectionPlan {
        spread: Spread::Own,
        route,
        connect_to: more.connect_to.iter().map(|rule| connect_to(rule)).collect::<Result<_, _>>()?,
        known: HashMap::new(),
        from: more.local_address.clone().into(),
        tls: Arc::new(tls(more)?),
        requests_max: more.requests_per_connection,
        open_max: usize::MAX,
        receive_low_water: more
            .receive_low_water
            .and_then(|size| usize::try_from(size.0).ok())
            .filter(|bytes| *bytes > 1),
    })
}

fn tls(more: &More) -> Result<TlsPlan, Failure> {
    let identity = more.cert.as_ref().map(|certificate| tls::Identity {
        certificate: certificate.clone(),
        key: more.key.as_ref().unwrap_or(certificate).clone(),
    });
    let trust = match (more.insecure, more.cacert.as_slice()) {
        (true, _) => tls::Trust::Any,
        (false, []) => tls::Trust::System,
        (false, files) => tls::Trust::Files(files.to_vec()),
    };
    let settings = TlsSettings { trust, identity, resumption: !more.no_tls_resumption, ..TlsSettings::default() };
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
