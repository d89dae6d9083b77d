//! Pieces of a Filecoin storage provider: `/piece/CID` (FRC-0066), as served by booster-http.
//!
//! The gzip handler of booster-http compresses only the requested range of a piece, so `Content-Range` does not
//! describe the bytes of the body. Requests therefore contain `Accept-Encoding: identity`, unless the user sets another
//! value.

use super::{Access, BadName, Dialect, Form, check_cid};
use measure::OpKind;

/// Pieces, named by their CIDs.
#[derive(Clone, Copy, Debug)]
pub struct Piece;

impl Dialect for Piece {
    fn form(&self, access: Access) -> Option<Form> {
        // A response with another type comes from a proxy, or is the index page.
        const EXPECTED: &[(&str, &str)] = &[("Content-Type", "application/piece")];
        (access == Access::Read).then(|| Form {
            expected: EXPECTED,
            etag_is_name: true,
            ..Form::plain("GET", OpKind::Get)
        })
    }

    fn target(&self, _: Access, base: &str, name: &str) -> Result<String, BadName> {
        check_cid(name)?;
        Ok(format!("{base}/piece/{name}"))
    }

    fn container(&self, _: Access, _: &str) -> Option<String> {
        None
    }
}
