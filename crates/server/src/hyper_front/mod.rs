//! The hyper front: the part of the server that handles connections with the library hyper. This front supports TLS,
//! HTTP/2, and services that do more than serve files.
//!
//! hyper and rustls implement the protocols, and a [`service::Service`] creates the responses. This module contains
//! everything between the service and the socket. Responses, faults and the ledger are the same as on the lean front.
//!
//! * [`server`]: sockets, threads, start and stop;
//! * [`connection`]: one connection, plain or TLS, HTTP/1.1 or HTTP/2, with its time limits;
//! * [`exchange`]: one request and its response, with faults;
//! * [`socket`]: the socket, with counted input;
//! * [`account`]: the accounting of one request;
//! * [`request_body`], [`response_body`]: the bodies of requests and responses;
//! * [`content_service`]: the service for blackhole objects, files and stand-ins.
//!
//! Each thread has its own async runtime, so that an injected stall can stop the whole thread. As on the lean front,
//! each thread has its own counters, which need no locks.

mod account;
mod connection;
mod content_service;
mod context;
mod exchange;
pub(crate) mod request_body;
pub(crate) mod request_head;
mod response_body;
pub(crate) mod server;
pub(crate) mod service;
mod socket;
pub(crate) mod tls;
