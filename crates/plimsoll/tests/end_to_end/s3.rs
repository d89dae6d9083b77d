//! Unmodified S3 clients against `plimsoll serve --s3`, and the faults that this server injects.

use crate::support::versitygw::run;
use crate::support::{Ended, Report, Running, TestDir, pythons_with_boto3, s3cmds, shared_cores, wait_for};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

const BOTO3: &str = include_str!("s3_boto3.py");

/// Starts a server. Returns the process and its endpoint.
pub fn serve(place: &TestDir, words: &[&str]) -> (Running, String) {
    let fixed = ["serve", "--s3", "--listen", "127.0.0.1:0", "--threads", "2", "--stop-after", "300s"];
    let server = place.start(fixed.iter().chain(words));
    let line = server.wait_for_line("serving S3 on ");
    let endpoint = line.trim_start_matches("serving S3 on ").to_owned();
    (server, endpoint)
}

fn boto3(place: &TestDir, python: &Path, script: &str, endpoint: &str) -> Ended {
    let script = place.write("client.py", script);
    let mut command = Command::new(python);
    command.arg(script).arg(endpoint).arg(place.path("large")).env_remove("PYTHONHOME").env_remove("PYTHONPATH");
    if place.path("ca.pem").exists() {
        command.env("CA_FILE", place.path("ca.pem"));
    }
    Running::of(command).end()
}

#[track_caller]
fn all_steps(place: &TestDir, python: &Path, endpoint: &str) {
    let ended = boto3(place, python, BOTO3, endpoint);
    assert!(ended.code == Some(0) && ended.stdout.contains("all steps done"), "{}: {ended:?}", python.display());
}

#[test]
fn boto3_works_with_memory_directory_and_tls() {
    let _cores = shared_cores();
    for python in pythons_with_boto3() {
        for words in [&[][..], &["--store", "objects"], &["--tls", "--tls-ca-out", "ca.pem"]] {
            let place = TestDir::new();
            let (server, endpoint) = serve(&place, words);
            all_steps(&place, &python, &endpoint);
            let ledger = server.stop();
            for line in
                ["UploadPart               200  6 complete, 0 aborted", "CompleteMultipartUpload  200  1 complete"]
            {
                assert!(ledger.contains(line), "{}: {line} is not in:\n{ledger}", python.display());
            }
        }
    }
}

/// Returns a script that puts some objects, gets one of them, and checks the results.
fn short_script(steps: &str) -> String {
    let setup = BOTO3.split("def objects").next().unwrap_or_default();
    format!("{setup}\ns3 = connect(sys.argv[1])\ns3.create_bucket(Bucket='bbb')\n{steps}\nprint('all steps done')\n")
}

#[test]
fn boto3_detects_faults() {
    let _cores = shared_cores();
    for python in pythons_with_boto3() {
        faults_are_met_by(&python);
    }
}

