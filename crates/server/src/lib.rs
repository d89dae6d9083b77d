//! The embedded target: an HTTP/1 server that says exactly what it saw and sent, and a liar that breaks the rules on
//! purpose.
//!
//! * [`Server`] serves objects of any size from memory (`/blackhole/10GiB`) and files below a directory, with delays,
//!   faults and stalls on request, and keeps a [`Ledger`] that tests join with a client's books. It is lean, since
//!   a client's ceiling is measured against it.
//! * [`Cluster`] is several of them, of which each owns a part of the objects.
//! * [`StandIn`] has a server behave as another storage system, with its quirks.
//! * [`Liar`] plays a script of raw bytes, pauses and resets: one [`Case`] for each way in which a server can misbehave.
//! * [`Front`] serves the same over TLS and HTTP/2, with the same faults and the same ledger.
//!
//! Nothing here knows how load is made or measured.
//!
//! # What a request may ask for
//!
//! | target | answer |
//! |---|---|
//! | `GET /blackhole/SIZE` | `SIZE` bytes (`4096`, `100kB`, `1KiB`, `10GiB`, up to 16 EiB − 1); byte number n is [`pattern_byte`]`(n)` |
//! | `GET /blackhole/SIZE-NAME` | the same: `NAME` tells objects of one size apart |
//! | `GET /PATH` | the file below [`Config::directory`], or the names in that directory, one per line, percent-encoded |
//! | `HEAD` | the same without the body |
//! | `PUT`, `POST` (any path) | the body is read and dropped; 201 or 200 with its length in decimal and a line end |
//!
//! One byte range is answered with 206, one outside of the object with 416; several are answered with the whole
//! object, and so is a range with `If-Range`, since no validators are sent.
//!
//! # Faults by query
//!
//! | parameter | effect |
//! |---|---|
//! | `delay=20ms` | the answer begins so much later (`us`, `ms`, `s`, `m`; at most 10 minutes) |
//! | `status=503` | that status (200 to 599); other than 2xx with a line of text for a body; ranges are then ignored |
//! | `chunked` | the body in chunks (to an HTTP/1.0 client: ended by closing) |
//! | `close` | `Connection: close`, and so it is |
//! | `header=X-Cache:hit` | one more header; may come up to 16 times; not one that frames the message |
//! | `redirect=TARGET`, `code=307` | a redirect to that (percent-encoded) path or URL; 301, 302, 303, 307 or 308 |
//! | `truncate=SIZE` | the body breaks off after so many bytes, and the connection with it (HTTP/2: the stream) |
//! | `flip=OFFSET` | that byte of the body is wrong; the last one of a shorter body |
//!
//! Other parameters are ignored, since clients add their own. What is understood but not valid is answered with 400 and
//! a sentence.
//!
//! # Limits
//!
//! A head has at most 64 KiB and 100 headers, a request line 16 KiB; a body may be of any size, since it is dropped. While
//! an answer is under way, 64 KiB of further requests are kept, the rest is left to the kernel. A listing has at most
//! 1000 names. Connections and times have the limits of [`Config`].

mod answer;
mod cluster;
mod config;
mod connection;
mod date;
mod faults;
mod files;
mod front;
mod head;
mod ledger;
mod liar;
mod listeners;
mod pace;
mod pattern;
mod query;
mod s3;
mod send;
mod server;
mod site;
mod source;
mod stand_in;
mod table;
mod target;
mod thread;

pub use cluster::{Cluster, ClusterConfig, Elsewhere, object_name, owner};
pub use config::{Capacity, Config, Counted, Delay, Faults, Flip, Refused, Stall, StallFrom, Truncate};
pub use faults::FaultCounts;
pub use front::{Front, Identity, Tls};
pub use ledger::{Answers, Ledger, MethodCounts, OperationCount, RequestRecord, StatusCount};
pub use liar::{Case, CaseError, Client, End, Expected, Liar, Upload, UploadContent};
pub use pattern::pattern_byte;
pub use s3::{S3Config, StoreIn};
pub use server::Server;
pub use stand_in::{Alluxio, Booster, Filestash, Gateway, StandIn, file_cids, piece_cid};
