//! Test of the example with a server that counts its requests.

#[allow(dead_code, reason = "its main function reads the command line")]
#[path = "../examples/load.rs"]
mod load;

use server::{Config, Server};
use std::time::Duration;

#[test]
fn the_example_reads_a_url_and_sums_up() {
    let server = Server::start(&Config::default()).unwrap();
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    let summary = load::load(&url, Duration::from_millis(300)).unwrap();
    let ledger = server.stop();
    assert!(summary.all.ok > 0 && summary.all.failed == 0, "{:?}", summary.all);
    assert_eq!(ledger.requests(), summary.all.ok);
    assert!(summary.ok_rate().unwrap() > 0.0 && summary.all.response.quantile(0.99).is_some());
}

#[test]
fn the_example_rejects_invalid_urls() {
    assert!(load::load("nowhere", Duration::ZERO).is_err());
}
