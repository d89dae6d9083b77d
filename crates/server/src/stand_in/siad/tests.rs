use std::fs;
use std::path::Path;

use serde_json::Value;
use wire::{Framing, Method, RequestHead, Version};

use super::*;
use crate::config::sia::{Restarts, SiadVersion};
use crate::content::Content;
use crate::request::fields::RequestFields;

const SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;

/// A stand-in with a clock that only the test advances.
struct Daemon {
    siad: SiadStandIn,
    started: Duration,
    now: Duration,
    password: Option<&'static str>,
}

/// A response: status, JSON document, and the response itself.
struct Seen {
    status: u16,
    json: Value,
    response: Response,
}

impl Seen {
    fn message(&self) -> &str {
        self.json["message"].as_str().unwrap_or_default()
    }
}

impl Daemon {
    fn new(config: Siad) -> Self {
        let now = Duration::from_secs(1_000_000);
        Self { siad: SiadStandIn::starting_at(config, now), started: now, now, password: None }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    fn call(&self, method: Method, target: &str, agent: &str, body: &str) -> Seen {
        let head = RequestHead {
            method,
            target: target.into(),
            version: Version::Http11,
            framing: Framing::None,
            keep_alive: true,
            host: None,
            range: None,
            expect_continue: false,
        };
        let mut fields = RequestFields::default();
        fields.note(true, b"User-Agent", agent.as_bytes());
        if let Some(password) = self.password {
            let basic = format!("Basic {}", STANDARD.encode(format!(":{password}")));
            fields.note(true, b"Authorization", basic.as_bytes());
        }
        fields.note_body(8192, body.as_bytes());
        let facts = RequestFacts { received: body.len() as u64, fields: &fields };
        let target = Target::parse(target).unwrap();
        let mut response = self.siad.respond_at(self.now, &head, target, &facts);
        let text = body_of(&mut response);
        let json = serde_json::from_slice(&text).unwrap_or(Value::Null);
        Seen { status: response.status, json, response }
    }

    fn get(&self, target: &str) -> Value {
        let seen = self.call(Method::Get, target, "Sia-Agent", "");
        assert_eq!(seen.status, 200, "{target}: {}", seen.json);
        seen.json
    }

    fn post(&self, target: &str, body: &str) -> Seen {
        self.call(Method::Post, target, "Sia-Agent", body)
    }

    /// Sets an allowance of this many siacoins, with 50 hosts and the study's period.
    fn allow(&self, siacoins: u128) {
        let funds = siacoins * SIACOIN;
        assert_eq!(self.post("/renter", &format!("funds={funds}&period=12960")).status, 204);
    }

    fn upload(&self, name: &str, source: &Path) -> Seen {
        self.post(&format!("/renter/upload/{name}?source={}", source.display()), "")
    }

    fn file(&self, name: &str) -> Value {
        let files = self.get("/renter/files");
        files["files"].as_array().unwrap().iter().find(|file| file["siapath"] == name).unwrap().clone()
    }

    /// Returns the sum of a field over all contracts.
    fn sum(&self, part: &str) -> u128 {
        let contracts = self.get("/renter/contracts");
        let amount = |contract: &Value| contract[part].as_str().unwrap().parse::<u128>().unwrap();
        contracts["contracts"].as_array().unwrap().iter().map(amount).sum()
    }
}

fn body_of(response: &mut Response) -> Vec<u8> {
    let mut out = Vec::new();
    let pattern = crate::content::pattern::Pattern::new().unwrap();
    if let Content::Source(source) = &mut response.content {
        while source.produce(&pattern, 65_536, &mut out).unwrap() == crate::content::source::Produced::Piece {}
    } else {
        let length = response.length.unwrap_or(0) as usize;
        response.content.append(&pattern, response.first, length, &mut out).unwrap();
    }
    out
}

/// Creates a sparse file of this size.
fn sparse(directory: &Path, name: &str, bytes: u64) -> std::path::PathBuf {
    let path = directory.join(name);
    fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

/// Returns settings with which the daemon uploads 30 sectors per second, which is one chunk with the default
/// redundancy.
fn one_chunk_per_second() -> Siad {
    Siad { bandwidth: std::num::NonZeroU64::new(30 << 22).unwrap(), ..Siad::default() }
}

#[test]
fn programs_must_name_themselves() {
    let daemon = Daemon::new(Siad::default());
    let refused = daemon.call(Method::Get, "/consensus", "Mozilla/5.0", "");
    assert_eq!(refused.status, 400);
    assert_eq!(refused.message(), "Browser access disabled due to security vulnerability. Use Sia-UI or siac.");
    assert_eq!(refused.response.media_type(), Some("application/json; charset=utf-8"));
    assert_eq!(daemon.call(Method::Get, "/consensus", "my Sia-Agent/1", "").status, 200);
}

#[test]
fn only_changes_need_the_password() {
    let mut daemon = Daemon::new(Siad { password: Some("secret".to_owned()), ..Siad::default() });
    daemon.get("/wallet");
    let refused = daemon.post("/renter/delete/x", "");
    assert_eq!((refused.status, refused.message()), (401, "API authentication failed."));
    assert_eq!(refused.response.headers[0].value.as_str(), "Basic realm=\"SiaAPI\"");
    daemon.password = Some("wrong");
    assert_eq!(daemon.post("/renter/delete/x", "").status, 401);
    daemon.password = Some("secret");
    assert_eq!(daemon.post("/renter/delete/x", "").message(), "no file known with that path");
}

#[test]
fn unknown_calls_are_404_with_a_message_and_other_methods_405() {
    let daemon = Daemon::new(Siad::default());
    let unknown = daemon.call(Method::Get, "/renter/nothing", "Sia-Agent", "");
    assert_eq!((unknown.status, unknown.message()), (404, "404 - Refer to API.md"));
    assert_eq!(daemon.post("/consensus", "").status, 405);
    assert_eq!(daemon.call(Method::Head, "/wallet", "Sia-Agent", "").status, 405);
}

#[test]
fn the_daemon_is_synced_after_a_while() {
    let mut daemon = Daemon::new(Siad { sync_after: Duration::from_secs(60), ..Siad::default() });
    assert_eq!(daemon.get("/consensus")["synced"], false);
    assert_eq!(daemon.post("/renter", "funds=1&period=10000").message(), "you must be synced to set an allowance");
    daemon.wait(Duration::from_secs(60));
    let consensus = daemon.get("/consensus");
    assert_eq!((&consensus["synced"], &consensus["height"]), (&Value::from(true), &Value::from(142_000)));
}

#[test]
fn an_allowance_has_rules() {
    let daemon = Daemon::new(Siad::default());
    for (body, message) in [
        ("period=10", "unable to parse funds"),
        ("funds=1e3&period=10", "unable to parse funds"),
        ("funds=1&hosts=19&period=10", "insufficient number of hosts, need at least 50 but have 19"),
        ("funds=1", "unable to parse period: unexpected newline"),
        ("funds=1&period=1", "renew window must be non-zero"),
        ("funds=1&period=0", "period must be non-zero"),
        ("funds=1&period=300&renewwindow=300", "renew window must be less than period"),
        (
            "funds=1&period=300&renewwindow=9",
            "renew window is too small, must be at least 288 blocks but have 9 blocks",
        ),
    ] {
        let refused = daemon.post("/renter", body);
        assert_eq!((refused.status, refused.message()), (400, message), "{body}");
    }
    daemon.allow(5000);
    let allowance = &daemon.get("/renter")["settings"]["allowance"];
    assert_eq!(allowance["funds"], (5000 * SIACOIN).to_string());
    assert_eq!((&allowance["hosts"], &allowance["renewwindow"]), (&Value::from(50), &Value::from(6480)));
}

#[test]
fn contracts_form_in_time_from_the_money_of_an_unlocked_wallet() {
    let mut daemon = Daemon::new(Siad { locked: true, forming: Duration::from_secs(100), ..Siad::default() });
    let count = |daemon: &Daemon| daemon.get("/renter/contracts")["activecontracts"].as_array().unwrap().len();
    daemon.allow(5000);
    daemon.wait(Duration::from_secs(1000));
    assert_eq!((count(&daemon), &daemon.get("/wallet")["unlocked"]), (0, &Value::from(false)));
    assert_eq!(daemon.post("/wallet/unlock", "encryptionpassword=x").status, 204);
    daemon.wait(Duration::from_secs(50));
    assert_eq!(count(&daemon), 25);
    assert_eq!(daemon.get("/wallet")["confirmedsiacoinbalance"], (2500 * SIACOIN).to_string());
    daemon.wait(Duration::from_secs(50));
    assert_eq!((count(&daemon), daemon.sum("totalcost")), (50, 5000 * SIACOIN));
    assert_eq!(daemon.get("/wallet")["confirmedsiacoinbalance"], "0");
    assert_eq!(daemon.get("/renter/contracts")["inactivecontracts"], Value::Array(Vec::new()));
}

#[test]
fn uploads_take_the_time_that_the_bandwidth_allows() {
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::new(one_chunk_per_second());
    assert_eq!(daemon.get("/renter/files")["files"], Value::Null);
    daemon.allow(5000);
    let source = sparse(directory.path(), "three", 3 * 41_942_760);
    assert_eq!(daemon.upload("foo/three.txt", &source).status, 204);
    assert_eq!(
        daemon.upload("foo/three.txt", &source).message(),
        "upload failed: a file already exists at that location"
    );
    assert_eq!(daemon.upload("one", &sparse(directory.path(), "one", 1)).status, 204);
    daemon.wait(Duration::from_millis(1500));
    let file = daemon.file("foo/three.txt");
    assert_eq!((&file["uploadprogress"], &file["available"]), (&Value::from(50.0), &Value::from(true)));
    assert_eq!((&file["uploadedbytes"], &file["redundancy"]), (&Value::from(45 << 22), &Value::from(1.5)));
    assert_eq!(
        (&file["filesize"], &file["localpath"]),
        (&Value::from(125_828_280), &Value::from(source.to_str().unwrap()))
    );
    assert_eq!(daemon.file("one")["uploadprogress"], 0.0);
    daemon.wait(Duration::from_millis(2500));
    assert_eq!(daemon.file("foo/three.txt")["uploadprogress"], 100.0);
    // A file of one byte needs a chunk on 30 hosts.
    assert_eq!(daemon.file("one")["uploadedbytes"], 30 << 22);
    // The unused hour is not saved for later.
    daemon.wait(Duration::from_secs(3600));
    daemon.upload("two", &sparse(directory.path(), "two", 1));
    assert_eq!(daemon.file("two")["uploadprogress"], 0.0);
}

#[test]
fn uploads_have_rules() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::new(Siad::default());
    let source = sparse(directory.path(), "x", 1);
    let early = daemon.upload("x", &source);
    assert_eq!(
        (early.status, early.message()),
        (500, "upload failed: not enough contracts to upload file: got 0, needed 20")
    );
    daemon.allow(5000);
    let at = source.display();
    let missing = directory.path().join("missing");
    for (target, status, message) in [
        ("/renter/upload/a?source=x".to_owned(), 400, "source must be an absolute path".to_owned()),
        (
            format!("/renter/upload/a?source={}", missing.display()),
            500,
            format!("upload failed: stat {}: no such file or directory", missing.display()),
        ),
        (
            format!("/renter/upload/a?source={}", directory.path().display()),
            500,
            "upload failed: cannot upload directory".to_owned(),
        ),
        (
            format!("/renter/upload/a/../b?source={at}"),
            500,
            "upload failed: directory traversal is not allowed".to_owned(),
        ),
        (format!("/renter/upload//a?source={at}"), 500, "upload failed: siapath cannot begin with /".to_owned()),
        (format!("/renter/upload/?source={at}"), 500, "upload failed: filename must be a nonempty string".to_owned()),
        (
            format!("/renter/upload/a?source={at}&datapieces=1&paritypieces=3"),
            400,
            "a minimum of 3 parity pieces is required, but 12 parity pieces requested".to_owned(),
        ),
        (
            format!("/renter/upload/a?source={at}&datapieces=90&paritypieces=12"),
            400,
            "a redundancy of 1.13 is required, but redundancy of 2.00 supplied".to_owned(),
        ),
        (
            format!("/renter/upload/a?source={at}&datapieces=0&paritypieces=12"),
            400,
            "unable to encode file using the provided parameters: too many shards, or none".to_owned(),
        ),
    ] {
        let refused = daemon.post(&target, "");
        assert_eq!((refused.status, refused.message()), (status, message.as_str()), "{target}");
    }
    assert_eq!(daemon.post(&format!("/renter/upload/a%20b?source={at}&datapieces=1&paritypieces=12"), "").status, 204);
    assert_eq!(daemon.post("/renter/rename/a%20b", "newsiapath=c").status, 204);
    assert_eq!(daemon.file("c")["filesize"], 1);
    assert_eq!(daemon.post("/renter/delete/c", "").status, 204);
    assert_eq!(daemon.get("/renter/files")["files"], Value::Null);
}

#[test]
fn contracts_pay_for_what_is_uploaded_until_their_funds_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::new(Siad { version: SiadVersion::V1_3_1, ..one_chunk_per_second() });
    daemon.allow(500);
    assert!(daemon.get("/renter/contracts").get("activecontracts").is_none());
    let parts = ["fees", "StorageSpending", "uploadspending", "downloadspending", "renterfunds"];
    let balanced = |daemon: &Daemon| {
        assert_eq!(parts.map(|part| daemon.sum(part)).iter().sum::<u128>(), daemon.sum("totalcost"));
        (daemon.sum("uploadspending"), daemon.sum("renterfunds"))
    };
    assert_eq!(balanced(&daemon).0, 0);
    daemon.upload("large", &sparse(directory.path(), "large", 1 << 40));
    daemon.wait(Duration::from_secs(10));
    // The price is 5.57 SC per TB, for 300 sectors.
    assert_eq!(balanced(&daemon).0, 5_570_000_000_000 * (300 << 22));
    daemon.wait(Duration::from_secs(400 * 24 * 3600));
    let (spent, left) = balanced(&daemon);
    daemon.wait(Duration::from_secs(24 * 3600));
    assert_eq!(balanced(&daemon), (spent, left));
    assert!(left < SIACOIN, "{left}");
    assert!(daemon.file("large")["uploadprogress"].as_f64().unwrap() < 100.0);
}

