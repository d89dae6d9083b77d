//! `plimsoll report`: the report of a saved run, a study or a search.

mod ci;

use super::{line, run};
use crate::execute::sets::{Kind, Set};
use crate::execute::{self, Print, html, repeats};
use crate::failure::Failure;
use report::SavedStudy;
use std::path::PathBuf;
use std::process::ExitCode;
use store::SavedRun;

/// The flags of `report`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Directory of a run, a repeated run, a search for the load line, or a study.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print as JSON.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Write an HTML file with charts, which opens offline [default: DIR/report.html].
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["json", "print"])]
    pub html: Option<Option<PathBuf>>,
    /// Output format: text, as ab, or as httpbench.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub print: Print,
    /// Of a study, show the difference of two cells in pairs, instead of each target's difference to the first one. A cell is
    /// given by its name, or by values like connection=sftp or target=mine,concurrency=8. The second is subtracted from the first.
    #[arg(long, num_args = 2, value_names = ["CELL", "CELL"])]
    pub subtract: Vec<String>,
    /// Write a JUnit file for CI, with a test case for each objective of a run, or one for a search.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// After the report, print GitHub annotations for missed objectives and unusable runs.
    #[arg(long, conflicts_with = "json")]
    pub annotations: bool,
}

/// Prints a report. Returns the exit code of the run, or the one that takes precedence among several.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let exit = show(args)?;
    ci::tell(&args.directory, args.junit.as_deref(), args.annotations)?;
    Ok(exit)
}

/// Replaces the differences of a study by the requested ones.
fn subtract(study: &mut SavedStudy, asked: &[String]) -> Result<(), Failure> {
    let mut found = Vec::new();
    for pair in asked.chunks_exact(2) {
        let differences = study.subtract(&pair[0], &pair[1]);
        found.extend(differences.map_err(|why| Failure::usage(format!("--subtract: {why}")))?);
    }
    if !asked.is_empty() {
        study.measured.differences = found;
    }
    Ok(())
}

fn show(args: &Args) -> Result<ExitCode, Failure> {
    let form = if args.json { Print::Json } else { args.print };
    let (here, page) = (args.directory.as_path(), args.html.as_ref());
    let set = Set::of(here)?;
    if matches!((set.kind, form), (Kind::Study | Kind::Line, Print::Ab | Print::Httpbench)) {
        return Err(Failure::usage("--print: ab and httpbench print a single run: name the directory of one"));
    }
    if !matches!(set.kind, Kind::Study) && !args.subtract.is_empty() {
        return Err(Failure::usage("--subtract: only a study has cells: name the directory of one"));
    }
    let exit = match set.kind {
        Kind::One => {
            let run = SavedRun::read(here).map_err(|error| execute::unread(&error))?;
            match page {
                None => execute::show(&run, form)?,
                Some(file) => html::write_beside(&report::html(&run), here, file.as_deref())?,
            }
            execute::judge(&run)
        }
        Kind::Repeats => {
            let runs = repeats::read(here).map_err(|error| execute::unread(&error))?;
            match page {
                None => repeats::show(&runs, form)?,
                Some(file) => repeats::write_html(&runs, here, file.as_deref())?,
            }
            repeats::judge(&runs)
        }
        Kind::Study => {
            let (mut study, exit) = run::saved::read(here, &set.records)?;
            subtract(&mut study, &args.subtract)?;
            match page {
                None => run::show(&study, form)?,
                Some(file) => run::write_html(&study, here, file.as_deref())?,
            }
            exit
        }
        Kind::Line => {
            let (line, last) = line::saved(here)?;
            match page {
                None => line::show(&line, form)?,
                Some(file) => line::write_html(&line, last.as_ref(), here, file.as_deref())?,
            }
            line::judge(&line)
        }
    };
    Ok(exit.into())
}
