//! The flags of `fill`.

use crate::command::put;
use crate::failure::Failure;
use crate::saved::OutputFormat;
use cost::{Cap, Months};
use fill::stop_rule::StopRule;

/// The flags of `fill`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
#[command(mut_args(adapt))]
pub struct Args {
    /// The target, the dataset and the requests.
    #[command(flatten)]
    pub put: put::Args,
    /// Stop the fill once this holds, e.g. 'trailing 24h bandwidth < 50Mbit/s', 'time >= 14d', 'bytes >= 10TB',
    /// 'files >= 50000' or 'gone > 1h'.
    #[arg(long, value_name = "RULE", help_heading = "Fill")]
    pub stop_when: Vec<StopRule>,
    /// Prices for the estimate and the report: s3-standard, sia-2018, or files, separated by commas.
    #[arg(long, value_name = "SHEETS", value_delimiter = ',', help_heading = "Fill")]
    pub prices: Vec<String>,
    /// Time for which the stored objects are kept, for their price, e.g. '3 months' [default: 1 month].
    #[arg(long, value_name = "TIME", default_value = "1 month", hide_default_value = true, help_heading = "Fill")]
    pub keep: Months,
    /// Start no further upload once the spending reaches this amount, e.g. 20USD. Needs --prices; the first sheet counts.
    #[arg(long, value_name = "MONEY", help_heading = "Fill")]
    pub cap: Option<Cap>,
    /// Print the plan and the estimated costs, and send nothing.
    #[arg(long, help_heading = "Fill")]
    pub dry_run: bool,
    /// Read back every stored object and compare every byte, after the uploads.
    #[arg(long, help_heading = "Fill")]
    pub verify: bool,
    /// Delete every stored object, after --verify if both are given.
    #[arg(long, help_heading = "Fill")]
    pub delete: bool,
    /// Upload nothing: only --verify or --delete what earlier starts of this fill have stored.
    #[arg(long, help_heading = "Fill")]
    pub no_upload: bool,
}

/// Adapts a flag of `put` to fills: flags without effect are hidden, since they are refused, and rare ones are shown in
/// the full help text only.
fn adapt(flag: clap::Arg) -> clap::Arg {
    match flag.get_id().as_str() {
        "requests" | "duration" | "bytes" | "ops_per_slot" | "rate" | "poisson" | "in_flight_max" | "stages"
        | "ramp" | "warmup" | "probe" | "repeat" | "print" | "objective" | "success" | "abort_when" | "from" => {
            flag.hide(true)
        }
        "chunked" | "expect_continue" | "no_follow" | "expect_status" | "cookies" | "method" => {
            flag.hide_short_help(true)
        }
        "concurrency" => flag.help("Objects in flight [default: 10]"),
        "out" => flag.help("Directory of the fill, with its journal [default: fills/TARGET]"),
        _ => flag,
    }
}

const AFTER: &str = "Every object is uploaded once, and failed requests are retried. The directory of the fill (--out, by default \
    fills/TARGET) has a journal: the same command resumes after a crash, a kill or an interrupt, and uploads nothing \
    twice that the target has already confirmed. `plimsoll report DIR` shows the fill at any time. --help-all prints \
    every flag.";

impl Args {
    /// Refuses flags that have no effect in a fill.
    pub fn check(&self) -> Result<(), Failure> {
        let (load, checks, output) = (&self.put.common.load, &self.put.common.checks, &self.put.common.output);
        let rules = "a fill uploads every object once: use --stop-when, for example 'time >= 8h' or 'bytes >= 10TB'";
        let limits = [
            ("-d", load.duration.is_some()),
            ("-n", load.requests.is_some()),
            ("--bytes", load.bytes.is_some()),
            ("--ops-per-slot", load.ops_per_slot.is_some()),
        ];
        let measured = "a fill is no measurement at a set load: leave it out, or use `plimsoll put`";
        let measurement = [
            ("-R", load.rate.is_some()),
            ("--stages", !load.stages.is_empty()),
            ("--ramp", load.ramp.is_some()),
            ("--warmup", !load.warmup.is_zero()),
            ("--probe", load.probe.is_some()),
            ("--repeat", output.repeat.get() > 1),
            ("--objective", !checks.objective.is_empty()),
            ("--success", checks.success.is_some()),
            ("--abort-when", !checks.abort_when.is_empty()),
        ];
        for (flags, why) in [(limits.as_slice(), rules), (measurement.as_slice(), measured)] {
            if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
                return Err(Failure::usage(format!("{flag}: {why}")));
            }
        }
        if matches!(output.print, OutputFormat::Ab | OutputFormat::Httpbench) {
            return Err(Failure::usage("--print: the report of a fill is text or --json: leave it out"));
        }
        if self.no_upload && !self.verify && !self.delete {
            return Err(Failure::usage("--no-upload: nothing is left to do: add --verify or --delete"));
        }
        Ok(())
    }
}
