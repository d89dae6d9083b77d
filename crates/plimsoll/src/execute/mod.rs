//! Runs a plan: prepares the host, makes the load, saves the results while it runs, and shows the report of what was saved.

mod damaged;
pub mod describe;
mod host;
pub mod html;
mod interrupts;
pub mod live;
mod prepare;
mod probe;
mod recording;
pub mod repeats;
pub mod sets;
pub mod sink;
mod uploads;
pub mod watched;

use crate::failure::{Exit, Failure};
use crate::say;
use clap::ValueEnum;
use engine::plan::{Plan, Route};
use engine::{Control, Ending, Observer, RunError, StopReason};
use live::LiveLine;
use measure::result::{CutOff, Reason};
use measure::{Instant, Objective, Phase};
pub use prepare::prepare;
use recording::Recording;
use report::Style;
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{End, EndReason, SavedRun, Server, StoreError, StoreErrorKind};
use study::objective_monitor::ObjectiveMonitor;

/// Returns the number of file descriptors that the program needs in addition to its connections: files, the resolver, and for each
/// load thread a poller, a timer, a scheduler statistics file, and a socket that gets kernel timestamps.
pub fn own_descriptors(threads: u32) -> u64 {
    64 + 4 * u64::from(threads)
}

/// The output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// Text for people.
    Text,
    /// JSON.
    #[value(skip)]
    Json,
    /// The format of ab.
    Ab,
    /// The format of httpbench.
    Httpbench,
    /// No output.
    None,
}

/// Where the result goes, and what decides it.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run directory, if the user named one.
    pub directory: Option<PathBuf>,
    /// The output format.
    pub print: Print,
    /// Whether to show a live line.
    pub live: bool,
    /// Number of times to run the plan.
    pub repeat: u64,
    /// Objectives of the run.
    pub objectives: Vec<Objective>,
    /// Whether to accept objectives with too few operations.
    pub accept_not_enough_data: bool,
    /// Objectives that abort the run once it certainly misses one.
    pub abort: Vec<Objective>,
    /// Ends the run once its objectives are decided.
    pub decision: Option<ObjectiveMonitor>,
    /// Length of each probe after the run.
    pub probe: Option<Duration>,
}

/// Allocations of at least this size return to the system when they are freed. Histograms are that large and live for a second. In
/// the shared heap they made memory grow with the length of a run. TLS buffers resize between 8 and 36 KiB all the time, so they
/// must stay below.
const GIVEN_BACK_BYTES: u32 = 64 << 10;

/// Runs the plan `output.repeat` times and shows the results. Returns the saved runs and the exit code.
pub fn carry_out(mut plan: Plan, output: &Output) -> Result<(Vec<SavedRun>, Exit), Failure> {
    sys::memory::give_back_from(GIVEN_BACK_BYTES);
    let _ = sys::signals::catch_interrupts();
    prepare(&mut plan)?;
    let base = directory(&plan, output);
    let mut runs = Vec::new();
    let mut exit = Exit::Good;
    for number in 1..=output.repeat {
        let directory = if output.repeat > 1 { repeats::directory(&base, number) } else { base.clone() };
        let (saved, _) = run_once(&plan, output, &directory)?;
        if let Some(failure) = unreachable(&plan, &saved) {
            return Err(failure);
        }
        // Repeated runs are printed together, as one document.
        if output.repeat == 1 || output.print != Print::Json {
            show(&saved, output.print)?;
        }
        exit = worse(exit, judge(&saved));
        let interrupted = matches!(exit, Exit::Interrupted(_) | Exit::CouldNotRun);
        runs.push(saved);
        if interrupted {
            break;
        }
    }
    if output.repeat > 1 {
        repeats::show_together(&runs, output.print)?;
    }
    say::note(&format!("saved in {}", base.display()));
    Ok((runs, exit))
}