fn faults_are_met_by(python: &Path) {
    let body = "body = content(300_000, 1)\n";
    let put = format!("{body}s3.put_object(Bucket='bbb', Key='k', Body=body)\n");
    // Since version 1.36, boto3 verifies checksums by default, so it rejects the changed body. Older versions return it.
    let flip = "try:
    trusting = connect(sys.argv[1], response_checksum_validation='when_required')
except TypeError:
    trusting = s3
if trusting is not s3:
    from botocore.exceptions import FlexibleChecksumError
    try:
        s3.get_object(Bucket='bbb', Key='k')['Body'].read()
        raise SystemExit('a wrong byte passed')
    except FlexibleChecksumError:
        pass
got = trusting.get_object(Bucket='bbb', Key='k')['Body'].read()
wrong = [at for at in range(len(body)) if body[at] != got[at]]
assert wrong == [70_000] and len(got) == len(body), wrong[:10]";
    let truncate = "from urllib3.exceptions import HTTPError
from botocore import exceptions
# Old versions do not have all of them.
names = ('HTTPClientError', 'IncompleteReadError', 'ResponseStreamingError')
broken = tuple(getattr(exceptions, name) for name in names if hasattr(exceptions, name))
try:
    s3.get_object(Bucket='bbb', Key='k')['Body'].read()
    raise SystemExit('whole')
except (HTTPError, *broken):
    pass";
    let lose = "fails('NoSuchKey', s3.get_object, Bucket='bbb', Key='k')
s3.put_object(Bucket='bbb', Key='k', Body=body)
assert s3.get_object(Bucket='bbb', Key='k')['Body'].read() == body
s3.put_object(Bucket='bbb', Key='k', Body=b'later')
assert s3.get_object(Bucket='bbb', Key='k')['Body'].read() == body";
    let slow_down = format!(
        "{body}fails('SlowDown', s3.put_object, Bucket='bbb', Key='k', Body=body)
fails('NoSuchKey', s3.get_object, Bucket='bbb', Key='k')"
    );
    // The server refuses the body before all of it has arrived. A client that is still sending may see the connection
    // reset before the response.
    let full = "from botocore.exceptions import ConnectionClosedError
for attempt in range(10):
    try:
        fails('StorageFull', s3.put_object, Bucket='bbb', Key='k2', Body=body)
        break
    except (ConnectionClosedError, OSError):
        pass
else:
    raise SystemExit('no response in 10 attempts')
s3.delete_object(Bucket='bbb', Key='k')
s3.put_object(Bucket='bbb', Key='k2', Body=body)";
    for (words, steps, booked) in [
        (["--flip", "1:70000"], format!("{put}{flip}"), "GetObject                200  "),
        (["--truncate", "1:100000"], format!("{put}{truncate}"), "GetObject                200  0 complete, 1 aborted"),
        (
            ["--lose-every", "2"],
            format!("{body}s3.put_object(Bucket='bbb', Key='first', Body=body)\n{put}{lose}"),
            "PutObject                200  4 complete",
        ),
        (["--error-every", "2"], slow_down, "PutObject                503  1 complete"),
        (["--store-max", "400kB"], format!("{put}{full}"), "PutObject                507  "),
    ] {
        let place = TestDir::new();
        let (server, endpoint) = serve(&place, &words);
        let ended = boto3(&place, python, &short_script(&steps), &endpoint);
        assert!(
            ended.code == Some(0) && ended.stdout.contains("all steps done"),
            "{} {words:?}: {ended:?}",
            python.display()
        );
        let ledger = server.stop();
        assert!(ledger.contains(booked), "{} {words:?}: {booked} is not in:\n{ledger}", python.display());
    }
}

fn s3cmd(place: &TestDir, program: &Path, endpoint: &str, words: &[&str]) -> Ended {
    let host = endpoint.trim_start_matches("http://");
    let mut command = Command::new(program);
    command.current_dir(place.path("")).args([
        "--config",
        "/dev/null",
        "--no-ssl",
        "--multipart-chunk-size-mb=5",
        "--region=us-east-1",
    ]);
    command.args([&format!("--host={host}"), &format!("--host-bucket={host}")]);
    command.args(["--access_key=plimsoll", "--secret_key=plimsoll-secret"]).args(words);
    let ended = Running::of(command).end();
    assert_eq!(ended.code, Some(0), "{}: {words:?}: {ended:?}", program.display());
    ended
}

#[test]
fn s3cmd_works_and_a_later_server_has_its_objects() {
    let _cores = shared_cores();
    for program in s3cmds() {
        a_later_server_has_the_objects_of(&program);
    }
}