#[test]
fn storage_spending_falls_when_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    let falling_storage = Some(Duration::from_secs(60));
    let mut daemon = Daemon::new(Siad { falling_storage, ..one_chunk_per_second() });
    daemon.allow(5000);
    daemon.upload("one", &sparse(directory.path(), "one", 1));
    daemon.wait(Duration::from_secs(59));
    let before = daemon.sum("storagespending");
    daemon.wait(Duration::from_secs(1));
    let after = daemon.sum("storagespending");
    assert!(before > 0 && after < before && after >= before / 100 * 99, "{before} {after}");
    daemon.wait(Duration::from_secs(60));
    assert_eq!(daemon.sum("storagespending"), before);
}

#[test]
fn a_restart_refuses_everything_and_stops_uploads() {
    let directory = tempfile::tempdir().unwrap();
    let restarts = Some(Restarts { every: Duration::from_secs(100), length: Duration::from_secs(10) });
    let mut daemon = Daemon::new(Siad { restarts, ..one_chunk_per_second() });
    daemon.allow(5000);
    daemon.upload("large", &sparse(directory.path(), "large", 1 << 40));
    daemon.wait(Duration::from_secs(99));
    assert_eq!(daemon.file("large")["uploadedbytes"], 99_u64 * (30 << 22));
    daemon.wait(Duration::from_secs(6));
    let refused = daemon.call(Method::Get, "/consensus", "", "");
    assert_eq!((refused.status, refused.response.close), (503, true));
    assert_eq!(refused.message(), "siad is not ready. please wait for siad to finish loading.");
    daemon.wait(Duration::from_secs(5));
    assert_eq!(daemon.file("large")["uploadedbytes"], 100_u64 * (30 << 22));
    daemon.wait(Duration::from_secs(200));
    assert_eq!(daemon.now - daemon.started, Duration::from_secs(310));
    assert_eq!(daemon.file("large")["uploadedbytes"], 280_u64 * (30 << 22));
}

