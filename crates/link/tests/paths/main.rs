//! Tests emulated paths by comparison with independent programs (ping, iperf3) and with byte counts of the tests.
//!
//! The tests create their own network namespaces and send nothing outside of them. If a permission or a program is
//! missing, the tests that need it are skipped, counted and named. The tests run one after the other, because they
//! measure time.

mod cleanup;
mod delay;
mod loss;
mod permissions;
mod probe;
mod rate;
mod session;
mod support;
mod tcp;
