//! Tests of the engine that measure real time. They are a program of their own, so that no other tests run at the same time.

#[path = "support/cores.rs"]
mod cores;
mod sockets;
mod support;
mod unread;
