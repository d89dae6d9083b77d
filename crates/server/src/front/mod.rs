//! The second front: for what the lean one does not speak. TLS, HTTP/2, and services that are more than files.
//!
//! Protocols are the business of hyper and rustls. What is served, how faults are met and how it is counted is the same as
//! on the lean front: the site's answers, [`crate::Config`] with its faults, one [`crate::Ledger`]. A [`Service`] makes the
//! replies; everything between it and the socket is here:
//!
//! * [`Front`]: sockets, threads, start and stop;
//! * `connection`: one connection, plain or TLS, HTTP/1.1 or HTTP/2, its limits on time;
//! * `exchange`: one request and its reply, with faults and counts;
//! * `body`: the bodies of both;
//! * `site`: the service that serves blackhole objects and files, and stands in for others.
//!
//! Each thread has a runtime of its own, so that a stall can stop it, and counts without locks, as on the lean front.

mod body;
mod connection;
mod exchange;
mod io;
mod running;
mod service;
mod site;
mod tls;

pub use running::Front;
pub(crate) use service::{Broken, Meets, Reply, ReplyBody, Replying, RequestBody, Service};
pub(crate) use site::range_of;
pub use tls::{Identity, Tls};
