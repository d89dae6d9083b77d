//! Tests every refusal of the verifier. Each request differs from a valid request in a single change.

use super::*;
use proptest::prelude::*;
use wire::s3::ErrorCode;
use wire::sigv4::{AuthorizationPart, MAX_EXPIRY_SECONDS, Payload, Refusal, SignError, SignedBody, Verified, Verifier};

/// Returns the headers of a signed request as text that tests can change.
fn signed_lines(token: Option<&str>) -> Vec<(String, String)> {
    let keys = Keys::new(ACCESS_KEY, Secret::new(SECRET_KEY), token.map(Secret::new)).unwrap();
    let headers = bytes(&[("host", "h"), ("x-amz-meta-a", "1")]);
    let request = Request { method: "GET", path: "/bucket/key", query: "a=1", headers: &headers };
    let mut added = Vec::new();
    Signer::new(keys, "us-east-1", "s3").sign(at(EXAMPLE_TIME), &request, &Payload::EMPTY, &mut added).unwrap();
    let text = |(name, value): (&str, &[u8])| (name.to_owned(), String::from_utf8(value.to_vec()).unwrap());
    signed(&request, &added).into_iter().map(text).collect()
}

fn verify_with(keys: &Keys, request: &Request, seconds: u64) -> Result<Verified, Refusal> {
    Verifier::new(Some("us-east-1")).verify(request, at(seconds), |name| (name == keys.access_key()).then_some(keys))
}

fn refusal_of(lines: &[(String, String)], seconds: u64) -> Option<Refusal> {
    let headers: Vec<_> = lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "GET", path: "/bucket/key", query: "a=1", headers: &headers };
    verify_with(&keys(), &request, seconds).err()
}

/// Changes one header of a signed request, and returns the verifier's refusal.
fn changed(name: &str, from: &str, to: &str) -> Option<Refusal> {
    let mut lines = signed_lines(None);
    let (_, value) = lines.iter_mut().find(|(given, _)| given == name).unwrap();
    assert!(value.contains(from), "{value}");
    *value = value.replace(from, to);
    refusal_of(&lines, EXAMPLE_TIME)
}

#[test]
fn a_signed_header_is_accepted_within_15_minutes() {
    let lines = signed_lines(None);
    for (seconds, expected) in [(0, None), (900, None), (901, Some(Refusal::Skewed))] {
        assert_eq!(refusal_of(&lines, EXAMPLE_TIME + seconds), expected);
        assert_eq!(refusal_of(&lines, EXAMPLE_TIME - seconds), expected);
    }
    assert_eq!(Refusal::Skewed.code(), ErrorCode::RequestTimeTooSkewed);
}

#[test]
fn each_change_of_a_header_has_its_own_refusal() {
    let bad = |part| Some(Refusal::Malformed(part));
    let authorization = "authorization";
    assert_eq!(changed(authorization, "AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA512 "), bad(AuthorizationPart::Algorithm));
    assert_eq!(changed(authorization, "Signature=", "Other="), bad(AuthorizationPart::Algorithm));
    assert_eq!(
        changed(authorization, "SignedHeaders=", "Signature=0, SignedHeaders="),
        bad(AuthorizationPart::Algorithm)
    );
    assert_eq!(changed(authorization, "/aws4_request", "/aws5_request"), bad(AuthorizationPart::Credential));
    assert_eq!(changed(authorization, "/20130524/", "/20130525/"), bad(AuthorizationPart::Credential));
    assert_eq!(changed(authorization, "/20130524/", "/"), bad(AuthorizationPart::Credential));
    assert_eq!(changed(authorization, "/us-east-1/", "/us-east-2/"), Some(Refusal::WrongScope));
    assert_eq!(changed(authorization, "/s3/", "/ec2/"), Some(Refusal::WrongScope));
    assert_eq!(changed(authorization, ACCESS_KEY, "AKIDOTHER"), Some(Refusal::UnknownKey));
    assert_eq!(changed(authorization, "Signature=", "Signature=0"), bad(AuthorizationPart::Signature));
    assert_eq!(changed(authorization, "host;", ""), Some(Refusal::NotSigned));
    assert_eq!(changed(authorization, ";x-amz-meta-a", ""), Some(Refusal::NotSigned));
    assert_eq!(changed(authorization, "host;", "host;range;"), bad(AuthorizationPart::SignedHeaders));
    assert_eq!(changed("x-amz-date", "Z", ""), bad(AuthorizationPart::Date));
    assert_eq!(changed("x-amz-date", "000000Z", "000001Z"), Some(Refusal::Mismatch));
    assert_eq!(changed("x-amz-content-sha256", "e3b0", "E3B0"), bad(AuthorizationPart::ContentSha256));
    assert_eq!(changed("x-amz-content-sha256", "e3b0", "e3b1"), Some(Refusal::Mismatch));
    assert_eq!(changed("x-amz-meta-a", "1", "2"), Some(Refusal::Mismatch));
    assert_eq!(changed("host", "h", "other"), Some(Refusal::Mismatch));
}

