//! `cargo xtask bench verdict`: is the result right, and is the limit named right? Causes are planted, and compared with what the
//! program names.
//!
//! Targets are nginx and a small Go server (`server.go`) that logs each request. The truth of each printed percentile is computed
//! from the schedule and that log.
//!
//! A run is sound when no printed percentile misses the truth and, with a schedule, at least 99 % of what was offered was carried out:
//! it succeeded or failed at the target. Any other run is spoiled. A spoiled run must not pass, and a sound one must not be unusable; a
//! run of which the client could not start the load is rightly unusable.
//!
//! Runs begin with a second of warm-up, which counts nowhere, except where the making of connections is what is planted.

mod causes;
mod matrix;
mod output;
mod plant;
mod server;
mod truth;

use crate::failure::{Failure, Result, While, failure, go_on};
use crate::host;
use crate::nginx::{Nginx, Served as File};
use crate::order::Shuffler;
use crate::process::{CLIENT, Place, SERVER, start};
use crate::program::{Choice, EXTRA};
use crate::say;
use causes::{Cause, Direction, Limit, Model, Protocol, Variant};
use clap::ValueEnum;
use matrix::Judged;
use output::{Output, Printed, Word};
use plant::Surroundings;
use serde_json::{Value, json};
use server::{Program, Server};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use truth::{Load, Queue, Served, Window};

/// How long each further number of slots is measured, where the program is to look at them, and how many there are.
const PROBE_SECONDS: u64 = 1;
const PROBES: u64 = 2;

/// Named right in so many runs of each row.
const RIGHT_MIN: f64 = 0.95;
/// Sound runs that may be called unusable.
const UNUSABLE_MAX: f64 = 0.01;

/// What is planted, and how often.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only these rows.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ROW")]
    only: Vec<Cause>,
    /// Runs of each row, which go through its variants: open and closed, downloads and uploads, HTTP/1.1, TLS and HTTP/2.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=500))]
    repeats: u32,
    /// Length of each run, where the row does not fix it.
    #[arg(long, value_name = "S", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Repeat the service times of an earlier series [default: from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write all runs to this file as JSON, with the counts of open and closed ones.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    program: Choice,
}

/// Carries it out.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print_machine();
    let bench = Bench::new(program)?;
    let seed = args.seed.unwrap_or_else(seed_from_clock);
    say::line(format_args!("seed      {seed} (--seed repeats the service times)"));
    let causes = if args.only.is_empty() { Cause::value_variants() } else { &args.only };
    announce(causes, args);
    let (mut runs, mut lines) = (Vec::new(), Vec::new());
    for &cause in causes {
        for repeat in 0..args.repeats {
            let seed = seed_of(seed, cause, repeat);
            let trial = Trial {
                cause,
                variant: cause.variant(repeat + cause as u32),
                seconds: cause.seconds().unwrap_or(args.seconds),
                seed,
            };
            match bench.carry_out(trial) {
                Ok(done) => {
                    say::line(done.line());
                    lines.push(done.json());
                    runs.push(done.judged());
                }
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                // Other rows may still be possible on this machine.
                Err(failure) => say::line(format_args!("  {:<26}{:<22}{failure}", cause.label(), trial.variant.text())),
            }
        }
    }
    print(&runs);
    if let Some(path) = &args.json {
        let all = json!({"seed": seed, "repeats": args.repeats, "counts": matrix::by_model(&runs), "runs": lines});
        fs::write(path, format!("{all:#}\n")).cannot(format_args!("write {}", path.display()))?;
    }
    Ok(())
}

/// Prints how much there is to do.
fn announce(causes: &[Cause], args: &Args) {
    // Warm-up, start and end of target and client, and what a backlog takes to drain.
    const BESIDE: u64 = 3;
    let each = causes.iter().map(|cause| cause.seconds().unwrap_or(args.seconds) + BESIDE);
    let minutes = (each.sum::<u64>() * u64::from(args.repeats)).div_ceil(60);
    say::line(format_args!("runs      {} rows, {} of each, about {minutes} min", causes.len(), args.repeats));
}

