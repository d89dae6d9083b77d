//! Arbitrary requests to a server that checks signatures: the verifier does not panic, rejects unsigned requests, and
//! accepts requests that this program signs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::sigv4::{Keys, Payload, Request, Secret, Signer, Timestamp, Verifier};

/// 20130524T000000Z
const NOW: u64 = 1_369_353_600;

fuzz_target!(|data: (&str, &str, &str, Vec<(&str, &[u8])>)| {
    let (method, path, query, headers) = data;
    let keys =
        Keys::new("AKIAIOSFODNN7EXAMPLE", Secret::new("a secret that no input can know".replace(' ', "-")), None);
    let keys = keys.expect("these keys are good");
    let now = Timestamp::from_unix_seconds(NOW);
    let mut verifier = Verifier::new(None);
    let mut request = Request { method, path, query, headers: &headers };
    assert!(verifier.verify(&request, now, |_| Some(&keys)).is_err());

    // Use only names that are tokens and have no special meaning.
    let token =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && !b":;,".contains(&byte));
    let usual = |name: &str| token(name) && !name.eq_ignore_ascii_case("x-amz-trailer");
    let own: Vec<_> = headers.iter().copied().filter(|(name, _)| usual(name)).collect();
    request.headers = &own;
    let mut added = Vec::new();
    let signed = Signer::new(keys.clone(), "us-east-1", "s3").sign(now, &request, &Payload::EMPTY, &mut added);
    // A query with parameters of a signature would change the request.
    let plain = !query.to_ascii_lowercase().contains("x-amz-");
    if signed.is_ok() && plain {
        let added = String::from_utf8(added).expect("signing writes text");
        let lines = added.split_terminator("\r\n").filter_map(|line| line.split_once(": "));
        let all: Vec<_> = lines.map(|(name, value)| (name, value.as_bytes())).chain(own.iter().copied()).collect();
        let received = Request { headers: &all, ..request };
        assert!(verifier.verify(&received, now, |_| Some(&keys)).is_ok());
    }
});
