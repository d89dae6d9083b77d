//! Single requests to a service that the user named, such as a collector of metrics or a token service.

use crate::command::get;
use crate::failure::Failure;
use engine::plan::{Follow, Plan, Timeouts};
use std::path::PathBuf;
use std::time::Duration;
use wire::Scheme;

/// Maximum number of connections of a request. A request needs only one connection, so this limit is generous.
const CONNECTIONS_MAX: usize = 4;

/// Returns the plan for single requests to a URL. Each request ends after `time_max`. Redirects are not followed, so only
/// the host in the URL is contacted. `cacert` has CA certificates that replace those of the system.
///
/// # Errors
/// Fails if the URL is wrong, or if the CA certificates cannot be read.
pub fn plan(url: &str, cacert: Option<PathBuf>, time_max: Duration) -> Result<Plan, Failure> {
    // The plan of `get` has the connections and TLS settings that a single request needs.
    let mut args = get::Args::of_words(["get", "-c", "1", "--", url].map(str::to_owned))?;
    args.common.tls.cacert.extend(cacert);
    let mut plan = get::plan::of(&args)?;
    plan.connections.open_max = CONNECTIONS_MAX;
    if plan.targets.origins().iter().any(|origin| origin.scheme == Scheme::Https) {
        plan.connections.tls.prepare().map_err(Failure::could_not_run)?;
    }
    let timeouts = Timeouts { connect: time_max, head: time_max, idle: time_max, total: Some(time_max) };
    Ok(Plan { timeouts, follow: Follow::Never, threads: 1, ..plan })
}
