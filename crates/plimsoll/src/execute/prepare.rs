//! What must be there before load can be made: descriptors, places on this host, addresses, object sizes. Everything
//! that can be told before the first request is told here, in one line.

use super::own_descriptors;
use super::watched::{failed, watched};
use crate::failure::Failure;
use engine::network::NameError;
use engine::plan::{Auth, Plan, RangeChoice, Route, Shared};
use engine::sessions::SessionError;
use report::escape::bounded;
use report::number::plural;
use wire::Scheme;

/// Characters of a message with a server's own words in it.
const REFUSAL_CHARACTERS_MAX: usize = 600;

/// What must be there before load can be made: descriptors, addresses, sizes.
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
            "{needed} file descriptors are needed for {}{parts} in flight and the limit is {limit}: raise it with `ulimit -n {needed}` as root{lower}",
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
            NameError::NotFound => format!("there is no host `{host}`: check the spelling, or /etc/hosts"),
            NameError::NoAnswer => format!("the name `{host}` could not be looked up: the resolver does not answer"),
        })
    })?;
    open_sessions(plan)?;
    if has_random_ranges(plan) && plan.targets.items().iter().any(|item| item.size.is_none()) {
        let total = plan.targets.items().len() as u64;
        let describe = |seen, _| format!("asking for object sizes: {seen} of {total}");
        watched(describe, |tick| engine::object_sizes::discover_sizes(plan, tick))
            .map_err(|error| failed(format!("{error}; --object-size SIZE tells it")))?;
    }
    empty_ranges(plan)
}

/// Logs in, where that is asked for.
fn open_sessions(plan: &mut Plan) -> Result<(), Failure> {
    let Auth::Session(sessions) = &plan.auth else { return Ok(()) };
    let total = match sessions.shared {
        Shared::One => 1,
        Shared::PerSlot(slots) => slots.get(),
    };
    let describe = |seen, _| format!("opening sessions: {seen} of {total}");
    watched(describe, |tick| engine::sessions::open_sessions(plan, tick)).map_err(|error| match error {
        SessionError::Refused { .. } => Failure::could_not_run(bounded(&error.to_string(), REFUSAL_CHARACTERS_MAX)),
        error => failed(error),
    })
}

/// Places on this host that the user named and that must be there.
fn check_route(plan: &Plan) -> Result<(), Failure> {
    if let Route::Unix(path) = &plan.connections.route
        && !path.exists()
    {
        return Err(Failure::could_not_run(format!(
            "there is no unix socket {}: is the server running, and is the path right?",
            path.display()
        )));
    }
    for address in plan.connections.from.iter() {
        std::net::UdpSocket::bind((*address, 0)).map_err(|_| {
            Failure::could_not_run(format!(
                "--local-address {address}: this host has no such address; `ip address` lists those it has"
            ))
        })?;
    }
    Ok(())
}

fn has_random_ranges(plan: &Plan) -> bool {
    plan.mix.requests().iter().any(|request| matches!(request.range, Some(RangeChoice::Random { .. })))
}

/// A random range of an empty object does not exist.
fn empty_ranges(plan: &mut Plan) -> Result<(), Failure> {
    if !has_random_ranges(plan) {
        return Ok(());
    }
    match plan.targets.items().iter().find(|item| item.size == Some(0)) {
        Some(item) => {
            Err(Failure::could_not_run(format!("the object {} is empty: no range of it can be asked for", item.target)))
        }
        None => Ok(()),
    }
}
