//! Attempts: how one request of an operation begins and ends, whichever version of HTTP it uses.

pub(in crate::run_loop) mod end;
pub(in crate::run_loop) mod redirect;
pub(in crate::run_loop) mod resend;
