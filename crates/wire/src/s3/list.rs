//! The response of `ListObjectsV2`: pages of the objects in a bucket.

use super::xml::{Element, Writer, XmlError};
use crate::percent::{self, Space};

/// One page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListResult {
    /// The bucket.
    pub bucket: Box<str>,
    /// The prefix of all keys.
    pub prefix: Box<str>,
    /// The delimiter that groups keys into common prefixes. Empty for no grouping.
    pub delimiter: Box<str>,
    /// Maximum number of keys per page.
    pub max_keys: u64,
    /// The continuation token for the next page, which the client sends back unchanged. `None` on the last page.
    pub next: Option<Box<str>>,
    /// The objects in the order of their keys.
    pub objects: Vec<ListedObject>,
    /// Prefixes of grouped keys, up to and including the delimiter.
    pub common_prefixes: Vec<Box<str>>,
    /// `true` if keys in the message are percent-encoded (`encoding-type=url`), because XML cannot contain all
    /// characters. The keys in this struct are always decoded.
    pub url_encoded: bool,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// The decoded key.
    pub key: Box<str>,
    /// The size in bytes.
    pub size: u64,
    /// The ETag, including its quotes.
    pub etag: Box<str>,
    /// The time of the last change as in the message, for example `2009-10-12T17:50:30.000Z`.
    pub last_modified: Box<str>,
}