fn a_later_server_has_the_objects_of(program: &Path) {
    let place = TestDir::new();
    let store = ["--store", "objects"];
    let (server, endpoint) = serve(&place, &store);
    let run = |words: &[&str]| s3cmd(&place, program, &endpoint, words);
    let large: Vec<u8> = (0..16_u32 << 20).map(|at| (at % 251) as u8).collect();
    place.write("large", &large);
    place.write("small", "small");
    run(&["mb", "s3://bucket"]);
    run(&["put", "large", "s3://bucket/dir/large"]);
    run(&["put", "small", "s3://bucket/a b+c"]);
    let listed = run(&["ls", "--recursive", "s3://bucket"]).stdout;
    assert!(listed.contains("s3://bucket/dir/large") && listed.contains("s3://bucket/a b+c"), "{listed}");
    run(&["cp", "s3://bucket/a b+c", "s3://bucket/copy"]);
    run(&["del", "s3://bucket/a b+c"]);
    server.stop();

    let (server, endpoint) = serve(&place, &store);
    let run = |words: &[&str]| s3cmd(&place, program, &endpoint, words);
    run(&["get", "s3://bucket/dir/large", "back"]);
    assert!(std::fs::read(place.path("back")).unwrap() == large);
    run(&["get", "s3://bucket/copy", "copied"]);
    assert_eq!(std::fs::read(place.path("copied")).unwrap(), b"small");
    run(&["del", "--recursive", "--force", "s3://bucket"]);
    run(&["rb", "s3://bucket"]);
    assert_eq!(run(&["ls"]).stdout, "");
    // Only the marker file remains.
    assert_eq!(std::fs::read_dir(place.path("objects")).unwrap().count(), 1);
    server.stop();
}

/// A program prints keys that expire soon. From a certain time on, the program prints wrong keys, so requests fail if
/// and only if the client has renewed its keys.
#[test]
fn temporary_keys_are_renewed_during_a_run() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--bucket", "bucket"]);
    run(&place, &endpoint, &["prepare", "s3://bucket/set", "--count", "3", "--size", "1KiB"]).expect(0);
    let here = place.path("").display().to_string();
    place.write(
        "keys.sh",
        format!(
            "cd '{here}'; echo >> calls; secret=plimsoll-secret; test -e rotated && secret=wrong\n\
             printf '{{\"Version\": 1, \"AccessKeyId\": \"plimsoll\", \"SecretAccessKey\": \"%s\", \"Expiration\": \"%s\"}}' \
             $secret $(date -u -d '+4 seconds' +%FT%TZ)\n"
        ),
    );
    place.write("config", format!("[default]\ncredential_process = sh '{here}/keys.sh'\n"));
    let words = ["get", "s3://bucket/set", "--count", "3", "--size", "1KiB", "-R", "20", "-d", "10s"];
    let mut command = place.command(words.iter().chain(&["--success", "1%", "--out", "out", "--json"]));
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").env("AWS_ENDPOINT_URL", &endpoint);
    command.env("AWS_CONFIG_FILE", place.path("config")).env("AWS_SHARED_CREDENTIALS_FILE", place.path("none"));
    let running = Running::of(command);
    wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
    let before = std::fs::read_to_string(place.path("calls")).unwrap().len();
    place.write("rotated", "");
    let ended = running.end();
    let report = Report::read(&ended);
    let count = |name: &str| report.number(&format!("/operations/{name}"));
    assert!(count("ok") > 0 && count("failed") > 0, "{}", report.at("/operations"));
    assert!(std::fs::read_to_string(place.path("calls")).unwrap().len() > before, "the program did not run again");
    assert!(!ended.stderr.contains("cannot renew"), "{}", ended.stderr);
    server.stop();
}

/// A mock of a token service. The keys of the mock are valid for 4 s. As soon as the file `rotated` exists, the keys
/// have another access key. Returns the address of the mock, and the number of requests so far.
fn token_service(rotated: std::path::PathBuf) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let address = format!("http://{}", listener.local_addr().expect("the port is known"));
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client connects");
            let (mut request, mut buffer) = (String::new(), [0; 4096]);
            while !request.contains("RoleSessionName=") {
                let bytes = stream.read(&mut buffer).expect("the request arrives");
                assert!(bytes > 0, "the request is not complete: {request}");
                request += &String::from_utf8_lossy(&buffer[..bytes]);
            }
            assert!(request.contains("Credential=BASE/") && request.contains("/sts/aws4_request"), "{request}");
            counted.fetch_add(1, Relaxed);
            let access_key = if rotated.exists() { "unknown" } else { "plimsoll" };
            let expires = Command::new("date").args(["-u", "-d", "+4 seconds", "+%FT%TZ"]).output().expect("date runs");
            let expires = String::from_utf8_lossy(&expires.stdout).trim().to_owned();
            let body = format!(
                "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{access_key}</AccessKeyId>\
                 <SecretAccessKey>plimsoll-secret</SecretAccessKey><SessionToken>t</SessionToken>\
                 <Expiration>{expires}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
            );
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).expect("the client reads");
        }
    });
    (address, requests)
}