/// Runs a prepared plan and saves it in its directory. Shows nothing.
pub fn measure(plan: &Plan, output: &Output) -> Result<SavedRun, Failure> {
    let saved = measure_down(plan, output)?;
    unreachable(plan, &saved).map_or(Ok(saved), Err)
}

/// As [`measure`], for a target that may be down. An unreachable target is a result then.
pub fn measure_down(plan: &Plan, output: &Output) -> Result<SavedRun, Failure> {
    measure_level(plan, output).map(|(saved, _)| saved)
}

/// As [`measure_down`], and also returns the decision with its evidence.
pub fn measure_level(plan: &Plan, output: &Output) -> Result<(SavedRun, Option<ObjectiveMonitor>), Failure> {
    run_once(plan, output, &directory(plan, output))
}

/// Returns the exit code after an interrupt.
pub fn interrupted() -> Exit {
    Exit::Interrupted(interrupting_signal())
}

/// Returns the number of the signal by which the user interrupted the program.
pub fn interrupting_signal() -> i32 {
    sys::signals::interrupts().last.map_or(2, sys::signals::Signal::number)
}

/// Returns the run directory: the one that the user named, or one named by time and target.
pub fn directory(plan: &Plan, output: &Output) -> PathBuf {
    match &output.directory {
        Some(directory) => directory.clone(),
        None => default_directory(&plan.targets.origins().first().map(ToString::to_string).unwrap_or_default()),
    }
}

/// Returns a run directory named by time and target.
pub fn default_directory(target: &str) -> PathBuf {
    store::runs::default_directory(Path::new("runs"), unix_ms(), target)
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn run_once(plan: &Plan, output: &Output, directory: &Path) -> Result<(SavedRun, Option<ObjectiveMonitor>), Failure> {
    let begin = describe::begin(plan, output, unix_ms());
    let writer = store::RunWriter::create(directory, &begin).map_err(|error| cannot_save("the run", &error))?;
    let writer = writer.giving_way(engine::give_way);
    let log = match plan.log_ops {
        true => Some(store::OpLogWriter::create(directory).map_err(|error| cannot_save("the run", &error))?),
        false => None,
    };
    let control = Control::new(plan.stop.bytes.map(NonZeroU64::get));
    let live = LiveLine::new(output.live && output.print != Print::None && io::stderr().is_terminal());
    let cpu_before = sys::clock::process_cpu_time();
    let mut recording = Recording::new(plan, output, directory, (writer, log), live);
    let begun = std::time::Instant::now();
    let ran = make_load(plan, &control, &mut recording);
    let (at, first_answer, mut left, failed) = match ran {
        Ok(ending) => (ending.at, ending.first_answer, ending.left, None),
        // What was measured so far is saved all the same.
        Err(mut error) => (Instant::ZERO + begun.elapsed(), None, std::mem::take(&mut error.left), Some(error)),
    };
    let reason = match &failed {
        Some(error) => EndReason::Failed { detail: error.to_string() },
        None => reason(&control, &recording),
    };
    let cpu_nanos = u64::try_from((sys::clock::process_cpu_time() - cpu_before).as_nanos()).unwrap_or(u64::MAX);
    let completed = matches!(reason, EndReason::Completed);
    let probes = output.probe.filter(|_| completed).and_then(|time| probe::levels(plan, time, &mut left));
    let end = End {
        reason,
        at,
        server: first_answer.map(|first| Server {
            http_version: first.version_text().to_owned(),
            software: first.software,
            address: first.address,
            document_bytes: first.body_bytes,
            status: first.status,
            tls: first.tls.map(|tls| store::Tls {
                version: tls.version,
                cipher: tls.cipher,
                protocol: tls.protocol,
                server_name: tls.server_name,
                subject: tls.subject,
                issuer: tls.issuer,
            }),
        }),
        peak_memory_bytes: sys::limits::peak_memory_bytes().unwrap_or(0),
        cpu_nanos,
        uploads: uploads::abort(plan, &left.uploads),
        damaged: None,
        fresh_below: left.fresh_below,
        probes,
    };
    let decision = recording.take_decision();
    recording.end(end).map_err(|errors| not_all_saved(&errors, directory))?;
    if let Some(error) = failed {
        let directory = directory.display();
        return Err(Failure::could_not_run(format!("{error}; the results so far are in {directory}")));
    }
    SavedRun::read(directory).map(|saved| (saved, decision)).map_err(|error| unread_again(&error))
}

/// Objects that loads wrote in addition to those of their dataset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fresh {
    begun: u64,
    /// Number of loads that reported everything they wrote.
    known: u64,
    below: u64,
    of_warmup: u64,
}

