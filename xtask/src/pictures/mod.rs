//! The pictures of README, made from real output: the live view of a run in a terminal, its text report, and its HTML
//! report in a browser.

mod svg;

use crate::embedded_server::EmbeddedServer;
use crate::failure::{Context, Result, failure};
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, start};
use std::fs::{self, File};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time limit for each program.
const LIMIT: Duration = Duration::from_secs(90);
/// Size of the terminal.
const COLUMNS: NonZeroU16 = NonZeroU16::new(80).unwrap();
const ROWS: NonZeroU16 = NonZeroU16::new(24).unwrap();
/// Code that ends the live view.
const LEAVE_VIEW: &str = "\u{1b}[?1049l";
/// Size of the picture of the page, in pixels.
const WINDOW: &str = "--window-size=1100,1500";
/// Names of the browser's executable.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/// The flags of `pictures`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Directory to write.
    #[arg(long, value_name = "DIR", default_value = "docs/pictures")]
    out: PathBuf,
}

/// Draws the pictures.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    fs::create_dir_all(&args.out).cannot(format_args!("create {}", args.out.display()))?;
    let place = tempfile::tempdir().cannot("create a directory")?;
    // The server pauses once, so that the charts show something.
    let server = EmbeddedServer::start(&program, &["--stall", "4s:1s"], Affinity::AllCores, place.path())?;
    let command = format!("plimsoll get -R 200 -c 10 --out tour {}/blackhole/64KiB", server.url);
    let printed = in_terminal(&program, &command, place.path())?;
    let (view, text) = view_and_report(&printed)?;
    // Show the port that README uses, not the port of this run. The live view keeps its port, because a shorter text would
    // move what follows it.
    let text = format!("$ {command}\r\n{text}").replace(&server.url, "http://127.0.0.1:8080");
    for (name, bytes, rows) in [("view.svg", view, ROWS), ("terminal.svg", text.as_str(), lines(&text))] {
        let mut terminal = vt100::Parser::new(rows, COLUMNS, 0);
        // A line break at the end would scroll the first line away.
        terminal.process(bytes.trim_end().as_bytes());
        fs::write(args.out.join(name), svg::of(terminal.screen())).cannot(format_args!("write {name}"))?;
    }
    report(&program, place.path(), &args.out.join("report.png"))
}

/// Returns the number of lines of a text, for the size of its picture.
fn lines(text: &str) -> NonZeroU16 {
    let lines = u16::try_from(text.trim_end().lines().count()).ok();
    lines.and_then(NonZeroU16::new).unwrap_or(ROWS)
}

/// Splits the output of a run on a terminal: the live view up to its last frame, and the report.
fn view_and_report(printed: &str) -> Result<(&str, &str)> {
    let (before, report) = printed.rsplit_once(LEAVE_VIEW).ok_or_else(|| failure("the run shows no live view"))?;
    // The report starts with its result. Messages to standard error come before it.
    let start = report.find("PASS").ok_or_else(|| failure(format_args!("the run did not pass: {report}")))?;
    let start = report[..start].rfind('\n').map_or(0, |end| end + 1);
    Ok((before, &report[start..]))
}

/// Runs a command in a terminal, and returns everything that the terminal receives.
fn in_terminal(program: &Path, command: &str, place: &Path) -> Result<String> {
    let command = command.replacen("plimsoll", &program.display().to_string(), 1);
    let words = format!("stty cols {COLUMNS} rows {ROWS}; exec {command}");
    let shown = place.join("shown");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &words, "/dev/null"]).current_dir(place);
    script.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    script.stdin(Stdio::null()).stdout(File::create(&shown).cannot("create a file")?).stderr(Stdio::null());
    start(&mut script, Affinity::AllCores)?.finish(LIMIT)?;
    fs::read_to_string(&shown).cannot("read what the terminal shows")
}

/// Draws the HTML report of the run.
fn report(program: &Path, place: &Path, file: &Path) -> Result<()> {
    let mut html = Command::new(program);
    html.args(["report", "tour", "--html"]).current_dir(place).stdout(Stdio::null()).stderr(Stdio::null());
    start(&mut html, Affinity::AllCores)?.finish(LIMIT)?;
    let browser = BROWSERS.iter().find(|path| Path::new(path).exists());
    let browser = browser.ok_or_else(|| failure("there is no Chromium: install the package chromium"))?;
    let mut command = Command::new(browser);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", WINDOW]);
    command.arg(format!("--user-data-dir={}", place.join("profile").display()));
    command.arg("--virtual-time-budget=5000").arg(format!("--screenshot={}", file.display()));
    command.arg(format!("file://{}", place.join("tour/report.html").display()));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    start(&mut command, Affinity::AllCores)?.finish(LIMIT)?;
    if file.exists() { Ok(()) } else { Err(failure("the browser wrote no picture")) }
}
