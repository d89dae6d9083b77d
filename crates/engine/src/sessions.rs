//! Opening of sessions before a run. All slots share one session, or each slot has its own session.
//!
//! Ordinary runs make the logins, like the requests of [`crate::object_sizes`]. Many servers limit logins. Logins that
//! are refused because of a limit are repeated at a lower rate, which most servers allow.

use crate::control::{Control, StopReason};
use crate::plan::{
    Auth, Choice, Follow, LoadModel, Mix, Opening, Plan, RequestPlan, ResponseBody, ResumedUploads, Shared, StopAfter,
    Targets,
};
use crate::run::{Observer, RunError, run};
use crate::run_loop::OpEntry;
use crate::schedule::{Profile, Spacing};
use measure::{AttemptClass, AttemptOutcome, Instant, Interval};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::url::Url;

/// Maximum number of logins in flight.
const CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).unwrap();
/// Number of logins per second after the server has refused a login because of a limit.
const RATE: f64 = 10.0;
/// Maximum number of characters of a server's message that are shown.
const REASON_CHARACTERS_MAX: usize = 200;
/// Maximum number of consecutive rounds of logins that open no session. The client then gives up.
const VAIN_ROUNDS_MAX: u32 = 2;

/// Reason why sessions could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The requests could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The URL is not valid.
    #[error("cannot open a session at {0}: it is not a URL")]
    NoUrl(String),
    /// The server refused the login.
    #[error("cannot open a session at {url}: {why}", why = describe(*status, outcome, reason.as_deref()))]
    Refused {
        /// URL of the login.
        url: String,
        /// Status of the response.
        status: Option<u16>,
        /// Outcome of the request.
        outcome: AttemptOutcome,
        /// First 200 characters of the server's message, without secret values. This text is not trusted.
        reason: Option<String>,
    },
    /// The response was good, but contained no session.
    #[error("{0} responded without a session: check that it is the expected system")]
    NoToken(String),
    /// The server limits logins, and refused some logins.
    #[error("{url} accepted only {opened} of {wanted} logins: wait, or use fewer sessions")]
    Limited {
        /// URL of the login.
        url: String,
        /// Number of sessions that were opened.
        opened: u64,
        /// Number of sessions that the plan needs.
        wanted: u64,
    },
    /// The user interrupted the logins.
    #[error("interrupted while sessions were opened")]
    Interrupted,
}

fn describe(status: Option<u16>, outcome: &AttemptOutcome, reason: Option<&str>) -> String {
    match (status, reason) {
        (Some(status), Some(reason)) => format!("status {status}, `{reason}`"),
        (Some(status), None) => format!("status {status}"),
        (None, _) => outcome.cause.about().to_owned(),
    }
}

/// Status, outcome and message of a login that failed.
type FailedLogin = (Option<u16>, AttemptOutcome, Option<Box<[u8]>>);

/// Collector of the sessions in responses.
struct Logins<'a> {
    read: fn(&[u8]) -> Option<String>,
    lines: Vec<Box<str>>,
    failed: Option<FailedLogin>,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

impl Observer for Logins<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops {
            let line = op.message.as_deref().filter(|_| op.outcome == AttemptOutcome::OK).and_then(self.read);
            match line {
                Some(line) => self.lines.push(line.into()),
                None if op.outcome.class == AttemptClass::Throttled => {}
                None => self.failed = Some((op.status, op.outcome, op.message.clone())),
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.lines.len() as u64, control, now);
    }
}

