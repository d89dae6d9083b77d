//! Preparation of a run: file descriptors, addresses, sessions and object sizes. The preparation finds every error that
//! can be found before the first request.

use crate::console;
use crate::failure::Failure;
use crate::progress::{requests_failed, with_progress};
use engine::network::NameError;
use engine::plan::{Auth, Plan, RangeChoice, Route, Shared};
use engine::sessions::SessionError;
use measure::units::ByteSize;
use report::escape::bounded;
use report::number::plural;
use wire::Scheme;

/// Maximum length of a message that quotes a server, in characters.
const REFUSAL_CHARACTERS_MAX: usize = 600;

/// Returns the number of file descriptors that the program needs in addition to its connections. Files and the resolver
/// need up to 64. Each load thread needs four: a poller, a timer, a file with scheduler statistics, and a socket that
/// receives kernel timestamps.
pub fn own_descriptors(threads: u32) -> u64 {
    64 + 4 * u64::from(threads)
}

/// Prepares the host and the plan for a run.
pub fn prepare(plan: &mut Plan) -> Result<(), Failure> {
    let own = own_descriptors(plan.threads_used());
    let parallel = plan.mix.parallel_max();
    let needed = plan.requests_in_flight_max().saturating_add(own);
    let limit = sys::limits::raise_descriptor_limit().map_or(u64::MAX, |limits| limits.soft);
    if needed > limit {
        let lower = match (plan.load.in_flight_max(), parallel) {
            (1, 1) => "",
            (_, 1) => ", or lower -c",
            (1, _) => ", or lower --parts",
            (_, _) => ", or lower -c or --parts",
        };
        let parts = if parallel > 1 { format!(" of {parallel} parts at once") } else { String::new() };
        return Err(Failure::could_not_run(format!(
            "{} in flight{parts} need {needed} file descriptors, but the limit is {limit}: raise it with `ulimit -n {needed}` as root{lower}",
            plural(plan.load.in_flight_max(), "operation")
        )));
    }
    let spare = (limit - own) / u64::from(plan.threads_used());
    plan.connections.open_max = usize::try_from(spare).unwrap_or(usize::MAX);
    check_route(plan)?;
    if plan.targets.origins().iter().any(|origin| origin.scheme == Scheme::Https) {
        plan.connections.tls.prepare().map_err(|error| Failure::could_not_run(error.to_string()))?;
    }
    engine::resolve_all(plan).map_err(|(host, error)| {
        Failure::could_not_run(match error {
            NameError::NotFound => format!("unknown host `{host}`: check the spelling, or /etc/hosts"),
            NameError::NoAnswer => {
                format!("cannot look up the host `{host}`: the resolver does not respond; check /etc/resolv.conf")
            }
        })
    })?;
    open_sessions(plan)?;
    if has_random_ranges(plan) && plan.targets.items().iter().any(|item| item.size.is_none()) {
        let total = plan.targets.items().len() as u64;
        let describe = |seen, _| format!("getting object sizes: {seen} of {total}");
        with_progress(describe, |tick| engine::object_sizes::discover_sizes(plan, tick))
            .map_err(|error| requests_failed(format!("{error}; or give the size with --object-size SIZE")))?;
    }
    empty_ranges(plan)?;
    if let Some(warning) = ranges_beyond_objects(plan) {
        console::eprintln(&warning);
    }
    Ok(())
}

/// Logs in, if the plan uses sessions.
fn open_sessions(plan: &mut Plan) -> Result<(), Failure> {
    let Auth::Session(sessions) = &plan.auth else { return Ok(()) };
    let total = match sessions.shared {
        Shared::One => 1,
        Shared::PerSlot(slots) => slots.get(),
    };
    let describe = |seen, _| format!("opening sessions: {seen} of {total}");
    with_progress(describe, |tick| engine::sessions::open_sessions(plan, tick)).map_err(|error| match error {
        SessionError::Refused { .. } => Failure::could_not_run(bounded(&error.to_string(), REFUSAL_CHARACTERS_MAX)),
        error => requests_failed(error),
    })
}

/// Checks that the user's unix socket and local addresses can be used.
fn check_route(plan: &Plan) -> Result<(), Failure> {
    if let Route::Unix(path) = &plan.connections.route
        && !path.exists()
    {
        return Err(Failure::could_not_run(format!(
            "no unix socket {}: check that the server is running and that the path is right",
            path.display()
        )));
    }
    for address in plan.connections.from.iter() {
        std::net::UdpSocket::bind((*address, 0)).map_err(|_| {
            Failure::could_not_run(format!(
                "--local-address {address}: this host has no such address; `ip address` lists its addresses"
            ))
        })?;
    }
    Ok(())
}

fn has_random_ranges(plan: &Plan) -> bool {
    longest_random_range(plan).is_some()
}

/// Returns the length of the longest random range, in bytes.
fn longest_random_range(plan: &Plan) -> Option<u64> {
    let lengths = plan.mix.requests().iter().filter_map(|request| match request.range {
        Some(RangeChoice::Random { length }) => Some(length.get()),
        _ => None,
    });
    lengths.max()
}

/// Returns a warning if objects are shorter than the range, because each request for such an object reads all of it.
fn ranges_beyond_objects(plan: &Plan) -> Option<String> {
    let length = longest_random_range(plan)?;
    let sizes = || plan.targets.items().iter().filter_map(|item| item.size);
    let shorter = sizes().filter(|size| *size < length);
    let (count, smallest) = (shorter.clone().count(), shorter.min()?);
    let are = if count == 1 { "is" } else { "are" };
    Some(format!(
        "warning: {count} of {} {are} shorter than the range of {} and {are} read whole; the smallest has {}",
        plural(sizes().count() as u64, "object"),
        ByteSize(length),
        ByteSize(smallest),
    ))
}

/// Refuses random ranges if any object is empty, because an empty object has no ranges.
fn empty_ranges(plan: &mut Plan) -> Result<(), Failure> {
    if !has_random_ranges(plan) {
        return Ok(());
    }
    match plan.targets.items().iter().find(|item| item.size == Some(0)) {
        Some(item) => Err(Failure::could_not_run(format!(
            "the object {} is empty, so it has no range: leave out the object, or leave out --range",
            item.target
        ))),
        None => Ok(()),
    }
}
