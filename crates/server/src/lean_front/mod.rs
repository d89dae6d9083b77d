//! The lean front: the part of the server that handles plain HTTP/1 connections with epoll and `sendfile`. This front
//! uses little CPU time per request.
//!
//! * [`server`]: start, stop, and the ledger of all threads;
//! * [`thread`]: the event loop of one thread;
//! * [`connection`]: the state machine of one connection;
//! * [`sender`]: one response on its way to the kernel;
//! * [`owner_fetch`]: responses fetched from another server of a cluster.

mod connection;
mod connection_table;
mod context;
pub(crate) mod date;
mod head;
mod owner_fetch;
mod sender;
pub(crate) mod server;
mod thread;