fn print(runs: &[Judged]) {
    say::line("");
    for line in matrix::text(runs) {
        say::line(line);
    }
    let (rows, all) = matrix::rows(runs);
    let wrong: Vec<_> = rows.iter().filter(|(_, row)| row.right_share() < RIGHT_MIN).map(|(name, _)| *name).collect();
    let met = |met: bool| if met { "met" } else { "NOT MET" };
    say::line("");
    say::line("sound: no printed percentile is off, and of what a schedule offered at least 99 % succeeded or failed");
    say::line(
        "spoiled: all others; UNUSABLE is right for these, and so it is where the client could not start the load",
    );
    say::line(format_args!(
        "named right in at least {:.0} % of each row: {} {}",
        RIGHT_MIN * 100.0,
        met(wrong.is_empty()),
        wrong.join(", ")
    ));
    say::line(format_args!(
        "PASS on a spoiled run: {} of {}   goal 0: {}",
        all.pass_on_spoiled,
        all.spoiled,
        met(all.pass_on_spoiled == 0)
    ));
    say::line(format_args!(
        "UNUSABLE on a sound run: {} of {}   goal at most {:.0} %: {}",
        all.unusable_on_sound,
        all.sound,
        UNUSABLE_MAX * 100.0,
        met(all.unusable_share() <= UNUSABLE_MAX)
    ));
    say::line(format_args!(
        "results that contradict themselves: {}   goal 0: {}",
        all.contradicting,
        met(all.contradicting == 0)
    ));
}

/// What all runs need.
struct Bench {
    program: PathBuf,
    target: Program,
    directory: TempDir,
}

/// One run that is to be made.
#[derive(Clone, Copy, Debug)]
struct Trial {
    cause: Cause,
    variant: Variant,
    seconds: u64,
    seed: u64,
}

impl Trial {
    /// From the first operation to the end of what is measured.
    fn window(self) -> Duration {
        self.cause.warmup() + Duration::from_secs(self.seconds)
    }
}

/// One run that was made.
struct Done {
    trial: Trial,
    output: Output,
    truths: Option<Vec<Truth>>,
}

/// A printed percentile and what it should be, in seconds: between these.
struct Truth {
    printed: Printed,
    seconds: (f64, f64),
}

impl Truth {
    fn is_off(&self) -> bool {
        truth::is_off(self.printed.low, self.printed.high, self.seconds)
    }
}

impl Bench {
    fn new(program: PathBuf) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("plimsoll-verdict-").tempdir();
        let directory = directory.cannot("make a directory")?;
        let target = Program::build(directory.path())?;
        Ok(Self { program, target, directory })
    }

    fn carry_out(&self, trial: Trial) -> Result<Done> {
        go_on()?;
        if trial.cause.is_nginx() {
            let nginx = Nginx::start_http2(&[File::Kibibyte])?;
            let url = match trial.variant.protocol {
                Protocol::Http1 => nginx.url(File::Kibibyte),
                Protocol::Tls | Protocol::Http2 => nginx.secure_url(File::Kibibyte),
            };
            let output = self.load(trial, &url, &mut Surroundings::default())?;
            return Ok(Done { trial, output, truths: None });
        }
        let mut around = Surroundings::of(trial.cause)?;
        let (target, address) = (trial.cause.discipline(), around.address.unwrap_or("127.0.0.1"));
        let prefix: Vec<String> = around.server_prefix.iter().cloned().chain(ahead_of_others(trial.cause)).collect();
        // The log is that of one run.
        let server = self.target.start(target, address, trial.seed, &prefix, place(trial.cause, SERVER))?;
        let url = if trial.cause.is_signed() { bucket(&server) } else { server.url(trial.variant.protocol) };
        let output = self.load(trial, &url, &mut around)?;
        let log = server.finish()?;
        let truths = trial.cause.has_truth(trial.variant).then(|| truths(trial, &output, &log)).flatten();
        Ok(Done { trial, output, truths })
    }

    /// Runs the program to its end.
    fn load(&self, trial: Trial, url: &str, around: &mut Surroundings) -> Result<Output> {
        let path = |name| self.directory.path().join(name);
        let file = |name| fs::File::create(path(name)).cannot("write what the program prints");
        let words = words(trial, url);
        let line: Vec<&str> = around.client_prefix.iter().map(String::as_str).collect();
        let own = self.program.to_string_lossy();
        let line: Vec<&str> = line.into_iter().chain([own.as_ref()]).chain(words.iter().map(String::as_str)).collect();
        let (first, rest) = line.split_first().ok_or_else(|| failure("no command"))?;
        let mut command = Command::new(first);
        command.args(rest).current_dir(self.directory.path()).stdin(Stdio::null());
        command.stdout(file("report.json")?).stderr(file("messages")?);
        command.env("AWS_ACCESS_KEY_ID", "verdict").env("AWS_SECRET_ACCESS_KEY", "verdict-secret");
        let client = start(&mut command, place(trial.cause, CLIENT))?;
        around.disturb(trial.cause, client.id(), Duration::from_secs(trial.seconds))?;
        let end = client.finish(trial.window() + Duration::from_secs(PROBES * PROBE_SECONDS) + EXTRA)?.end;
        let text = fs::read_to_string(path("report.json")).cannot("read the report")?;
        let runs = path("runs");
        let _ = fs::remove_dir_all(runs);
        Output::read(&text, end).map_err(|error| {
            let messages = fs::read_to_string(path("messages")).unwrap_or_default();
            failure(format_args!("{error}; {}", messages.trim()))
        })
    }
}

