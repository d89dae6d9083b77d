//! Access to the endpoints of collectors: the same authentication, TLS and headers as for `get`.

use crate::command::get;
use crate::failure::Failure;
use crate::redact;
use collect::set::Address;
use collect::source::{Endpoint, SshHost};
use std::path::PathBuf;
use wire::Scheme;

/// The most connections of a request. One is used, and a spare one does no harm.
const CONNECTIONS_MAX: usize = 4;

/// How collectors reach their systems.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Flags of `get` with their values, for HTTP.
    pub flags: Vec<String>,
    /// Configuration file for `ssh`, instead of the user's.
    pub ssh_config: Option<PathBuf>,
}

impl Access {
    /// Returns the endpoint of an address. Mistakes in the address or the flags are reported as for `get`.
    pub fn endpoint(&self, address: &Address) -> Result<Endpoint, Failure> {
        let headers = address.headers.iter().flat_map(|header| ["-H".to_owned(), header.clone()]);
        let words = std::iter::once("get".to_owned()).chain(self.flags.iter().cloned()).chain(headers);
        let words = words.chain(["-c", "1", "--", &address.url].map(str::to_owned));
        let args = get::Args::of_words(words)?;
        let mut plan = get::plan::of(&args)?;
        plan.connections.open_max = CONNECTIONS_MAX;
        if plan.targets.origins().iter().any(|origin| origin.scheme == Scheme::Https) {
            plan.connections.tls.prepare().map_err(|error| Failure::could_not_run(error.to_string()))?;
        }
        Ok(Endpoint::new(plan, redact::url_text(&address.url)))
    }

    /// Returns a remote host.
    pub fn host(&self, destination: &str) -> Result<SshHost, Failure> {
        SshHost::new(destination, self.ssh_config.clone())
            .map_err(|error| Failure::usage(format!("`{destination}` is {error}")))
    }
}
