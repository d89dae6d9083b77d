//! The locations and XML messages of S3, with parsers and writers.
//!
//! The client parses responses and writes requests. The embedded server parses requests and writes responses. All
//! messages have size limits, and their content is never trusted.

mod assumed_role;
mod delete;
mod error;
mod list;
mod listed_parts;
mod location;
mod multipart;
mod open_uploads;
mod xml;

pub use assumed_role::AssumedRole;
pub use delete::{DeleteError, DeleteRequest, DeleteResult, MAX_DELETED};
pub use error::{ErrorBody, ErrorCode};
pub use list::{ListResult, ListedObject};
pub use listed_parts::{ListedPart, ListedParts};
pub use location::{Addressing, AddressingError, Bucket, LocationError, MAX_KEY_BYTES, S3Location};
pub use multipart::read_complete;
pub use multipart::{Completed, CompletedPart, CompletedUpload, InitiatedUpload, MAX_PARTS, write_complete};
pub use open_uploads::{OpenUpload, OpenUploads, UploadMarker};
pub use xml::{MAX_XML_BYTES, XmlError};
