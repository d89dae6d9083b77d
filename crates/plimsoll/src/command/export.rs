//! `plimsoll export`: saved runs in the formats of other programs.

use crate::console;
use crate::failure::Failure;
use crate::saved::export_file::ExportFailure;
use crate::saved::run_sets::{RunSet, SetKind};
use crate::saved::{self, export_file, load_line, markdown, study};
use clap::ValueEnum;
use measure::{Interval, ResultWord};
use report::export::table::{self, TableForm};
use report::export::{ExportError, hdr, intervals, operations, runs};
use report::number::plural;
use report::other_tools::{ab_files, retrieval};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::{OpLogReader, OpRecord, Record, SavedRun, StoreErrorKind};

/// The flags of `export`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Directory of a run. For csv, parquet and markdown, also of a repeated run, a study, or a search for the load
    /// line.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Export format.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub format: Form,
    /// File to write; an existing file is replaced [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

const AFTER: &str = "For several runs (--repeat, a study, a search), csv, parquet and markdown are a table with a row per run. The \
    other formats take the directory of a single run. docs/export.md describes the columns.\n\
    \n\
    \x20 plimsoll export runs/20261121-023000-localhost_8080 --as csv --to seconds.csv";

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For one run, a row per second. For several runs, a row per run.
    Csv,
    /// A row per operation. The run must have been made with --log-ops.
    OpsCsv,
    /// Like csv, in Apache Parquet.
    Parquet,
    /// Like ops-csv, in Apache Parquet.
    OpsParquet,
    /// The 19 columns of retrieval-load-testing, the k6 kit for booster-http.
    RetrievalCsv,
    /// Like `ab -e`: for each percentage from 0 to 100, the time within which this share of the requests was served.
    AbE,
    /// Like `ab -g`, for gnuplot. The run must have been made with --log-ops.
    AbG,
    /// Percentiles of response time, for HdrHistogram's plotters.
    Hgrm,
    /// Percentiles of service time, for HdrHistogram's plotters.
    HgrmService,
    /// HdrHistogram's interval log, version 1.3.
    Hlog,
    /// The JSON of `report --json`.
    Json,
    /// Markdown tables, for example for an issue.
    Markdown,
}

impl Form {
    /// Returns the file format of a table.
    fn table(self) -> Option<TableForm> {
        match self {
            Self::Csv | Self::OpsCsv => Some(TableForm::Csv),
            Self::Parquet | Self::OpsParquet => Some(TableForm::Parquet),
            _ => None,
        }
    }

    fn holds_one_run(self) -> bool {
        !matches!(self, Self::Csv | Self::Parquet | Self::RetrievalCsv | Self::Json | Self::Markdown)
    }
}

