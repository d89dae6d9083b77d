//! End-to-end tests of the program: real processes, a real nginx, real sockets on loopback.
//!
//! Each test is named for what it proves. The oracle is nginx's access log, read after nginx has quit gracefully: the program's
//! counters must agree with the server's. Without nginx, the tests that need it are skipped, counted and named, or fail with
//! `REQUIRE_PEERS=1`.

mod bad_input;
mod batches;
mod ci;
mod compare;
mod counts;
mod dialects;
mod export;
mod front;
mod generate;
mod help;
mod html;
mod html_studies;
mod http2;
mod https;
mod interrupts;
mod limits;
mod line;
mod lists;
mod merge;
mod minio;
mod outcomes;
mod output;
mod readme;
mod redirects;
mod repeats;
mod requests;
mod s3;
mod s3_endpoint;
mod s3_http2;
mod s3_leftovers;
mod scenarios;
mod secrets;
mod stand_ins;
mod study;
mod support;
mod versitygw;
