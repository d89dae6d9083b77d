//! Emulated paths compared with independent programs (ping, iperf3) and with counts of our own.
//!
//! The tests make their own network namespaces and send nothing outside them. Where a right or a program is missing, the
//! tests that need it are skipped, counted and named. They run one after the other, because they measure time.

mod cleanup;
mod delay;
mod loss;
mod probe;
mod rate;
mod rights;
mod session;
mod support;
mod tcp;