#[test]
fn responses_slow_down_with_the_number_of_files() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::new(Siad { delay_per_file: Duration::from_millis(2), ..Siad::default() });
    daemon.allow(5000);
    let source = sparse(directory.path(), "x", 1);
    for index in 0..3 {
        daemon.upload(&index.to_string(), &source);
    }
    let seen = daemon.call(Method::Get, "/wallet", "Sia-Agent", "");
    assert_eq!(seen.response.own_delay(), Duration::from_millis(6));
}

#[test]
fn available_files_below_the_directory_can_be_downloaded() {
    let directory = tempfile::tempdir().unwrap();
    let (inside, outside) = (directory.path().join("in"), sparse(directory.path(), "out", 3));
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("x"), "0123456789").unwrap();
    let mut daemon = Daemon::new(Siad { sources: Some(inside.clone()), ..one_chunk_per_second() });
    daemon.allow(5000);
    daemon.upload("x", &inside.join("x"));
    daemon.upload("out", &outside);
    let get = |daemon: &Daemon, target: &str| daemon.call(Method::Get, target, "Sia-Agent", "");
    let early = get(&daemon, "/renter/download/x?httpresp=true");
    assert_eq!((early.status, early.message()), (500, "download failed: insufficient hosts to recover file"));
    daemon.wait(Duration::from_secs(2));
    let mut whole = get(&daemon, "/renter/download/x?httpresp=true");
    assert_eq!((whole.status, body_of(&mut whole.response)), (200, b"0123456789".to_vec()));
    let mut part = get(&daemon, "/renter/download/x?httpresp=true&offset=2&length=3");
    assert_eq!(body_of(&mut part.response), b"234");
    assert_eq!(daemon.sum("downloadspending"), 25_000_000_000_000 * 13);
    for target in ["out?httpresp=true", "y?httpresp=true", "x", "x?httpresp=true&offset=8&length=3"] {
        let refused = get(&daemon, &format!("/renter/download/{target}"));
        assert_eq!(refused.status, 500, "{target}: {}", refused.json);
    }
}

#[test]
fn long_documents_have_no_length() {
    let daemon = Daemon::new(Siad::default());
    daemon.allow(5000);
    let contracts = daemon.call(Method::Get, "/renter/contracts", "Sia-Agent", "");
    assert_eq!((contracts.response.length, contracts.json["contracts"].as_array().unwrap().len()), (None, 50));
    let prices = daemon.call(Method::Get, "/renter/prices", "Sia-Agent", "");
    assert!(prices.response.length.is_some());
    assert_eq!(prices.json["uploadterabyte"], "16710000000000000000000000");
}
