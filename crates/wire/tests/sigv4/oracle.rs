//! Compares signatures with those of the `aws-sigv4` crate on random requests. Headers, queries and chunk signatures must
//! be equal.

use super::*;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::http::Headers;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::time::{Duration, UNIX_EPOCH};
use wire::checksum::Algorithm;
use wire::sigv4::{Payload, Streaming, Trailer};

/// A request that can be sent: percent-encoded targets, header names in any case, values that may contain spaces.
#[derive(Debug, Clone)]
struct Case {
    method: &'static str,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    payload: Payload,
    region: String,
    secret: String,
    token: Option<String>,
    time: u64,
}

/// Returns text in the canonical form that is signed.
fn encoded(text: &str, keep_slash: bool) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slash && byte == b'/');
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn query() -> impl Strategy<Value = String> {
    // There are few different letters, so that names repeat and share prefixes. Each text has one of several encodings.
    let text = || "[abX.=&+ /%\u{e9}*-]{0,4}";
    let parameter = (text(), option::of(text()), 0..3_u8).prop_map(|(name, value, style)| {
        let write = |text: &str| match style {
            0 => encoded(text, false),
            1 => encoded(text, true).replace("%20", "+"),
            _ => encoded(text, false).to_lowercase().replace("%2d", "-"),
        };
        value.map_or_else(|| write(&name), |value| format!("{}={}", write(&name), write(&value)))
    });
    vec(parameter, 0..6).prop_map(|parameters| parameters.join("&"))
}

