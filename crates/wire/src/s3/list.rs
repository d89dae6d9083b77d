//! The listing of a bucket, version 2: pages of keys.

use super::xml::{Element, Writer, XmlError};
use crate::percent::{self, Blank};

/// One page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListResult {
    /// The bucket.
    pub bucket: Box<str>,
    /// What all keys begin with.
    pub prefix: Box<str>,
    /// Up to where keys are put together into common prefixes; empty for nowhere.
    pub delimiter: Box<str>,
    /// The most keys of a page.
    pub max_keys: u64,
    /// Where the next page begins; none when this is the last one. To be sent back as it is.
    pub next: Option<Box<str>>,
    /// The objects, in the order of their keys.
    pub objects: Vec<ListedObject>,
    /// What several keys begin with, up to the delimiter.
    pub common_prefixes: Vec<Box<str>>,
    /// Whether keys are percent-encoded in the message (`encoding-type=url`), so that XML can hold any of them. Here
    /// they are always in plain text.
    pub url_encoded: bool,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key, in plain text.
    pub key: Box<str>,
    /// Its size in bytes.
    pub size: u64,
    /// Its ETag, with the quotes that belong to it.
    pub etag: Box<str>,
    /// As written: `2009-10-12T17:50:30.000Z`.
    pub last_modified: Box<str>,
}

impl ListResult {
    /// Reads a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_response(bytes, "ListBucketResult", &["Contents", "IsTruncated", "KeyCount"])?;
        let url_encoded = match root.text("EncodingType").map(str::trim_ascii) {
            None | Some("") => false,
            Some("url") => true,
            Some(_) => return Err(XmlError::BadValue("EncodingType")),
        };
        let plain = |text: &str, name| -> Result<Box<str>, XmlError> {
            let decoded = url_encoded.then(|| percent::decoded_text(text, Blank::Plus));
            decoded.map_or(Ok(text.into()), |decoded| decoded.map(Into::into).ok_or(XmlError::BadValue(name)))
        };
        let next = if root.flag("IsTruncated")? {
            // Without it the first page would come again and again.
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

    /// As in Amazon's "ListObjectsV2", the example with a continuation token.
    #[test]
    fn the_published_example_is_read() {
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
    fn encoded_keys_are_decoded_and_bad_pages_refused() {
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
        fn what_is_written_reads_back(
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