/// Writes the export.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let set = RunSet::of(&args.directory)?;
    if set.kind != SetKind::One && args.format.holds_one_run() {
        let one = set.positions.first().map_or_else(|| args.directory.clone(), |position| set.directory(position));
        let name = name(args.format);
        return Err(Failure::usage(format!(
            "--as {name} exports a single run: name the directory of a run, for example {}",
            one.display()
        )));
    }
    if args.format.table() == Some(TableForm::Parquet) && args.to.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage("a terminal cannot show Parquet: name a file with --to"));
    }
    export_file::write(args.to.as_deref(), "--to", |out| match set.kind {
        SetKind::One => one(&set, args.format, out),
        _ => several(&set, args.format, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn name(form: Form) -> String {
    form.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

type Written = Result<(), ExportFailure>;
type Out<'a> = &'a mut (dyn Write + Send);

/// Exports one run, in any format.
fn one(set: &RunSet, form: Form, out: Out<'_>) -> Written {
    let run = match set.positions.first() {
        Some(position) => set.read(position)?,
        None => return Ok(()),
    };
    let word = report::result::of(&run).word;
    if word != ResultWord::Pass {
        console::eprintln(&format!("the result is {}: see `plimsoll report {}`", word.text(), set.base.display()));
    }
    match form {
        Form::Csv => seconds(&set.base, &run, TableForm::Csv, out),
        Form::Parquet => seconds(&set.base, &run, TableForm::Parquet, out),
        Form::OpsCsv => operations(&set.base, &run, TableForm::Csv, out),
        Form::OpsParquet => operations(&set.base, &run, TableForm::Parquet, out),
        Form::RetrievalCsv => table_of_runs(set, form, out),
        Form::AbE => Ok(ab_files::percentages(&run.summary().all.response, out)?),
        Form::AbG => gnuplot(&set.base, &run, out),
        Form::Hgrm => Ok(hdr::percentiles(&run.summary().all.response, out)?),
        Form::HgrmService => Ok(hdr::percentiles(&run.summary().all.service, out)?),
        Form::Hlog => interval_log(&set.base, &run, out),
        Form::Json => document(serde_json::to_string_pretty(&report::json(&run)), out),
        Form::Markdown => Ok(out.write_all(markdown::of(set)?.as_bytes()).and_then(|()| out.flush())?),
    }
}

/// Exports several runs. Only some formats support this.
fn several(set: &RunSet, form: Form, out: Out<'_>) -> Written {
    match form {
        Form::Json => document(json(set)?, out),
        Form::Markdown => Ok(out.write_all(markdown::of(set)?.as_bytes()).and_then(|()| out.flush())?),
        _ => {
            let left_out = set.fills_on_hosts();
            if left_out > 0 {
                let fills = plural(left_out as u64, "fill");
                console::eprintln(&format!(
                    "{fills} of several hosts left out: the runs of their sessions are on the hosts"
                ));
            }
            table_of_runs(set, form, out)
        }
    }
}

/// Calls `take` for each interval of a run, until it returns an error.
fn each_interval(base: &Path, mut take: impl FnMut(Interval) -> Result<(), ExportError>) -> Written {
    let mut taken = Ok(());
    let read = store::for_each_record(base, |record| {
        if let Record::Interval(interval) = record
            && taken.is_ok()
        {
            taken = take(*interval);
        }
    });
    read.map_err(|error| saved::cannot_read(&error))?;
    Ok(taken?)
}

fn seconds(base: &Path, run: &SavedRun, form: TableForm, out: Out<'_>) -> Written {
    let mut table = table::begin(form, intervals::COLUMNS, out)?;
    each_interval(base, |interval| table.row(&intervals::Row::of(run.begin.started_unix_ms, interval)))?;
    Ok(table.finish()?)
}

fn interval_log(base: &Path, run: &SavedRun, out: Out<'_>) -> Written {
    let (mut serializer, mut inner) = (hdr::serializer(), &mut *out);
    let mut log = hdr::Log::begin(run.begin.started_unix_ms, &mut inner, &mut serializer)?;
    each_interval(base, |interval| log.interval(&interval))?;
    Ok(out.flush()?)
}

/// Calls `take` for each operation of a run. Only one operation is in memory at a time.
fn each_operation(base: &Path, mut take: impl FnMut(OpRecord) -> Result<(), ExportError>) -> Written {
    let mut log = OpLogReader::open(base).map_err(|error| match &error.kind {
        StoreErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound => Failure::usage(format!(
            "{} has no operation log: make the run with --log-ops, or choose a format without operations",
            base.display()
        )),
        _ => Failure::could_not_run(&error),
    })?;
    for op in log.by_ref() {
        take(op.map_err(|error| Failure::could_not_run(&error))?)?;
    }
    if let Some(damage) = log.damage() {
        console::eprintln(&format!(
            "the operation log is damaged at byte {}; later operations are left out",
            damage.at_byte
        ));
    }
    Ok(())
}

fn operations(base: &Path, run: &SavedRun, form: TableForm, out: Out<'_>) -> Written {
    let mut table = table::begin(form, operations::COLUMNS, out)?;
    each_operation(base, |op| table.row(&operations::Row::of(run, op)))?;
    Ok(table.finish()?)
}

fn gnuplot(base: &Path, run: &SavedRun, out: Out<'_>) -> Written {
    let mut file = ab_files::Gnuplot::default();
    each_operation(base, |op| match operations::is_measured(run, &op) {
        true => file.add(run.begin.started_unix_ms, &op),
        false => Ok(()),
    })?;
    Ok(file.write(out)?)
}

/// Writes a table with one row per run.
fn table_of_runs(set: &RunSet, form: Form, out: Out<'_>) -> Written {
    let columns = if form == Form::RetrievalCsv { retrieval::COLUMNS } else { runs::COLUMNS };
    let mut table = table::begin(form.table().unwrap_or(TableForm::Csv), columns, out)?;
    for position in &set.positions {
        table.row(&runs::Row { position: position.clone(), run: set.read(position)? })?;
    }
    Ok(table.finish()?)
}

fn document(made: serde_json::Result<String>, out: Out<'_>) -> Written {
    let text = made.map_err(|error| ExportError::Form(error.to_string()))?;
    Ok(writeln!(out, "{text}").and_then(|()| out.flush())?)
}

fn json(set: &RunSet) -> Result<serde_json::Result<String>, Failure> {
    Ok(match set.kind {
        SetKind::Study => serde_json::to_string_pretty(&study::read(&set.base, &set.records)?.0.study),
        SetKind::Line => serde_json::to_string_pretty(&load_line::read(&set.base)?),
        SetKind::One | SetKind::Repeats => {
            let runs = set.positions.iter().map(|position| set.read(position)).collect::<Result<Vec<_>, _>>()?;
            serde_json::to_string_pretty(&report::json_repeats(&runs))
        }
    })
}