#[test]
fn missing_and_repeated_headers_are_refused() {
    let without = |name: &str| {
        let lines: Vec<_> = signed_lines(None).into_iter().filter(|(given, _)| given != name).collect();
        refusal_of(&lines, EXAMPLE_TIME)
    };
    assert_eq!(without("authorization"), Some(Refusal::Missing));
    assert_eq!(without("x-amz-date"), Some(Refusal::Malformed(AuthorizationPart::Date)));
    assert_eq!(without("x-amz-content-sha256"), Some(Refusal::Malformed(AuthorizationPart::ContentSha256)));
    assert_eq!(without("host"), Some(Refusal::Malformed(AuthorizationPart::SignedHeaders)));
    for name in ["authorization", "x-amz-date", "x-amz-content-sha256"] {
        let mut lines = signed_lines(None);
        let line = lines.iter().find(|(given, _)| given == name).unwrap().clone();
        lines.push(line);
        assert_eq!(refusal_of(&lines, EXAMPLE_TIME), Some(Refusal::Malformed(AuthorizationPart::Headers)), "{name}");
    }
}

#[test]
fn session_tokens_must_belong_to_the_key() {
    let with_token = signed_lines(Some("token"));
    assert_eq!(refusal_of(&with_token, EXAMPLE_TIME), Some(Refusal::WrongToken));
    let headers: Vec<_> = with_token.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "GET", path: "/bucket/key", query: "a=1", headers: &headers };
    let keys = |token: &str| Keys::new(ACCESS_KEY, Secret::new(SECRET_KEY), Some(Secret::new(token))).unwrap();
    assert!(verify_with(&keys("token"), &request, EXAMPLE_TIME).is_ok());
    assert_eq!(verify_with(&keys("other"), &request, EXAMPLE_TIME).unwrap_err(), Refusal::WrongToken);
    let without: Vec<_> = headers.iter().copied().filter(|(name, _)| *name != "x-amz-security-token").collect();
    let request = Request { headers: &without, ..request };
    assert_eq!(verify_with(&keys("token"), &request, EXAMPLE_TIME).unwrap_err(), Refusal::WrongToken);
}

#[test]
fn the_signature_covers_method_path_and_query() {
    let lines = signed_lines(None);
    let headers: Vec<_> = lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let good = Request { method: "GET", path: "/bucket/key", query: "a=1", headers: &headers };
    assert!(verify_with(&keys(), &good, EXAMPLE_TIME).is_ok());
    for other in [
        Request { method: "PUT", ..good },
        Request { path: "/bucket//key", ..good },
        Request { path: "/bucket/key/", ..good },
        Request { query: "", ..good },
        Request { query: "a=2", ..good },
        Request { query: "a=1&b", ..good },
    ] {
        assert_eq!(verify_with(&keys(), &other, EXAMPLE_TIME).unwrap_err(), Refusal::Mismatch);
    }
    let other_secret = Keys::new(ACCESS_KEY, Secret::new("other"), None).unwrap();
    assert_eq!(verify_with(&other_secret, &good, EXAMPLE_TIME).unwrap_err(), Refusal::Mismatch);
}

#[test]
fn a_cached_key_is_not_used_for_another_secret_or_day() {
    let mut verifier = Verifier::new(None);
    for (secret, seconds) in [("one", 0), ("two", 0), ("one", 86_400), ("one", 0)] {
        let keys = Keys::new(ACCESS_KEY, Secret::new(secret), None).unwrap();
        let headers = bytes(&[("host", "h")]);
        let request = Request { method: "GET", path: "/", query: "", headers: &headers };
        let mut added = Vec::new();
        let now = at(EXAMPLE_TIME + seconds);
        Signer::new(keys.clone(), "x", "s3").sign(now, &request, &Payload::Unsigned, &mut added).unwrap();
        let all = signed(&request, &added);
        let verified = verifier.verify(&Request { headers: &all, ..request }, now, |_| Some(&keys));
        assert!(matches!(verified, Ok(Verified { body: SignedBody::Unsigned, .. })), "{secret} {seconds}");
    }
}