impl ListResult {
    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_response(bytes, "ListBucketResult", &["Contents", "IsTruncated", "KeyCount"])?;
        let url_encoded = match root.text("EncodingType").map(str::trim_ascii) {
            None | Some("") => false,
            Some("url") => true,
            Some(_) => return Err(XmlError::BadValue("EncodingType")),
        };
        let plain = |text: &str, name| -> Result<Box<str>, XmlError> {
            let decoded = url_encoded.then(|| percent::decoded_text(text, Space::PlusOrPercent));
            decoded.map_or(Ok(text.into()), |decoded| decoded.map(Into::into).ok_or(XmlError::BadValue(name)))
        };
        let next = if root.flag("IsTruncated")? {
            // A truncated page must have a token, because without a token, the client would request the first page
            // again and again.
            let token = root.required("NextContinuationToken")?;
            Some(if token.is_empty() { Err(XmlError::BadValue("NextContinuationToken")) } else { Ok(token.into()) }?)
        } else {
            None
        };
        let object = |element: &Element| -> Result<ListedObject, XmlError> {
            Ok(ListedObject {
                key: plain(element.required("Key")?, "Key")?,
                size: element.number("Size")?.ok_or(XmlError::Missing("Size"))?,
                etag: element.text("ETag").unwrap_or_default().into(),
                last_modified: element.text("LastModified").unwrap_or_default().into(),
            })
        };
        let common = |element: &Element| plain(element.required("Prefix")?, "Prefix");
        Ok(Self {
            bucket: root.text("Name").unwrap_or_default().into(),
            prefix: plain(root.text("Prefix").unwrap_or_default(), "Prefix")?,
            delimiter: plain(root.text("Delimiter").unwrap_or_default(), "Delimiter")?,
            max_keys: root.number("MaxKeys")?.unwrap_or_default(),
            next,
            objects: root.children("Contents").map(object).collect::<Result<_, _>>()?,
            common_prefixes: root.children("CommonPrefixes").map(common).collect::<Result<_, _>>()?,
            url_encoded,
        })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "ListBucketResult");
        let mut encoded = String::new();
        let mut key = |writer: &mut Writer, name, text: &str| {
            if self.url_encoded {
                encoded.clear();
                percent::push_path(text, &mut encoded);
                writer.text(name, &encoded);
            } else {
                writer.text(name, text);
            }
        };
        writer.text("Name", &self.bucket);
        key(&mut writer, "Prefix", &self.prefix);
        if !self.delimiter.is_empty() {
            key(&mut writer, "Delimiter", &self.delimiter);
        }
        writer.text("MaxKeys", &self.max_keys.to_string());
        writer.text("KeyCount", &(self.objects.len() + self.common_prefixes.len()).to_string());
        writer.text("IsTruncated", if self.next.is_some() { "true" } else { "false" });
        writer.optional("NextContinuationToken", self.next.as_deref());
        writer.optional("EncodingType", self.url_encoded.then_some("url"));
        for object in &self.objects {
            writer.open("Contents");
            key(&mut writer, "Key", &object.key);
            writer.text("LastModified", &object.last_modified);
            writer.text("ETag", &object.etag);
            writer.text("Size", &object.size.to_string());
            writer.text("StorageClass", "STANDARD");
            writer.close();
        }
        for prefix in &self.common_prefixes {
            writer.open("CommonPrefixes");
            key(&mut writer, "Prefix", prefix);
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

    /// The example is from Amazon's "ListObjectsV2", with a continuation token.
    #[test]
    fn the_published_example_is_parsed() {
        let text = r#"<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name>
  <Prefix></Prefix>
  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
  <KeyCount>1000</KeyCount>
  <MaxKeys>1000</MaxKeys>
  <IsTruncated>true</IsTruncated>
  <Contents>
    <Key>happyface.jpg</Key>
    <LastModified>2014-11-21T19:40:05.000Z</LastModified>
    <ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag>
    <Size>11</Size>
    <StorageClass>STANDARD</StorageClass>
  </Contents>
  <CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes>
</ListBucketResult>"#;
        let list = ListResult::parse(text.as_bytes()).unwrap();
        assert_eq!(list.next.as_deref(), Some("1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="));
        let expected = ListedObject {
            key: "happyface.jpg".into(),
            size: 11,
            etag: "\"70ee1738b6b21e2c8a43f3a5ab0eee71\"".into(),
            last_modified: "2014-11-21T19:40:05.000Z".into(),
        };
        assert_eq!(list.objects, [expected]);
        assert_eq!(list.common_prefixes, ["photos/".into()]);
        assert_eq!((&*list.bucket, list.max_keys, list.url_encoded), ("bucket", 1000, false));
    }

    #[test]
    fn encoded_keys_are_decoded_and_invalid_pages_rejected() {
        let list =
            |inside: &str| ListResult::parse(format!("<ListBucketResult>{inside}</ListBucketResult>").as_bytes());
        let contents = "<EncodingType>url</EncodingType><Contents><Key>a+b%2Bc%0A/d</Key><Size>0</Size></Contents>";
        assert_eq!(&*list(contents).unwrap().objects[0].key, "a b+c\n/d");
        assert_eq!(list("<IsTruncated>true</IsTruncated>"), Err(XmlError::Missing("NextContinuationToken")));
        assert_eq!(
            list("<IsTruncated>true</IsTruncated><NextContinuationToken/>"),
            Err(XmlError::BadValue("NextContinuationToken"))
        );
        assert_eq!(list("<IsTruncated>yes</IsTruncated>"), Err(XmlError::BadValue("IsTruncated")));
        assert_eq!(list("<Contents><Key>a</Key></Contents>"), Err(XmlError::Missing("Size")));
        assert_eq!(list("<Contents><Key>a</Key><Size>-1</Size></Contents>"), Err(XmlError::BadValue("Size")));
        let not_text = "<EncodingType>url</EncodingType><Contents><Key>%ff</Key><Size>0</Size></Contents>";
        assert_eq!(list(not_text), Err(XmlError::BadValue("Key")));
        assert_eq!(ListResult::parse(b"<Error><Code>x</Code></Error>"), Err(XmlError::NotA("ListBucketResult")));
    }

    fn text() -> impl Strategy<Value = Box<str>> {
        "[ -~\u{1}-\u{1f}\u{e9}]{0,12}".prop_map(Into::into)
    }

    proptest! {
        #[test]
        fn messages_round_trip(
            (bucket, prefix, delimiter) in (text(), text(), text()),
            max_keys in 0..2000_u64,
            next in option::of("[!-~]{1,20}".prop_map(Into::into)),
            objects in vec((text(), any::<u64>(), text(), text()), 0..5),
            common_prefixes in vec(text(), 0..4),
            url_encoded in any::<bool>(),
        ) {
            let object = |(key, size, etag, last_modified)| ListedObject { key, size, etag, last_modified };
            let objects = objects.into_iter().map(object).collect();
            let list = ListResult { bucket, prefix, delimiter, max_keys, next, objects, common_prefixes, url_encoded };
            let mut out = String::new();
            list.write(&mut out);
            prop_assert_eq!(ListResult::parse(out.as_bytes()), Ok(list));
        }
    }
}
