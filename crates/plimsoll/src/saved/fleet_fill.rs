//! The report of a fill of several hosts, as the coordinator saves it. The journals of the fill are on the hosts, so this
//! file is only a copy for reading. The next session writes it again.

use super::{OutputFormat, print_json, print_text, text_style};
use crate::failure::Failure;
use report::JsonFill;
use report::fill::Costs;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Name of the file in the directory of the fill.
const FILE: &str = "fleet-fill.json";
/// Maximum size of the file in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// Returns whether a directory contains the report of a fill of several hosts.
pub fn is_in(directory: &Path) -> bool {
    directory.join(FILE).is_file()
}

/// Saves the report. After a crash, the file has either its complete old or its complete new content.
pub fn save(directory: &Path, fill: &JsonFill) -> Result<(), Failure> {
    let cannot_save = |error: std::io::Error| {
        Failure::could_not_run(format!("the report cannot be saved in {}: {error}", directory.display()))
    };
    let json = serde_json::to_vec(fill).map_err(Failure::could_not_run)?;
    let replace = || -> std::io::Result<()> {
        fs::create_dir_all(directory)?;
        let new = directory.join(format!("{FILE}.new"));
        let mut file = fs::File::create(&new)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(&new, directory.join(FILE))
    };
    replace().map_err(cannot_save)
}

/// Reads the report in a directory.
pub fn read(directory: &Path) -> Result<JsonFill, Failure> {
    let path = directory.join(FILE);
    let bytes = crate::input_file::read_whole(&path, BYTES_MAX, "the report of a fill")?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::usage(format!("{} is not the report of a fill: {error}", path.display())))
}

/// Prints the report.
pub fn print(fill: &JsonFill, costs: &Costs, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => print_json(serde_json::to_string_pretty(fill)),
        OutputFormat::None => Ok(()),
        OutputFormat::Text | OutputFormat::Full => print_text(&report::fleet_fill_text(fill, costs, &text_style())),
        OutputFormat::Ab | OutputFormat::Httpbench => Err(Failure::usage(
            "--print ab and --print httpbench cannot show a fill; the runs of its sessions are on its hosts",
        )),
    }
}
