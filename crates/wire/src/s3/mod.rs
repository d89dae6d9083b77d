//! What S3 says in URLs and in XML: names of objects, and the messages of its API, read and written.
//!
//! Both sides use it: the client reads answers and writes requests, the embedded server the other way round. Every
//! message is bounded and is data: nothing of it is trusted beyond its form.

mod delete;
mod error;
mod list;
mod location;
mod multipart;
mod uploads;
mod xml;

pub use delete::{DeleteError, DeleteRequest, DeleteResult, MAX_DELETED};
pub use error::{ErrorBody, ErrorCode};
pub use list::{ListResult, ListedObject};
pub use location::{Addressing, AddressingError, Bucket, LocationError, MAX_KEY_BYTES, S3Location};
pub use multipart::read_complete;
pub use multipart::{Completed, CompletedPart, CompletedUpload, InitiatedUpload, MAX_PARTS, write_complete};
pub use uploads::{OpenUpload, OpenUploads, UploadMarker};
pub use xml::{MAX_XML_BYTES, XmlError};
