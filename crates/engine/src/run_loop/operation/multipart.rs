//! Objects that are uploaded in parts. Several parts are sent in parallel, each in its own slot.

use super::{BAD_MESSAGE, DEFECT};
use crate::plan::{Multipart, ResumedUpload};
use crate::run_loop::invariant::Invariant;
use measure::AttemptOutcome;
use measure::sample::{AttemptKind, BodyBytes};
use wire::s3::{CompletedPart, write_complete};

/// A part of an object that is being sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_loop) struct UploadPart {
    /// Slot and number of the operation to which the part belongs.
    pub of: (u32, u64),
    /// Index of the part, counted from 0.
    pub index: u32,
    pub offset: u64,
    pub length: u64,
}

/// Result of sending a part.
pub(super) struct PartResult {
    pub etag: Option<Box<str>>,
    pub sent_body: u64,
    pub window: BodyBytes,
}

/// An object that is uploaded in parts.
#[derive(Debug)]
pub(in crate::run_loop) struct MultipartUpload {
    pub plan: Multipart,
    /// The server's ID of the upload.
    pub upload: Box<str>,
    /// Size of the object.
    size: u64,
    /// Size of each part except the last.
    part_bytes: u64,
    /// The ETags of the parts that were sent, by index.
    etags: Vec<Option<Box<str>>>,
    /// Index of the next part to send. Parts that the server already has are skipped.
    next: u32,
    /// Number of parts in flight.
    pub running: u32,
    pub failed: Option<AttemptOutcome>,
    /// `true` if the server has confirmed that it keeps none of the parts.
    pub aborted: bool,
    /// `true` if an earlier request to complete the upload got no success response, but may have succeeded at the
    /// server.
    pub completion_is_unclear: bool,
    /// Body bytes of the parts that succeeded.
    pub sent_body: u64,
    /// Body bytes of the successful parts that were sent inside the measured window.
    pub window: BodyBytes,
    /// Message that completes the upload.
    pub completion: Vec<u8>,
    /// Kind of the next attempt, unless it is a retry.
    kind: AttemptKind,
}

impl MultipartUpload {
    /// Returns an upload of `size` bytes whose parts are still to be sent.
    pub fn new(plan: Multipart, upload: Box<str>, size: u64) -> Self {
        let part_bytes = plan.part_bytes(size).get();
        let count = size.div_ceil(part_bytes).max(1) as usize;
        Self {
            plan,
            upload,
            size,
            part_bytes,
            etags: vec![None; count],
            next: 0,
            running: 0,
            failed: None,
            aborted: false,
            completion_is_unclear: false,
            sent_body: 0,
            window: BodyBytes::default(),
            completion: Vec::new(),
            kind: AttemptKind::Step,
        }
    }

    /// Returns an upload of `size` bytes that an earlier run began. Only the parts that the server does not have are
    /// sent.
    pub fn resumed(plan: Multipart, resumed: &ResumedUpload, size: u64) -> Self {
        let mut upload = Self {
            kind: AttemptKind::First,
            completion_is_unclear: resumed.may_be_complete,
            ..Self::new(plan, resumed.upload_id.clone(), size)
        };
        for (number, etag) in &resumed.parts {
            // Part numbers begin at 1.
            let place = usize::from(*number).checked_sub(1).and_then(|index| upload.etags.get_mut(index));
            if let Some(place) = place {
                *place = Some(etag.clone());
            }
        }
        upload.skip_known();
        upload
    }

    /// Skips the parts that the server already has.
    fn skip_known(&mut self) {
        while self.etags.get(self.next as usize).is_some_and(Option::is_some) {
            self.next += 1;
        }
    }

    /// Returns the kind of the next attempt, unless it is a retry.
    pub(super) fn take_kind(&mut self) -> AttemptKind {
        std::mem::replace(&mut self.kind, AttemptKind::Step)
    }

    /// Returns the number of parts.
    fn count(&self) -> u32 {
        self.etags.len() as u32
    }

    /// Returns the query for requests that concern the whole upload.
    pub(super) fn query(&self) -> Box<str> {
        format!("uploadId={}", wire::percent::parameter(&self.upload)).into()
    }

    /// Returns the next part and its query; `None` if all parts were sent, or if a part has failed.
    pub(super) fn next_part(&mut self, of: (u32, u64)) -> Option<(UploadPart, Box<str>)> {
        if !self.has_more() {
            return None;
        }
        let index = self.next;
        (self.next, self.running) = (index + 1, self.running + 1);
        let offset = u64::from(index) * self.part_bytes;
        let length = self.part_bytes.min(self.size - offset);
        self.skip_known();
        let query = format!("partNumber={}&{}", index + 1, self.query());
        Some((UploadPart { of, index, offset, length }, query.into()))
    }

    /// Returns whether another part must be sent.
    pub(super) fn has_more(&self) -> bool {
        self.failed.is_none() && self.next < self.count()
    }

