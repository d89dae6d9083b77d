//! Messages of `DeleteObjects`, which deletes many objects with one request.

use super::error::{ErrorBody, ErrorCode};
use super::xml::{Element, Writer, XmlError};

/// Maximum number of objects in a request.
pub const MAX_DELETED: usize = 1000;

/// The request message: `Delete`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteRequest {
    /// The keys of the objects, 1 to [`MAX_DELETED`].
    pub keys: Vec<Box<str>>,
    /// `true` if the response lists only errors.
    pub quiet: bool,
}

impl DeleteRequest {
    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse_named(bytes, "Delete")?;
        let key = |element: &Element| element.required("Key").map(Into::into);
        let keys: Vec<_> = root.children("Object").map(key).collect::<Result<_, _>>()?;
        match keys.len() {
            0 => Err(XmlError::Missing("Object")),
            count if count > MAX_DELETED => Err(XmlError::TooMany),
            _ => Ok(Self { keys, quiet: root.flag("Quiet")? }),
        }
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "Delete");
        for key in &self.keys {
            writer.open("Object");
            writer.text("Key", key);
            writer.close();
        }
        writer.optional("Quiet", self.quiet.then_some("true"));
    }
}

/// The response message: `DeleteResult`. A missing object counts as deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteResult {
    /// Keys of deleted objects. Empty if the request was quiet.
    pub deleted: Vec<Box<str>>,
    /// Objects that were not deleted.
    pub errors: Vec<DeleteError>,
}

/// An object that was not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteError {
    /// The key.
    pub key: Box<str>,
    /// The reason.
    pub code: ErrorCode,
    /// An explanation for people, at most 1 KiB.
    pub message: Box<str>,
}

impl DeleteResult {
    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        // A response in quiet mode that reports no errors has no child elements. Such a response can only be recognized
        // by the name of its root element.
        let root = Element::parse_response(bytes, "DeleteResult", &["Deleted", "Error"])?;
        let deleted = root.children("Deleted").map(|element| element.required("Key").map(Into::into));
        let error = |element: &Element| -> Result<DeleteError, XmlError> {
            let ErrorBody { code, message, .. } = ErrorBody::of(element)?;
            Ok(DeleteError { key: element.required("Key")?.into(), code, message })
        };
        Ok(Self {
            deleted: deleted.collect::<Result<_, _>>()?,
            errors: root.children("Error").map(error).collect::<Result<_, _>>()?,
        })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "DeleteResult");
        for key in &self.deleted {
            writer.open("Deleted");
            writer.text("Key", key);
            writer.close();
        }
        for error in &self.errors {
            writer.open("Error");
            writer.text("Key", &error.key);
            writer.text("Code", error.code.as_str());
            writer.text("Message", &error.message);
            writer.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn requests_have_limits() {
        let read = |inside: &str| DeleteRequest::parse(format!("<Delete>{inside}</Delete>").as_bytes());
        let object = "<Object><Key>k</Key><VersionId>v</VersionId></Object>";
        assert_eq!(read(""), Err(XmlError::Missing("Object")));
        assert_eq!(read("<Object/>"), Err(XmlError::Missing("Key")));
        assert_eq!(read(&object.repeat(MAX_DELETED)).unwrap().keys.len(), MAX_DELETED);
        assert_eq!(read(&object.repeat(MAX_DELETED + 1)), Err(XmlError::TooMany));
        assert_eq!(read(&format!("{object}<Quiet>1</Quiet>")), Err(XmlError::BadValue("Quiet")));
    }

    fn text() -> impl Strategy<Value = Box<str>> {
        "[ -~\u{e9}]{0,12}".prop_map(Into::into)
    }

    proptest! {
        #[test]
        fn messages_round_trip(
            keys in vec(text(), 1..6),
            quiet in any::<bool>(),
            errors in vec((text(), "[A-Z][a-z]{0,9}", text()), 0..4),
        ) {
            let request = DeleteRequest { keys: keys.clone(), quiet };
            let mut out = String::new();
            request.write(&mut out);
            prop_assert_eq!(DeleteRequest::parse(out.as_bytes()), Ok(request));

            let error = |(key, code, message): (_, String, _)| DeleteError { key, code: ErrorCode::from_name(&code), message };
            let result = DeleteResult { deleted: keys, errors: errors.into_iter().map(error).collect() };
            let mut out = String::new();
            result.write(&mut out);
            prop_assert_eq!(DeleteResult::parse(out.as_bytes()), Ok(result));
        }
    }
}
