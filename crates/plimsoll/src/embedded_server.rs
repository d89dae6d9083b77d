//! The embedded server, for commands that run it as a target.

use crate::failure::Failure;
use server::{Config, Faults, Server};
use std::net::SocketAddr;
use std::num::NonZeroUsize;

/// Starts a server with a single thread, so that the client has the other cores.
pub fn start(faults: Faults) -> Result<(Server, SocketAddr), Failure> {
    let config = Config { threads: NonZeroUsize::new(1), faults, ..Config::default() };
    let server = Server::start(&config)
        .map_err(|error| Failure::could_not_run(format!("cannot start the embedded server: {error}")))?;
    let address = server.addresses().first().copied();
    let address = address.ok_or_else(|| Failure::could_not_run("the embedded server has no address"))?;
    Ok((server, address))
}
