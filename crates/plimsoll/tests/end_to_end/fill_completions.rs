//! `fill`: multipart uploads whose completion is requested twice. The target then reports success without storing the
//! object, as VersityGW does after a crash.

use super::fill::json;
use crate::support::versitygw::run;
use crate::support::{TestDir, shared_cores};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The store of the server, and the requests that it received.
#[derive(Debug, Default)]
struct Store {
    /// Parts of each upload, by upload ID.
    uploads: Vec<BTreeMap<u64, Vec<u8>>>,
    objects: BTreeMap<String, Vec<u8>>,
    /// IDs of uploads that the server began to complete, but did not complete.
    claimed: Vec<usize>,
    log: Vec<String>,
    /// Number of uploads whose completion never ends.
    lost: usize,
}

/// A response: status and body. `None` closes the connection.
type Response = Option<(&'static str, Vec<u8>)>;

impl Store {
    fn respond(&mut self, method: &str, target: &str, body: Vec<u8>) -> Response {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameters: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let upload = parameters.get("uploadId").map(|id| id.parse::<usize>().unwrap());
        match (method, upload, parameters.get("partNumber")) {
            ("PUT", Some(upload), Some(part)) => {
                self.uploads[upload].insert(part.parse().unwrap(), body);
                Some(("200 OK\r\nETag: \"part\"", Vec::new()))
            }
            ("POST", None, _) => {
                self.uploads.push(BTreeMap::new());
                let id = self.uploads.len() - 1;
                let ids = format!("<Bucket>bucket</Bucket><Key>k</Key><UploadId>{id}</UploadId>");
                Some(("200 OK", xml("InitiateMultipartUploadResult", &ids)))
            }
            ("POST", Some(upload), _) if upload < self.lost && !self.claimed.contains(&upload) => {
                self.claimed.push(upload);
                None
            }
            ("POST", Some(upload), _) => {
                if !self.claimed.contains(&upload) {
                    let bytes = self.uploads[upload].values().flatten().copied().collect();
                    self.objects.insert(path.to_owned(), bytes);
                }
                let done = "<Bucket>bucket</Bucket><Key>k</Key><ETag>\"whole\"</ETag>";
                Some(("200 OK", xml("CompleteMultipartUploadResult", done)))
            }
            ("DELETE", ..) => Some(("404 Not Found", xml("Error", "<Code>NoSuchUpload</Code>"))),
            _ if parameters.contains_key("uploads") => {
                Some(("200 OK", xml("ListMultipartUploadsResult", "<IsTruncated>false</IsTruncated>")))
            }
            _ if path.trim_end_matches('/') == "/bucket" => {
                Some(("200 OK", xml("ListBucketResult", "<IsTruncated>false</IsTruncated>")))
            }
            _ => Some(match self.objects.get(path) {
                Some(bytes) => ("200 OK", bytes.clone()),
                None => ("404 Not Found", xml("Error", "<Code>NoSuchKey</Code>")),
            }),
        }
    }
}

fn xml(name: &str, content: &str) -> Vec<u8> {
    format!("<{name}>{content}</{name}>").into_bytes()
}

/// Starts a server that loses the completions of the first `lost` uploads. Returns its URL and its store.
fn server(lost: usize) -> (String, Arc<Mutex<Store>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("the listener has an address"));
    let store = Arc::new(Mutex::new(Store { lost, ..Store::default() }));
    let shared = Arc::clone(&store);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let store = Arc::clone(&shared);
            std::thread::spawn(move || serve(&stream, &store));
        }
    });
    (endpoint, store)
}

fn serve(stream: &TcpStream, store: &Mutex<Store>) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let (mut request, mut line, mut length) = (String::new(), String::new(), 0);
        lines.read_line(&mut request).ok().filter(|read| *read > 0)?;
        while lines.read_line(&mut line).ok()? > 2 {
            let given = line.strip_prefix("Content-Length: ").and_then(|value| value.trim().parse().ok());
            length = given.unwrap_or(length);
            line.clear();
        }
        let mut body = vec![0; length];
        lines.read_exact(&mut body).ok()?;
        let mut words = request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let response = {
            let mut store = store.lock().ok()?;
            store.log.push(format!("{method} {target}"));
            store.respond(method, target, body)
        };
        let (status, body) = response?;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut out = stream;
        out.write_all(&[head.as_bytes(), &body].concat()).ok()?;
    }
}

/// Uploads four objects of two parts each to a server that loses the first completions.
fn fill(lost: usize) -> (Value, String, Arc<Mutex<Store>>) {
    let (endpoint, store) = server(lost);
    let place = TestDir::new();
    let words = "fill s3://bucket/f --count 4 --size 6MiB --multipart 5MiB -c 1 --payload unsigned --out fill --json";
    let ended = run(&place, &endpoint, &words.split(' ').collect::<Vec<_>>());
    (json(&ended), ended.stderr, store)
}

#[test]
fn a_completion_that_was_requested_twice_is_confirmed_by_reading_the_object() {
    let _cores = shared_cores();
    let (report, messages, store) = fill(2);
    assert_eq!((&report["result"], &report["stored"]), (&"pass".into(), &4.into()), "{report:#}\n{messages}");
    let store = store.lock().unwrap();
    assert_eq!(store.objects.len(), 4, "{:?}", store.log);
    let read = store.log.iter().filter(|request| request.starts_with("GET /bucket/f/object-")).count();
    assert_eq!(read, 2, "only the objects in doubt are read: {:?}", store.log);
    // Each object has an initiation, two parts and a completion. The completion of the first two objects was requested
    // twice, and then they were uploaded again.
    let attempts = 4 * 4 + 2 * 5;
    assert_eq!((&report["attempts"], &report["sent_bytes"]), (&attempts.into(), &(6 * (6 << 20)).into()), "{report:#}");
}

#[test]
fn a_fill_ends_if_no_completion_can_be_confirmed() {
    let _cores = shared_cores();
    let (report, messages, store) = fill(usize::MAX);
    assert_eq!((&report["result"], &report["stored"]), (&"partial".into(), &0.into()), "{report:#}\n{messages}");
    assert!(messages.contains("4 objects not confirmed after 3 uploads"), "{messages}");
    assert!(store.lock().unwrap().objects.is_empty());
}
