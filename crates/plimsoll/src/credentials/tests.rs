//! Tests of the search for keys. Each test has its own environment, files and metadata service.

mod roles;

use super::*;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

/// Environment variables and a home directory for a test.
struct TestEnvironment {
    variables: HashMap<String, String>,
    home: tempfile::TempDir,
}

impl TestEnvironment {
    fn new(variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("can create a directory");
        let mut variables: HashMap<_, _> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        variables.insert("HOME".to_owned(), home.path().display().to_string());
        Self { variables, home }
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("the path has a parent")).expect("can create a directory");
        std::fs::write(path, text).expect("can write a file");
        self
    }

    fn find(&self, args: &Args) -> Result<Option<Credentials>, String> {
        let variable = |name: &str| self.variables.get(name).cloned();
        Credentials::find(args, &Surroundings::new(&variable)).map_err(Failure::into_message)
    }

    fn found(&self, args: &Args) -> Credentials {
        self.find(args).expect("finding keys succeeds").expect("there are keys")
    }
}

/// Returns the access key and the secret key, for comparison.
fn pair(found: &Credentials) -> (&str, &str) {
    (found.keys.access_key(), found.keys.secret().reveal())
}

fn profile(name: &str) -> Args {
    Args { profile: Some(name.to_owned()), ..Args::default() }
}

const ENVIRONMENT: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", "env-secret")];
const FILE: &str = "[default]\naws_access_key_id = DEF\naws_secret_access_key = def-secret\n\
                    [other]\naws_access_key_id = OTH\naws_secret_access_key = oth-secret\naws_session_token = oth-token\n";

#[test]
fn sources_have_an_order_and_are_never_mixed() {
    let typed =
        Args { access_key: Some("TYPED".to_owned()), secret_key: Some("typed-secret".to_owned()), ..Args::default() };
    let all = TestEnvironment::new(&[&ENVIRONMENT[..], &[("AWS_SESSION_TOKEN", "env-token")]].concat())
        .with(".aws/credentials", FILE)
        .with(".aws/config", "[default]\nregion = r-def\n[profile other]\nregion = r-oth\n");
    let found = all.found(&typed);
    assert_eq!((pair(&found), &found.source, found.keys.token()), (("TYPED", "typed-secret"), &Source::Flags, None));
    let found = all.found(&profile("other"));
    assert_eq!(pair(&found), ("OTH", "oth-secret"));
    assert_eq!(found.keys.token().map(Secret::reveal), Some("oth-token"));
    assert_eq!(found.region.as_deref(), Some("r-oth"));
    assert!(matches!(&found.source, Source::Profile(name, path) if name == "other" && path.ends_with("credentials")));
    let found = all.found(&Args::default());
    assert_eq!((pair(&found), &found.source), (("ENV", "env-secret"), &Source::Environment));
    assert_eq!(found.keys.token().map(Secret::reveal), Some("env-token"));

    let files =
        TestEnvironment::new(&[]).with(".aws/credentials", FILE).with(".aws/config", "[default]\nregion = r-def\n");
    let found = files.found(&Args::default());
    assert_eq!((pair(&found), found.region.as_deref()), (("DEF", "def-secret"), Some("r-def")));
    assert_eq!(TestEnvironment::new(&[]).find(&Args::default()).map(|found| found.is_none()), Ok(true));
}

#[test]
fn variables_name_profile_files_and_region() {
    let place = TestEnvironment::new(&[("AWS_PROFILE", "other"), ("AWS_DEFAULT_REGION", "second"), ("AWS_REGION", "")]);
    let mut place = place.with("elsewhere", FILE).with(".aws/config", "[profile other]\nregion = third\n");
    let elsewhere = place.home.path().join("elsewhere").display().to_string();
    place.variables.insert("AWS_SHARED_CREDENTIALS_FILE".to_owned(), elsewhere);
    let found = place.found(&Args::default());
    assert_eq!((pair(&found), found.region.as_deref()), (("OTH", "oth-secret"), Some("second")));
    place.variables.insert("AWS_REGION".to_owned(), "first".to_owned());
    assert_eq!(place.found(&Args::default()).region.as_deref(), Some("first"));
    // Both files may contain keys.
    let place = TestEnvironment::new(&[]).with(".aws/config", &FILE.replace("[other]", "[profile other]"));
    assert_eq!(pair(&place.found(&profile("other"))), ("OTH", "oth-secret"));
}

