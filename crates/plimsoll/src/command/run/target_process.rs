//! The process of a server that a study starts for a target: `plimsoll serve`, or any command. With a link, the process runs
//! at the far end.

use crate::command::serve;
use crate::failure::Failure;
use link::state::{Ends, Record, Side};
use report::escape::escape;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use study::matrix::{directory_name, flags};
use study::scenario::{Target, TargetServer};
use sys::namespace::Network;
use sys::process::Process;

/// Maximum length, in bytes, of the message of a server that fails to start.
const MESSAGE_MAX: u64 = 4096;
/// Maximum time that a command may take until it listens.
const LISTEN_MAX: Duration = Duration::from_secs(30);
/// Time between two attempts to connect to a command that is starting.
const LOOK: Duration = Duration::from_millis(20);
/// Environment variable with the address on which a command must listen.
const LISTEN: &str = "PLIMSOLL_LISTEN";

/// A server for the trials of one target. Dropping it ends the process.
pub struct TargetProcess {
    target: String,
    /// The schemes, hosts and ports of the server, or of all servers of a cluster.
    addresses: Vec<String>,
    process: ServerProcess,
}

/// The process of a server.
enum ServerProcess {
    /// `plimsoll serve`, which also ends when its standard input closes.
    Serve(Child),
    /// A command of the user, with its process group.
    Command(Process),
}

/// The network in which a server runs, and its address there.
pub struct Place {
    address: IpAddr,
    /// Network of the far end of a link; `None` for the network of this host.
    network: Option<Network>,
}

impl Place {
    /// Returns this address in the network of this host.
    pub fn here(address: IpAddr) -> Self {
        Self { address, network: None }
    }

    /// Returns the far end of a link.
    pub fn of(link: &Record) -> Result<Self, String> {
        match &link.ends {
            Ends::Tun { address, .. } => {
                let network = link.network(Side::Far).map_err(|error| error.to_string())?;
                Ok(Self { address: *address, network })
            }
            _ => Ok(Self::here(Ipv4Addr::LOCALHOST.into())),
        }
    }

    /// Makes a command run in this network.
    fn host(&self, command: &mut Command) -> Result<(), String> {
        self.network.as_ref().map_or(Ok(()), |network| network.host(command)).map_err(|error| error.to_string())
    }

    /// Runs `work` in a thread in this network.
    fn within<R: Send>(&self, work: impl FnOnce() -> std::io::Result<R> + Send) -> std::io::Result<R> {
        let Some(network) = &self.network else { return work() };
        let done = std::thread::scope(|scope| scope.spawn(|| network.enter().and_then(|()| work())).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Returns an address that was free a moment ago.
    fn free_address(&self) -> std::io::Result<SocketAddr> {
        self.within(|| TcpListener::bind((self.address, 0)).and_then(|listener| listener.local_addr()))
    }
}

impl TargetProcess {
    /// Starts the server of a target, and waits until it listens. Returns `None` for a target without a server. `base` is the
    /// directory of the study.
    pub fn start(target: &Target, base: &Path, place: &Place) -> Result<Option<Self>, Failure> {
        let Some(server) = &target.server else { return Ok(None) };
        let name = &target.name;
        let failed = |why: String| {
            Failure::could_not_run(format!("the server of target `{}` could not start: {why}", escape(name)))
        };
        let (process, addresses) = match server {
            TargetServer::Serve(settings) => serve(&flags(settings), place).map_err(failed)?,
            TargetServer::Start(command) => {
                let log = base.join(format!("{}.server.log", directory_name(name)));
                start(command, place, &log).map_err(failed)?
            }
        };
        Ok(Some(Self { target: name.clone(), addresses, process }))
    }

    /// Returns the scheme, host and port of the server, or of all servers of a cluster.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Returns whether this is the server of the target with this name.
    pub fn is_of(&self, target: &str) -> bool {
        self.target == target
    }
}

/// Starts `plimsoll serve`. Returns its process and its addresses.
fn serve(flags: &[String], place: &Place) -> Result<(ServerProcess, Vec<String>), String> {
    // The flags were checked before.
    let servers = serve::Args::parse(flags.iter().cloned()).map_or(1, |args| args.stand_in.servers().get());
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let listen = format!("--listen={}", SocketAddr::new(place.address, 0));
    let mut command = Command::new(program);
    command.arg("serve").args(flags).args([listen.as_str(), "--until-stdin-closes"]);
    // Interrupts from the terminal must reach only this program, because it stops the servers after the last trial.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    place.host(&mut command)?;
    let mut process = command.spawn().map_err(|error| error.to_string())?;
    let mut output = process.stdout.take().map(BufReader::new);
    let addresses: Option<Vec<String>> =
        output.as_mut().and_then(|output| (0..servers).map(|_| address_in(output)).collect());
    match addresses {
        Some(addresses) => {
            discard(output);
            Ok((ServerProcess::Serve(process), addresses))
        }
        None => {
            let mut told = String::new();
            if let Some(errors) = process.stderr.take() {
                let _ = errors.take(MESSAGE_MAX).read_to_string(&mut told);
            }
            let _ = process.wait();
            Err(escape(told.trim().trim_start_matches("plimsoll: ")))
        }
    }
}

/// Starts a command of the user, and waits until something listens on its address.
fn start(command: &str, place: &Place, log: &Path) -> Result<(ServerProcess, Vec<String>), String> {
    let text = |error: std::io::Error| error.to_string();
    let address = place.free_address().map_err(text)?;
    let output = File::options().create(true).append(true).open(log).map_err(text)?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env(LISTEN, address.to_string()).stdin(Stdio::null());
    shell.stdout(output.try_clone().map_err(text)?).stderr(output).process_group(0);
    place.host(&mut shell)?;
    let mut process = Process::spawn(&mut shell).map_err(text)?;
    let begun = Instant::now();
    let connects = || place.within(|| TcpStream::connect_timeout(&address, LISTEN_MAX)).is_ok();
    while !connects() {
        let ended = process.wait(LOOK).map_err(text)?;
        let log = log.display();
        if let Some(ended) = ended {
            return Err(format!("its command ended ({}); its output is in {log}", ended.status));
        }
        if begun.elapsed() > LISTEN_MAX {
            let _ = process.kill_group();
            return Err(format!(
                "its command does not listen on ${LISTEN} ({address}) after {} s; its output is in {log}",
                LISTEN_MAX.as_secs()
            ));
        }
    }
    Ok((ServerProcess::Command(process), vec![format!("http://{address}")]))
}

/// Reads the address of a server, such as `http://127.0.0.1:40123`, from the server's output. Returns `None` if the
/// server ends first.
fn address_in(output: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    while output.read_line(&mut line).ok()? > 0 {
        let url = line.split_whitespace().find(|word| word.contains("://"));
        if let Some((scheme, rest)) = url.and_then(|url| url.split_once("://")) {
            let host = rest.split('/').next().unwrap_or(rest);
            return Some(format!("{scheme}://{host}"));
        }
        line.clear();
    }
    None
}

/// Reads the rest of the output, so that the server never waits for a reader.
fn discard(output: Option<BufReader<ChildStdout>>) {
    if let Some(mut output) = output {
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        match &mut self.process {
            ServerProcess::Serve(process) => {
                let _ = process.kill();
                let _ = process.wait();
            }
            ServerProcess::Command(process) => {
                let _ = process.kill_group();
            }
        }
    }
}
