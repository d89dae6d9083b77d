//! Arbitrary bytes as each S3 message: no panic, and a parsed message survives formatting and parsing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::s3::{
    AssumedRole, Completed, DeleteRequest, DeleteResult, ErrorBody, InitiatedUpload, ListResult, read_complete,
    write_complete,
};

fn written(write: impl FnOnce(&mut String)) -> Vec<u8> {
    let mut out = String::new();
    write(&mut out);
    out.into_bytes()
}

fuzz_target!(|data: &[u8]| {
    let _ = (AssumedRole::parse(data), AssumedRole::refusal(data));
    if let Ok(list) = ListResult::parse(data) {
        assert_eq!(ListResult::parse(&written(|out| list.write(out))), Ok(list));
    }
    if let Ok(error) = ErrorBody::parse(data) {
        assert_eq!(ErrorBody::parse(&written(|out| error.write(out))), Ok(error));
    }
    if let Ok(begun) = InitiatedUpload::parse(data) {
        assert_eq!(InitiatedUpload::parse(&written(|out| begun.write(out))), Ok(begun));
    }
    if let Ok(parts) = read_complete(data) {
        assert_eq!(read_complete(&written(|out| write_complete(&parts, out))), Ok(parts));
    }
    match Completed::parse(data) {
        Ok(Completed::Done(done)) => {
            assert_eq!(Completed::parse(&written(|out| done.write(out))), Ok(Completed::Done(done)));
        }
        Ok(Completed::Failed(_)) => assert!(ErrorBody::parse(data).is_ok()),
        Err(_) => {}
    }
    if let Ok(request) = DeleteRequest::parse(data) {
        assert_eq!(DeleteRequest::parse(&written(|out| request.write(out))), Ok(request));
    }
    if let Ok(result) = DeleteResult::parse(data) {
        assert_eq!(DeleteResult::parse(&written(|out| result.write(out))), Ok(result));
    }
});
