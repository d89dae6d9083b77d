//! Access to the systems that collectors poll, with the same authentication, TLS and headers as for `get`.

use crate::command::get;
use crate::failure::Failure;
use crate::load::dialect::System;
use crate::load::dialect_settings;
use crate::redact;
use collect::set::Address;
use collect::source::{Endpoint, SshHost};
use std::path::PathBuf;
use wire::{Scheme, Url};

/// Maximum number of connections to an endpoint. Polling needs only one connection. The others are a margin.
const CONNECTIONS_MAX: usize = 4;

/// Access to the systems that collectors poll.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// HTTP flags of `get`, with their values.
    pub flags: Vec<String>,
    /// Configuration file for `ssh` that replaces the user's file.
    pub ssh_config: Option<PathBuf>,
    /// The system to poll. If there are no other credentials, its password is read from an environment variable.
    pub system: Option<System>,
}

impl Access {
    /// Parses an address into an endpoint. The error messages are the same as in `get`.
    pub fn endpoint(&self, address: &Address) -> Result<Endpoint, Failure> {
        let headers = address.headers.iter().flat_map(|header| ["-H".to_owned(), header.clone()]);
        let words = std::iter::once("get".to_owned()).chain(self.flags.iter().cloned()).chain(headers);
        let words = words.chain(["-c", "1", "--", &address.url].map(str::to_owned));
        let mut args = get::Args::of_words(words)?;
        let identified = dialect_settings(&args.common).identified || has_credentials(&address.url);
        if let Some(variable) = self.system.and_then(System::password_variable).filter(|_| !identified) {
            args.common.requests.user = Some(format!(":${{{variable}}}"));
        }
        let mut plan = get::plan::of(&args)?;
        plan.connections.open_max = CONNECTIONS_MAX;
        if plan.targets.origins().iter().any(|origin| origin.scheme == Scheme::Https) {
            plan.connections.tls.prepare().map_err(|error| Failure::could_not_run(error.to_string()))?;
        }
        Ok(Endpoint::new(plan, redact::url_text(&address.url)))
    }

    /// Returns the remote host for an `ssh` destination. `ssh` connects to the host with [`Self::ssh_config`].
    pub fn host(&self, destination: &str) -> Result<SshHost, Failure> {
        SshHost::new(destination, self.ssh_config.clone())
            .map_err(|error| Failure::usage(format!("`{destination}` is {error}")))
    }
}

/// Returns whether a URL contains a user or a password.
fn has_credentials(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.credentials().is_some())
}
