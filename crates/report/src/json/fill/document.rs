//! A fill as JSON.

use super::hosts::JsonFillFleet;
use super::ledger::{JsonLedger, json_ledger};
use crate::fill::{Costs, Pace, end_text, result, sent_again};
use crate::result::ResultName;
use cost::Money;
use cost::bill::Offer;
use measure::ResultWord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::SavedFill;
use store::journal::{EventKind, Session, Totals};

/// Version of the format.
pub(super) const FORMAT: u32 = 1;

/// A fill: uploads that may take weeks, in several sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFill {
    /// Version of this format.
    pub format: u32,
    /// Result of the fill: `pass`, `fail` or `partial`.
    #[serde(with = "ResultName")]
    pub result: ResultWord,
    /// Reasons for the result. Empty if the result is `pass`.
    pub reasons: Vec<String>,
    /// URL of the target, without credentials.
    pub target: String,
    /// Number of objects of the fill.
    pub objects: u64,
    /// Bytes of all objects.
    pub object_bytes: u64,
    /// Number of objects that the target has confirmed.
    pub stored: u64,
    /// Bytes of these objects.
    pub stored_bytes: u64,
    /// Number of stored objects that were found at the target after an interruption.
    pub found_on_resume: u64,
    /// Number of attempts of all uploads.
    pub attempts: u64,
    /// Bytes of content that all attempts sent.
    pub sent_bytes: u64,
    /// Bytes of content that were sent more than once.
    pub sent_again_bytes: u64,
    /// Number of objects that could not be uploaded.
    pub failed: u64,
    /// Uploads that failed in all attempts, by class and cause.
    pub failures: Vec<JsonFillFailure>,
    /// Results of reading objects back; null if none was read back.
    pub verified: Option<JsonVerified>,
    /// Number of objects that were deleted.
    pub deleted: u64,
    /// Number of objects that could not be deleted.
    #[serde(default)]
    pub not_deleted: u64,
    /// Time for which sessions ran, in seconds.
    pub active_seconds: f64,
    /// Time from the start of a session to its last stored object, summed over all sessions, in seconds.
    pub uploading_seconds: f64,
    /// Time from the first start to the last record, in seconds.
    pub wall_seconds: f64,
    /// Bytes of stored objects per second of uploading; null before any time has passed.
    pub uploading_bytes_per_second: Option<f64>,
    /// Bytes of stored objects per second from the first start to the last stored object; null before any time has
    /// passed.
    pub wall_bytes_per_second: Option<f64>,
    /// Costs of uploading and keeping the objects, for each price sheet of the user.
    pub costs: Vec<JsonFillCost>,
    /// The target's own ledger; null if the target has none.
    #[serde(default)]
    pub ledger: Option<JsonLedger>,
    /// All sessions, in order of time. Empty for a fill of several hosts, whose agents have sessions of their own.
    pub sessions: Vec<JsonSession>,
    /// Notable events, in order of time.
    pub events: Vec<JsonFillEvent>,
    /// The agents of a fill of several hosts; null for a fill of one host. The counts and bytes of such a fill are sums
    /// over its agents, and the times are those of the agent with the longest time.
    #[serde(default)]
    pub fleet: Option<Box<JsonFillFleet>>,
}

/// Uploads that failed in all attempts for one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFillFailure {
    /// Class of the last attempt.
    pub class: String,
    /// Cause of the last attempt.
    pub cause: String,
    /// Number of uploads.
    pub uploads: u64,
}

/// Costs by one price sheet. Amounts are decimal numbers, rounded to six decimals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFillCost {
    /// Name of the price sheet.
    pub sheet: String,
    /// Currency of the amounts.
    pub currency: String,
    /// Amounts by component: storage, upload, requests, fees. An amount is null if the sheet has no price for it.
    pub components: BTreeMap<String, Option<String>>,
    /// Sum of the known amounts.
    pub sum: String,
    /// `true` if the sum lacks a component without a price.
    pub is_incomplete: bool,
    /// Sum per TB and month; null if the sum is incomplete or nothing is stored.
    pub per_tb_month: Option<String>,
}

/// Results of reading objects back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonVerified {
    /// Number of objects with the right content.
    pub good: u64,
    /// Number of objects that do not exist.
    pub missing: u64,
    /// Number of objects with wrong content.
    pub damaged: u64,
    /// Number of objects whose file has changed since the upload.
    pub changed_source: u64,
    /// Number of objects that could not be read, because the target refused it or all attempts failed.
    #[serde(default)]
    pub unknown: u64,
}