/// Server and client have a core each, except where others compete with both.
fn place(cause: Cause, usual: Place) -> Place {
    if matches!(cause, Cause::SharedHost | Cause::SharedHostLowRate) { Place::AllCores } else { usual }
}

/// Goes before the command of the target: others on its core are not planned, and what they cost HTTP/2 is not all in the log.
/// Without the right to do so it has no effect.
fn ahead_of_others(cause: Cause) -> Vec<String> {
    let planned = matches!(cause, Cause::SharedHost | Cause::SharedHostLowRate);
    let words: &[&str] = if planned { &[] } else { &["nice", "-n", "-15"] };
    words.iter().map(|&word| word.to_owned()).collect()
}

fn bucket(server: &Server) -> String {
    format!("--endpoint=http://{}", server.plain())
}

/// The command line of the program.
fn words(trial: Trial, url: &str) -> Vec<String> {
    let (cause, variant, amount) = (trial.cause, trial.variant, trial.cause.amount());
    let duration = format!("{}s", trial.seconds);
    let mut words: Vec<String> = ["--json", "--quiet", "--insecure", "-d", &duration].map(str::to_owned).into();
    if !cause.warmup().is_zero() {
        words.push(format!("--warmup={}s", cause.warmup().as_secs()));
    }
    if cause.is_probed(variant) {
        words.push(format!("--probe={PROBE_SECONDS}s"));
    }
    match variant.model {
        Model::Open => words.extend(["-R".to_owned(), amount.rate.to_string()]),
        Model::Closed => words.extend(["-c".to_owned(), amount.slots.to_string()]),
    }
    if variant.protocol == Protocol::Http2 {
        words.push("--http2".to_owned());
        // The log shows a request whole where it is the only one at a time on its connection.
        words.push("--streams=1".to_owned());
    }
    if cause == Cause::Ports {
        words.push("--no-keepalive".to_owned());
    }
    let verb = match variant.direction {
        Direction::Get => "get",
        Direction::Put => {
            words.extend([
                "--count".to_owned(),
                "1000".to_owned(),
                "--size".to_owned(),
                cause.discipline().size.to_string(),
            ]);
            "put"
        }
    };
    if cause.is_signed() {
        words.extend(["--payload", "signed", "s3://bucket/objects"].map(str::to_owned));
    }
    words.insert(0, verb.to_owned());
    words.push(url.to_owned());
    words
}

