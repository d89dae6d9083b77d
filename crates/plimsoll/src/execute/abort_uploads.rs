//! Aborts the multipart uploads that a run leaves open. Otherwise, their parts would use space on the server, and users
//! may not notice this.

use crate::console;
use engine::plan::{Checks, Plan, RequestPlan, Then};
use engine::single_requests::{RequestOutcome, aborting, try_each};
use engine::{OpenUpload, OpenUploads};
use measure::OpKind;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};
use store::Uploads;

/// Maximum time for aborting all uploads.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum time after the user has interrupted twice, which means that the user wants to stop at once.
const HURRIED_LIMIT: Duration = Duration::from_secs(2);
/// Time that the server must report an upload as unknown before the client counts the upload as gone. While a server
/// completes an upload, the server may report the upload as unknown, and list the upload again later.
const SETTLED: Duration = Duration::from_secs(1);
/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(250);
/// Number of concurrent requests.
const CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).unwrap();

/// Aborts the uploads that a run of this plan left open, and reports them. Returns `None` if there are none.
pub fn abort(plan: &Plan, open: &OpenUploads) -> Option<Uploads> {
    if open.known.is_empty() && open.unknown == 0 {
        return None;
    }
    let left = abort_all(plan, open.known.iter().map(|upload| path(plan, upload)).collect()).len() as u64;
    let uploads = Uploads { aborted: open.known.len() as u64 - left, left, unknown: open.unknown };
    let more = if left + open.unknown > 0 { "; `plimsoll cleanup` aborts the rest" } else { "" };
    console::eprintln(&format!("{}{more}", report::uploads(&uploads)));
    Some(uploads)
}

/// The index of an upload's origin, the encoded path of its object, and its ID.
pub type UploadPath<'u> = (usize, String, &'u str);

/// Aborts uploads. Returns the uploads that could not be aborted. A server may refuse at first, because it is
/// still processing a part that was cut off. Requests are therefore repeated until the time limit.
pub fn abort_all<'u>(plan: &Plan, open: Vec<UploadPath<'u>>) -> Vec<UploadPath<'u>> {
    let interrupts = sys::signals::interrupts().count;
    let (limit, settled) = if interrupts > 1 { (HURRIED_LIMIT, Duration::ZERO) } else { (LIMIT, SETTLED) };
    // Each upload, with the time at which the server first reported it as gone.
    let mut open: Vec<(UploadPath<'_>, Option<Instant>)> = open.into_iter().map(|upload| (upload, None)).collect();
    let begun = Instant::now();
    // Another interrupt ends the attempts at once.
    let is_over = || begun.elapsed() > limit || sys::signals::interrupts().count > interrupts;
    let request = RequestPlan { checks: Checks::default(), ..abort_request(plan) };
    while !open.is_empty() {
        let aborting = aborting(plan, open.iter().map(|(upload, _)| upload.clone()));
        let tried = try_each(&aborting, request.clone(), CONCURRENCY, &mut |_, control, now| {
            if is_over() {
                control.abandon(now);
            }
        });
        // If sending fails, all uploads that the server has not confirmed as gone count as open.
        let Ok(tried) = tried else { break };
        let is_gone = |outcome: &Option<RequestOutcome>| {
            matches!(outcome, Some(RequestOutcome { status: Some(200..300 | 404), .. }))
        };
        let now = Instant::now();
        for ((_, since), outcome) in open.iter_mut().zip(&tried.outcomes) {
            *since = is_gone(outcome).then(|| since.unwrap_or(now));
        }
        open.retain(|(_, since)| since.is_none_or(|since| now - since < settled));
        if open.is_empty() || is_over() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    open.into_iter().filter(|(_, since)| since.is_none()).map(|(upload, _)| upload).collect()
}

/// Returns the request that aborts an upload, with the header fields of the run's requests.
fn abort_request(plan: &Plan) -> RequestPlan {
    let requests = plan.mix.requests();
    let own = requests.iter().find_map(|request| match request.then {
        Then::Parts(parts) => requests.get(parts.abort).cloned(),
        Then::End | Then::Pages { .. } | Then::Poll(_) => None,
    });
    own.unwrap_or_else(|| RequestPlan::new("DELETE", OpKind::Delete))
}

fn path<'u>(plan: &Plan, upload: &'u OpenUpload) -> UploadPath<'u> {
    let mut path = String::new();
    plan.targets.write_path(upload.subject, &mut String::new(), &mut path);
    (upload.origin, path, &upload.upload_id)
}
