//! Collectors, which poll a target's own metrics, hosts, processes and the network path.
//!
//! * [`source`]: the sources that are polled;
//! * [`set`]: predefined sets of sources for known systems;
//! * [`poll`]: the poller, which limits the time of each poll, and its [`schedule`];
//! * [`csv`]: tables to which polls are appended.
//!
//! The usual run loop makes the requests. The caller provides a plan with the connections, TLS settings and
//! authentication. A source that fails leaves its values blank and is polled again next time.

pub mod csv;
pub mod poll;
pub mod schedule;
pub mod set;
pub mod source;
