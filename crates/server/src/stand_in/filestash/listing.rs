//! Directory listings in the format of Filestash.

use base64::Engine;

use super::json::{I1, I2, I3, I4, json};
use super::packets::Entry;
use crate::content::Content;
use crate::request::RequestFacts;
use crate::response::Response;

/// Size in bytes of one entry in a listing of an SFTP server, including the comma and the line end after it.
const SFTP_ENTRY_BYTES: usize = 480;

/// The metadata of a file in a listing, without its name, type, size and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    None,
    /// The metadata from SFTP. Only its length is imitated.
    Sftp,
}

/// Creates the response with the listing of a directory, or a 304 if the client already has this listing.
pub(super) fn listing(path: &str, entries: &[Entry], metadata: Metadata, facts: &RequestFacts<'_>) -> Response {
    let etag = etag(path, entries.len());
    if facts.fields.if_none_match.as_deref() == Some(etag.as_bytes()) {
        let mut response = Response::new(304, Content::Empty, Some(0));
        response.add_header(&format!("Etag: {etag}"));
        return response;
    }
    let entries: Vec<String> = entries.iter().map(|entry| entry_text(entry, metadata)).collect();
    let results = if entries.is_empty() { "[]".to_owned() } else { format!("[\n{}\n{I1}]", entries.join(",\n")) };
    let text = format!("{{\n{I1}\"status\": \"ok\",\n{I1}\"results\": {results},\n{I1}\"permissions\": {{}}\n}}");
    let mut response = json(200, &text);
    response.add_header(&format!("Etag: {etag}"));
    response
}

fn entry_text(entry: &Entry, metadata: Metadata) -> String {
    let name = serde_json::Value::from(entry.name.as_str());
    let kind = if entry.is_directory { "directory" } else { "file" };
    let (size, time) = (entry.size, entry.changed * 1000);
    let fields =
        format!("{I3}\"name\": {name},\n{I3}\"type\": \"{kind}\",\n{I3}\"size\": {size},\n{I3}\"time\": {time}");
    match metadata {
        Metadata::None => format!("{I2}{{\n{fields}\n{I2}}}"),
        Metadata::Sftp => {
            let framed = |text: &str| {
                format!("{I2}{{\n{fields},\n{I3}\"metadata\": {{\n{I4}\"stand_in\": \"{text}\"\n{I3}}}\n{I2}}}")
            };
            let room = SFTP_ENTRY_BYTES.saturating_sub(framed("").len() + ",\n".len());
            framed(&"-".repeat(room))
        }
    }
}

/// Returns the ETag of a listing. Like the ETags of Filestash, the result has no quotes, so it is not a valid ETag.
fn etag(path: &str, entries: usize) -> String {
    // The 32-bit FNV-1 hash of the path, followed by the number of entries.
    let hash = format!("{path}{entries}")
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(byte));
    base64::engine::general_purpose::STANDARD.encode(hash.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::fields::RequestFields;

    #[test]
    fn sftp_listing_exceeds_the_buffer_with_its_fifth_entry() {
        let entry = |index| Entry { name: format!("file-{index}"), is_directory: false, size: 1, changed: 1 };
        let fields = RequestFields::default();
        let facts = RequestFacts { received: 0, fields: &fields };
        let length = |count, metadata| {
            let entries: Vec<Entry> = (0..count).map(entry).collect();
            listing("/", &entries, metadata, &facts).length
        };
        // The length matters, because without it an HTTP/1.0 connection is not kept open.
        assert_eq!(length(4, Metadata::Sftp), Some(71 - 2 + 4 * 480));
        assert_eq!(length(5, Metadata::Sftp), None);
        assert!(length(5, Metadata::None).is_some());
    }
}
