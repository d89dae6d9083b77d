//! siad, the renter of Sia until 2025. An upload names a file on siad's own machine. siad accepts the request
//! immediately, and uploads the file in the background.
//!
//! siad refuses requests whose `User-Agent` does not contain `Sia-Agent`, so that web pages cannot use its API.

use super::{Access, Dialect, Form};
use measure::OpKind;

/// Header fields that every call needs.
const CALL: &[(&str, &str)] = &[("User-Agent", "Sia-Agent")];

/// Files of siad. The path of the user's URL is a prefix of the file names.
#[derive(Clone, Copy, Debug)]
pub struct Siad;

impl Siad {
    /// Path of the list of all files, which shows the progress of uploads.
    pub const LIST: &str = "/renter/files";
}

impl Dialect for Siad {
    fn form(&self, access: Access) -> Option<Form> {
        let form = match access {
            Access::Read => Form { ranges: false, ..Form::plain("GET", OpKind::Get) },
            Access::Write => Form::plain("POST", OpKind::Put),
            Access::Delete => Form::plain("POST", OpKind::Delete),
            Access::List => return None,
        };
        Some(Form { headers: CALL, ..form })
    }

    fn container(&self, access: Access, base: &str) -> Option<String> {
        let call = match access {
            Access::Read => "download",
            Access::Write => "upload",
            Access::Delete => "delete",
            Access::List => return None,
        };
        Some(format!("/renter/{call}{base}"))
    }

    fn query(&self, access: Access, _: &str) -> Option<String> {
        // Without this parameter, siad writes the file to its own disk.
        (access == Access::Read).then(|| "httpresp=true".to_owned())
    }
}