#[test]
fn errors_name_the_fix_and_contain_no_secret() {
    let error = |place: &TestEnvironment, args: &Args| place.find(args).expect_err("finding keys fails");
    let half = TestEnvironment::new(&ENVIRONMENT[1..]).with(".aws/credentials", FILE);
    assert!(error(&half, &Args::default()).contains("AWS_ACCESS_KEY_ID is not"));
    let message = error(&half, &profile("missing"));
    assert!(
        message.contains("`missing`") && message.contains(".aws/credentials") && message.contains(".aws/config"),
        "{message}"
    );
    let place = TestEnvironment::new(&[]).with(".aws/credentials", "[default]\naws_access_key_id = DEF\n");
    assert!(error(&place, &Args::default()).contains("no aws_secret_access_key"));
    let place = TestEnvironment::new(&[("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "CANARY with blanks")]);
    let message = error(&place, &Args::default());
    assert!(message.contains("environment") && !message.contains("CANARY"), "{message}");
    let place = TestEnvironment::new(&[]).with(".aws/credentials", &"#".repeat((1 << 20) + 1));
    assert!(error(&place, &Args::default()).contains("1 MiB"));
    let place = TestEnvironment::new(&[]).with(".aws/credentials/a", "");
    assert!(error(&place, &Args::default()).contains("cannot read"));
}

/// Returns the configured server and the source that names it.
fn configured_in(place: &TestEnvironment, args: &Args) -> Result<Option<(String, String)>, String> {
    let variable = |name: &str| place.variables.get(name).cloned();
    let around = Surroundings::new(&variable);
    let found = configured(Service::S3, &args.active_profile(&around), &around).map_err(Failure::into_message)?;
    Ok(found.map(|(url, named_by)| (url, named_by.to_string())))
}

const ENDPOINTS: &str = "[default]\nendpoint_url = http://default\nregion = r\n\
                         [profile both]\nservices = local\nendpoint_url = http://both\n\
                         [profile other-service]\nservices = ec2-only\nendpoint_url = http://fallback\n\
                         [profile dangling]\nservices = missing\nendpoint_url = http://dangling\n\
                         [profile off]\nignore_configured_endpoint_urls = true\nendpoint_url = http://off\n\
                         [services local]\ns3 =\n  endpoint_url = http://services\nec2 =\n  endpoint_url = http://ec2\n\
                         [services ec2-only]\nec2 =\n  endpoint_url = http://ec2\n";

#[test]
fn the_configured_server_follows_the_order_of_the_aws_sdks() {
    let expect = |variables: &[(&str, &str)], args: &Args, url: &str, source: &str| {
        let place = TestEnvironment::new(variables).with(".aws/config", ENDPOINTS);
        let (found, named_by) = configured_in(&place, args).unwrap().unwrap_or_default();
        assert_eq!(found, url, "{variables:?}");
        assert!(named_by.contains(source), "{named_by}");
    };
    let general = ("AWS_ENDPOINT_URL", "http://general");
    let specific = ("AWS_ENDPOINT_URL_S3", "http://specific");
    expect(&[general, specific], &profile("both"), "http://specific", "AWS_ENDPOINT_URL_S3");
    expect(&[general], &profile("both"), "http://general", "AWS_ENDPOINT_URL");
    expect(&[], &profile("both"), "http://services", "[services local]");
    expect(&[], &profile("other-service"), "http://fallback", "profile other-service");
    expect(&[], &Args::default(), "http://default", "profile default");
    expect(&[("AWS_PROFILE", "both")], &Args::default(), "http://services", "[services local]");
    // The server in a profile also applies to keys from other sources.
    expect(&ENVIRONMENT, &Args::default(), "http://default", "profile default");
    let expect_none = |variables: &[(&str, &str)], args: &Args| {
        let place = TestEnvironment::new(variables).with(".aws/config", ENDPOINTS);
        assert_eq!(configured_in(&place, args), Ok(None), "{variables:?}");
    };
    expect_none(&[general, ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "True")], &profile("both"));
    expect_none(&[general], &profile("off"));
    expect_none(&[], &profile("unknown"));
    expect(&[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false")], &profile("off"), "http://off", "profile off");
}

#[test]
fn a_missing_services_section_is_an_error() {
    let place = TestEnvironment::new(&[]).with(".aws/config", ENDPOINTS);
    let error = configured_in(&place, &profile("dangling")).expect_err("the section is missing");
    assert!(error.contains("no section [services missing]") && error.contains("--endpoint"), "{error}");
}

/// First line and token of each received request.
type Requests = Vec<(String, String)>;

/// Starts a metadata service that sends these responses in turn. The thread of the service returns the requests that
/// the service received.
fn service(responses: Vec<String>) -> (String, thread::JoinHandle<Requests>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("can bind a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("the listener has an address"));
    let serve = move || {
        let mut seen = Vec::new();
        for response in responses {
            let (mut stream, _) = listener.accept().expect("a client connects");
            let lines = BufReader::new(stream.try_clone().expect("can clone the socket")).lines();
            let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let token = head.iter().find_map(|line| line.strip_prefix("X-aws-ec2-metadata-token: "));
            seen.push((head[0].clone(), token.unwrap_or_default().to_owned()));
            // The client may have closed the connection.
            let _ = stream.write_all(response.as_bytes());
        }
        seen
    };
    (endpoint, thread::spawn(serve))
}

fn good(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn imds() -> Args {
    Args { credentials: SourceChoice::Imds, ..Args::default() }
}

/// Searches for keys with a metadata service that sends these responses. Returns the result, and the requests that the
/// service received.
fn find_with_service(responses: Vec<String>) -> (Result<Option<Credentials>, String>, Requests) {
    let (endpoint, server) = service(responses);
    let variables = [&ENVIRONMENT[..], &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_str())]].concat();
    let found = TestEnvironment::new(&variables).find(&imds());
    (found, server.join().expect("the service ends"))
}

#[test]
fn the_metadata_service_returns_token_role_and_keys() {
    let keys = "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"ROLE\",\"SecretAccessKey\":\"role-secret\",\
                \"Token\":\"role-token\",\"Expiration\":\"2013-05-24T00:00:00Z\"}";
    let (found, seen) = find_with_service(vec![good("TOKEN"), good("my-role\n"), good(keys)]);
    let found = found.unwrap().unwrap();
    assert_eq!((pair(&found), &found.source), (("ROLE", "role-secret"), &Source::Imds("my-role".to_owned())));
    assert_eq!(found.keys.token().map(Secret::reveal), Some("role-token"));
    assert_eq!(found.expires.map(Timestamp::unix_seconds), Some(1_369_353_600));
    let roles = "/latest/meta-data/iam/security-credentials/";
    let expected = [
        ("PUT /latest/api/token HTTP/1.1".to_owned(), String::new()),
        (format!("GET {roles} HTTP/1.1"), "TOKEN".to_owned()),
        (format!("GET {roles}my-role HTTP/1.1"), "TOKEN".to_owned()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn failures_of_the_metadata_service_are_distinct() {
    let error = |responses: Vec<String>| find_with_service(responses).0.expect_err("the service fails");
    let status = |line: &str| format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
    assert!(error(vec![status("403 Forbidden")]).contains("sent status 403 for PUT"));
    assert!(error(vec![good("T"), status("404 Not Found")]).contains("sent status 404 for GET"));
    assert!(error(vec![good("T"), good("")]).contains("no role"));
    assert!(error(vec![good("T"), good("../evil")]).contains("no role"));
    assert!(error(vec![good("T"), good("r"), good("not json")]).contains("other than keys"));
    assert!(error(vec![good("T"), good("r"), good("{\"Code\":\"Failed\"}")]).contains("no keys"));
    assert!(error(vec![good("T\r\nX: evil")]).contains("not a valid header value"));
    assert!(error(vec!["SSH-2.0-x\r\n".to_owned()]).contains("does not speak HTTP"));
    assert!(error(vec!["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab".to_owned()]).contains("closed too early"));
    let large = good(&"x".repeat(100_000));
    assert!(error(vec![large]).contains("64 KiB"));
    let disabled = TestEnvironment::new(&[("AWS_EC2_METADATA_DISABLED", "true")]);
    assert!(disabled.find(&imds()).expect_err("the service is disabled").contains("AWS_EC2_METADATA_DISABLED"));
    let tls = TestEnvironment::new(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "https://127.0.0.1:1")]);
    assert!(tls.find(&imds()).expect_err("https is refused").contains("plain http"));
}

/// Searches for keys with a profile that names this program.
fn find_with_program(command: &str) -> Result<Option<Credentials>, String> {
    let config = format!("[default]\ncredential_process = {command}\nregion = r1\n");
    TestEnvironment::new(&[]).with(".aws/config", &config).find(&Args::default())
}

#[test]
fn a_program_prints_keys() {
    let found = find_with_program(
        "printf '{\"Version\": 1, \"AccessKeyId\": \"P\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\", \
         \"Expiration\": \"2013-05-24T00:00:00+00:00\"}'",
    );
    let found = found.unwrap().unwrap();
    assert_eq!(pair(&found), ("P", "s"));
    assert_eq!((found.keys.token().map(Secret::reveal), found.region.as_deref()), (Some("t"), Some("r1")));
    assert_eq!(found.expires.map(Timestamp::unix_seconds), Some(1_369_353_600));
    assert!(matches!(found.source, Source::Process(ref name, _) if name == "default"), "{:?}", found.source);
    let text = find_with_program("echo '{\"Version\": 1, \"AccessKeyId\": \"P\", \"SecretAccessKey\": \"s\"}'");
    assert_eq!(text.unwrap().unwrap().expires, None);
}

#[test]
fn failures_of_the_program_are_distinct_and_do_not_show_its_output() {
    let error = |command: &str| {
        let message = find_with_program(command).expect_err("the program fails");
        assert!(message.contains("credential_process of profile default") && !message.contains("CANARY"), "{message}");
        message
    };
    assert!(error("echo CANARY; exit 3").contains("failed (exit status: 3)"));
    assert!(error("echo CANARY").contains("printed no keys"));
    assert!(error("echo '{\"Version\": 2, \"AccessKeyId\": \"P\", \"SecretAccessKey\": \"s\"}'").contains("Version 1"));
    assert!(error("echo '{\"Version\": 1, \"AccessKeyId\": \"P\"}'").contains("printed no keys"));
    assert!(error("yes CANARY").contains("more than 64 KiB"));
}

#[test]
fn times_of_expiry_have_several_forms() {
    for text in ["2013-05-24T00:00:00Z", "2013-05-24T00:00:00+00:00", "2013-05-24T00:00:00.123Z"] {
        assert_eq!(expiry(text).map(Timestamp::unix_seconds), Some(1_369_353_600), "{text}");
    }
    assert_eq!(expiry("tomorrow"), None);
}

#[test]
fn secrets_are_never_shown() {
    let place = TestEnvironment::new(&[
        ("AWS_ACCESS_KEY_ID", "CANARY1"),
        ("AWS_SECRET_ACCESS_KEY", "CANARY2"),
        ("AWS_SESSION_TOKEN", "CANARY3"),
    ]);
    let found = place.found(&Args::default());
    let shown = format!("{found:?} {found:#?} {}", found.source);
    assert!(!shown.contains("CANARY"), "{shown}");
}
