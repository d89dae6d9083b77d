//! Tests of the engine that do not depend on how fast this host is. Most of them run on simulated time.
//!
//! All of them are one program, because each program takes several seconds to build.

mod accounting;
mod batches;
#[path = "support/bucket.rs"]
mod bucket;
mod chains;
mod example;
#[path = "support/frames.rs"]
mod frames;
mod gateway;
mod http2;
mod liar;
mod limited_by;
mod outcomes;
mod polls;
mod redirects;
mod resume;
mod retries;
mod s3_resume;
mod sessions;
mod simulated;
mod sizes;
mod stale;
mod stalls;
mod support;
mod tls;
mod uploads;
