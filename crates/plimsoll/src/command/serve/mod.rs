//! `plimsoll serve`: the embedded server, for first steps and for tests.

mod args;
mod ledger;
mod liar;
mod sia;
mod stand_in;
mod tls_and_s3;

pub use args::{Args, ServeCli, listen};
pub use sia::PASSWORD;
pub use tls_and_s3::{ACCESS_KEY, SECRET_KEY};

use crate::console;
use crate::failure::Failure;
use server::{Cluster, Ledger, Server};
use std::process::ExitCode;
use std::time::Duration;

/// Interval at which interrupts are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until interrupted, then prints the ledger.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    tls_and_s3::check(args)?;
    if let Some(name) = &args.liar {
        return liar::run(name, args);
    }
    let _ = sys::limits::raise_descriptor_limit();
    if args.until_stdin_closes {
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0)
        });
    }
    let config = args::config(args)?;
    if tls_and_s3::is_wanted(args) {
        let front = tls_and_s3::start(args, &config)?;
        wait(args.stop_after);
        console::print(&ledger::text(&front.stop()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(cluster) = args.stand_in.cluster(args.listen.first())? {
        let cluster = Cluster::start(&config, &cluster).map_err(|error| cannot_serve(&error))?;
        return run_cluster(args, cluster);
    }
    let server = Server::start(&config).map_err(|error| cannot_serve(&error))?;
    args.stand_in.write_lists("http", server.addresses().first())?;
    for address in server.addresses() {
        console::print(&format!("serving http://{address}{}\n", args.stand_in.example()))?;
    }
    if let Some(remark) = args.stand_in.remark() {
        console::print(&format!("{remark}\n"))?;
    }
    for path in server.unix_paths() {
        console::print(&format!("serving unix socket {}\n", path.display()))?;
    }
    wait(args.stop_after);
    console::print(&ledger::text(&server.stop()))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves a cluster until interrupted. Then prints the ledger of each server, and the sum of all ledgers.
fn run_cluster(args: &Args, cluster: Cluster) -> Result<ExitCode, Failure> {
    let addresses = cluster.addresses();
    args.stand_in.write_lists("http", addresses.first())?;
    for (index, address) in addresses.iter().enumerate() {
        console::print(&format!("server {index}: serving http://{address}{}\n", args.stand_in.example()))?;
    }
    wait(args.stop_after);
    let ledgers = cluster.stop();
    for (index, own) in ledgers.iter().enumerate() {
        console::print(&format!("\nserver {index}\n{}", ledger::text(own)))?;
    }
    console::print(&format!("\nall servers\n{}", ledger::text(&Ledger::joint(&ledgers))))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the failure for an error that prevents serving. The error already contains the address and the fix.
fn cannot_serve(error: &std::io::Error) -> Failure {
    Failure::could_not_run(format!("cannot serve: {error}"))
}

/// Waits for an interrupt, or until the time limit has passed.
fn wait(stop_after: Option<Duration>) {
    let start = std::time::Instant::now();
    while sys::signals::interrupts().count == 0 && stop_after.is_none_or(|after| start.elapsed() < after) {
        std::thread::sleep(LOOK);
    }
}
