//! Tests of roles. The token service is a mock: it sends prepared responses, and records the requests. Tests in
//! `end_to_end` compare the signature with botocore's (`s3.rs`), and use a real token service (`minio.rs`).

use super::*;
use std::io::Read;

/// A request that the token service received.
#[derive(Debug)]
struct Received {
    head: Vec<String>,
    body: String,
}

impl Received {
    fn field(&self, name: &str) -> &str {
        let mut fields = self.head.iter().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).unwrap_or_default()
    }
}

/// Starts a token service that sends these responses in turn, and then ends.
fn token_service(responses: Vec<String>) -> (String, thread::JoinHandle<Vec<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("can bind a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("the listener has an address"));
    let serve = move |response: String| {
        let (mut stream, _) = listener.accept().expect("a client connects");
        let mut reader = BufReader::new(stream.try_clone().expect("can clone the socket"));
        let mut received = Received { head: Vec::new(), body: String::new() };
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("the head is text");
            match line.trim_end() {
                "" => break,
                line => received.head.push(line.to_owned()),
            }
        }
        let length = received.field("Content-Length").parse().expect("the request has a body");
        reader.take(length).read_to_string(&mut received.body).expect("the body is text");
        // The client may have closed the connection.
        let _ = stream.write_all(response.as_bytes());
        received
    };
    (endpoint, thread::spawn(move || responses.into_iter().map(serve).collect()))
}

fn keys(access_key: &str, expiration: &str) -> String {
    good(&format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
         <AccessKeyId>{access_key}</AccessKeyId><SecretAccessKey>s-{access_key}</SecretAccessKey>\
         <SessionToken>t-{access_key}</SessionToken><Expiration>{expiration}</Expiration></Credentials>\
         </AssumeRoleResult></AssumeRoleResponse>"
    ))
}

