//! `plimsoll report`: the report of a saved run, at any time.

mod ci;

use super::{line, run};
use crate::execute::{self, Print, html, repeats};
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::ExitCode;
use store::{STUDY_FILE, SavedRun, StoreErrorKind, StudyRecord};

/// Which run, and how.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The run directory, or that of a repeated run, of a search for the load line, or of a study.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print as JSON.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Write an HTML file with charts, which opens offline [default: DIR/report.html].
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["json", "print"])]
    pub html: Option<Option<PathBuf>>,
    /// Print as text, or as ab or httpbench would.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub print: Print,
    /// Write a JUnit file for CI: a test case for each objective of each run, one for a search.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print GitHub's annotations of objectives that are not met, and of runs that can not be used, behind the report.
    #[arg(long, conflicts_with = "json")]
    pub annotations: bool,
}

/// Prints it. The exit code is that of the run, or the gravest of several.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let exit = show(args)?;
    ci::tell(&args.directory, args.junit.as_deref(), args.annotations)?;
    Ok(exit)
}

fn show(args: &Args) -> Result<ExitCode, Failure> {
    let form = if args.json { Print::Json } else { args.print };
    match SavedRun::read(&args.directory) {
        Ok(saved) => {
            match &args.html {
                None => execute::show(&saved, form)?,
                Some(file) => html::write_beside(&report::html(&saved), &args.directory, file.as_deref())?,
            }
            Ok(execute::judge(&saved).into())
        }
        Err(error) if matches!(error.kind, StoreErrorKind::NotARun) && repeats::is_one(&args.directory) => {
            let runs = repeats::read(&args.directory).map_err(|error| execute::unread(&error))?;
            match &args.html {
                None => repeats::show(&runs, form)?,
                Some(file) => repeats::write_html(&runs, &args.directory, file.as_deref())?,
            }
            Ok(repeats::judge(&runs).into())
        }
        Err(error) if matches!(error.kind, StoreErrorKind::NotARun) && args.directory.join(STUDY_FILE).is_file() => {
            let records = store::read_study(&args.directory).map_err(|error| execute::unread(&error))?;
            if matches!(form, Print::Ab | Print::Httpbench) {
                return Err(Failure::usage("--print: ab and httpbench print one run: name the directory of one"));
            }
            let here = args.directory.as_path();
            let exit = match (records.first(), &args.html) {
                (Some(StudyRecord::Scenario { .. }), None) => run::show(here, &records, form),
                (Some(StudyRecord::Scenario { .. }), Some(file)) => run::write_html(here, &records, file.as_deref()),
                (_, None) => line::show(here, &records, form),
                (_, Some(file)) => line::write_html(here, &records, file.as_deref()),
            };
            exit.map(Into::into)
        }
        Err(error) => Err(execute::unread(&error)),
    }
}
