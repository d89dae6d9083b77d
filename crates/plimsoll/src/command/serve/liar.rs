//! `serve --liar`: plays scripted misbehavior.

use super::{Args, cannot_serve, wait};
use crate::console;
use crate::failure::Failure;
use measure::units::format_span;
use server::{Case, Liar};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// Time after which the scripted server stops on its own.
const LIAR_LIFETIME: Duration = Duration::from_secs(3600);

/// Prints all cases, or plays the case with this name.
pub fn run(name: &str, args: &Args) -> Result<ExitCode, Failure> {
    if name == "list" {
        let lines: Vec<String> = Case::all().iter().map(|case| format!("{:<36} {}", case.name, case.about)).collect();
        console::print(&(lines.join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let case = Case::named(name)
        .ok_or_else(|| Failure::usage(format!("--liar has no case `{name}`; `--liar list` prints all cases")))?;
    console::print(&format!("{}: {}\n", case.name, case.about))?;
    console::print(&format!(
        "a client should classify the last request as {}: {}\n",
        case.expected.last.class, case.expected.last.cause
    ))?;
    console::print(&format!("run this client: {}\n", client_command(&case)))?;
    let address = args.listen.first().copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let lifetime = args.stop_after.unwrap_or(LIAR_LIFETIME);
    let liar = Liar::start_on(case, address, lifetime).map_err(|error| cannot_serve(&error))?;
    console::print(&format!("serving misbehavior on http://{}/ for {}\n", liar.address(), format_span(lifetime)))?;
    wait(Some(lifetime));
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line of a client that tests the case.
fn client_command(case: &Case) -> String {
    let client = &case.client;
    let framed = client.body.as_ref().is_some_and(|body| body.chunked || body.expect_continue);
    let command = if framed { "put" } else { "get" };
    let mut words = vec![format!("plimsoll {command} -c 1 -n {}", client.requests)];
    if client.method.as_ref() != "GET" && !framed {
        words.push(format!("-m {}", client.method));
    }
    if let Some(body) = &client.body {
        let size = body.content.bytes().len();
        words.push(format!("{} FILE (of {size} bytes)", if framed { "--from" } else { "--body-file" }));
        words.extend(body.chunked.then(|| "--chunked".to_owned()));
        words.extend(body.expect_continue.then(|| "--expect-continue".to_owned()));
    }
    if let Some(range) = client.range {
        words.push(format!("--range {} --range-at {}", range.len(), range.first()));
    }
    words.extend(client.expect_hash.as_ref().map(|hash| format!("--expect {hash}")));
    words.extend(client.expect_size.map(|size| format!("--expect-size {size}")));
    words.push(format!("--timeout-head {}", format_span(client.head_timeout)));
    words.push(format!("--timeout-idle {}", format_span(client.idle_timeout)));
    words.extend(client.total_timeout.map(|total| format!("--timeout-total {}", format_span(total))));
    words.extend(client.http2.then(|| "--http2".to_owned()));
    words.push(if client.s3 { "--endpoint URL s3://BUCKET/KEY" } else { "URL" }.to_owned());
    words.join(" ")
}
