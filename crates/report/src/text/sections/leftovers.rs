//! The sections about leftovers on the target: damaged objects that the run found, and open multipart uploads.

use crate::escape::escape;
use crate::number::{count, plural};
use crate::text::page::Page;
use measure::Enumerated;
use store::{DAMAGED_FILE, DAMAGED_LISTED_MAX, Damaged, DamagedObject, SavedRun, Uploads};

pub fn write(page: &mut Page, run: &SavedRun) {
    let Some(end) = &run.end else { return };
    if let Some(damaged) = &end.damaged {
        write_damaged(page, damaged);
    }
    if let Some(uploads) = &end.uploads {
        page.heading("Multipart uploads");
        page.item("open at the end", &uploads_line(uploads));
    }
}

fn write_damaged(page: &mut Page, damaged: &Damaged) {
    page.heading("Damaged objects");
    for object in &damaged.first {
        page.item("", &damage_line(object));
    }
    let more = damaged.listed.saturating_sub(damaged.first.len() as u64);
    let mut rest = format!("{} in all, found by {}", count(damaged.listed), plural(damaged.operations, "operation"));
    if more > 0 {
        rest += &format!("; {} more in {DAMAGED_FILE} of the run directory", count(more));
    }
    if damaged.beyond > 0 {
        let limit = count(DAMAGED_LISTED_MAX as u64);
        rest += &format!(
            "; further damage is not listed, because the file holds at most {limit} entries ({} more operations found some)",
            count(damaged.beyond)
        );
    }
    page.item("", &rest);
}

/// Formats one damage for people.
fn damage_line(object: &DamagedObject) -> String {
    let mut pieces = vec![escape(&object.object)];
    pieces.extend(object.offset.map(|offset| format!("offset {}", count(offset))));
    pieces.push(object.cause.name().to_owned());
    pieces.extend(object.status.map(|status| format!("status {status}")));
    pieces.join(" · ")
}

/// Formats the outcome of the multipart uploads that were open at the end of a run, for people.
#[must_use]
pub fn uploads_line(uploads: &Uploads) -> String {
    let Uploads { aborted, left, unknown } = *uploads;
    let mut line = format!("{} aborted", plural(aborted, "open multipart upload"));
    if left > 0 {
        line += &format!(", {} could not be aborted", count(left));
    }
    if unknown > 0 {
        line += &format!(", {} more may be open (the server did not return their ID)", count(unknown));
    }
    line
}