    /// Records the end of a part.
    pub(super) fn end_part(&mut self, index: u32, sent: PartResult, outcome: AttemptOutcome) {
        self.running -= 1;
        let place = self.etags.get_mut(index as usize).assert_some("a part that ends belongs to its upload");
        match (sent.etag, place) {
            (Some(etag), Some(place)) if outcome == AttemptOutcome::OK => {
                *place = Some(etag);
                self.sent_body += sent.sent_body;
                self.window.sent += sent.window.sent;
            }
            (None, _) if outcome == AttemptOutcome::OK => {
                self.failed.get_or_insert(BAD_MESSAGE);
            }
            (Some(_), None) if outcome == AttemptOutcome::OK => {
                self.failed.get_or_insert(DEFECT);
            }
            _ => {
                self.failed.get_or_insert(outcome);
            }
        }
    }

    /// Returns the message that completes the upload. `None` means that a part has no ETag, which is a defect of this
    /// program.
    pub(super) fn completion_message(&self) -> Option<Vec<u8>> {
        let parts = self.etags.iter().zip(1_u16..);
        let parts = parts.map(|(etag, number)| Some(CompletedPart { number, etag: etag.clone()? }));
        let parts = parts.collect::<Option<Vec<_>>>().assert_some("an upload is only completed if it has all parts")?;
        let mut message = String::new();
        write_complete(&parts, &mut message);
        Some(message.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::{NonZeroU32, NonZeroU64};

    fn upload(size: u64, part_bytes: u64) -> MultipartUpload {
        let (bytes, parallel) = (NonZeroU64::new(part_bytes).unwrap(), NonZeroU32::MIN);
        MultipartUpload::new(Multipart { part: 1, complete: 2, abort: 3, bytes, parallel }, "a/b".into(), size)
    }

    fn result(etag: Option<&str>) -> PartResult {
        PartResult { etag: etag.map(Into::into), sent_body: 5, window: BodyBytes::default() }
    }

    #[test]
    fn parts_cover_the_object_once() {
        for (size, part_bytes, count) in [(0, 10, 1), (10, 10, 1), (11, 10, 2), (100_000_001, 1, 10_000)] {
            let mut upload = upload(size, part_bytes);
            let (mut end, mut parts) = (0, 0);
            while let Some((part, _)) = upload.next_part((0, 0)) {
                assert_eq!((part.offset, part.index), (end, parts));
                (end, parts) = (end + part.length, parts + 1);
            }
            assert_eq!((end, parts, upload.running), (size, count, count), "{size} in {part_bytes}");
        }
    }

    #[test]
    fn a_resumed_upload_sends_only_the_missing_parts() {
        let resumed = |parts: &[u16]| {
            let parts = parts.iter().map(|number| (*number, format!("known {number}").into())).collect();
            let resumed = ResumedUpload { upload_id: "id".into(), parts, may_be_complete: false };
            MultipartUpload::resumed(upload(0, 10).plan, &resumed, 45)
        };
        // An object in 5 parts has neither a part 0 nor a part 9.
        let mut upload = resumed(&[0, 1, 3, 9]);
        assert_eq!((upload.take_kind(), upload.take_kind()), (AttemptKind::First, AttemptKind::Step));
        let parts: Vec<_> = std::iter::from_fn(|| upload.next_part((0, 0))).map(|(part, _)| part).collect();
        assert_eq!(parts.iter().map(|part| part.index).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!((parts[2].offset, parts[2].length), (40, 5));
        for part in parts {
            upload.end_part(part.index, result(Some("new")), AttemptOutcome::OK);
        }
        assert_eq!((upload.sent_body, upload.has_more()), (15, false), "known parts must not count as sent");
        let message = String::from_utf8(upload.completion_message().unwrap()).unwrap();
        assert_eq!((message.matches("known").count(), message.matches("new").count()), (2, 3), "{message}");
        assert!(!resumed(&[1, 2, 3, 4, 5]).has_more());
    }

    #[test]
    fn no_part_is_sent_after_one_has_failed() {
        let mut upload = upload(30, 10);
        assert!(upload.next_part((0, 0)).is_some());
        upload.end_part(0, result(None), AttemptOutcome::OK);
        assert!(upload.next_part((0, 0)).is_none() && upload.running == 0);
    }

    #[test]
    fn a_part_without_an_etag_or_with_a_failure_fails_the_upload() {
        let mut upload = upload(30, 10);
        let queries: Vec<_> = std::iter::from_fn(|| upload.next_part((0, 0))).map(|(_, query)| query).collect();
        assert_eq!(&*queries[1], "partNumber=2&uploadId=a%2Fb");
        upload.end_part(0, result(Some("x")), AttemptOutcome::OK);
        assert_eq!((upload.failed, upload.sent_body, upload.running), (None, 5, 2));
        upload.end_part(1, result(None), AttemptOutcome::OK);
        upload.end_part(2, result(Some("y")), crate::run_loop::operation::ERROR_WITHIN_200);
        assert_eq!((upload.failed, upload.running, upload.has_more()), (Some(BAD_MESSAGE), 0, false));
    }
}