#[test]
fn each_change_of_a_query_has_its_own_refusal() {
    let host = bytes(&[("host", "h")]);
    let request = Request { method: "GET", path: "/bucket/key", query: "", headers: &host };
    let mut query = Vec::new();
    signer().presign(at(EXAMPLE_TIME), 60, &request, &mut query).unwrap();
    let query = String::from_utf8(query).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(query.contains(from), "{query}");
        let query = query.replace(from, to);
        verify_with(&keys(), &Request { query: &query, ..request }, EXAMPLE_TIME).unwrap_err()
    };
    let bad = Refusal::Malformed;
    assert_eq!(changed("HMAC-SHA256", "HMAC-SHA1"), bad(AuthorizationPart::Algorithm));
    assert_eq!(changed("X-Amz-Expires=60", "X-Amz-Expires=0"), bad(AuthorizationPart::Expires));
    assert_eq!(changed("X-Amz-Expires=60", "X-Amz-Expires=604801"), bad(AuthorizationPart::Expires));
    assert_eq!(changed("X-Amz-Expires=60&", ""), bad(AuthorizationPart::Expires));
    assert_eq!(changed("X-Amz-Expires=60", "X-Amz-Expires=61"), Refusal::Mismatch);
    assert_eq!(changed("&X-Amz-SignedHeaders=host", ""), bad(AuthorizationPart::SignedHeaders));
    assert_eq!(changed("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=range"), Refusal::NotSigned);
    assert_eq!(changed("%2F", "%3F"), bad(AuthorizationPart::Credential));
    assert_eq!(changed("X-Amz-Signature=", "X-Amz-Signature=x"), bad(AuthorizationPart::Signature));
    assert_eq!(changed("X-Amz-Date", "Date"), bad(AuthorizationPart::Date));

    let verify_at = |seconds| {
        verify_with(&keys(), &Request { query: &query, ..request }, seconds).map(|verified| verified.presigned)
    };
    assert_eq!(verify_at(EXAMPLE_TIME + 60), Ok(true));
    assert_eq!(verify_at(EXAMPLE_TIME + 61), Err(Refusal::Expired));
    assert_eq!(verify_at(EXAMPLE_TIME - 900), Ok(true));
    assert_eq!(verify_at(EXAMPLE_TIME - 901), Err(Refusal::Skewed));
    let both = [host[0], ("authorization", b"AWS4-HMAC-SHA256 x")];
    let twice = Request { query: &query, headers: &both, ..request };
    assert_eq!(verify_with(&keys(), &twice, EXAMPLE_TIME).unwrap_err(), Refusal::Twice);
}

#[test]
fn requests_that_cannot_be_signed_are_rejected() {
    let error = |headers: &[(&str, &str)]| {
        let headers = bytes(headers);
        let request = Request { method: "GET", path: "/", query: "", headers: &headers };
        let mut out = Vec::new();
        let error = signer().sign(at(0), &request, &Payload::Unsigned, &mut out).unwrap_err();
        assert!(out.is_empty());
        error
    };
    assert_eq!(error(&[]), SignError::NoHost);
    assert_eq!(error(&[("Host", "h"), ("X-Amz-Date", "x")]), SignError::Reserved);
    assert_eq!(error(&[("Host", "h"); 99]), SignError::TooManyHeaders);
    let headers = bytes(&[("host", "h")]);
    let request = Request { method: "GET", path: "/", query: "", headers: &headers };
    for seconds in [0, MAX_EXPIRY_SECONDS + 1] {
        assert_eq!(signer().presign(at(0), seconds, &request, &mut Vec::new()), Err(SignError::BadExpiry));
    }
}

proptest! {
    #[test]
    fn arbitrary_requests_never_panic(
        path in "\\PC{0,12}",
        query in "(X-Amz-(Algorithm|Credential|Date|Expires|SignedHeaders|Signature)=[A-Z0-9/%;-]{0,20}&){0,7}",
        authorization in "AWS4-HMAC-SHA256 \\PC{0,30}|(Credential=|SignedHeaders=|Signature=|[a-z0-9/;, ]{0,20}){0,6}",
        date in "[0-9TZ]{0,16}|20130524T000000Z",
    ) {
        let headers = bytes(&[("host", "h"), ("authorization", &authorization), ("x-amz-date", &date)]);
        let request = Request { method: "GET", path: &path, query: &query, headers: &headers };
        prop_assert!(verify_with(&keys(), &request, EXAMPLE_TIME).is_err());
        let request = Request { headers: &headers[..1], ..request };
        prop_assert!(verify_with(&keys(), &request, EXAMPLE_TIME).is_err());
    }
}
