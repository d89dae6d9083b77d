//! Secrets must reach the server, and must not appear anywhere else.

use crate::support::{Nginx, Running, Setup, TestDir, shared_cores};
use std::fs;
use std::path::Path;

const CANARY: &str = "c4nary";

/// Returns the files below `directory` that contain the canary. Compressed files are unpacked.
fn leaks(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("can read the directory") {
        let path = entry.expect("can read an entry").path();
        if path.is_dir() {
            found.extend(leaks(&path));
            continue;
        }
        let bytes = fs::read(&path).expect("can read a file");
        let unpacked = match path.extension().is_some_and(|extension| extension == "zst") {
            true => zstd::decode_all(bytes.as_slice()).expect("the file is zstd"),
            false => Vec::new(),
        };
        if holds(&bytes) || holds(&unpacked) || holds(path.to_string_lossy().as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn holds(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    // The canary may appear as it is, or as part of `me:c4nary` in Base64, as in Basic authentication.
    text.contains(CANARY) || text.contains("bwu6yzruyxj5")
}

/// Runs `get` with these arguments. Returns the places in the output and in files that contain the canary.
fn leaks_of(place: &TestDir, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for print in ["text", "ab", "httpbench", "json"] {
        let form: &[&str] = if print == "json" { &["--json"] } else { &["--print", print] };
        let ended = place.run(["get", "-n", "20", "--log-ops"].iter().chain(form).chain(words));
        for (stream, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
            let lines = text.lines().filter(|line| holds(line.as_bytes()));
            found.extend(lines.map(|line| format!("{words:?}: on {stream} as {print}: {line}")));
        }
    }
    if place.path("runs").exists() {
        found.extend(leaks(&place.path("runs")).iter().map(|path| format!("{words:?}: in {path}")));
        fs::remove_dir_all(place.path("runs")).expect("can remove the runs");
    }
    found
}

#[test]
fn logins_and_sessions_appear_only_on_the_wire() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_server, root) = crate::dialects::serve(&place, &["--as", "filestash"]);
    place.write("secret", "c4nary\n");
    let mut found = Vec::new();
    for login in ["--connection=blackhole,a=c4nary", "--connection=blackhole,password=@secret,b=c4nary"] {
        found.extend(leaks_of(&place, &["--as", "filestash", "--do", "ls", login, &root]));
        // The server refuses this login, so that there is an error message to search.
        found.extend(leaks_of(&place, &["--as", "filestash", &login.replace("blackhole", "ftp"), &root, "/1.bin"]));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn secrets_appear_only_on_the_wire() {
    let _cores = shared_cores();
    // One location is forbidden, so that reports contain examples of failures. Other locations redirect to signed URLs.
    let server = "location /closed { return 403; } location = /moved { return 302 /f/1k?X-Amz-Signature=c4nary; }
        location = /lost { return 302 /closed?X-Amz-Signature=c4nary&token=c4nary; }
        location = /away { return 302 http://me:c4nary@127.0.0.1:1/?sig=c4nary; }";
    let Some(nginx) = Nginx::start(Setup { server, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let mut found = Vec::new();
    place.write("secret", "me:c4nary\n");
    place.write("headers", "Authorization: Bearer c4nary\nX-Api-Key: c4nary\n");
    for path in ["/f/1k", "/closed", "/moved", "/lost", "/away"] {
        let url = nginx.url(path);
        let with_user = url.replacen("http://", "http://me:c4nary@", 1);
        let signed =
            format!("{url}?X-Amz-Signature=c4nary&X-Amz-Credential=c4nary%2F1&x-amz-security-token=c4nary&a=1");
        let tokens = format!("{url}?token=c4nary&sig=c4nary&Signature=c4nary&access_token=c4nary&password=c4nary");
        let others =
            format!("{url}?my_key=c4nary&client_secret=c4nary&SessionId=c4nary;auth=c4nary&X%2DSignature=c4nary");
        let list = format!("{with_user}\n{signed}\n");
        place.write("urls", list);
        for words in [
            &["-H", "Authorization: Bearer c4nary", &url] as &[&str],
            &["-HCookie: s=c4nary", "--header=X-Auth-Token: c4nary", &url],
            &["-H", "X-Api-Key: c4nary", &url],
            &["-H", "@headers", &url],
            &["-H", "X-Signature: c4nary", "-H", "X-Goog-Key: c4nary", "-H", "X-Amz-Security-Token: c4nary", &url],
            &["-H", "X-Session-Id: c4nary", "-H", "X-My-Auth: c4nary", "--header=X-Passwd: c4nary", &url],
            &["-H", "X-Credentials: c4nary", "-kHX-Client-Secret: c4nary", "-H", "Password: c4nary", &url],
            &["-C", "session=c4nary", &url],
            &["-Csession=c4nary", &url],
            &["--cookie=session=c4nary", &url],
            &["-u", "me:c4nary", &url],
            &["-ume:c4nary", &url],
            &["--user=me:c4nary", &url],
            &["-u", "@secret", &url],
            &["-kume:c4nary", &url],
            &[&with_user],
            &[&signed],
            &[&tokens],
            &[&others],
            &["--url-file", "urls"],
            &["--expect-header", "Set-Cookie: s=c4nary", &url],
        ] {
            found.extend(leaks_of(&place, words));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let log = nginx.quit();
    assert!(log.iter().any(|request| request.cookie.contains(CANARY)), "the server did not get the secret");
    assert!(log.iter().any(|request| request.uri.contains(CANARY)), "the server did not get the signature");
}

#[test]
fn error_messages_contain_no_secrets() {
    let place = TestDir::new();
    let mut found = Vec::new();
    for words in [
        &["http://me:c4nary@"] as &[&str],
        &["me:c4nary@host/"],
        &["https://me:c4nary@host/?X-Amz-Signature=c4nary"],
        &["http://me:c4nary@no-such-host.invalid/?token=c4nary"],
        &["http://me:c4nary@127.0.0.1:1/?token=c4nary"],
        &["http://host/ x?X-Amz-Signature=c4nary"],
        &["http://127.0.0.1:1/", "-u", "c4nary"],
        &["http://127.0.0.1:1/", "-H", "Authorization c4nary"],
        &["http://127.0.0.1:1/", "-H", "Authorization: c4nary\u{7f}\u{1}"],
        &["http://127.0.0.1:1/", "-C", "s=c4nary\u{1}"],
        &["http://127.0.0.1:1/", "-C", "c4nary"],
        &["http://127.0.0.1:1/", "-H", "Connection: c4nary"],
        &["http://127.0.0.1:1/", "--proxy", "https://me:c4nary@127.0.0.1:1"],
        &["http://127.0.0.1:1/", "--proxy", "me:c4nary@127.0.0.1:1"],
        &["http://127.0.0.1:1/", "--proxy", "http://me:c4nary@127.0.0.1:1"],
        &["http://127.0.0.1:1/", "-u"],
    ] {
        found.extend(leaks_of(&place, words));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn secrets_of_a_collector_are_not_saved_or_shown() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let url = nginx.url("/f/1k");
    let address = url.trim_start_matches("http://").trim_end_matches("/f/1k").to_owned();
    let place = TestDir::new();
    // nginx answers pushes with an error, which is reported. Nothing listens on port 1.
    for collector in [format!("http://me:c4nary@{address}"), "http://127.0.0.1:1/x?token=c4nary".to_owned()] {
        let mut command = place.command(["get", &url, "-n", "20", "--full", "--out", "out", "--otlp", &collector]);
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "X-Api-Key=c4nary,Cookie=s%3Dc4nary");
        let ended = Running::of(command).end();
        ended.expect(0);
        assert!(ended.stderr.contains("--otlp: cannot push to"), "{}", ended.stderr);
        assert!(!holds(ended.stdout.as_bytes()) && !holds(ended.stderr.as_bytes()), "{ended:?}");
        let found = leaks(&place.path("out"));
        assert!(found.is_empty(), "{found:#?}");
        fs::remove_dir_all(place.path("out")).expect("can remove the run");
    }
    let mut command = place.command(["get", &url, "-n", "1", "--otlp", "http://127.0.0.1:1"]);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "a=b,c4nary");
    let ended = Running::of(command).end();
    ended.expect(2);
    assert!(!holds(ended.stderr.as_bytes()), "{}", ended.stderr);
    let log = nginx.quit();
    assert!(
        log.iter().any(|request| request.method == "POST" && request.cookie.contains(CANARY)),
        "nothing was pushed"
    );
}