fn payload() -> impl Strategy<Value = Payload> {
    let trailer = Trailer::new(Algorithm::Crc32).expect("S3 has a header for CRC-32");
    prop_oneof![
        Just(Payload::Unsigned),
        any::<[u8; 32]>().prop_map(Payload::Sha256),
        Just(Payload::Chunks(Streaming::SignedTrailer(trailer))),
        Just(Payload::Chunks(Streaming::UnsignedTrailer(trailer))),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        "[A-Za-z][a-z-]{0,6}",
        Just("Range".to_owned()),
        Just("X-Amz-Meta-A".to_owned()),
        Just("x-amz-meta-a".to_owned()),
        Just("Content-Type".to_owned()),
    ];
    // The crate does not sign these headers, or treats them in a special way.
    let allowed = |name: &String| {
        !["host", "authorization", "user-agent", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
    };
    vec((name.prop_filter("left to the signer", allowed), " {0,2}[!-~]{0,3} {0,3}[!-~]{0,5} {0,2}"), 0..8)
}

fn case() -> impl Strategy<Value = Case> {
    let method = prop::sample::select(vec!["GET", "PUT", "POST", "DELETE", "HEAD"]);
    let path = "(/[a-zA-Z0-9 $+&=@,:;!'()*~._%\u{e9}\u{4e2d}-]{0,6}){1,5}".prop_map(|path| encoded(&path, true));
    let target = (method, path, query());
    let who = ("[a-z]{2}-[a-z]{4,9}-[1-9]", "[!-~]{1,60}", option::of("[!-~]{1,80}"));
    // Times from 1970 to 2200.
    let when = 0..7_258_118_400_u64;
    (target, headers(), payload(), who, when).prop_map(|(target, headers, payload, who, time)| {
        let ((method, path, query), (region, secret, token)) = (target, who);
        Case { method, path, query, headers, payload, region, secret, token, time }
    })
}

impl Case {
    fn keys(&self) -> Keys {
        Keys::new(ACCESS_KEY, Secret::new(&*self.secret), self.token.as_deref().map(Secret::new)).unwrap()
    }

    fn signer(&self) -> Signer {
        Signer::new(self.keys(), &self.region, "s3")
    }

    fn all_headers(&self) -> Vec<(&str, &str)> {
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        own.chain([("Host", "bucket.example.com:9000")]).collect()
    }

    /// Returns the signature that the crate `aws-sigv4` computes, and the headers and parameters that it adds.
    fn theirs(&self, location: SignatureLocation) -> (String, Vec<(String, String)>) {
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.signature_location = location;
        settings.expires_in = (location == SignatureLocation::QueryParams).then_some(Duration::from_secs(3600));
        settings.excluded_headers = None;
        let identity = Credentials::new(ACCESS_KEY, &*self.secret, self.token.clone(), None, "test").into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("s3")
            .time(UNIX_EPOCH + Duration::from_secs(self.time))
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let body = match (&self.payload, location) {
            (_, SignatureLocation::QueryParams) | (Payload::Unsigned, _) => SignableBody::UnsignedPayload,
            (Payload::Sha256(digest), _) => {
                SignableBody::Precomputed(digest.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            (Payload::Chunks(Streaming::SignedTrailer(_)), _) => SignableBody::StreamingSignedPayloadTrailer,
            (Payload::Chunks(Streaming::UnsignedTrailer(_)), _) => SignableBody::StreamingUnsignedPayloadTrailer,
            (Payload::Chunks(Streaming::Signed), _) => unreachable!("the crate does not support this payload"),
        };
        let url = format!("http://bucket.example.com:9000{}?{}", self.path, self.query);
        let headers = self.all_headers();
        let request = SignableRequest::new(self.method, url, headers.into_iter(), body).unwrap();
        let (instructions, signature) = sign(request, &parameters).unwrap().into_parts();
        let (headers, parameters) = instructions.into_parts();
        let headers = headers.iter().map(|header| (header.name().to_owned(), header.value().to_owned()));
        let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned()));
        (signature, headers.chain(parameters).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn header_signatures_equal_those_of_the_crate(case in case()) {
        let headers = case.all_headers();
        let headers = bytes(&headers);
        let request = Request { method: case.method, path: &case.path, query: &case.query, headers: &headers };
        let mut added = Vec::new();
        let signature = case.signer().sign(at(case.time), &request, &case.payload, &mut added).unwrap();
        let (their_signature, their_headers) = case.theirs(SignatureLocation::Headers);
        prop_assert_eq!(signature.hex(), their_signature);
        let mut ours: Vec<_> = lines(&added)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), String::from_utf8(value.to_vec()).unwrap()))
            .collect();
        let mut theirs: Vec<_> = their_headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
        ours.sort();
        theirs.sort();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn query_signatures_equal_those_of_the_crate(case in case()) {
        let headers = case.all_headers();
        let headers = bytes(&headers);
        let request = Request { method: case.method, path: &case.path, query: &case.query, headers: &headers };
        let mut query = Vec::new();
        case.signer().presign(at(case.time), 3600, &request, &mut query).unwrap();
        let query = String::from_utf8(query).unwrap();
        let (signature, parameters) = case.theirs(SignatureLocation::QueryParams);
        prop_assert_eq!(query.rsplit_once("&X-Amz-Signature=").unwrap().1, signature);
        for (name, value) in parameters {
            let parameter = format!("{name}={}", encoded(&value, false));
            prop_assert!(query.split('&').any(|ours| ours == parameter), "{parameter} in {query}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn chunk_signatures_equal_those_of_the_crate(case in case(), chunks in vec(vec(any::<u8>(), 1..200), 0..4)) {
        let headers = case.all_headers();
        let headers = bytes(&headers);
        let request = Request { method: case.method, path: &case.path, query: &case.query, headers: &headers };
        let trailer = Trailer::new(Algorithm::Sha256).unwrap();
        let streaming = Streaming::SignedTrailer(trailer);
        let mut signer = case.signer();
        let head = signer.sign(at(case.time), &request, &Payload::Chunks(streaming), &mut Vec::new()).unwrap();
        let mut encoder = signer.chunks(at(case.time), head, streaming);
        let mut framed = Vec::new();
        chunks.iter().for_each(|chunk| encoder.chunk(chunk, &mut framed));
        encoder.finish(&mut framed);

        let identity = Credentials::new(ACCESS_KEY, &*case.secret, None, None, "test").into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&case.region)
            .name("s3")
            .time(UNIX_EPOCH + Duration::from_secs(case.time))
            .settings(())
            .build()
            .unwrap();
        let (mut previous, mut expected) = (head.hex(), Vec::new());
        for chunk in chunks.iter().map(Vec::as_slice).chain([&[][..]]) {
            previous = v4::sign_chunk(&chunk.to_vec().into(), &previous, &parameters).unwrap().into_parts().1;
            expected.extend(format!("{:x};chunk-signature={previous}\r\n", chunk.len()).bytes());
            expected.extend(chunk);
            expected.extend(if chunk.is_empty() { &b""[..] } else { b"\r\n" });
        }
        let checksum = Algorithm::Sha256.of(&chunks.concat()).base64();
        let mut fields = Headers::new();
        fields.insert(trailer.name(), checksum.clone());
        let signature = v4::sign_trailer(&fields, &previous, &parameters).unwrap().into_parts().1;
        let end = format!("{}:{checksum}\r\nx-amz-trailer-signature:{signature}\r\n\r\n", trailer.name());
        expected.extend(end.bytes());
        prop_assert_eq!(String::from_utf8_lossy(&framed), String::from_utf8_lossy(&expected));
    }
}
