//! The connection settings of a plan: HTTP version, route and TLS.

use super::args::{Args, Connections, Tls};
use super::headers::BASE64;
use crate::emulated_link;
use crate::failure::Failure;
use crate::secret_reference;
use base64::Engine;
use engine::http2_session::{STREAMS_DEFAULT, STREAMS_MAX};
use engine::plan::{ConnectTo, ConnectionPlan, Http2Plan, Route, Spread, Targets};
use engine::tls::{self, TlsPlan, TlsSettings};
use std::collections::HashMap;
use std::sync::Arc;
use wire::{Scheme, Url};

/// Refuses flags that cannot be combined with https.
pub fn check_https(flags: &Connections, targets: &Targets) -> Result<(), Failure> {
    let Some(origin) = targets.origins().iter().find(|origin| origin.scheme == Scheme::Https) else { return Ok(()) };
    let refused = |why: &str| Err(Failure::usage(format!("https://{}: {why}", origin.host_header())));
    if flags.proxy.is_some() {
        return refused("--proxy supports only http://, because tunnels through a proxy (CONNECT) are not implemented");
    }
    if flags.receive_low_water.is_some() {
        return refused(
            "--receive-low-water supports only http://, because the size of the next TLS record is unknown",
        );
    }
    if tls::server_name(origin).is_none() {
        return refused("this host name cannot appear in a certificate; check the spelling");
    }
    Ok(())
}

/// Returns the connection settings.
pub fn connections(args: &Args, targets: &Targets, spread: Spread) -> Result<ConnectionPlan, Failure> {
    let flags = &args.connections;
    let link = flags.link.map(emulated_link::find).transpose()?;
    if let Some(link) = &link {
        emulated_link::check_targets(link, targets.origins())?;
    }
    let route = match (&flags.proxy, &flags.unix_socket) {
        (Some(text), _) => proxy(text)?,
        (None, Some(path)) => Route::Unix(path.clone()),
        (None, None) => Route::Direct,
    };
    Ok(ConnectionPlan {
        spread,
        route,
        connect_to: match &link {
            Some(link) => emulated_link::connection_rule(link).into_iter().collect(),
            None => flags.connect_to.iter().map(|rule| connect_to(rule)).collect::<Result<_, _>>()?,
        },
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
        return Err(Failure::usage(format!("--streams {streams}: the maximum is {STREAMS_MAX}")));
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
        return Err(Failure::usage("--proxy: https:// proxies are not supported; name an http:// proxy"));
    }
    let credentials = url.credentials().map(secret_reference::of_url).transpose()?;
    let basic = |found: String| format!("Basic {}", BASE64.encode(found)).into();
    Ok(Route::Proxy { origin: url.origin().clone(), authorization: credentials.map(basic) })
}

/// Parses `HOST:PORT:TO_HOST:TO_PORT`. IPv6 addresses must be in brackets.
fn connect_to(rule: &str) -> Result<ConnectTo, Failure> {
    let wrong = || Failure::usage(format!("--connect-to `{rule}`: use the form example.com:80:127.0.0.1:8080"));
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