/// The truth of each percentile that was printed. `None` when the target has seen nothing.
fn truths(trial: Trial, output: &Output, log: &[Served]) -> Option<Vec<Truth>> {
    let (target, amount) = (trial.cause.discipline(), trial.cause.amount());
    let (load, late) = match trial.variant.model {
        Model::Open => (Load::Open(amount.rate.into()), truth::first_lateness(log, amount.rate.into())),
        Model::Closed => (Load::Closed(amount.slots), 0.0),
    };
    let stall = target.stall.map(|(at, length)| (late + at.as_secs_f64(), late + (at + length).as_secs_f64()));
    let queue = Queue { servers: (target.servers > 0).then_some(target.servers as usize), stall };
    let window = Window { warmup: trial.cause.warmup().as_secs_f64(), end: trial.window().as_secs_f64() };
    // Slots are as many as planned until the end of the window. A backlog of a schedule is served later.
    let counted = if trial.variant.model == Model::Closed { window.end } else { f64::INFINITY };
    let times = truth::responses(load, window, queue, &truth::costs(log, counted))?;
    let each =
        output.printed.iter().map(|&printed| Some(Truth { printed, seconds: truth::quantile(&times, printed.q)? }));
    each.collect()
}

impl Done {
    fn judged(&self) -> Judged {
        let (named, right) = (self.output.limit, self.trial.cause.right(self.trial.variant));
        // A refusal names what it lacks in words.
        let refused_right = self.output.word != Word::Refused || right.contains(&Limit::NotDetermined);
        Judged {
            row: self.trial.cause.label(),
            model: self.trial.variant.model,
            named,
            named_right: right.contains(&named) && refused_right,
            word: self.output.word,
            spoiled: self.is_spoiled(),
            contradictions: self.output.contradictions.len(),
        }
    }

    /// `None` where that cannot be known.
    fn is_spoiled(&self) -> Option<bool> {
        if self.is_short() {
            return Some(true);
        }
        self.truths.as_ref().map(|truths| truths.iter().any(Truth::is_off))
    }

    /// Whether there was a schedule that was not kept.
    fn is_short(&self) -> bool {
        self.trial.variant.model == Model::Open && self.output.is_short()
    }

    fn line(&self) -> String {
        let judged = self.judged();
        let spoiled = match judged.spoiled {
            Some(true) => "spoiled",
            Some(false) => "sound",
            None => "-",
        };
        let off = self.truths.iter().flatten().filter(|truth| truth.is_off());
        let off: Vec<_> = off
            .map(|truth| {
                let Printed { q, low, high } = truth.printed;
                let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
                let (least, most) = truth.seconds;
                format!("p{} {}..{} ms, truth {}..{}", q * 100.0, ms(low), ms(high), ms(least), ms(most))
            })
            .take(2)
            .collect();
        let short = if self.is_short() { "schedule not kept " } else { "" };
        format!(
            "  {:<26}{:<22}{:<9}{:<12}{:<6}{:<9}{} of {} ok  {short}{} {}",
            judged.row,
            self.trial.variant.text(),
            judged.word.text(),
            judged.named.short(),
            if judged.named_right { "right" } else { "WRONG" },
            spoiled,
            self.output.ok,
            self.output.offered,
            off.join("; "),
            self.output.contradictions.join("; ")
        )
        .trim_end()
        .to_owned()
    }

    fn json(&self) -> Value {
        let judged = self.judged();
        let percentile = |truth: &Truth| {
            let Printed { q, low, high } = truth.printed;
            let (least, most) = truth.seconds;
            json!({"q": q, "low_s": low, "high_s": high, "truth_s": [least, most], "off": truth.is_off()})
        };
        json!({
            "row": judged.row,
            "variant": self.trial.variant.text(),
            "model": self.trial.variant.model.text(),
            "seed": self.trial.seed,
            "result": judged.word.text(),
            "limited_by": judged.named,
            "right": judged.named_right,
            "spoiled": judged.spoiled,
            "schedule_kept": !self.is_short(),
            "offered": self.output.offered,
            "ok": self.output.ok,
            "failed": self.output.failed,
            "contradictions": self.output.contradictions,
            "percentiles": self.truths.iter().flatten().map(percentile).collect::<Vec<_>>(),
        })
    }
}

/// The seed of one run. The target takes signed numbers.
fn seed_of(series: u64, cause: Cause, repeat: u32) -> u64 {
    Shuffler::new(series ^ (u64::from(repeat) << 32) ^ ((cause as u64) << 24)).number() >> 1
}

fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) % 1_000_000
}

#[cfg(test)]
mod tests;