impl Fresh {
    /// Returns whether any load started.
    pub fn is_any(self) -> bool {
        self.begun > 0
    }

    /// Returns whether every load reported everything it wrote.
    pub fn is_all(self) -> bool {
        self.begun == self.known
    }

    /// Returns the bound of the numbers of the objects that are known, except those of a warm-up.
    pub fn below(self) -> u64 {
        self.below
    }

    /// Returns the bound of the numbers of a warm-up's objects, counted from [`engine::run_loop::WARMUP_NUMBERS`].
    pub fn of_warmup(self) -> u64 {
        self.of_warmup
    }
}

thread_local! {
    static FRESH: Cell<Fresh> = const { Cell::new(Fresh { begun: 0, known: 0, below: 0, of_warmup: 0 }) };
}

/// Returns what loads of this thread wrote since [`forget_fresh`], whatever their results.
pub fn fresh() -> Fresh {
    FRESH.get()
}

/// Starts counting anew what loads of this thread write.
pub fn forget_fresh() {
    FRESH.set(Fresh::default());
}

/// Makes the load of a plan and notes which objects it writes.
fn make_load(plan: &Plan, control: &Control, observer: &mut dyn Observer) -> Result<Ending, RunError> {
    let before = fresh();
    FRESH.set(Fresh { begun: before.begun + 1, ..before });
    let ran = engine::run(plan, control, observer);
    let (left, is_all) = match &ran {
        Ok(ending) => (&ending.left, true),
        Err(error) => (&error.left, error.left_is_all),
    };
    FRESH.set(Fresh {
        begun: before.begun + 1,
        known: before.known + u64::from(is_all),
        below: before.below.max(left.fresh_below),
        of_warmup: before.of_warmup.max(left.fresh_of_warmup),
    });
    ran
}

/// Returns the failure of saving `what` in the directory of --out.
pub fn cannot_save(what: &str, error: &StoreError) -> Failure {
    Failure::could_not_run(format!("cannot save {what}: {error}; name another directory with --out"))
}

/// Removes the directory of an earlier attempt.
pub fn make_room(directory: &Path) -> Result<(), Failure> {
    if !directory.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(directory)
        .map_err(|error| Failure::could_not_run(format!("cannot remove {}: {error}", directory.display())))
}

fn not_all_saved(errors: &[StoreError], directory: &Path) -> Failure {
    let what: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let directory = directory.display();
    Failure::could_not_run(format!(
        "the run was not saved completely: {}; `plimsoll report {directory}` shows what was saved",
        what.join("; ")
    ))
}

fn reason(control: &Control, recording: &Recording) -> EndReason {
    if recording.is_full() {
        return EndReason::DiskFull;
    }
    let unreached = control.first_unreached().filter(|_| !control.is_reached());
    match (control.reason(), unreached) {
        (Some(StopReason::Unreachable | StopReason::Decided) | None, Some(first)) => {
            EndReason::Unreachable { detail: first.cause.about().to_owned() }
        }
        (Some(StopReason::Interrupted), _) => EndReason::Interrupted { signal: recording.signal() },
        (Some(StopReason::ResultsFull), _) => EndReason::DiskFull,
        (Some(StopReason::Decided), _) => recording.ended().cloned().unwrap_or(EndReason::Completed),
        _ => EndReason::Completed,
    }
}

