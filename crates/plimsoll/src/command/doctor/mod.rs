//! `plimsoll doctor`: is this host fit to make load, and how much? Each finding comes with the command that mends it.

mod ceiling;
mod checks;

use crate::credentials::{self, Credentials, Surroundings};
use crate::failure::Failure;
use crate::say;
use std::fmt;
use std::process::ExitCode;

/// What is checked.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Leave out the measurements (about 5 s): only read the host's settings.
    #[arg(long)]
    pub quick: bool,
    /// Where keys for S3 would come from.
    #[command(flatten)]
    pub credentials: credentials::Args,
}

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// As it should be.
    Fine,
    /// Figures can suffer.
    Warning,
    /// Just to know.
    Fact,
    /// Could not be found out.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What.
    pub subject: &'static str,
    /// How it is.
    pub grade: Grade,
    /// What was found.
    pub found: String,
    /// The command or the deed that mends it.
    pub mend: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn fine(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Fine, found: found.into(), mend: None }
    }

    /// Just to know.
    pub fn fact(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Fact, found: found.into(), mend: None }
    }

    /// Not as it should be.
    pub fn warning(subject: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Warning, found: found.into(), mend: Some(mend.into()) }
    }

    /// Could not be found out.
    pub fn unknown(subject: &'static str, why: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Unknown, found: why.into(), mend: None }
    }

    /// Fine when `good`, else a warning.
    pub fn when(good: bool, subject: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        if good { Self::fine(subject, found) } else { Self::warning(subject, found, mend) }
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
        if let Some(mend) = &self.mend {
            write!(f, "\n     {:<20} mend: {mend}", "")?;
        }
        Ok(())
    }
}

/// Looks at everything and prints it as it is found.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut warnings = 0;
    let mut tell = |findings: Vec<Finding>| {
        for finding in findings {
            warnings += u32::from(finding.grade == Grade::Warning);
            say::out(&format!("{finding}\n"))?;
        }
        Ok::<_, Failure>(())
    };
    tell(checks::settings())?;
    tell(checks::processor())?;
    tell(vec![keys(&args.credentials)])?;
    if !args.quick {
        tell(checks::timers())?;
        say::note("measuring this client's ceiling against the embedded server, about 4 s …");
        tell(ceiling::measure()?)?;
    }
    say::out(&match warnings {
        0 => "\nThis host is fit to make load.\n".to_owned(),
        1 => "\n1 warning: figures can suffer from it; its mend stands below it.\n".to_owned(),
        count => format!("\n{count} warnings: figures can suffer from them; the mend stands below each.\n"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Where keys for S3 would come from; never what they are.
fn keys(args: &credentials::Args) -> Finding {
    const SUBJECT: &str = "S3 credentials";
    match Credentials::find(args, &Surroundings::new(&credentials::process_variable)) {
        Ok(Some(found)) => {
            let token = if found.keys.token().is_some() { ", temporary" } else { "" };
            let region = found
                .region
                .map_or_else(|| "no region".to_owned(), |region| format!("region {}", region.escape_debug()));
            let left = found.expires.map(|end| end.unix_seconds().saturating_sub(checks::unix_seconds()) / 60);
            let left = left.map(|minutes| format!(", good for {minutes} more minutes")).unwrap_or_default();
            Finding::fact(SUBJECT, format!("from {}{token}{left}; {region}", found.source))
        }
        Ok(None) => Finding::fact(SUBJECT, "none in the environment nor in ~/.aws"),
        Err(failure) => Finding::unknown(SUBJECT, failure.into_message()),
    }
}
