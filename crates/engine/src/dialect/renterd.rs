//! renterd, the renter of Sia since 2023. Objects are uploaded to and downloaded from renterd's worker. Keys belong to
//! a bucket, which every request names as a parameter.

use super::{Access, BadName, Dialect, Form};
use std::time::Duration;

/// Path below which the worker serves objects.
const OBJECTS: &str = "/api/worker/object";

/// Default timeout of uploads. renterd buffers up to 1 GiB of slabs, and responds only after its hosts have stored all of
/// them.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Objects in a bucket of renterd. The path of the user's URL is the bucket, and optionally a prefix of the keys.
#[derive(Clone, Copy, Debug)]
pub struct Renterd;

/// Returns the encoded bucket and the encoded prefix in a URL's path. For example, `/bucket/a/b` has the prefix `/a/b`.
fn parts(base: &str) -> (&str, &str) {
    let path = base.strip_prefix('/').unwrap_or(base);
    path.split_at(path.find('/').unwrap_or(path.len()))
}

impl Dialect for Renterd {
    fn form(&self, access: Access) -> Option<Form> {
        let timeout = (access == Access::Write).then_some(UPLOAD_TIMEOUT);
        Form::by_method(access).map(|form| Form { timeout, ..form })
    }

    fn container(&self, _: Access, base: &str) -> Option<String> {
        Some(format!("{OBJECTS}{}", parts(base).1))
    }

    fn query(&self, _: Access, base: &str) -> Option<String> {
        let bucket = wire::percent::decode_path(parts(base).0);
        Some(format!("bucket={}", wire::percent::parameter(&bucket)))
    }

    fn check_base(&self, base: &str) -> Result<(), BadName> {
        if parts(base).0.is_empty() { Err(BadName::NoBucket) } else { Ok(()) }
    }
}
