//! The calls of the API.

use std::fs;
use std::io;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use wire::{Method, RequestHead};

use super::contracts::Prices;
use super::daemon::{Allowance, Daemon};
use super::documents::{Consensus, Contracts, Files, Renter, Wallet};
use super::files::Redundancy;
use super::{failure, json, success};
use crate::content::Content;
use crate::request::RequestFacts;
use crate::request::target::Target;
use crate::response::{AcceptRanges, Response};
use crate::stand_in::form::Form;

/// GET calls.
const READ: [&str; 8] = [
    "/consensus",
    "/wallet",
    "/renter",
    "/renter/contracts",
    "/renter/files",
    "/renter/prices",
    "/renter/download",
    "/daemon/version",
];
/// POST calls.
const POSTED: [&str; 5] = ["/renter", "/renter/upload", "/renter/delete", "/renter/rename", "/wallet/unlock"];
/// Default number of hosts of an allowance.
const HOSTS_USUAL: u64 = 50;
/// Minimum number of hosts of an allowance.
const HOSTS_MIN: u64 = 20;
/// Minimum renew window, in blocks.
const RENEW_WINDOW_MIN: u64 = 288;
/// Minimum number of parity pieces of an upload.
const PARITY_MIN: u64 = 12;
/// Minimum redundancy of an upload.
const REDUNDANCY_MIN: f64 = 2.0;
/// Maximum number of pieces of a chunk, limited by the erasure code.
const PIECES_MAX: u64 = 256;

/// Returns the response to a call. `authorized` is true if the request has the password.
pub(super) fn respond(
    daemon: &mut Daemon,
    head: &RequestHead,
    target: Target<'_>,
    facts: &RequestFacts<'_>,
    authorized: impl Fn() -> bool,
) -> Response {
    let form = Form::of_request(target, &facts.fields.body);
    let path = percent_decode_str(target.path).decode_utf8_lossy();
    let (call, name) = split_name(&path);
    let needs_password = match head.method {
        Method::Get => call == "/renter/download",
        Method::Post => POSTED.contains(&call),
        _ => false,
    };
    if needs_password && !authorized() {
        let mut response = failure(401, "API authentication failed.");
        response.add_header("WWW-Authenticate: Basic realm=\"SiaAPI\"");
        return response;
    }
    match (&head.method, call) {
        (Method::Get, "/consensus") => json(&Consensus::of(daemon)),
        (Method::Get, "/wallet") => json(&Wallet::of(daemon)),
        (Method::Get, "/renter") => json(&Renter::of(daemon)),
        (Method::Get, "/renter/contracts") => json(&Contracts::of(daemon)),
        (Method::Get, "/renter/files") => json(&Files::of(daemon)),
        (Method::Get, "/renter/prices") => json(&Prices::estimate(daemon.config.hosts.get())),
        (Method::Get, "/renter/download") => download(daemon, name, form),
        (Method::Get, "/daemon/version") => json(&serde_json::json!({ "version": version(daemon) })),
        (Method::Post, "/renter") => done(set_allowance(daemon, form), 400),
        (Method::Post, "/renter/upload") => upload(daemon, name, form),
        (Method::Post, "/renter/delete") => done(daemon.delete_file(name), 400),
        (Method::Post, "/renter/rename") => done(daemon.rename_file(name, &form.value("newsiapath")), 400),
        (Method::Post, "/wallet/unlock") => {
            daemon.unlock();
            success()
        }
        _ if READ.contains(&call) || POSTED.contains(&call) => Response::line(405, "Method Not Allowed"),
        _ => failure(404, "404 - Refer to API.md"),
    }
}

/// Splits a path into the call and the name of a file.
fn split_name(path: &str) -> (&str, &str) {
    for call in ["/renter/upload", "/renter/delete", "/renter/rename", "/renter/download"] {
        if let Some(name) = path.strip_prefix(call).and_then(|rest| rest.strip_prefix('/')) {
            return (call, name);
        }
    }
    (path, "")
}

fn version(daemon: &Daemon) -> &'static str {
    match daemon.config.version {
        crate::config::sia::SiadVersion::V1_3_1 => "1.3.1",
        crate::config::sia::SiadVersion::V1_3_7 => "1.3.7",
    }
}

fn done(result: Result<(), impl AsRef<str>>, status: u16) -> Response {
    match result {
        Ok(()) => success(),
        Err(message) => failure(status, message.as_ref()),
    }
}

fn set_allowance(daemon: &mut Daemon, form: Form<'_>) -> Result<(), String> {
    let funds = form.value("funds").parse().map_err(|_| "unable to parse funds")?;
    let hosts = form.number("hosts").map_err(|_| "unable to parse hosts: expected integer")?;
    let hosts = hosts.unwrap_or(HOSTS_USUAL);
    if hosts != 0 && hosts < HOSTS_MIN {
        return Err(format!("insufficient number of hosts, need at least {HOSTS_USUAL} but have {hosts}"));
    }
    let period_blocks = form.number("period").ok().flatten().ok_or("unable to parse period: unexpected newline")?;
    let window = form.number("renewwindow").map_err(|_| "unable to parse renewwindow: expected integer")?;
    let renew_window_blocks = match window {
        Some(window) if window != 0 && window < RENEW_WINDOW_MIN => {
            let must = format!("must be at least {RENEW_WINDOW_MIN} blocks but have {window} blocks");
            return Err(format!("renew window is too small, {must}"));
        }
        Some(window) => window,
        None => period_blocks / 2,
    };
    let message = match (hosts, period_blocks, renew_window_blocks) {
        (0, ..) => "hosts must be non-zero",
        (_, 0, _) => "period must be non-zero",
        (_, _, 0) => "renew window must be non-zero",
        _ if renew_window_blocks >= period_blocks => "renew window must be less than period",
        _ if !daemon.is_synced() => "you must be synced to set an allowance",
        _ => {
            daemon.set_allowance(Allowance { funds, hosts, period_blocks, renew_window_blocks });
            return Ok(());
        }
    };
    Err(message.to_owned())
}

