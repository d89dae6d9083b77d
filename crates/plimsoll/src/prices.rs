//! Price sheets that the user names: the name of a sheet that comes with Plimsoll, or a file.

use crate::failure::Failure;
use crate::input_file;
use cost::price_sheet::{SHIPPED, shipped};
use cost::{Months, PriceSheet};
use report::escape::escape;
use report::fill::Costs;
use std::path::Path;

/// Maximum size of a price sheet in bytes.
const BYTES_MAX: u64 = 64 << 10;

/// Default storage period that the costs include.
pub const KEEP: &str = "1 month";

/// Reads the price sheets for the costs of a fill. `keep` is the storage period that the costs include.
pub fn costs(names: &[String], keep: Months) -> Result<Costs, Failure> {
    let sheets = names.iter().map(|name| read(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(Costs { sheets, keep })
}

/// Reads a price sheet: one that comes with Plimsoll, such as `s3-standard`, or a YAML file.
fn read(name: &str) -> Result<PriceSheet, Failure> {
    let text = match shipped(name) {
        Some(text) => text.to_owned(),
        None => from_file(Path::new(name))?,
    };
    PriceSheet::parse(&text).map_err(|mistakes| {
        let shown = mistakes.iter().take(3).map(|mistake| format!("{name}:{}: {}", mistake.at, mistake.message));
        let more = mistakes.len().saturating_sub(3);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Failure::usage(format!("{}{more}", shown.collect::<Vec<_>>().join("; ")))
    })
}

fn from_file(path: &Path) -> Result<String, Failure> {
    let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let hint = format!("name a file, or a sheet that comes with Plimsoll: {}", names.join(", "));
    let bytes = input_file::read_whole(path, BYTES_MAX, "a price sheet").map_err(|failure| failure.and(&hint))?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is not UTF-8 text", escape(&path.display().to_string()))))
}
