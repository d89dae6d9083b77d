//! `plimsoll report`: the report of a saved run, a study or a search.

use crate::failure::Failure;
use crate::load;
use crate::prices;
use crate::saved::ci_output::CiOutput;
use crate::saved::fill::AnyFill;
use crate::saved::run_sets::{RunSet, SetKind};
use crate::saved::{self, OutputFormat, html_file, load_line, repeats, study};
use cost::Months;
use report::SavedStudy;
use std::path::PathBuf;
use std::process::ExitCode;
use store::SavedRun;

/// The flags of `report`.
#[derive(clap::Args, Debug)]
#[command(mut_args(|flag| flag.hide_short_help(false)))]
pub struct Args {
    /// Directory of a run, a repeated run, a search for the load line, a study, or a fill.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print as JSON.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Write an HTML file with charts, which opens offline [default: DIR/report.html].
    #[arg(long, value_name = "FILE", value_parser = load::output_file, num_args = 0..=1, conflicts_with_all = ["json", "print"])]
    pub html: Option<Option<PathBuf>>,
    /// Print everything about a run, not only the most important numbers.
    #[arg(long, conflicts_with_all = ["json", "print", "html"])]
    pub full: bool,
    /// Output format: text, full, ab, or httpbench.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM", hide_possible_values = true)]
    pub print: OutputFormat,
    /// In the report of a study, show how much the first cell differs from the second. CELL is the name of a cell, or
    /// values such as connection=sftp or target=mine,concurrency=8. If values match several cells, cells whose other
    /// values are equal are compared [default: every target is compared with the first target].
    #[arg(long, num_args = 2, value_names = ["CELL", "CELL"])]
    pub subtract: Vec<String>,
    /// Price sheets for the costs of a fill, separated by commas. A sheet is s3-standard, sia-2018 or a YAML file.
    #[arg(long, value_name = "SHEETS", value_delimiter = ',')]
    pub prices: Vec<String>,
    /// Storage period that the costs of a fill include, e.g. '3 months' [default: 1 month].
    #[arg(long, value_name = "TIME", default_value = prices::KEEP, hide_default_value = true)]
    pub keep: Months,
    /// The flags for CI systems.
    #[command(flatten)]
    pub ci: CiOutput,
}

/// Prints a report. Returns the exit code of the run. If several runs have different codes, returns the code that takes
/// precedence.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.ci.check_files(None, None)?;
    let exit = show(args)?;
    args.ci.write(&args.directory)?;
    Ok(exit)
}

/// Replaces the differences in a study with the requested differences.
fn subtract(study: &mut SavedStudy, requested: &[String]) -> Result<(), Failure> {
    let mut found = Vec::new();
    for pair in requested.chunks_exact(2) {
        let differences = study.subtract(&pair[0], &pair[1]);
        found.extend(differences.map_err(|why| Failure::usage(format!("--subtract: {why}")))?);
    }
    if !requested.is_empty() {
        study.study.differences = found;
    }
    Ok(())
}

fn subtracts_no_study() -> Failure {
    Failure::usage("only a study has cells (--subtract); name the directory of a study")
}

/// Prints the report of a fill.
fn fill(args: &Args, form: OutputFormat) -> Result<ExitCode, Failure> {
    if !args.subtract.is_empty() {
        return Err(subtracts_no_study());
    }
    let costs = prices::costs(&args.prices, args.keep.clone())?;
    let fill = AnyFill::read(&args.directory)?;
    match (&args.html, &fill) {
        (None, _) => fill.print(&costs, form)?,
        (Some(file), AnyFill::OneHost(fill)) => {
            html_file::write_page(&report::html_fill(fill, &costs), &args.directory, file.as_deref())?;
        }
        (Some(_), AnyFill::Hosts(_)) => {
            return Err(Failure::usage(
                "--html: the report of a fill of several hosts is text or --json; charts are on its hosts, for each share",
            ));
        }
    }
    Ok(saved::fill::conclude(&fill.report(&costs)).into())
}

fn show(args: &Args) -> Result<ExitCode, Failure> {
    let form = args.print.or(args.json, args.full);
    let (here, page) = (args.directory.as_path(), args.html.as_ref());
    if AnyFill::is_in(here) {
        return fill(args, form);
    }
    if !args.prices.is_empty() {
        return Err(Failure::usage("only a fill has costs (--prices); name the directory of a fill"));
    }
    let set = RunSet::of(here)?;
    if matches!((set.kind, form), (SetKind::Study | SetKind::Line, OutputFormat::Ab | OutputFormat::Httpbench)) {
        return Err(Failure::usage(
            "--print ab and --print httpbench cannot show a study or a search; name the directory of a single run",
        ));
    }
    if !matches!(set.kind, SetKind::Study) && !args.subtract.is_empty() {
        return Err(subtracts_no_study());
    }
    let exit = match set.kind {
        SetKind::One => {
            let run = SavedRun::read(here).map_err(|error| saved::cannot_read(&error))?;
            match page {
                None => saved::print_run(&run, form)?,
                Some(file) => html_file::write_page(&report::html(&run), here, file.as_deref())?,
            }
            saved::conclude(&run)
        }
        SetKind::Repeats => {
            let runs = repeats::read(here).map_err(|error| saved::cannot_read(&error))?;
            match page {
                None => repeats::print_all(&runs, form)?,
                Some(file) => repeats::write_html(&runs, here, file.as_deref())?,
            }
            repeats::conclude_all(&runs)
        }
        SetKind::Study => {
            let (mut study, concluded) = study::read(here, &set.records)?;
            subtract(&mut study, &args.subtract)?;
            match page {
                None => study::print(&study, form, !args.subtract.is_empty())?,
                Some(file) => study::write_html(&study, here, file.as_deref())?,
            }
            concluded.conclude()
        }
        SetKind::Line => {
            let (line, last) = load_line::read_with_last_run(here)?;
            match page {
                None => load_line::print(&line, form)?,
                Some(file) => load_line::write_html(&line, last.as_ref(), here, file.as_deref())?,
            }
            load_line::conclude(&line)
        }
    };
    Ok(exit.into())
}