#[test]
fn keys_of_a_role_are_renewed_during_a_run() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, endpoint) = serve(&place, &["--bucket", "bucket"]);
    run(&place, &endpoint, &["prepare", "s3://bucket/set", "--count", "3", "--size", "1KiB"]).expect(0);
    let (sts, requests) = token_service(place.path("rotated"));
    place.write(
        "config",
        "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = base\n\
         [profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n",
    );
    let words =
        ["get", "s3://bucket/set", "--count", "3", "--size", "1KiB", "-R", "20", "-d", "10s", "--profile", "role"];
    let mut command = place.command(words.iter().chain(&["--success", "1%", "--out", "out", "--json"]));
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").env("AWS_ENDPOINT_URL", &endpoint);
    command.env("AWS_CONFIG_FILE", place.path("config")).env("AWS_SHARED_CREDENTIALS_FILE", place.path("none"));
    command.env("AWS_ENDPOINT_URL_STS", &sts);
    let running = Running::of(command);
    wait_for("run directory", || place.path("out/records.jsonl.zst").exists().then_some(()));
    let before = requests.load(Relaxed);
    place.write("rotated", "");
    let ended = running.end();
    assert!(requests.load(Relaxed) > before, "the keys were not renewed");
    let statuses = Report::read(&ended).at("/failures/statuses").to_string();
    assert!(statuses.contains("200") && statuses.contains("403"), "{statuses}");
    assert!(!ended.stderr.contains("cannot renew"), "{}", ended.stderr);
    server.stop();
}

#[test]
fn the_signature_of_a_request_for_a_role_agrees_with_botocore() {
    let _cores = shared_cores();
    for python in pythons_with_boto3() {
        let place = TestDir::new();
        let (server, endpoint) = serve(&place, &["--bucket", "bucket"]);
        let mut sts = Command::new(python);
        sts.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/sts_botocore.py"));
        sts.env_remove("PYTHONHOME").env_remove("PYTHONPATH");
        let sts = Running::of(sts);
        let address = sts.wait_for_line("http://").trim().to_owned();
        place.write(
            "config",
            "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = base/secret+x\n\
             aws_session_token = tok/en==\n[profile role]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = base\n\
             region = eu-central-1\nexternal_id = a=b&c d\n",
        );
        let words = ["prepare", "s3://bucket/set", "--count", "3", "--size", "1KiB", "--profile", "role"];
        let mut command = place.command(words);
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        command.env("AWS_CONFIG_FILE", place.path("config")).env("AWS_SHARED_CREDENTIALS_FILE", place.path("none"));
        command.env("AWS_ENDPOINT_URL_S3", &endpoint).env("AWS_ENDPOINT_URL_STS", &address);
        Running::of(command).end().expect(0);
        sts.signal("TERM");
        let received = sts.end().stdout;
        let requests: Vec<&str> = received.lines().filter(|line| !line.starts_with("http")).collect();
        let form = "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa&RoleSessionName=plimsoll\
                    &ExternalId=a%3Db%26c%20d";
        assert_eq!(requests, [format!("agrees sts eu-central-1 {form}")]);
        server.stop();
    }
}

#[test]
fn default_keys_require_loopback() {
    let ended = TestDir::new().run(["serve", "--s3", "--listen", "0.0.0.0:0"]);
    ended.expect(2);
    assert!(ended.stderr.contains("--access-key"), "{}", ended.stderr);
}
