//! Tests of the embedded servers over real sockets.
//!
//! All of them are one program, because each program takes several seconds to build.

mod alluxio;
mod booster;
mod cluster;
mod common;
mod faults;
mod filestash;
mod hyper_front;
mod liar;
mod recorded_responses;
mod renterd;
mod serving;
mod sia;
mod siad;
