//! End-to-end tests of the program, with real processes, a real nginx, and real sockets on loopback.
//!
//! The name of a test states what the test shows. The reference is nginx's access log: the program's counters must
//! equal the counts in the log. The tests read the log after nginx has quit gracefully. Without nginx, the tests that
//! need it are skipped, counted and named. With `REQUIRE_PEERS=1` they fail instead.

mod bad_input;
mod bad_run_directory;
mod batches;
mod ci;
mod collect;
mod compare;
mod counts;
mod deploy;
mod dialects;
mod export;
mod fill;
mod fill_cells;
mod fill_completions;
mod fill_sia;
mod fleet;
mod fleet_bus;
mod fleet_disturbed;
mod fleet_fill;
mod fleet_keys;
mod fleet_line;
mod fleet_namespaces;
mod fleet_scaling;
mod fleet_study;
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
mod link;
mod lists;
mod live_metrics;
mod live_view;
mod merge;
mod minio;
mod outcomes;
mod output;
mod readme;
mod redirects;
mod repeats;
mod requests;
mod rolled_up;
mod s3;
mod s3_endpoint;
mod s3_http2;
mod s3_leftovers;
mod s3_listing;
mod scenarios;
mod secrets;
mod stand_ins;
mod study;
mod support;
mod versitygw;
