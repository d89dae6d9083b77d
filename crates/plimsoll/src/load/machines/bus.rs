//! The flags of the message bus, which coordinators and agents share.

use crate::console;
use crate::failure::Failure;
use fleet::transport::nats::{BusEvent, BusOptions, NatsError};
use std::path::PathBuf;
use std::sync::Arc;

/// Heading of the flags of a run on several hosts in help texts.
pub const HEADING: &str = "Hosts";

/// The flags of the message bus.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct Args {
    /// URL of a NATS server, over which agents take part in runs: nats://HOST:PORT or tls://HOST:PORT. See
    /// docs/fleet.md.
    #[arg(long, value_name = "URL", group = "machines", help_heading = HEADING, hide_short_help = true)]
    pub fleet: Option<String>,
    /// File with the credentials for NATS: a .creds file, or a file with the seed of an nkey.
    #[arg(long, value_name = "FILE", requires = "fleet", help_heading = HEADING, hide_short_help = true)]
    pub fleet_creds: Option<PathBuf>,
    /// Trust the CA certificates in this PEM file for connections to NATS servers, and require TLS.
    #[arg(long, value_name = "FILE", requires = "fleet", help_heading = HEADING, hide_short_help = true)]
    pub fleet_ca: Option<PathBuf>,
}

impl Args {
    /// Returns the way to the bus, if a flag names one.
    pub fn options(&self) -> Option<BusOptions> {
        let url = self.fleet.clone()?;
        let shown = url.clone();
        let on_event = move |event| match event {
            BusEvent::Lost => console::eprintln("the connection to NATS is lost; connecting again"),
            BusEvent::Back => console::eprintln(&format!("connected to {shown} again")),
        };
        let (credentials, ca) = (self.fleet_creds.clone(), self.fleet_ca.clone());
        Some(BusOptions { url, credentials, ca, on_event: Arc::new(on_event) })
    }
}

/// Returns the failure for a bus that is not usable.
pub fn unusable(error: &NatsError) -> Failure {
    match error {
        NatsError::CredentialsInUrl => Failure::usage(format!("--fleet: {error}, and name it with --fleet-creds FILE")),
        NatsError::Url => Failure::usage(format!("--fleet: {error}")),
        NatsError::Credentials { .. } => Failure::usage(format!("--fleet-creds: {error}")),
        NatsError::Connect { .. } => {
            Failure::could_not_run(format!("--fleet: {error}; check the address, and that a NATS server runs there"))
        }
        NatsError::Unauthorized { .. } => {
            Failure::could_not_run(format!("--fleet: {error}; name the file with the right ones with --fleet-creds"))
        }
        NatsError::Tls { .. } => {
            Failure::could_not_run(format!("--fleet: {error}; name the CA certificate of the server with --fleet-ca"))
        }
        NatsError::NotPermitted(_) => Failure::could_not_run(format!(
            "--fleet-creds: {error}; agents and commands need different credentials (see docs/fleet.md)"
        )),
        NatsError::Payload(_) | NatsError::Thread(_) => Failure::could_not_run(format!("--fleet: {error}")),
    }
}
