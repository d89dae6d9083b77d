//! The hyper front: TLS, HTTP/2, and services that do more than serve files.
//!
//! hyper and rustls speak the protocols. Responses, faults and the ledger are the same as on the lean front. A
//! [`service::Service`] makes the responses; everything between it and the socket is here:
//!
//! * [`server`]: sockets, threads, start and stop;
//! * [`connection`]: one connection, plain or TLS, HTTP/1.1 or HTTP/2, with its time limits;
//! * [`exchange`]: one request and its response, with faults;
//! * [`account`]: the accounting of one request;
//! * [`request_body`], [`response_body`]: the bodies of both;
//! * [`content_service`]: the service that serves blackhole objects and files, and plays the stand-ins.
//!
//! Each thread has its own runtime, so that a stall can stop it, and counts without locks, as on the lean front.

mod account;
mod activity;
mod connection;
mod content_service;
mod context;
mod exchange;
pub(crate) mod request_body;
pub(crate) mod request_head;
mod response_body;
pub(crate) mod server;
pub(crate) mod service;
pub(crate) mod tls;
