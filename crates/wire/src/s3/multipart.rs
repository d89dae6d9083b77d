//! Messages that begin and complete a multipart upload, including errors that arrive with status 200.

use super::error::ErrorBody;
use super::xml::{Element, Writer, XmlError};

/// Maximum number of parts in an upload. Parts are numbered from 1.
pub const MAX_PARTS: u16 = 10_000;

/// The response that begins an upload: `InitiateMultipartUploadResult`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitiatedUpload {
    /// The bucket.
    pub bucket: Box<str>,
    /// The key of the future object.
    pub key: Box<str>,
    /// The upload ID, which the request for each part contains. Not empty.
    pub upload_id: Box<str>,
}

impl InitiatedUpload {
    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_response(bytes, "InitiateMultipartUploadResult", &["UploadId"])?;
        let upload_id = root.required("UploadId")?;
        if upload_id.is_empty() {
            return Err(XmlError::BadValue("UploadId"));
        }
        let text = |name| root.text(name).unwrap_or_default().into();
        Ok(Self { bucket: text("Bucket"), key: text("Key"), upload_id: upload_id.into() })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "InitiateMultipartUploadResult");
        writer.text("Bucket", &self.bucket);
        writer.text("Key", &self.key);
        writer.text("UploadId", &self.upload_id);
    }
}

/// A part in the list that completes an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedPart {
    /// The number of the part, 1 to [`MAX_PARTS`].
    pub number: u16,
    /// The ETag from the server's response to the part.
    pub etag: Box<str>,
}

/// Appends the request that completes an upload: `CompleteMultipartUpload`.
pub fn write_complete<'a>(parts: impl IntoIterator<Item = &'a CompletedPart>, out: &mut String) {
    let mut writer = Writer::new(out, "CompleteMultipartUpload");
    for part in parts {
        writer.open("Part");
        writer.text("PartNumber", &part.number.to_string());
        writer.text("ETag", &part.etag);
        writer.close();
    }
}

/// Parses the request that completes an upload. Returns the parts in the order of the list. The list need not be
/// sorted.
pub fn read_complete(bytes: &[u8]) -> Result<Vec<CompletedPart>, XmlError> {
    let root = Element::parse_named(bytes, "CompleteMultipartUpload")?;
    let part = |element: &Element| -> Result<CompletedPart, XmlError> {
        let number = part_number(element, "PartNumber")?;
        Ok(CompletedPart { number, etag: element.required("ETag")?.trim_ascii().into() })
    };
    let parts: Vec<_> = root.children("Part").map(part).collect::<Result<_, _>>()?;
    match parts.len() {
        0 => Err(XmlError::Missing("Part")),
        count if count > usize::from(MAX_PARTS) => Err(XmlError::TooMany),
        _ => Ok(parts),
    }
}

/// Returns the part number in the first child with this name.
pub(super) fn part_number(element: &Element, name: &'static str) -> Result<u16, XmlError> {
    let number = element.number(name)?.ok_or(XmlError::Missing(name))?;
    let number = u16::try_from(number).ok().filter(|number| (1..=MAX_PARTS).contains(number));
    number.ok_or(XmlError::BadValue(name))
}

/// The response to the completion of an upload: `CompleteMultipartUploadResult`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedUpload {
    /// The URL of the object.
    pub location: Option<Box<str>>,
    /// The bucket.
    pub bucket: Box<str>,
    /// The key.
    pub key: Box<str>,
    /// The ETag, including its quotes.
    pub etag: Box<str>,
}

/// The outcome of completing an upload. Servers may send status 200 before they know the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// The object exists.
    Done(CompletedUpload),
    /// The upload failed, even if the status is 200.
    Failed(ErrorBody),
}

impl Completed {
    /// Parses the body of a response with status 200.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        if let Ok(error) = ErrorBody::parse(bytes) {
            return Ok(Self::Failed(error));
        }
        let root = Element::parse_response(bytes, "CompleteMultipartUploadResult", &["ETag"])?;
        let text = |name| root.text(name).map(Into::into);
        Ok(Self::Done(CompletedUpload {
            location: text("Location"),
            bucket: text("Bucket").unwrap_or_default(),
            key: text("Key").unwrap_or_default(),
            etag: root.required("ETag")?.into(),
        }))
    }
}

