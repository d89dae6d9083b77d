//! Carries out a plan: prepares the host, runs it, saves what is measured as it is measured, and shows the report that
//! is made from what was saved.

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
use study::decision::Decision;

/// Descriptors that the program needs besides its connections: for files and the resolver, and for each thread that makes load a
/// poller, a timer, the kernel's account of it, and a socket for which the kernel dates what comes.
pub fn own_descriptors(threads: u32) -> u64 {
    64 + 4 * u64::from(threads)
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// For people.
    Text,
    /// As JSON.
    #[value(skip)]
    Json,
    /// As ab prints it.
    Ab,
    /// As httpbench prints it.
    Httpbench,
    /// Not at all.
    None,
}

/// Where the result goes.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run directory, when it was named.
    pub directory: Option<PathBuf>,
    /// What is printed.
    pub print: Print,
    /// Whether a live line may be shown.
    pub live: bool,
    /// How often the plan is carried out.
    pub repeat: u64,
    /// What the run is held to.
    pub objectives: Vec<Objective>,
    /// Whether an objective without enough data is accepted.
    pub accept_not_enough_data: bool,
    /// Objectives that end a run when it misses them.
    pub abort: Vec<Objective>,
    /// Ends a run when its objectives are decided.
    pub decision: Option<Decision>,
    /// Length of each level of a probe after the run.
    pub probe: Option<Duration>,
}

/// Pieces of memory from this size on go back to the system when they are freed. Histograms are of that size, and those of a
/// second live no longer: with them in the common areas, memory grew with the length of a run. Buffers of TLS change their size
/// between 8 and 36 KiB all the time, and stay below.
const GIVEN_BACK_BYTES: u32 = 64 << 10;

/// Runs the plan, once or as often as asked. Gives the saved runs with the exit code that they deserve.
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
        // The runs of a repeated one make one document.
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

/// Runs a plan that is prepared once into the directory that is named, and shows nothing of it.
pub fn measure(plan: &Plan, output: &Output) -> Result<SavedRun, Failure> {
    let saved = measure_down(plan, output)?;
    unreachable(plan, &saved).map_or(Ok(saved), Err)
}

/// The same of a target that may be down: that it can not be reached is a result then.
pub fn measure_down(plan: &Plan, output: &Output) -> Result<SavedRun, Failure> {
    measure_level(plan, output).map(|(saved, _)| saved)
}

/// The same, with what its decision has seen.
pub fn measure_level(plan: &Plan, output: &Output) -> Result<(SavedRun, Option<Decision>), Failure> {
    run_once(plan, output, &directory(plan, output))
}

/// The exit code after an interrupt: that of its signal.
pub fn interrupted() -> Exit {
    Exit::Interrupted(interrupting_signal())
}

/// The signal by which the user ended this.
pub fn interrupting_signal() -> i32 {
    sys::signals::interrupts().last.map_or(2, sys::signals::Signal::number)
}

/// The run directory: as named, or by time and target.
pub fn directory(plan: &Plan, output: &Output) -> PathBuf {
    match &output.directory {
        Some(directory) => directory.clone(),
        None => default_directory(&plan.targets.origins().first().map(ToString::to_string).unwrap_or_default()),
    }
}

