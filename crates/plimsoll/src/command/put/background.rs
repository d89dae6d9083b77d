//! Uploads to siad. The server accepts an upload at once, and carries it out later in the background.

use super::Args;
use crate::failure::Failure;
use crate::load::dialect::System;
use engine::dialect::Siad;
use engine::plan::{Mix, Poll, PollCheck, RequestPlan, ResponseBody, Then};
use measure::OpKind;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// Returns whether the server reads the files from its own disk, and uploads them in the background.
pub fn is_in_background(args: &Args) -> bool {
    args.dialect.system == Some(System::Siad)
}

/// Returns the requests of a background upload. One request starts the upload, and the other lists its progress.
pub fn requests(request: RequestPlan, every: Duration) -> Result<Mix, Failure> {
    let poll = Poll { request: 1, every, check: PollCheck::SiadUpload };
    let list = RequestPlan {
        headers: request.headers.clone(),
        path: Some(Siad::LIST.into()),
        response_body: ResponseBody::KeptList,
        ..RequestPlan::new("GET", OpKind::List)
    };
    let upload = RequestPlan { body: None, then: Then::Poll(poll), response_body: ResponseBody::Kept, ..request };
    Mix::of(vec![(1, upload), (0, list)]).ok_or_else(|| Failure::usage("--as siad: the upload has no requests"))
}

/// Returns the path of --from. The path is absolute if the server reads the files itself.
pub fn source<'p>(args: &Args, path: &'p Path) -> Result<Cow<'p, Path>, Failure> {
    if !is_in_background(args) {
        return Ok(Cow::Borrowed(path));
    }
    let absolute = std::path::absolute(path);
    absolute.map(Cow::Owned).map_err(|error| Failure::usage(format!("--from {}: {error}", path.display())))
}

/// Refuses background uploads without local files. Also refuses settings of request bodies, because the client sends
/// none.
pub fn check(args: &Args) -> Result<(), Failure> {
    if args.from.is_none() {
        return Err(Failure::usage(
            "--as siad needs --from DIR, because siad reads files from its own disk; `plimsoll generate` writes test files",
        ));
    }
    let settings = [
        ("--chunked", args.chunked),
        ("--expect-continue", args.expect_continue),
        ("--multipart", args.multipart.is_some()),
        ("--method", args.method.is_some()),
    ];
    match settings.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(Failure::usage(format!("{flag} has no effect, because siad reads the files itself: leave it out")))
        }
        None => Ok(()),
    }
}