/// Opens the sessions of a plan, unless they are already open. `tick` is called about every 50 ms with the number of
/// sessions opened so far.
///
/// # Errors
/// Fails if a session cannot be opened.
pub fn open_sessions(plan: &mut Plan, tick: &mut dyn FnMut(u64, &Control, Instant)) -> Result<(), SessionError> {
    let Auth::Session(sessions) = &plan.auth else { return Ok(()) };
    if !sessions.lines.is_empty() {
        return Ok(());
    }
    let wanted = match sessions.shared {
        Shared::One => 1,
        Shared::PerSlot(slots) => slots.get(),
    };
    let (url, targets) = at(plan, &sessions.opening.target)?;
    let request = RequestPlan { response_body: ResponseBody::Kept, ..sessions.opening.request.clone() };
    let mut logins = Logins { read: sessions.opening.read, lines: Vec::new(), failed: None, tick };
    let (mut rounds, mut in_vain) = (0, 0);
    while let Some(missing) = NonZeroU64::new(wanted.saturating_sub(logins.lines.len() as u64)) {
        let before = logins.lines.len();
        let control = Control::new(None);
        run(&round(plan, &targets, &request, missing, rounds), &control, &mut logins)?;
        if control.reason() == Some(StopReason::Interrupted) {
            return Err(SessionError::Interrupted);
        }
        match logins.failed.take() {
            Some((_, AttemptOutcome::OK, _)) => return Err(SessionError::NoToken(url)),
            Some((status, outcome, message)) => {
                let reason = message.and_then(|message| shown(&sessions.opening, &message));
                return Err(SessionError::Refused { url, status, outcome, reason });
            }
            None => {}
        }
        rounds += 1;
        in_vain = if logins.lines.len() > before { 0 } else { in_vain + 1 };
        if in_vain >= VAIN_ROUNDS_MAX {
            return Err(SessionError::Limited { url, opened: logins.lines.len() as u64, wanted });
        }
    }
    let lines = logins.lines.into();
    if let Auth::Session(sessions) = &mut plan.auth {
        sessions.lines = lines;
    }
    Ok(())
}

/// Returns the message of a refusal. The length of the message is limited, and secrets are removed.
fn shown(opening: &Opening, message: &[u8]) -> Option<String> {
    let mut reason = (opening.reason)(message)?;
    // Values shorter than 4 bytes are not secrets. Hiding such values would remove much of every message.
    for value in opening.hidden.iter().filter(|value| value.len() >= 4) {
        reason = reason.replace(value.as_ref(), "***");
    }
    Some(reason.chars().take(REASON_CHARACTERS_MAX).collect())
}

/// Returns the URL of the login, and targets that contain only this URL. All sessions are opened at the first server of
/// the plan.
fn at(plan: &Plan, target: &str) -> Result<(String, Arc<Targets>), SessionError> {
    let origin = plan.targets.origins().first();
    let text = origin.map(|origin| format!("{}://{}{target}", origin.scheme, origin.host_header())).unwrap_or_default();
    let mut targets = Targets::default();
    match text.parse::<Url>() {
        Ok(url) if targets.push(&url) => Ok((text, Arc::new(targets))),
        _ => Err(SessionError::NoUrl(text)),
    }
}

/// Returns the plan of a round of logins. The first round is as fast as the server allows. Later rounds have a fixed
/// rate.
fn round(plan: &Plan, targets: &Arc<Targets>, request: &RequestPlan, missing: NonZeroU64, number: u32) -> Plan {
    let in_flight = missing.min(CONCURRENCY);
    let load = match Profile::constant(RATE) {
        Ok(rate) if number > 0 => LoadModel::Open { rate, spacing: Spacing::Constant, in_flight_max: in_flight },
        _ => LoadModel::Closed { slots: Profile::slots(in_flight), think: Duration::ZERO },
    };
    Plan {
        targets: Arc::clone(targets),
        choice: Choice::RoundRobin,
        mix: Mix::one(request.clone()),
        auth: Auth::None,
        load,
        stop: StopAfter { ops: Some(missing), ..StopAfter::default() },
        warmup: Duration::ZERO,
        follow: Follow::Never,
        retry: None,
        resumed_uploads: ResumedUploads::default(),
        group_by: None,
        log_ops: true,
        slices: None,
        nic_speed: None,
        ..plan.clone()
    }
}
