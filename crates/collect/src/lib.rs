//! Collectors: polls of a target's own metrics, of hosts, of processes and of the network path.
//!
//! * [`source`]: what is polled, as values;
//! * [`set`]: ready sets of sources for known systems;
//! * [`poll`]: a poller with a limit on the time of each poll, and its [`schedule`];
//! * [`csv`]: tables to which polls are appended.
//!
//! Requests are made by the usual run loop, with the connections, TLS and authentication of a plan that the caller makes.
//! A source that fails leaves its values blank and is polled again next time.

pub mod csv;
pub mod poll;
pub mod schedule;
pub mod set;
pub mod source;