/// A run directory by time and target.
pub fn default_directory(target: &str) -> PathBuf {
    store::runs::default_directory(Path::new("runs"), unix_ms(), target)
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn run_once(plan: &Plan, output: &Output, directory: &Path) -> Result<(SavedRun, Option<Decision>), Failure> {
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
    let (at, first_response, mut left, failed) = match ran {
        Ok(ending) => (ending.at, ending.first_response, ending.left, None),
        // What was measured until then is closed all the same.
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
        server: first_response.map(|first| Server {
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
        return Err(Failure::could_not_run(format!("{error}; what was measured until then is in {directory}")));
    }
    SavedRun::read(directory).map(|saved| (saved, decision)).map_err(|error| unread_again(&error))
}

/// What loads wrote next to the objects of their dataset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fresh {
    begun: u64,
    /// Those of them of which all is known.
    known: u64,
    below: u64,
    of_warmup: u64,
}

impl Fresh {
    /// Whether any load was made.
    pub fn is_any(self) -> bool {
        self.begun > 0
    }

    /// Whether all is known that they wrote.
    pub fn is_all(self) -> bool {
        self.begun == self.known
    }

    /// All objects that they are known to have written have numbers below this, or are of a warm-up.
    pub fn below(self) -> u64 {
        self.below
    }

    /// Those of a warm-up have numbers below this, counted from [`engine::run_loop::WARMUP_NUMBERS`].
    pub fn of_warmup(self) -> u64 {
        self.of_warmup
    }
}

thread_local! {
    static FRESH: Cell<Fresh> = const { Cell::new(Fresh { begun: 0, known: 0, below: 0, of_warmup: 0 }) };
}

/// What loads of this thread wrote since [`forget_fresh`], whatever became of their results.
pub fn fresh() -> Fresh {
    FRESH.get()
}

/// Begins to note what loads of this thread write.
pub fn forget_fresh() {
    FRESH.set(Fresh::default());
}

/// Makes the load of a plan, and notes what it writes.
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

/// That something can not be saved where --out says.
pub fn cannot_save(what: &str, error: &StoreError) -> Failure {
    Failure::could_not_run(format!("{what} can not be saved: {error}; name another directory with --out"))
}

/// Makes room for what is measured anew: what an earlier try has left in its directory goes away.
pub fn make_room(directory: &Path) -> Result<(), Failure> {
    if !directory.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(directory)
        .map_err(|error| Failure::could_not_run(format!("{} can not be made anew: {error}", directory.display())))
}

fn not_all_saved(errors: &[StoreError], directory: &Path) -> Failure {
    let what: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let directory = directory.display();
    Failure::could_not_run(format!(
        "not all of the run could be saved: {}; `plimsoll report {directory}` shows what was",
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

/// That a directory holds no run that can be read.
pub fn unread(error: &StoreError) -> Failure {
    if matches!(error.kind, StoreErrorKind::NotARun)
        && let Some(inside) = sets::inside(&error.path)
    {
        let (directory, inside) = (error.path.display(), inside.display());
        return Failure::usage(format!("{directory} is no run, but holds several: name one of them, like {inside}"));
    }
    Failure::usage(format!("{error}: name the directory of a run, like runs/20261121-023000-localhost_8080"))
}

/// Something that this program has just saved can not be read.
pub fn unread_again(error: &StoreError) -> Failure {
    Failure::could_not_run(format!("the saved run can not be read again: {error}"))
}

/// Prints a saved run.
pub fn show(run: &SavedRun, form: Print) -> Result<(), Failure> {
    match form {
        Print::Text => print(&report::text(run, &style())),
        Print::Json => print_json(serde_json::to_string_pretty(&report::json(run))),
        Print::Ab => print(&report::compat::ab(run)),
        Print::Httpbench => print(&report::compat::httpbench(run)),
        Print::None => Ok(()),
    }
}

/// Prints a document.
pub fn print_json(written: serde_json::Result<String>) -> Result<(), Failure> {
    let json =
        written.map_err(|error| Failure::could_not_run(format!("the report can not be written as JSON: {error}")))?;
    print(&(json + "\n"))
}

/// Prints a report.
pub fn print(text: &str) -> Result<(), Failure> {
    say::try_out(text).map_err(|error| {
        Failure::could_not_run(format!(
            "the report can not be written to standard output: {error}; `plimsoll report DIR` prints it again"
        ))
    })
}

/// How text is laid out on this standard output.
pub fn style() -> Style {
    let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Style { color, ..Style::default() }
}

/// A run in which nothing ever reached the target is a failure to run, told in one line and without a report.
fn unreachable(plan: &Plan, run: &SavedRun) -> Option<Failure> {
    let Some(EndReason::Unreachable { detail }) = run.end.as_ref().map(|end| &end.reason) else { return None };
    let target = match &plan.connections.route {
        Route::Proxy { origin, .. } => format!("the proxy {origin}"),
        Route::Direct | Route::Unix(_) => run.begin.targets.first().map_or("the target", String::as_str).to_owned(),
    };
    let example = run.summary.stats.examples.first();
    Some(Failure::could_not_run(match example.filter(|example| example.outcome.phase == Phase::Tls) {
        Some(example) if example.detail.is_empty() => format!("{target} could not be reached: {detail}"),
        Some(example) => {
            format!("{target} could not be reached: {detail}: {}", report::escape::escape(&example.detail))
        }
        None => format!("{target} could not be reached: {detail}: is it running, and is the address right?"),
    }))
}

/// Whether the user ended a saved run.
pub fn was_interrupted(run: &SavedRun) -> bool {
    matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }))
}

/// The exit code of a saved run. A result that is not PASS is repeated in one line on standard error.
pub fn judge(run: &SavedRun) -> Exit {
    let result = report::result::of(run);
    let shown = |reason: &Reason| !matches!(reason, Reason::CutOff(CutOff::Interrupted { .. }));
    if let Some(reason) = result.reasons.first().filter(|reason| shown(reason)) {
        let (word, code) = (result.word.text(), result.exit.code());
        say::note(&format!("plimsoll: {word}: {} (exit code {code})", report::result::text(reason)));
    }
    result.exit.into()
}

/// The exit code that takes precedence.
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