fn status(line: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

const EXPIRY: &str = "2013-05-24T00:00:00Z";
const CREDENTIALS: &str = "[base]\naws_access_key_id = BASE\naws_secret_access_key = base-secret\n\
                           aws_session_token = base-token\n[self]\naws_access_key_id = SELF\n\
                           aws_secret_access_key = self-secret\n";
const CONFIG: &str = "[profile base]\nregion = r-base\n\
    [profile reader]\nrole_arn = arn:aws:iam::1:role/a b\nsource_profile = base\nregion = r-reader\n\
    [profile all]\nrole_arn = arn:x\nsource_profile = base\nrole_session_name = me@here\nexternal_id = i=&d\n\
    duration_seconds = 900\n\
    [profile chained]\nrole_arn = arn:y\nsource_profile = reader\n\
    [profile self]\nrole_arn = arn:z\nsource_profile = self\n\
    [profile environment]\nrole_arn = arn:e\ncredential_source = Environment\n\
    [profile machine]\nrole_arn = arn:m\ncredential_source = Ec2InstanceMetadata\n\
    [profile container]\nrole_arn = arn:c\ncredential_source = EcsContainer\n\
    [profile one]\nrole_arn = arn:1\nsource_profile = two\n[profile two]\nrole_arn = arn:2\nsource_profile = one\n\
    [profile empty]\nrole_arn = arn:n\nsource_profile = nobody\n\
    [profile alone]\nrole_arn = arn:a\n[profile both]\nrole_arn = arn:b\nsource_profile = base\n\
    credential_source = Environment\n[profile without-role]\nsource_profile = base\n\
    [profile mfa]\nrole_arn = arn:f\nsource_profile = base\nmfa_serial = CANARY\n\
    [profile web]\nrole_arn = arn:w\nweb_identity_token_file = CANARY\n\
    [profile short]\nrole_arn = arn:s\nsource_profile = base\nduration_seconds = 60\n\
    [profile dev]\nsso_session = CANARY\n\
    [profile dev-keys]\nsso_session = x\n\
    credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"s\"}'\n";

fn place(variables: &[(&str, &str)]) -> TestEnvironment {
    TestEnvironment::new(variables).with(".aws/credentials", CREDENTIALS).with(".aws/config", CONFIG)
}

/// Searches for the keys of a profile with a token service that sends these responses. Returns the result, and the
/// requests that the service received.
fn find_with(name: &str, responses: Vec<String>) -> (Result<Option<Credentials>, String>, Vec<Received>) {
    let (endpoint, service) = token_service(responses);
    let variables = [&ENVIRONMENT[..], &[("AWS_ENDPOINT_URL_STS", endpoint.as_str())]].concat();
    let found = place(&variables).find(&profile(name));
    (found, service.join().expect("the service ends"))
}

#[test]
fn the_token_service_gets_a_signed_request_and_returns_keys() {
    let (found, received) = find_with("reader", vec![keys("ROLE", EXPIRY)]);
    let found = found.unwrap().unwrap();
    assert_eq!(pair(&found), ("ROLE", "s-ROLE"));
    assert_eq!(found.keys.token().map(Secret::reveal), Some("t-ROLE"));
    assert_eq!(found.region.as_deref(), Some("r-reader"));
    assert_eq!(found.expires.map(Timestamp::unix_seconds), Some(1_369_353_600));
    assert!(found.source.to_string().starts_with("role_arn of profile reader in "), "{}", found.source);
    let [request] = &received[..] else { panic!("{received:?}") };
    assert_eq!(request.head[0], "POST / HTTP/1.1");
    assert_eq!(request.field("Content-Type"), "application/x-www-form-urlencoded");
    let form =
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&RoleSessionName=plimsoll";
    assert_eq!(request.body, form);
    let authorization = request.field("Authorization");
    assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=BASE/"), "{authorization}");
    assert!(authorization.contains("/r-reader/sts/aws4_request"), "{authorization}");
    assert!(authorization.contains("x-amz-security-token"), "{authorization}");
    let text = request.head.join("\n");
    assert!(text.contains("base-token") && !text.contains("base-secret"), "{text}");
}

#[test]
fn every_source_of_keys_is_used() {
    let used = |name: &str, answers: usize| {
        let answers = (0..answers).map(|number| keys(&format!("ROLE{number}"), EXPIRY)).collect();
        let (found, received) = find_with(name, answers);
        let found = found.unwrap().unwrap();
        let of = |request: &Received| {
            let key = request.field("Authorization").split("Credential=").nth(1)?.split('/').next()?;
            Some((key.to_owned(), request.body.split("RoleArn=").nth(1)?.to_owned()))
        };
        (found.keys.access_key().to_owned(), received.iter().map(|request| of(request).unwrap()).collect::<Vec<_>>())
    };
    let texts = |key: &str, arn: &str| (key.to_owned(), arn.to_owned());
    let session = "&RoleSessionName=plimsoll";
    assert_eq!(used("self", 1), ("ROLE0".to_owned(), vec![texts("SELF", &format!("arn%3Az{session}"))]));
    assert_eq!(used("environment", 1).1, vec![texts("ENV", &format!("arn%3Ae{session}"))]);
    let all = "arn%3Ax&RoleSessionName=me%40here&ExternalId=i%3D%26d&DurationSeconds=900";
    assert_eq!(used("all", 1).1, vec![texts("BASE", all)]);
    // The role `reader` may use the role `chained`.
    let (found, requests) = used("chained", 2);
    assert_eq!(found, "ROLE1");
    let first = texts("BASE", &format!("arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b{session}"));
    assert_eq!(requests, vec![first, texts("ROLE0", &format!("arn%3Ay{session}"))]);
}

#[test]
fn no_request_leaves_for_a_service_that_is_not_named() {
    let error = |variables: &[(&str, &str)], name: &str| {
        let message = place(&[&ENVIRONMENT[..], variables].concat()).find(&profile(name)).expect_err("it is refused");
        assert!(message.lines().count() == 1 && !message.contains("CANARY"), "{message}");
        message
    };
    assert!(error(&[], "reader").contains("no token service is named: set AWS_ENDPOINT_URL_STS"));
    let s3_only = [("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")];
    assert!(error(&s3_only, "reader").contains("no token service is named"));
    let named = [("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")];
    assert!(error(&named, "machine").contains("set AWS_EC2_METADATA_SERVICE_ENDPOINT"));
    for (name, words) in [
        ("one", "leads back"),
        ("empty", "source_profile = nobody, which has no keys"),
        ("alone", "add source_profile"),
        ("both", "remove one"),
        ("without-role", "add role_arn"),
        ("container", "credential_process"),
        ("mfa", "uses mfa_serial"),
        ("web", "uses web_identity_token_file"),
        ("short", "between 900 and 43200"),
        ("dev", "export-credentials --profile dev --format process"),
    ] {
        let message = error(&named, name);
        assert!(message.contains(words), "{name}: {message}");
    }
    for (url, words) in [("http://k:s@h", "cannot contain keys"), ("http://h/x", "path"), ("s3://h", "AWS_ENDPOINT")] {
        let message = error(&[("AWS_ENDPOINT_URL_STS", url)], "reader");
        assert!(message.contains(words) && message.starts_with("AWS_ENDPOINT_URL_STS"), "{message}");
    }
    // A program that prints keys can replace a login.
    assert_eq!(pair(&place(&[]).found(&profile("dev-keys"))), ("P", "s"));
}

#[test]
fn the_token_service_can_be_named_in_a_profile() {
    let (endpoint, service) = token_service(vec![keys("ROLE", EXPIRY)]);
    let own = format!(
        "{CONFIG}[profile mine]\nrole_arn = arn:q\nsource_profile = base\nservices = local\n[services local]\n\
         s3 =\n  endpoint_url = http://127.0.0.1:1\nsts =\n  endpoint_url = {endpoint}\n"
    );
    let place = TestEnvironment::new(&[]).with(".aws/credentials", CREDENTIALS).with(".aws/config", &own);
    assert_eq!(pair(&place.found(&profile("mine"))), ("ROLE", "s-ROLE"));
    assert_eq!(service.join().expect("the service ends").len(), 1);
}

#[test]
fn hostile_responses_of_the_token_service_are_refused_without_secrets() {
    let error = |response: String| {
        let message = find_with("reader", vec![response]).0.expect_err("the response is refused");
        assert!(message.lines().count() == 1 && message.len() < 400, "{message}");
        for secret in ["base-token", "base-secret", "BASE", "CANARY"] {
            assert!(!message.contains(secret), "{message}");
        }
        message
    };
    let refusal = |code: &str| {
        format!("<ErrorResponse><Error><Code>{code}</Code><Message>CANARY</Message></Error></ErrorResponse>")
    };
    let denied = error(status("403 Forbidden", &refusal("AccessDenied")));
    assert!(denied.contains("AWS_ENDPOINT_URL_STS") && denied.ends_with(": status 403, AccessDenied"), "{denied}");
    // A code can repeat a part of the request, or contain any other text.
    for code in ["base-token", "xBASEx", "BASE", "base", "a b", "a\nb", "\u{1b}[31m", &"\u{202e}x".repeat(900)] {
        let message = error(status("400 Bad Request", &refusal(code)));
        assert!(message.ends_with(": status 400"), "{message}");
    }
    for body in ["", "CANARY", "{\"AccessKeyId\":\"CANARY\"}", "<AssumeRoleResponse/>", &"<a>".repeat(100_000)] {
        assert!(error(good(body)).contains("its response has no keys"), "{body:.20}");
    }
    assert!(error(keys("CANARY", "tomorrow")).contains("no valid time of expiry"));
    assert!(error(keys("CAN ARY", EXPIRY)).contains("access key"));
    let large = error(good(&" ".repeat(9 << 20)));
    assert!(large.contains("exceeds the size limit"), "{large}");
    assert!(error("SSH-2.0-x\r\n".to_owned()).contains("from the token service"));
    assert!(error("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_owned()).contains("from the token service"));
}

#[test]
fn a_redirect_of_the_token_service_is_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").expect("can bind a port");
    other.set_nonblocking(true).expect("can make the socket non-blocking");
    let address = other.local_addr().expect("the port is known");
    let redirect =
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{address}/\r\nContent-Length: 0\r\n\r\n");
    let message = find_with("reader", vec![redirect]).0.expect_err("the response is refused");
    assert!(message.ends_with(": status 307"), "{message}");
    assert!(other.accept().is_err(), "the redirect was followed");
}