/// Returns the failure of reading a run that the user named.
pub fn unread(error: &StoreError) -> Failure {
    if matches!(error.kind, StoreErrorKind::NotARun)
        && let Some(inside) = sets::inside(&error.path)
    {
        let (directory, inside) = (error.path.display(), inside.display());
        return Failure::usage(format!(
            "{directory} is not a run but contains runs: name one of them, for example {inside}"
        ));
    }
    Failure::usage(format!("{error}: name the directory of a run, for example runs/20261121-023000-localhost_8080"))
}

/// Returns the failure of reading a run that this program has just saved.
pub fn unread_again(error: &StoreError) -> Failure {
    Failure::could_not_run(format!("cannot read the saved run: {error}"))
}

/// Prints the report of a saved run.
pub fn show(run: &SavedRun, form: Print) -> Result<(), Failure> {
    match form {
        Print::Text => print(&report::text(run, &style())),
        Print::Json => print_json(serde_json::to_string_pretty(&report::json(run))),
        Print::Ab => print(&report::compat::ab(run)),
        Print::Httpbench => print(&report::compat::httpbench(run)),
        Print::None => Ok(()),
    }
}

/// Prints a JSON document.
pub fn print_json(written: serde_json::Result<String>) -> Result<(), Failure> {
    let json = written.map_err(|error| Failure::could_not_run(format!("cannot write the report as JSON: {error}")))?;
    print(&(json + "\n"))
}

/// Prints a report.
pub fn print(text: &str) -> Result<(), Failure> {
    say::try_out(text).map_err(|error| {
        Failure::could_not_run(format!(
            "cannot write the report to standard output: {error}; `plimsoll report DIR` prints it again"
        ))
    })
}

/// Returns the text style for this standard output.
pub fn style() -> Style {
    let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Style { color, ..Style::default() }
}

/// Returns the failure of a run that never reached its target. Such a run has no report.
fn unreachable(plan: &Plan, run: &SavedRun) -> Option<Failure> {
    let Some(EndReason::Unreachable { detail }) = run.end.as_ref().map(|end| &end.reason) else { return None };
    let target = match &plan.connections.route {
        Route::Proxy { origin, .. } => format!("the proxy {origin}"),
        Route::Direct | Route::Unix(_) => run.begin.targets.first().map_or("the target", String::as_str).to_owned(),
    };
    let example = run.summary.stats.examples.first();
    Some(Failure::could_not_run(match example.filter(|example| example.outcome.phase == Phase::Tls) {
        Some(example) if example.detail.is_empty() => format!("cannot reach {target}: {detail}"),
        Some(example) => {
            format!("cannot reach {target}: {detail}: {}", report::escape::escape(&example.detail))
        }
        None => format!("cannot reach {target}: {detail}; check that it is running and that the address is right"),
    }))
}

/// Returns whether the user interrupted a saved run.
pub fn was_interrupted(run: &SavedRun) -> bool {
    matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }))
}

/// Returns the exit code of a saved run. Prints the reason to standard error if the result is not PASS.
pub fn judge(run: &SavedRun) -> Exit {
    let result = report::result::of(run);
    let shown = |reason: &Reason| !matches!(reason, Reason::CutOff(CutOff::Interrupted { .. }));
    if let Some(reason) = result.reasons.first().filter(|reason| shown(reason)) {
        let (word, code) = (result.word.text(), result.exit.code());
        say::note(&format!("plimsoll: {word}: {} (exit code {code})", report::result::text(reason)));
    }
    result.exit.into()
}

/// Returns the exit code that takes precedence.
pub fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: &Exit| match exit {
        Exit::CouldNotRun => 5,
        Exit::Interrupted(_) => 4,
        Exit::Unusable => 3,
        Exit::Usage => 2,
        Exit::Objectives => 1,
        Exit::Good => 0,
    };
    if rank(&b) > rank(&a) { b } else { a }
}