/// A session of the fill, which is one start of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonSession {
    /// Number of the session, from 1.
    pub number: u32,
    /// Wall time of its start, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Time for which the session ran, in seconds.
    pub active_seconds: f64,
    /// Number of objects that it stored.
    pub stored: u64,
    /// Bytes of these objects.
    pub stored_bytes: u64,
    /// Reason for the end of the session, as text. If no end was recorded, the session was killed or still runs.
    pub end: String,
}

/// A notable event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFillEvent {
    /// Wall time, in milliseconds since 1970.
    pub unix_ms: u64,
    /// `rules` if the stop rules changed; `other` for other events.
    pub kind: String,
    /// Description.
    pub text: String,
}

/// Returns a fill as JSON.
#[must_use]
pub fn json_fill(fill: &SavedFill, prices: &Costs) -> JsonFill {
    let (state, totals, pace, result) = (&fill.state, &fill.state.totals, Pace::of(fill), result(fill));
    let failure = |((class, cause), uploads): (&(String, String), &u64)| JsonFillFailure {
        class: class.clone(),
        cause: cause.clone(),
        uploads: *uploads,
    };
    let verified = &state.verified;
    let verified = (!verified.is_empty()).then(|| JsonVerified {
        good: verified.good.len(),
        missing: verified.missing.len(),
        damaged: verified.damaged.len(),
        changed_source: verified.changed_source.len(),
        unknown: verified.unknown.len(),
    });
    let event = |event: &store::journal::Event| JsonFillEvent {
        unix_ms: event.unix_ms,
        kind: if event.kind == EventKind::RuleChanged { "rules" } else { "other" }.to_owned(),
        text: event.text.clone(),
    };
    JsonFill {
        format: FORMAT,
        result: result.word,
        reasons: result.reasons,
        target: fill.identity.target.clone(),
        objects: fill.identity.objects,
        object_bytes: fill.identity.object_bytes,
        stored: totals.objects,
        stored_bytes: totals.file_bytes,
        found_on_resume: totals.found_on_resume,
        attempts: totals.attempts,
        sent_bytes: totals.sent_bytes,
        sent_again_bytes: sent_again(fill),
        failed: state.failed.len(),
        failures: state.failures.iter().map(failure).collect(),
        verified,
        deleted: state.deleted.len(),
        not_deleted: state.not_deleted.len(),
        active_seconds: pace.active.as_secs_f64(),
        uploading_seconds: pace.uploading.as_secs_f64(),
        wall_seconds: pace.wall.as_secs_f64(),
        uploading_bytes_per_second: pace.uploading_bytes_per_second,
        wall_bytes_per_second: pace.wall_bytes_per_second,
        costs: json_costs(totals, prices),
        ledger: json_ledger(fill, prices),
        sessions: state.sessions.iter().map(session).collect(),
        events: state.events.iter().map(event).collect(),
        fleet: None,
    }
}

/// Returns the costs of a fill with these totals.
pub(super) fn json_costs(totals: &Totals, prices: &Costs) -> Vec<JsonFillCost> {
    prices.of(totals).iter().map(cost).collect()
}

/// Returns the JSON Schema of a fill.
#[must_use]
pub fn fill_schema() -> serde_json::Value {
    schemars::schema_for!(JsonFill).to_value()
}

fn session(session: &Session) -> JsonSession {
    JsonSession {
        number: session.number,
        started_unix_ms: session.started_unix_ms,
        active_seconds: session.active.get().as_secs_f64(),
        stored: session.totals.objects,
        stored_bytes: session.totals.file_bytes,
        end: end_text(session.end.as_ref()),
    }
}

fn cost(offer: &Offer) -> JsonFillCost {
    let amount = |money: &Money| money.amount.to_decimal(6);
    let components = offer.bill.charges.keys();
    let components = components.map(|it| (it.name().to_owned(), offer.bill.amount(*it).as_ref().map(amount)));
    let total = offer.bill.total();
    JsonFillCost {
        sheet: offer.bill.name.clone(),
        currency: offer.bill.currency.to_string(),
        components: components.collect(),
        sum: amount(&total.money),
        is_incomplete: !total.without.is_empty(),
        per_tb_month: offer.per_tb_month.as_ref().map(amount),
    }
}
