//! Tests the stand-in for renterd over real connections.

use crate::common::{Client, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use server::{Config, Faults, HyperServer, Renterd};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

/// A running stand-in with the bucket `b`, and a connection to it.
struct Place {
    server: HyperServer,
    client: Client,
    lines: String,
}

impl Place {
    fn new(renterd: &Renterd) -> Self {
        Self::with_faults(renterd, Faults::default())
    }

    fn with_faults(renterd: &Renterd, faults: Faults) -> Self {
        let config = Config { faults, threads: Some(std::num::NonZeroUsize::MIN), ..Config::default() };
        let renterd = Renterd { password: "secret".to_owned(), bucket: Some("bucket".to_owned()), ..renterd.clone() };
        let server = HyperServer::start_renterd(&config, None, &renterd).unwrap();
        let client = Client::connect(server.addresses()[0]);
        let lines = format!("Authorization: Basic {}\r\n", STANDARD.encode("anybody:secret"));
        Self { server, client, lines }
    }

    fn call(&mut self, method: &str, target: &str, lines: &str, body: &[u8]) -> Response {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{}{lines}", self.lines);
        self.client.send(&format!("{head}Content-Length: {}\r\n\r\n", body.len()));
        use std::io::Write;
        self.client.stream.write_all(body).unwrap();
        self.client.response_to(method == "HEAD")
    }

    fn get(&mut self, target: &str) -> Value {
        let response = self.call("GET", target, "", b"");
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")), "{target}");
        serde_json::from_slice(&response.body).unwrap()
    }

    fn post(&mut self, target: &str, document: &Value) -> Response {
        self.call("POST", target, "Content-Type: application/json\r\n", document.to_string().as_bytes())
    }

    fn put(&mut self, key: &str, body: &[u8]) -> Response {
        self.call("PUT", &format!("/api/worker/object/{key}?bucket=bucket"), "", body)
    }

    fn stats(&mut self) -> Value {
        self.get("/api/bus/stats/objects")
    }
}

fn text(response: &Response) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

#[test]
fn an_object_comes_back_whole_and_in_one_range() {
    let mut place = Place::new(&Renterd::default());
    let put = place.put("foo/b%20r", b"0123456789");
    assert_eq!((put.status, put.header("content-length"), put.body.len()), (200, Some("0"), 0));
    assert_eq!(put.header("etag"), Some("\"781e5e245d69b566979b86e28d23f2c7\""));
    let target = "/api/worker/object/foo/b%20r?bucket=bucket";
    let whole = place.call("GET", target, "", b"");
    assert_eq!((whole.status, text(&whole)), (200, "0123456789"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert!(whole.header("last-modified").unwrap().ends_with(" GMT"));
    let part = place.call("GET", target, "Range: bytes=2-4\r\n", b"");
    assert_eq!((part.status, text(&part)), (206, "234"));
    assert_eq!((part.header("content-range"), part.header("content-length")), (Some("bytes 2-4/10"), Some("3")));
    let head = place.call("HEAD", target, "", b"");
    assert_eq!(
        (head.status, head.header("content-length"), head.header("etag")),
        (200, Some("10"), put.header("etag"))
    );
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    system: String,
    version: String,
    date: String,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    source: String,
    /// Method and target.
    request: String,
    #[serde(default)]
    lines: Vec<String>,
    #[serde(default)]
    body: String,
    status: u16,
    #[serde(default)]
    has: BTreeMap<String, String>,
    text: String,
}

#[test]
fn the_stand_in_matches_the_recording() {
    let recording: Recording = toml::from_str(include_str!("recorded/renterd.toml")).unwrap();
    assert!(recording.row.len() > 20);
    let mut place = Place::new(&Renterd::default());
    for row in recording.row {
        place.put("x", b"0123456789");
        let (method, target) = row.request.split_once(' ').unwrap();
        let lines: String = row.lines.iter().map(|line| format!("{line}\r\n")).collect();
        let seen = place.call(method, target, &lines, row.body.as_bytes());
        let which =
            format!("{} {} of {}: {} ({})", recording.system, recording.version, recording.date, row.name, row.source);
        assert_eq!((seen.status, text(&seen)), (row.status, row.text.as_str()), "{which}");
        for (name, value) in &row.has {
            assert_eq!(seen.header(name), Some(value.as_str()), "{which}: {name}");
        }
    }
}

#[test]
fn a_full_stand_in_refuses_uploads() {
    let full = Renterd { store_max: measure::units::ByteSize(5), ..Renterd::default() };
    let refused = Place::new(&full).put("x", b"0123456789");
    assert!(refused.status == 500 && text(&refused).contains("the stand-in is full"), "{}", text(&refused));
}

#[test]
fn credentials_are_a_password_or_a_token() {
    let mut place = Place::new(&Renterd::default());
    let good = place.lines.clone();
    for lines in ["", "Authorization: Basic YTpi\r\n", "Authorization: Bearer secret\r\n"] {
        place.lines = lines.to_owned();
        let refused = place.call("GET", "/api/bus/wallet", "", b"");
        assert_eq!((refused.status, text(&refused)), (401, "Unauthorized\n"), "{lines}");
    }
    place.lines = good;
    assert_eq!(text(&place.call("POST", "/api/auth", "", b"")), "'validity' parameter is missing");
    let opened = place.call("POST", "/api/auth?validity=60000", "", b"");
    let token: Value = serde_json::from_slice(&opened.body).unwrap();
    let token = token["token"].as_str().unwrap().to_owned();
    place.lines = String::new();
    place.get(&format!("/api/bus/wallet?apikey={token}"));
    let by_cookie = place.call("GET", "/api/bus/wallet", &format!("Cookie: a=b; renterd_auth={token}\r\n"), b"");
    assert_eq!(by_cookie.status, 200);
    let wrong = place.call("GET", "/api/bus/wallet?apikey=secret", "", b"");
    assert_eq!(text(&wrong), "API key for authentication found but is either invalid or expired");
    let expired = place.call("GET", "/api/bus/wallet", "Cookie: renterd_auth=x\r\n", b"");
    assert_eq!(text(&expired), "Cookie for authentication found but is either invalid or expired");
}

#[test]
fn an_unsynced_daemon_refuses_uploads() {
    let mut place = Place::new(&Renterd { sync_after: Duration::from_millis(300), ..Renterd::default() });
    let refused = place.put("x", b"1");
    assert_eq!((refused.status, text(&refused)), (503, "consensus is not synced\n"));
    assert_eq!(place.get("/api/bus/consensus/state")["synced"], false);
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(place.put("x", b"1").status, 200);
    assert_eq!(place.get("/api/bus/consensus/state")["synced"], true);
}

#[test]
fn lists_have_pages_and_null_for_nothing() {
    let mut place = Place::new(&Renterd::default());
    assert_eq!(place.get("/api/bus/objects/?bucket=bucket")["objects"], Value::Null);
    assert_eq!(place.get("/api/bus/objects/?bucket=unknown")["hasMore"], false);
    for key in ["a", "d/1", "d/2", "z"] {
        place.put(key, key.as_bytes());
    }
    let page = place.get("/api/bus/objects/?bucket=bucket&limit=3");
    assert_eq!((&page["hasMore"], &page["nextMarker"]), (&json!(true), &json!("/d/2")));
    let rest = place.get("/api/bus/objects/?bucket=bucket&limit=3&marker=/d/2");
    assert_eq!((&rest["hasMore"], &rest["nextMarker"]), (&json!(false), &json!("")));
    let entry = &rest["objects"][0];
    assert_eq!((&entry["key"], &entry["size"], &entry["bucket"]), (&json!("/z"), &json!(1), &json!("bucket")));
    assert_eq!((&entry["eTag"], &entry["health"]), (&json!("fbade9e36a3f36d3d676c1b808451dd7"), &json!(1)));
    let below = place.get("/api/bus/objects/d/?bucket=bucket");
    assert_eq!(below["objects"].as_array().unwrap().len(), 2);
    let top = place.get("/api/bus/objects/?bucket=bucket&delimiter=/");
    let keys: Vec<_> = top["objects"].as_array().unwrap().iter().map(|object| object["key"].clone()).collect();
    assert_eq!(keys, ["/a", "/d/", "/z"]);
}

#[test]
fn buckets_are_made_by_hand() {
    let mut place = Place::new(&Renterd::default());
    assert_eq!(place.post("/api/bus/buckets", &json!({ "name": "other" })).status, 200);
    let again = place.post("/api/bus/buckets", &json!({ "name": "other" }));
    assert_eq!((again.status, text(&again)), (409, "bucket already exists\n"));
    assert_eq!(place.post("/api/bus/buckets", &json!({ "name": "No" })).status, 400);
    assert_eq!(place.call("POST", "/api/bus/buckets", "", b"nonsense").status, 400);
    assert_eq!(place.get("/api/bus/bucket/other")["name"], "other");
    place.call("PUT", "/api/worker/object/x?bucket=other", "", b"1");
    assert_eq!(place.call("DELETE", "/api/bus/bucket/other", "", b"").status, 409);
    assert_eq!(place.call("DELETE", "/api/bus/object/x?bucket=other", "", b"").status, 200);
    assert_eq!(place.call("DELETE", "/api/bus/bucket/other", "", b"").status, 200);
    assert_eq!(place.call("GET", "/api/bus/bucket/other", "", b"").status, 404);
    place.call("DELETE", "/api/bus/bucket/bucket", "", b"");
    assert_eq!(place.call("GET", "/api/bus/buckets", "", b"").body, b"null");
}

#[test]
fn statistics_follow_the_objects_and_contracts_keep_their_size() {
    let mut place = Place::new(&Renterd { packing: false, ..Renterd::default() });
    place.put("a", &vec![0; 9 << 20]);
    place.put("b", b"1");
    let stats = place.stats();
    assert_eq!((&stats["numObjects"], &stats["totalObjectsSize"]), (&json!(2), &json!((9 << 20) + 1)));
    // Two slabs and one slab, each with three shards.
    assert_eq!((&stats["totalSectorsSize"], &stats["totalUploadedSize"]), (&json!(36 << 20), &json!(36 << 20)));
    place.put("a", b"2");
    let stats = place.stats();
    assert_eq!((&stats["totalSectorsSize"], &stats["totalUploadedSize"]), (&json!(24 << 20), &json!(48 << 20)));
    place.call("DELETE", "/api/worker/object/b?bucket=bucket", "", b"");
    assert_eq!(place.stats()["totalSectorsSize"], json!(12 << 20));
    let contracts = place.get("/api/bus/contracts?filtermode=all");
    let sizes: u64 = contracts.as_array().unwrap().iter().map(|contract| contract["size"].as_u64().unwrap()).sum();
    assert_eq!((contracts.as_array().unwrap().len(), sizes), (3, 48 << 20));
    let uploads = |contract: &Value| contract["spending"]["uploads"].as_str().unwrap().parse::<u128>().unwrap();
    let spent: u128 = contracts.as_array().unwrap().iter().map(uploads).sum();
    let start = "2020-01-01T00:00:00Z";
    let metric = place.get(&format!("/api/bus/metric/contract?start={start}&n=1000&interval=31536000000"));
    assert_eq!(metric[0]["uploadSpending"], json!(spent.to_string()));
    let later = place.call("GET", "/api/bus/metric/wallet?start=2999-01-01T00:00:00Z&n=1&interval=1000", "", b"");
    assert_eq!(later.body, b"[]\n");
    let prometheus = place.call("GET", "/api/bus/stats/objects?response=prometheus", "", b"");
    assert!(text(&prometheus).contains("renterd_stats_totalobjectsize 1\n") || text(&prometheus).contains("size 1\n"));
    assert_eq!(place.get("/api/bus/wallet")["confirmed"], json!("3499400000000000000000000000"));
}

#[test]
fn settings_can_be_read_and_replaced() {
    let mut place = Place::new(&Renterd::default());
    assert_eq!(place.get("/api/bus/settings/upload")["redundancy"], json!({ "minShards": 2, "totalShards": 3 }));
    let change = json!({ "packing": { "enabled": false }, "redundancy": { "minShards": 1, "totalShards": 2 } });
    let put = |place: &mut Place, target: &str, document: &Value| {
        place.call("PUT", target, "", document.to_string().as_bytes()).status
    };
    assert_eq!(put(&mut place, "/api/bus/settings/upload", &change), 200);
    assert_eq!(place.get("/api/bus/settings/upload")["packing"]["enabled"], false);
    assert_eq!(put(&mut place, "/api/bus/autopilot", &json!({ "enabled": false })), 200);
    let autopilot = place.get("/api/bus/autopilot");
    assert_eq!((&autopilot["enabled"], &autopilot["contracts"]["period"]), (&json!(false), &json!(6048)));
    assert_eq!(place.get("/api/worker/memory")["upload"]["total"], json!(1 << 30));
    assert_eq!(place.get("/api/worker/stats/uploads")["numUploaders"], 3);
}

#[test]
fn multipart_uploads_are_parts_at_the_worker_and_the_rest_at_the_bus() {
    let mut place = Place::new(&Renterd::default());
    let about = |more: Value| {
        let mut document = json!({ "bucket": "bucket", "key": "/big" });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        document
    };
    let created = place.post("/api/bus/multipart/create", &about(json!({ "disableClientSideEncryption": true })));
    let created: Value = serde_json::from_slice(&created.body).unwrap();
    let id = created["uploadID"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 64);
    for (number, body) in [(2, &b"world"[..]), (1, b"hello ")] {
        let target = format!("/api/worker/multipart/big?bucket=bucket&uploadid={id}&partnumber={number}");
        let part = place.call("PUT", &target, "", body);
        assert_eq!((part.status, part.header("etag").is_some()), (200, true), "{}", text(&part));
    }
    assert_eq!(place.stats()["totalUnfinishedObjectsSize"], 11);
    let list = |place: &mut Place, more: Value| -> Value {
        let mut more = more;
        more["uploadID"] = json!(id);
        serde_json::from_slice(&place.post("/api/bus/multipart/listparts", &about(more)).body).unwrap()
    };
    let first = list(&mut place, json!({ "limit": 1 }));
    assert_eq!(
        (&first["hasMore"], &first["nextMarker"], &first["parts"][0]["size"]),
        (&json!(true), &json!(1), &json!(6))
    );
    let second = list(&mut place, json!({ "limit": 1, "partNumberMarker": 1 }));
    assert_eq!((&second["hasMore"], &second["parts"][0]["partNumber"]), (&json!(false), &json!(2)));
    let uploads = place.post("/api/bus/multipart/listuploads", &json!({ "bucket": "bucket" }));
    let uploads: Value = serde_json::from_slice(&uploads.body).unwrap();
    assert_eq!((&uploads["uploads"][0]["uploadID"], &uploads["uploads"][0]["key"]), (&json!(id), &json!("/big")));
    let completed = place.post("/api/bus/multipart/complete", &about(json!({ "uploadID": id, "parts": [] })));
    assert_eq!(completed.status, 200);
    let whole = place.call("GET", "/api/worker/object/big?bucket=bucket", "", b"");
    assert_eq!(text(&whole), "hello world");
    let again = place.post("/api/bus/multipart/complete", &about(json!({ "uploadID": id })));
    assert!(again.status == 500 && text(&again).contains("no rows in result set"));
    let aborted = place.post("/api/bus/multipart/abort", &about(json!({ "uploadID": id })));
    assert_eq!(
        (aborted.status, text(&aborted)),
        (500, "failed to abort multipart upload: multipart upload not found\n")
    );
    assert_eq!(list(&mut place, json!({}))["parts"], Value::Null);
}

#[test]
fn parts_of_an_encrypted_upload_need_an_offset() {
    let mut place = Place::new(&Renterd::default());
    let created = place.post("/api/bus/multipart/create", &json!({ "bucket": "bucket", "key": "/k" }));
    let created: Value = serde_json::from_slice(&created.body).unwrap();
    let id = created["uploadID"].as_str().unwrap().to_owned();
    let target = format!("/api/worker/multipart/k?bucket=bucket&uploadid={id}&partnumber=1");
    let refused = place.call("PUT", &target, "", b"x");
    assert!(refused.status == 400 && text(&refused).starts_with("invalid multipart encryption settings"));
    assert_eq!(place.call("PUT", &format!("{target}&encryptionoffset=0"), "", b"x").status, 200);
    let unknown = target.replace(&id, &"7".repeat(64));
    assert_eq!(place.call("PUT", &unknown, "", b"x").status, 404);
    let no_part =
        place.call("PUT", &format!("{}&encryptionoffset=0", target.replace("partnumber=1", "partnumber=0")), "", b"x");
    assert_eq!(
        (no_part.status, text(&no_part)),
        (500, "couldn't upload multipart part: part_number must be between 1 and 10000\n")
    );
    let document = json!({ "bucket": "bucket", "key": "/k", "uploadID": id });
    assert_eq!(place.post("/api/bus/multipart/abort", &document).status, 200);
    assert_eq!(place.stats()["numUnfinishedObjects"], 0);
}

#[test]
fn injected_faults_apply_and_calls_are_in_the_ledger() {
    let every = NonZeroU64::new(2).unwrap();
    let faults = Faults { error_every: Some(every), ..Faults::default() };
    let mut place = Place::with_faults(&Renterd::default(), faults);
    let statuses: Vec<u16> = (0..4).map(|index| place.put(&index.to_string(), b"1").status).collect();
    assert_eq!(statuses, [200, 500, 200, 500]);
    let ledger = place.server.stop();
    assert_eq!(ledger.operations[&("worker PUT object".into(), 200)].complete, 2);
    let lost = Faults { lose_every: Some(every), ..Faults::default() };
    let mut place = Place::with_faults(&Renterd::default(), lost);
    let statuses: Vec<u16> = (0..4).map(|index| place.put(&index.to_string(), b"1").status).collect();
    assert_eq!(statuses, [200; 4]);
    assert_eq!(place.stats()["numObjects"], 2);
}
