//! A table of all operations of a run with `--log-ops`.

use super::column::{Column, count, number, text};
use super::ms;
use measure::{AttemptClass, Enumerated, Instant};
use store::{OpRecord, SavedRun};

/// Returns whether the intended start of an operation is in the measured window of a run.
#[must_use]
pub fn is_measured(run: &SavedRun, op: &OpRecord) -> bool {
    run.summary().window.is_some_and(|(start, end)| start <= op.intended && op.intended < end)
}

/// An operation, with a mark if it belongs to the measured window.
pub struct Row {
    op: OpRecord,
    measured: bool,
}

impl Row {
    /// Returns the row of an operation of `run`.
    #[must_use]
    pub fn of(run: &SavedRun, op: OpRecord) -> Self {
        Self { measured: is_measured(run, &op), op }
    }

    /// Returns the time between two instants of a successful operation, in milliseconds.
    fn span_ms(&self, from: Option<Instant>, to: Option<Instant>) -> Option<f64> {
        let succeeded = self.op.class == AttemptClass::Ok;
        ms(to?.as_nanos().checked_sub(from?.as_nanos())).filter(|_| succeeded)
    }
}

/// The columns. Columns that come from the operation log have the same names and units as in the log. Columns in
/// milliseconds are computed from them, and are empty unless the operation succeeded. `measured` is 1 for operations of
/// the window and 0 for operations of the warm-up.
pub const COLUMNS: &[Column<Row>] = &[
    count("op", |row| Some(row.op.op)),
    count("measured", |row| Some(u64::from(row.measured))),
    text("kind", |row| Some(row.op.kind.name().to_owned())),
    count("url", |row| Some(row.op.url)),
    count("slot", |row| Some(u64::from(row.op.slot))),
    count("intended_nanos", |row| Some(row.op.intended.as_nanos())),
    count("started_nanos", |row| Some(row.op.started.as_nanos())),
    count("sent_nanos", |row| row.op.sent.map(Instant::as_nanos)),
    count("first_byte_nanos", |row| row.op.first_byte.map(Instant::as_nanos)),
    count("end_nanos", |row| Some(row.op.end.as_nanos())),
    number("response_ms", |row| row.span_ms(Some(row.op.intended), Some(row.op.end))),
    number("service_ms", |row| row.span_ms(row.op.sent, Some(row.op.end))),
    number("ttfb_ms", |row| row.span_ms(row.op.sent, row.op.first_byte)),
    number("connect_ms", |row| ms(row.op.connect_nanos)),
    number("handshake_ms", |row| ms(row.op.handshake_nanos)),
    count("status", |row| row.op.status.map(u64::from)),
    text("class", |row| Some(row.op.class.name().to_owned())),
    text("cause", |row| Some(row.op.cause.name().to_owned())),
    count("attempts", |row| Some(u64::from(row.op.attempts))),
    count("body_bytes", |row| Some(row.op.body_bytes)),
    count("received_bytes", |row| Some(row.op.bytes)),
    count("range_first_byte", |row| row.op.range.map(|range| range.first)),
    count("range_last_byte", |row| row.op.range.map(|range| range.last)),
    text("hops", |row| hops(&row.op)),
];

/// Returns the hosts to which an operation was redirected, in order.
fn hops(op: &OpRecord) -> Option<String> {
    let hosts: Vec<&str> = op.hops.iter().map(|hop| hop.host.as_str()).collect();
    (!hosts.is_empty()).then(|| hosts.join(" "))
}
