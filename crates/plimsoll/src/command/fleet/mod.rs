//! `plimsoll fleet init`: writes the files of a new message bus for `--fleet`. `plimsoll fleet collect` is in
//! [`crate::hosts::collect`].

mod directory;

use crate::command::serve;
use crate::failure::Failure;
use crate::hosts::collect;
use crate::shell::quoted;
use crate::{console, execute};
use fleet::transport::nats::setup::{self, Certificate, HostName};
use server::GeneratedCertificate;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The flags of `fleet`.
#[derive(clap::Args, Debug)]
#[command(disable_help_subcommand = true, after_help = AFTER)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

const AFTER: &str =
    "docs/fleet.md explains how agents on a message bus make a run together, and what each key permits.";

/// An action on fleets.
#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Writes the configuration of nats-server, certificates for TLS, and the keys of agents and commands.
    Init(InitArgs),
    /// Collects a run of several hosts whose command was killed, and writes its report.
    Collect(Box<collect::Args>),
}

#[derive(clap::Args, Debug)]
struct InitArgs {
    /// Directory for the files. It must be empty, and is created if necessary.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// DNS name or IP address by which clients reach the server. Repeat the flag for several [default: localhost,
    /// 127.0.0.1 and the name of this host].
    #[arg(long = "host", value_name = "NAME", value_parser = host)]
    hosts: Vec<HostName>,
    /// Address on which the server listens.
    #[arg(long, value_name = "IP:PORT", value_parser = listen, default_value = "0.0.0.0:4222")]
    listen: SocketAddr,
}

fn host(text: &str) -> Result<HostName, String> {
    text.parse().map_err(|error: setup::BadHostName| error.to_string())
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let address = serve::listen(text)?;
    // nats-server takes port 0 for 4222.
    if address.port() == 0 { Err("name the port, for example 4222".to_owned()) } else { Ok(address) }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        Action::Init(args) => init(args),
        Action::Collect(args) => collect::run(args),
    }
}

fn init(args: &InitArgs) -> Result<ExitCode, Failure> {
    let hosts = if args.hosts.is_empty() { default_hosts() } else { args.hosts.clone() };
    let files = setup::new_bus(args.listen, certificate(&hosts)?).map_err(Failure::could_not_run)?;
    directory::write(&args.directory, &files)?;
    console::print(&next_steps(&args.directory, &hosts, args.listen.port()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a certificate for a server with these names.
fn certificate(hosts: &[HostName]) -> Result<Certificate, Failure> {
    let names = hosts.iter().map(|host| host.as_str().to_owned()).collect();
    let made = GeneratedCertificate::new(names, "CA of a message bus for plimsoll", "message bus for plimsoll");
    let made = made.map_err(|error| Failure::could_not_run(format!("cannot make a certificate: {error}")))?;
    Ok(Certificate { ca: made.ca_pem().to_owned(), server: made.certificate_pem(), key: made.key_pem() })
}

/// Returns the names of this host. The first one is for use from other hosts.
fn default_hosts() -> Vec<HostName> {
    let own = execute::host_name();
    let mut names: Vec<HostName> =
        [own.as_str(), "localhost", "127.0.0.1"].iter().filter_map(|name| name.parse().ok()).collect();
    names.dedup();
    names
}

fn next_steps(directory: &Path, hosts: &[HostName], port: u16) -> String {
    let file = |name| quoted(&directory.join(name).display().to_string());
    let host = hosts.first().map_or_else(|| "localhost".to_owned(), HostName::in_url);
    let (ca, agent, command) = (file(setup::CA), file(setup::AGENT_SEED), file(setup::COMMAND_SEED));
    let shown = quoted(&directory.display().to_string());
    format!(
        "Wrote {shown}. The files *.nk and server-key.pem are secret. Start the server, agents, and a run:\n\n  \
         (cd {shown} && nats-server -c {})\n  \
         plimsoll agent --fleet tls://{host}:{port} --fleet-creds {agent} --fleet-ca {ca}\n  \
         plimsoll get -c 96 -d 60s http://TARGET/ --agents 1 --fleet tls://{host}:{port} --fleet-creds {command} --fleet-ca {ca}\n\n\
         Hosts of agents need only {} and {}. Only those who may start loads need {}.\n",
        setup::CONFIGURATION,
        setup::AGENT_SEED,
        setup::CA,
        setup::COMMAND_SEED,
    )
}
