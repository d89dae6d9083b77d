//! The response of `ListParts`: the parts that the server keeps of an open multipart upload.

use super::multipart::part_number;
use super::xml::{Element, XmlError};

/// One page of the parts of an upload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedParts {
    /// The parts in the order of their numbers.
    pub parts: Vec<ListedPart>,
    /// Number of the last part of this page, if there is a next page.
    pub next: Option<u16>,
}

/// A part that the server keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPart {
    /// Number of the part, 1 to [`super::MAX_PARTS`].
    pub number: u16,
    /// Size in bytes.
    pub size: u64,
    /// ETag, which the request that completes the upload repeats.
    pub etag: Box<str>,
}

impl ListedParts {
    /// Parses a message.
    ///
    /// # Errors
    /// Fails if the message is of another kind, or if the list is truncated and does not name its last part.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_response(bytes, "ListPartsResult", &["Part", "IsTruncated", "UploadId"])?;
        let part = |element: &Element| -> Result<ListedPart, XmlError> {
            let etag = element.required("ETag")?.trim_ascii();
            if etag.is_empty() {
                return Err(XmlError::BadValue("ETag"));
            }
            Ok(ListedPart {
                number: part_number(element, "PartNumber")?,
                size: element.number("Size")?.ok_or(XmlError::Missing("Size"))?,
                etag: etag.into(),
            })
        };
        let parts = root.children("Part").map(part).collect::<Result<_, _>>()?;
        let next = if root.flag("IsTruncated")? { Some(part_number(&root, "NextPartNumberMarker")?) } else { None };
        Ok(Self { parts, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Amazon's "ListParts", shortened.
    #[test]
    fn the_published_example_is_parsed() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Bucket>example-bucket</Bucket><Key>example-object</Key><UploadId>XXBsb2FkIElEIGZvciBlbHZpbmcncyVcdS1tb3ZpZS5tMnRzEEEwbG9hZA</UploadId>
  <StorageClass>STANDARD</StorageClass><PartNumberMarker>1</PartNumberMarker>
  <NextPartNumberMarker>3</NextPartNumberMarker><MaxParts>2</MaxParts><IsTruncated>true</IsTruncated>
  <Part><PartNumber>2</PartNumber><LastModified>2010-11-10T20:48:34.000Z</LastModified>
    <ETag>"7778aef83f66abc1fa1e8477f296d394"</ETag><Size>10485760</Size></Part>
  <Part><PartNumber>3</PartNumber><LastModified>2010-11-10T20:48:33.000Z</LastModified>
    <ETag>"aaaa18db4cc2f85cedef654fccc4a4x8"</ETag><Size>10485760</Size></Part>
</ListPartsResult>"#;
        let page = ListedParts::parse(text.as_bytes()).unwrap();
        let part = ListedPart { number: 2, size: 10_485_760, etag: "\"7778aef83f66abc1fa1e8477f296d394\"".into() };
        assert_eq!((&page.parts[0], page.parts.len(), page.next), (&part, 2, Some(3)));
    }

    #[test]
    fn parts_that_cannot_complete_an_upload_are_rejected() {
        let read = |inside: &str| ListedParts::parse(format!("<ListPartsResult>{inside}</ListPartsResult>").as_bytes());
        let part = |number: &str, size: &str, etag: &str| {
            format!("<Part><PartNumber>{number}</PartNumber><Size>{size}</Size><ETag>{etag}</ETag></Part>")
        };
        assert!(read(&part("1", "0", "e")).is_ok());
        assert_eq!(read(""), Ok(ListedParts::default()));
        assert_eq!(read(&part("0", "1", "e")), Err(XmlError::BadValue("PartNumber")));
        assert_eq!(read(&part("10001", "1", "e")), Err(XmlError::BadValue("PartNumber")));
        assert_eq!(read(&part("1", "-1", "e")), Err(XmlError::BadValue("Size")));
        assert_eq!(read(&part("1", "1", " ")), Err(XmlError::BadValue("ETag")));
        assert_eq!(read("<IsTruncated>true</IsTruncated>"), Err(XmlError::Missing("NextPartNumberMarker")));
    }
}