fn upload(daemon: &mut Daemon, name: &str, form: Form<'_>) -> Response {
    let source = PathBuf::from(form.value("source"));
    if !source.is_absolute() {
        return failure(400, "source must be an absolute path");
    }
    let redundancy = match redundancy(form) {
        Ok(redundancy) => redundancy,
        Err(message) => return failure(400, &message),
    };
    let sized = valid_name(name).map_err(str::to_owned).and_then(|()| size_of(&source));
    let added = sized.and_then(|bytes| daemon.add_file(name, source, bytes, redundancy));
    done(added.map_err(|message| format!("upload failed: {message}")), 500)
}

fn redundancy(form: Form<'_>) -> Result<Redundancy, String> {
    let (data, parity) = (form.value("datapieces"), form.value("paritypieces"));
    if data.is_empty() && parity.is_empty() {
        return Ok(Redundancy::default());
    }
    if data.is_empty() || parity.is_empty() {
        let both = "both the datapieces paramaeter and the paritypieces parameter";
        return Err(format!("must provide {both} if specifying erasure coding parameters"));
    }
    let data: u64 = data.parse().map_err(|_| "unable to read parameter 'datapieces': expected integer")?;
    let parity: u64 = parity.parse().map_err(|_| "unable to read parameter 'paritypieces': expected integer")?;
    if parity < PARITY_MIN {
        // siad's message has the two numbers in the wrong order.
        let requested = format!("but {PARITY_MIN} parity pieces requested");
        return Err(format!("a minimum of {parity} parity pieces is required, {requested}"));
    }
    let pieces = data.saturating_add(parity);
    let supplied = pieces as f64 / data as f64;
    if supplied < REDUNDANCY_MIN {
        let supplied = format!("but redundancy of {REDUNDANCY_MIN:.2} supplied");
        return Err(format!("a redundancy of {:.2} is required, {supplied}", pieces as f64 / data as f64));
    }
    if data == 0 || pieces > PIECES_MAX {
        return Err("unable to encode file using the provided parameters: too many shards, or none".to_owned());
    }
    Ok(Redundancy { data, parity })
}

fn valid_name(name: &str) -> Result<(), &'static str> {
    if name.starts_with('/') {
        Err("siapath cannot begin with /")
    } else if name.is_empty() {
        Err("filename must be a nonempty string")
    } else if name.contains("../") {
        Err("directory traversal is not allowed")
    } else if name.contains("./") {
        Err("siapath contains invalid characters")
    } else {
        Ok(())
    }
}

/// Returns the size of a file, or an error message in Go's format.
fn size_of(source: &std::path::Path) -> Result<u64, String> {
    match fs::metadata(source) {
        Ok(metadata) if metadata.is_dir() => Err("cannot upload directory".to_owned()),
        Ok(metadata) => Ok(metadata.len()),
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "no such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            };
            Err(format!("stat {}: {why}", source.display()))
        }
    }
}

/// Returns a file from its source, because the daemon keeps no copy.
fn download(daemon: &mut Daemon, name: &str, form: Form<'_>) -> Response {
    let fail = |message: &str| failure(500, &format!("download failed: {message}"));
    let Some(file) = daemon.files.get(name) else { return fail(&format!("no file with that path: {name}")) };
    if form.value("httpresp") != "true" {
        return fail("the stand-in supports only downloads with httpresp=true");
    }
    if !file.is_available() {
        return fail("insufficient hosts to recover file");
    }
    let (Ok(offset), Ok(length)) = (form.number::<u64>("offset"), form.number::<u64>("length")) else {
        return failure(400, "could not decode the offset as uint64: expected integer");
    };
    let offset = offset.unwrap_or(0);
    let length = length.filter(|length| *length > 0).unwrap_or(file.bytes.saturating_sub(offset));
    if offset >= file.bytes.max(1) || length > file.bytes - offset.min(file.bytes) {
        return fail("offset and length combination invalid, max byte is at index the end of the file");
    }
    let below = |directory: PathBuf| {
        let (directory, source) = (directory.canonicalize().ok()?, file.source.canonicalize().ok()?);
        source.starts_with(&directory).then(|| fs::File::open(source).ok())?
    };
    let Some(source) = daemon.config.sources.clone().and_then(below) else {
        return fail("the stand-in returns only files below its own directory");
    };
    daemon.note_download(length);
    let mut response = Response::new(200, Content::File(source), Some(length));
    response.first = offset;
    response.accept_ranges = AcceptRanges::Omitted;
    response
}
