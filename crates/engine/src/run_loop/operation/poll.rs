//! Operations that poll the server until it has done the work that it accepted.

use super::BAD_MESSAGE;
use super::next_request::Next;
use crate::network::Network;
use crate::plan::{Poll, PollCheck};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use measure::sample::{AttemptKind, BodyBytes};
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use serde::Deserialize;
use std::borrow::Cow;

/// Outcome of a poll if the server accepted the work earlier, but no longer lists it.
const FORGOTTEN: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::AckedLost, Phase::Body);

/// Outcome of a poll if the server does the work for a file of another size.
const OTHER_SIZE: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::SizeDiffers, Phase::Body);

/// Request that the server has accepted, and the polls of its progress.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct Polling {
    pub poll: Poll,
    /// Body bytes of the accepted request.
    pub sent_body: u64,
    /// Body bytes of the accepted request that were transferred inside the measured window.
    pub window: BodyBytes,
}

/// Progress of the server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    UnderWay,
    /// The server does not know about the work.
    Missing,
    /// The server has a file of another size.
    OtherSize,
}

/// The part of siad's list of files that contains the progress.
#[derive(Deserialize)]
struct SiadFiles<'a> {
    /// `null` if there are no files.
    #[serde(borrow)]
    files: Option<Vec<SiadFile<'a>>>,
}

#[derive(Deserialize)]
struct SiadFile<'a> {
    #[serde(borrow)]
    siapath: Cow<'a, str>,
    /// Size in bytes.
    filesize: Option<u64>,
    /// Percentage of the bytes that are stored, including redundancy.
    uploadprogress: f64,
}

/// Returns the progress of a file in siad's list of files; `None` if `list` is not a list of files. `size` is the size
/// of the file in bytes, if it is known.
fn progress_at_siad(list: &[u8], siapath: &str, size: Option<u64>) -> Option<Progress> {
    let files = serde_json::from_slice::<SiadFiles<'_>>(list).ok()?.files.unwrap_or_default();
    let Some(file) = files.iter().find(|file| file.siapath == siapath) else { return Some(Progress::Missing) };
    let differs = size.zip(file.filesize).is_some_and(|(size, found)| size != found);
    Some(match file.uploadprogress >= 100.0 {
        _ if differs => Progress::OtherSize,
        true => Progress::Done,
        false => Progress::UnderWay,
    })
}

/// Returns the name of the file in the path and query of `POST /renter/upload/…`.
fn siapath(target: &str) -> String {
    let (_, name) = target.split_once("/renter/upload/").unwrap_or_default();
    wire::percent::decode_path(name.split('?').next().unwrap_or_default())
}

impl<N: Network> RunLoop<'_, N> {
    /// Returns the next step of the operation after a poll with the response `list`.
    ///
    /// # Errors
    /// Fails with the outcome of the attempt if the response does not show the progress.
    pub(super) fn after_poll(&self, slot: u32, poll: Poll, list: &[u8]) -> Result<Next, AttemptOutcome> {
        let Some(op) = self.slots.op(slot) else { return Ok(Next::Nothing) };
        let mut target = String::new();
        self.plan.targets.write_path(op.subject, &mut String::new(), &mut target);
        let progress = match poll.check {
            PollCheck::SiadUpload => progress_at_siad(list, &siapath(&target), self.plan.targets.size(op.subject)),
        };
        match progress {
            Some(Progress::Done) => Ok(Next::Nothing),
            Some(Progress::UnderWay) => Ok(Next::Poll(poll)),
            Some(Progress::Missing) => Err(FORGOTTEN),
            Some(Progress::OtherSize) => Err(OTHER_SIZE),
            None => Err(BAD_MESSAGE),
        }
    }

    /// Ends the slot's attempt, and polls the server after a pause.
    pub(in crate::run_loop) fn poll_later(&mut self, net: &mut N, slot: u32, poll: Poll, reuse: Reuse, now: Instant) {
        let window = self.record_attempt(net, slot, AttemptOutcome::OK, reuse, now);
        let Some(op) = self.slots.op_mut(slot) else { return };
        let sent_body = op.attempt.sent_body;
        op.polling.get_or_insert_with(|| Box::new(Polling { poll, sent_body, window }));
        (op.request, op.redirect) = (poll.request, None);
        self.pause(slot, now + poll.every, AttemptKind::Step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_uploaded_when_the_list_says_so() {
        let list = br#"{"files":[{"siapath":"a \"b\"","filesize":1,"uploadprogress":99.9,"available":true},
            {"siapath":"foo/c","uploadprogress":100}]}"#;
        let progress = |list: &[u8], siapath| progress_at_siad(list, siapath, None);
        assert_eq!(progress(list, "a \"b\""), Some(Progress::UnderWay));
        assert_eq!(progress(list, "foo/c"), Some(Progress::Done));
        assert_eq!(progress(list, "c"), Some(Progress::Missing));
        assert_eq!(progress(br#"{"files":null}"#, "c"), Some(Progress::Missing));
        for wrong in [&b""[..], b"{", b"[]", br#"{"files":[{"siapath":"c"}]}"#, b"\xff"] {
            assert_eq!(progress(wrong, "c"), None, "{wrong:?}");
        }
        assert_eq!(progress_at_siad(list, "a \"b\"", Some(1)), Some(Progress::UnderWay));
        assert_eq!(progress_at_siad(list, "a \"b\"", Some(2)), Some(Progress::OtherSize));
        assert_eq!(progress_at_siad(list, "foo/c", Some(2)), Some(Progress::Done), "the size is not known");
    }

    #[test]
    fn the_name_of_a_file_is_that_of_its_upload() {
        assert_eq!(siapath("/renter/upload/foo/a%20b.txt?source=/x/renter/upload/y"), "foo/a b.txt");
        assert_eq!(siapath("/base/renter/upload/a%2525"), "a%25");
        assert_eq!(siapath("/other"), "");
    }
}
