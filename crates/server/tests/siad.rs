//! Tests the stand-in for siad over real connections.

use crate::common::{Client, config};
use server::{Config, Server, Siad, StandIn};
use std::time::{Duration, Instant};

fn start(siad: Siad) -> (Server, Client) {
    let server = Server::start(&Config { stand_in: StandIn::Siad(siad), ..config() }).unwrap();
    let client = Client::connect(server.addresses()[0]);
    (server, client)
}

const AGENT: &str = "User-Agent: Sia-Agent\r\n";

#[test]
fn a_program_sets_an_allowance_and_uploads_a_path() {
    let (server, mut client) = start(Siad::default());
    assert_eq!(client.get("/consensus", "User-Agent: curl/8\r\n").status, 400);
    assert_eq!(client.get("/consensus", "").status, 400);
    let funds = "funds=5000000000000000000000000000&period=12960";
    client.send(&format!("POST /renter HTTP/1.1\r\nHost: x\r\n{AGENT}Content-Length: {}\r\n\r\n{funds}", funds.len()));
    let set = client.response();
    assert_eq!((set.status, set.header("content-length"), set.body.len()), (204, None, 0));
    let source = std::env::current_exe().unwrap();
    let target = format!("/renter/upload/a/b?source={}", source.display());
    client.send(&format!("POST {target} HTTP/1.1\r\nHost: x\r\n{AGENT}Content-Length: 0\r\n\r\n"));
    assert_eq!(client.response().status, 204);
    let files = client.get("/renter/files", AGENT);
    let text = String::from_utf8(files.body).unwrap();
    assert!(text.starts_with("{\"files\":[{\"siapath\":\"a/b\",") && text.ends_with("]}\n"), "{text}");
    let ledger = server.stop();
    assert_eq!((ledger.statuses[&204].complete, ledger.statuses[&400].complete), (2, 2));
}

#[test]
fn responses_wait_for_the_number_of_files() {
    let (_server, mut client) = start(Siad { delay_per_file: Duration::from_millis(150), ..Siad::default() });
    let funds = "funds=5000000000000000000000000000&period=12960";
    client.send(&format!("POST /renter?{funds} HTTP/1.1\r\nHost: x\r\n{AGENT}Content-Length: 0\r\n\r\n"));
    assert_eq!(client.response().status, 204);
    let source = std::env::current_exe().unwrap();
    for name in ["a", "b"] {
        let target = format!("/renter/upload/{name}?source={}", source.display());
        client.send(&format!("POST {target} HTTP/1.1\r\nHost: x\r\n{AGENT}Content-Length: 0\r\n\r\n"));
        assert_eq!(client.response().status, 204);
    }
    let begin = Instant::now();
    assert_eq!(client.get("/wallet", AGENT).status, 200);
    assert!(begin.elapsed() >= Duration::from_millis(300));
}
