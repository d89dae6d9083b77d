//! `plimsoll doctor`: checks whether this host is fit to make load. Each warning comes with a fix.

mod ceiling;
mod checks;
mod path;

use crate::console;
use crate::credentials::{self, Credentials, Surroundings};
use crate::failure::Failure;
use crate::saved;
use std::fmt;
use std::process::ExitCode;

/// The flags of `doctor`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Check only the host's settings. Skips the measurements, which take about 5 s.
    #[arg(long)]
    pub quick: bool,
    /// Measure the path to this host instead: round trip, and the highest rates. `plimsoll serve` must run there.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "quick")]
    pub to: Option<String>,
    /// Source of the keys for S3.
    #[command(flatten)]
    pub credentials: credentials::Args,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// No action is needed.
    Fine,
    /// May distort results.
    Warning,
    /// Information only.
    Fact,
    /// Could not be checked.
    Unknown,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Subject of the check.
    pub subject: &'static str,
    /// Severity of the finding.
    pub grade: Grade,
    /// Result of the check, in words.
    pub found: String,
    /// A command or an action that fixes the problem.
    pub fix: Option<String>,
}

impl Finding {
    /// Returns a finding that needs no action.
    pub fn fine(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Fine, found: found.into(), fix: None }
    }

    /// Returns a finding for information only.
    pub fn fact(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Fact, found: found.into(), fix: None }
    }

    /// Returns a finding that may distort results.
    pub fn warning(subject: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Warning, found: found.into(), fix: Some(fix.into()) }
    }

    /// Returns a finding for a check that could not be done.
    pub fn unknown(subject: &'static str, why: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Unknown, found: why.into(), fix: None }
    }

    /// Returns a finding that needs no action if `good` is true, and otherwise a warning.
    pub fn when(good: bool, subject: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        if good { Self::fine(subject, found) } else { Self::warning(subject, found, fix) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.grade {
            Grade::Fine => "ok  ",
            Grade::Warning => "WARN",
            Grade::Fact => "    ",
            Grade::Unknown => "?   ",
        };
        write!(f, "{mark} {:<20} {}", self.subject, self.found)?;
        if let Some(fix) = &self.fix {
            write!(f, "\n     {:<20} fix: {fix}", "")?;
        }
        Ok(())
    }
}

/// Runs all checks and prints each finding.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(target) = &args.to {
        console::eprintln("measuring the path, about 16 s …");
        let found = path::measure(target)?;
        console::print(&found.iter().map(|finding| format!("{finding}\n")).collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut warnings = 0;
    let mut print = |findings: Vec<Finding>| {
        for finding in findings {
            warnings += u32::from(finding.grade == Grade::Warning);
            console::print(&format!("{finding}\n"))?;
        }
        Ok::<_, Failure>(())
    };
    print(checks::settings())?;
    print(checks::processor())?;
    print(vec![keys(&args.credentials)])?;
    if !args.quick {
        print(checks::timers())?;
        console::eprintln("measuring the ceiling of this client against the embedded server, about 4 s …");
        print(ceiling::measure()?)?;
    }
    console::print(&match warnings {
        0 => "\nThis host is fit to make load.\n".to_owned(),
        1 => "\n1 warning: it may distort results; see the fix below it.\n".to_owned(),
        count => format!("\n{count} warnings: they may distort results; see the fix below each.\n"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a finding with the source of the keys for S3, without the keys.
fn keys(args: &credentials::Args) -> Finding {
    const SUBJECT: &str = "S3 credentials";
    match Credentials::find(args, &Surroundings::new(&credentials::process_variable)) {
        Ok(Some(found)) => {
            let token = if found.keys.token().is_some() { ", temporary" } else { "" };
            let region = found
                .region
                .map_or_else(|| "no region".to_owned(), |region| format!("region {}", region.escape_debug()));
            let left = found.expires.map(|end| end.unix_seconds().saturating_sub(saved::unix_ms() / 1000) / 60);
            let left = left.map(|minutes| format!(", valid for {minutes} more minutes")).unwrap_or_default();
            Finding::fact(SUBJECT, format!("from {}{token}{left}; {region}", found.source))
        }
        Ok(None) => Finding::fact(SUBJECT, "none in the environment or in ~/.aws"),
        Err(failure) => Finding::unknown(SUBJECT, failure.into_message()),
    }
}
