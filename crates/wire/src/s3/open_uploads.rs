//! The response of `ListMultipartUploads`: uploads that are neither completed nor aborted.

use super::xml::{Element, Writer, XmlError};
use crate::percent::{self, Space};

/// One page of open uploads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenUploads {
    /// The uploads in the order of their keys.
    pub uploads: Vec<OpenUpload>,
    /// The last upload of this page, if there is a next page.
    pub next: Option<UploadMarker>,
}

/// An upload that is neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUpload {
    /// The decoded key of the future object.
    pub key: Box<str>,
    /// The upload ID, which the request for each part contains. Not empty.
    pub upload_id: Box<str>,
}

/// The last upload of a page. The request for the next page repeats this marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadMarker {
    /// The decoded key.
    pub key: Box<str>,
    /// The upload ID. Empty if the server does not send it.
    pub upload_id: Box<str>,
}

impl OpenUploads {
    /// Parses a message.
    ///
    /// # Errors
    /// Fails if the message is of another kind, or if the list is truncated and has no marker for the next page.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_response(bytes, "ListMultipartUploadsResult", &["Upload", "IsTruncated"])?;
        let url_encoded = root.text("EncodingType").is_some_and(|text| text.trim_ascii() == "url");
        let plain = |text: &str| -> Result<Box<str>, XmlError> {
            match url_encoded {
                true => {
                    percent::decoded_text(text, Space::PlusOrPercent).map(Into::into).ok_or(XmlError::BadValue("Key"))
                }
                false => Ok(text.into()),
            }
        };
        let upload = |element: &Element| -> Result<OpenUpload, XmlError> {
            let upload_id = element.required("UploadId")?;
            if upload_id.is_empty() {
                return Err(XmlError::BadValue("UploadId"));
            }
            Ok(OpenUpload { key: plain(element.required("Key")?)?, upload_id: upload_id.into() })
        };
        let uploads = root.children("Upload").map(upload).collect::<Result<_, _>>()?;
        let next = match root.flag("IsTruncated")? {
            true => {
                let key = plain(root.required("NextKeyMarker")?)?;
                if key.is_empty() {
                    return Err(XmlError::BadValue("NextKeyMarker"));
                }
                Some(UploadMarker { key, upload_id: root.text("NextUploadIdMarker").unwrap_or_default().into() })
            }
            false => None,
        };
        Ok(Self { uploads, next })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "ListMultipartUploadsResult");
        if let Some(next) = &self.next {
            writer.text("NextKeyMarker", &next.key);
            writer.text("NextUploadIdMarker", &next.upload_id);
        }
        writer.text("IsTruncated", if self.next.is_some() { "true" } else { "false" });
        for upload in &self.uploads {
            writer.open("Upload");
            writer.text("Key", &upload.key);
            writer.text("UploadId", &upload.upload_id);
            writer.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    /// The first example from Amazon's "ListMultipartUploads", shortened.
    #[test]
    fn the_published_example_is_parsed() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Bucket>bucket</Bucket><KeyMarker></KeyMarker><UploadIdMarker></UploadIdMarker>
  <NextKeyMarker>my-movie.m2ts</NextKeyMarker>
  <NextUploadIdMarker>YW55IGlkZWEgd2h5IGVsdmluZydzIHVwbG9hZCBmYWlsZWQ</NextUploadIdMarker>
  <MaxUploads>3</MaxUploads><IsTruncated>true</IsTruncated>
  <Upload><Key>my-divisor</Key><UploadId>XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5nIG11Y2ggbHVjaw</UploadId>
    <Initiator><ID>arn:aws:iam::111122223333:user/user1-1</ID></Initiator><StorageClass>STANDARD</StorageClass></Upload>
</ListMultipartUploadsResult>"#;
        let page = OpenUploads::parse(text.as_bytes()).unwrap();
        assert_eq!(&*page.uploads[0].key, "my-divisor");
        assert_eq!(&*page.next.unwrap().key, "my-movie.m2ts");
    }

    #[test]
    fn a_truncated_page_without_marker_is_rejected() {
        let read = |inside: &str| OpenUploads::parse(format!("<R>{inside}</R>").as_bytes());
        let cut = "<IsTruncated>true</IsTruncated>";
        assert_eq!(read(cut), Err(XmlError::Missing("NextKeyMarker")));
        assert_eq!(read(&format!("{cut}<NextKeyMarker/>")), Err(XmlError::BadValue("NextKeyMarker")));
        assert_eq!(read("<Upload><Key>k</Key><UploadId/></Upload>"), Err(XmlError::BadValue("UploadId")));
        assert_eq!(read(""), Err(XmlError::NotA("ListMultipartUploadsResult")));
        let encoded = "<EncodingType>url</EncodingType><Upload><Key>a%2Fb+c</Key><UploadId>1</UploadId></Upload>";
        assert_eq!(&*read(encoded).unwrap().uploads[0].key, "a/b c");
    }

    proptest! {
        #[test]
        fn messages_round_trip(
            uploads in vec(("[!-~\u{e9}]{1,12}", "[!-~]{1,12}"), 0..5),
            next in option::of(("[!-~]{1,12}", "[!-~]{0,12}")),
        ) {
            let upload = |(key, id): (String, String)| OpenUpload { key: key.into(), upload_id: id.into() };
            let page = OpenUploads {
                uploads: uploads.into_iter().map(upload).collect(),
                next: next.map(|(key, id)| UploadMarker { key: key.into(), upload_id: id.into() }),
            };
            let mut out = String::new();
            page.write(&mut out);
            prop_assert_eq!(OpenUploads::parse(out.as_bytes()), Ok(page));
        }
    }
}
