//! The embedded target: HTTP servers that count exactly what they received and sent, and a liar that misbehaves on
//! purpose.
//!
//! * [`Server`] serves objects of any size from memory (`/blackhole/10GiB`) and files below a directory. The server
//!   injects delays, faults and stalls. The [`Ledger`] of a server counts every request, so that tests can compare it
//!   with a client's counters. The server supports only plain HTTP/1, so that it uses little CPU time and can handle
//!   the highest load that a client can generate.
//! * [`HyperServer`] serves the same objects and files over TLS and HTTP/2, or serves S3. The faults and the ledger are
//!   the same too.
//! * [`Cluster`] runs several servers, each of which owns a part of the objects.
//! * [`StandIn`] makes a server imitate another storage system, including its quirks.
//! * [`Liar`] plays a script of raw bytes, pauses and resets, with one [`Case`] for each kind of misbehavior.
//!
//! This crate does not depend on the code that generates and measures load.
//!
//! # Requests
//!
//! | target | response |
//! |---|---|
//! | `GET /blackhole/SIZE` | `SIZE` bytes (`4096`, `100kB`, `1KiB`, `10GiB`, up to 16 EiB − 1); byte number n is [`pattern_byte`]`(n)` |
//! | `GET /blackhole/SIZE-NAME` | the same; `NAME` distinguishes objects of one size |
//! | `GET /PATH` | the file below [`Config::directory`], or the names in that directory, one per line, percent-encoded |
//! | `HEAD` | the same without the body |
//! | `PUT`, `POST` (any path) | the body is read and dropped; the response (201 or 200) is its length in decimal and a line end |
//!
//! A request for a single byte range gets 206, or 416 if the range is outside the object. A request for several ranges
//! gets the whole object. A request with `If-Range` also gets the whole object, because the server sends no validators.
//!
//! # Faults by query
//!
//! | parameter | effect |
//! |---|---|
//! | `delay=20ms` | the response starts this much later (`us`, `ms`, `s`, `m`; at most 10 minutes) |
//! | `status=503` | that status (200 to 599); if it is not 2xx, the body is a line of text; ranges are then ignored |
//! | `chunked` | the body is sent in chunks; for an HTTP/1.0 client, the close of the connection marks its end |
//! | `close` | `Connection: close`, and the server closes the connection |
//! | `header=X-Cache:hit` | one more header, up to 16 times; headers that frame the message are rejected |
//! | `redirect=TARGET`, `code=307` | a redirect to that (percent-encoded) path or URL; 301, 302, 303, 307 or 308 |
//! | `truncate=SIZE` | the body stops after that many bytes and the connection closes (HTTP/2: the stream is reset) |
//! | `flip=OFFSET` | the byte at this offset of the body is wrong; in a shorter body, the last byte is wrong |
//!
//! Other parameters are ignored, because clients add their own. A known parameter with an invalid value gets 400 and an
//! explanation.
//!
//! # Limits
//!
//! A head has at most 64 KiB and 100 headers. A request line has at most 16 KiB. A request body may have any size,
//! because it is discarded. While a response is being sent, the server buffers up to 64 KiB of further requests. It
//! leaves the rest in the kernel. A listing has at most 1000 names. [`Config`] limits connections and times.

mod certificate;
mod cluster;
mod config;
mod content;
mod decision;
mod faults;
mod hyper_front;
mod lean_front;
mod ledger;
mod liar;
mod listeners;
mod ownership;
mod pace;
mod request;
mod response;
mod s3;
mod shared;
mod stand_in;

pub use certificate::GeneratedCertificate;
pub use cluster::{Cluster, ClusterConfig};
pub use config::Config;
pub use config::faults::{Capacity, CountedRequests, Delay, Faults, Flip, RefusedRequests, Stall, StallFrom, Truncate};
pub use config::sia::{Renterd, Restarts, Siad, SiadVersion};
pub use config::stand_in::{Alluxio, Booster, Filestash, Gateway, StandIn};
pub use content::pattern::pattern_byte;
pub use faults::counts::FaultCounts;
pub use hyper_front::server::HyperServer;
pub use hyper_front::tls::{Identity, Tls};
pub use lean_front::server::Server;
pub use ledger::{Ledger, MethodCounts, OperationCount, RequestRecord, ResponseCounts, StatusCount};
pub use liar::Liar;
pub use liar::case::{AttemptEnd, Case, CaseError, ClientSetup, Expected, Upload, UploadContent};
pub use ownership::member::Handoff;
pub use ownership::owner::owner;
pub use request::target::object_name;
pub use s3::config::{S3Config, StoreIn};
pub use stand_in::booster::cids::{file_cids, piece_cid};