impl CompletedUpload {
    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "CompleteMultipartUploadResult");
        writer.optional("Location", self.location.as_deref());
        writer.text("Bucket", &self.bucket);
        writer.text("Key", &self.key);
        writer.text("ETag", &self.etag);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ErrorCode;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The example is from Amazon's "CompleteMultipartUpload". Whitespace comes first, because servers send it to keep
    /// the connection alive.
    #[test]
    fn an_error_in_a_200_is_an_error() {
        let text = "\n \n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n<Error>\n <Code>InternalError</Code>\n \
                    <Message>We encountered an internal error. Please try again.</Message>\n \
                    <RequestId>656c76696e6727732072657175657374</RequestId>\n</Error>";
        let Completed::Failed(error) = Completed::parse(text.as_bytes()).unwrap() else {
            panic!("the response should be an error")
        };
        assert_eq!(error.code, ErrorCode::InternalError);
        assert_eq!(Completed::parse(b"<Other/>"), Err(XmlError::NotA("CompleteMultipartUploadResult")));
        assert_eq!(Completed::parse(b" \n "), Err(XmlError::Malformed));
        assert_eq!(Completed::parse(b"<CompleteMultipartUploadResult/>"), Err(XmlError::Missing("ETag")));
    }

    #[test]
    fn lists_of_parts_have_limits() {
        let read = |inside: &str| {
            read_complete(format!("<CompleteMultipartUpload>{inside}</CompleteMultipartUpload>").as_bytes())
        };
        let part = |number: &str| format!("<Part><PartNumber>{number}</PartNumber><ETag>e</ETag></Part>");
        assert_eq!(read(""), Err(XmlError::Missing("Part")));
        for number in ["0", "10001", "65537", "x", ""] {
            assert_eq!(read(&part(number)), Err(XmlError::BadValue("PartNumber")), "{number}");
        }
        assert_eq!(read(&part("1").repeat(10_000)).unwrap().len(), 10_000);
        assert_eq!(read(&part("1").repeat(10_001)), Err(XmlError::TooMany));
    }

    /// gofakes3 (used by rclone and renterd) and other servers use these names.
    #[test]
    fn the_name_of_the_outermost_element_does_not_matter() {
        for root in ["InitiateMultipartUpload", "InitiateMultipartUploadResult", "Other"] {
            let text = format!("<{root}><Bucket>b</Bucket><Key>k</Key><UploadId>7</UploadId></{root}>");
            assert_eq!(InitiatedUpload::parse(text.as_bytes()).map(|begun| begun.upload_id), Ok("7".into()));
        }
        let error = b"<Error><Code>AccessDenied</Code><UploadId>7</UploadId></Error>";
        assert_eq!(InitiatedUpload::parse(error), Err(XmlError::NotA("InitiateMultipartUploadResult")));
        let done = Completed::parse(b"<CompleteMultipartUpload><ETag>e</ETag></CompleteMultipartUpload>");
        assert!(matches!(done, Ok(Completed::Done(upload)) if &*upload.etag == "e"));
        let html = b"<html><body>sign in</body></html>";
        assert_eq!(Completed::parse(html), Err(XmlError::NotA("CompleteMultipartUploadResult")));
        assert_eq!(InitiatedUpload::parse(html), Err(XmlError::NotA("InitiateMultipartUploadResult")));
    }

    #[test]
    fn an_upload_needs_an_id() {
        let text = "<InitiateMultipartUploadResult><UploadId/></InitiateMultipartUploadResult>";
        assert_eq!(InitiatedUpload::parse(text.as_bytes()), Err(XmlError::BadValue("UploadId")));
    }

    proptest! {
        #[test]
        fn messages_round_trip(
            texts in vec("[!-~\u{e9}]{1,12}".prop_map(Box::<str>::from), 4),
            parts in vec((1..=MAX_PARTS, "[!-~]{0,12}"), 1..6),
        ) {
            let [bucket, key, third, fourth] = texts.try_into().unwrap();
            let begun = InitiatedUpload { bucket: bucket.clone(), key: key.clone(), upload_id: third.clone() };
            let mut out = String::new();
            begun.write(&mut out);
            prop_assert_eq!(InitiatedUpload::parse(out.as_bytes()), Ok(begun));

            let done = CompletedUpload { location: Some(third), bucket, key, etag: fourth };
            let mut out = String::new();
            done.write(&mut out);
            prop_assert_eq!(Completed::parse(out.as_bytes()), Ok(Completed::Done(done)));

            let part = |(number, etag): (u16, String)| CompletedPart { number, etag: etag.into() };
            let parts: Vec<_> = parts.into_iter().map(part).collect();
            let mut out = String::new();
            write_complete(&parts, &mut out);
            prop_assert_eq!(read_complete(out.as_bytes()), Ok(parts));
        }
    }
}
