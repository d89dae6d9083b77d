//! Tests with Amazon's published examples: "Authenticating Requests: Using the Authorization Header", "Using Query
//! Parameters", "Transferring Payload in Multiple Chunks" and "Including Trailing Headers", all in the S3 API reference.

use super::*;
use std::num::NonZeroU64;
use wire::Event;
use wire::checksum::Algorithm;
use wire::sigv4::{ChunkEncoder, Payload, SignedBody, Streaming, Trailer, Verifier};

const HOST: (&str, &str) = ("Host", "examplebucket.s3.amazonaws.com");

/// Returns the `Authorization` header of a request. As in the examples, there are no spaces between its parts.
fn authorization(request: &Request, payload: &Payload) -> String {
    let mut added = Vec::new();
    let signature = signer().sign(at(EXAMPLE_TIME), request, payload, &mut added).unwrap();
    let lines = lines(&added);
    let (_, text) = lines.iter().find(|(name, _)| *name == "authorization").unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.ends_with(&signature.hex()));
    text.replace(", ", ",")
}

fn expected(signed_headers: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20130524/us-east-1/s3/aws4_request,SignedHeaders={signed_headers},Signature={signature}"
    )
}

#[test]
fn get_object() {
    let headers = bytes(&[HOST, ("Range", "bytes=0-9")]);
    let request = Request { method: "GET", path: "/test.txt", query: "", headers: &headers };
    assert_eq!(
        authorization(&request, &Payload::EMPTY),
        expected(
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        )
    );
}

#[test]
fn put_object() {
    let headers =
        bytes(&[HOST, ("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]);
    let sha256 = Algorithm::Sha256.of(b"Welcome to Amazon S3.").as_bytes().try_into().unwrap();
    for path in ["/test$file.text", "/test%24file.text"] {
        let request = Request { method: "PUT", path, query: "", headers: &headers };
        assert_eq!(
            authorization(&request, &Payload::Sha256(sha256)),
            expected(
                "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            )
        );
    }
}

#[test]
fn bucket_lifecycle_and_list() {
    let headers = bytes(&[HOST]);
    for (query, signature) in [
        ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ("prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] {
        let request = Request { method: "GET", path: "/", query, headers: &headers };
        assert_eq!(
            authorization(&request, &Payload::EMPTY),
            expected("host;x-amz-content-sha256;x-amz-date", signature),
            "{query}"
        );
    }
}

#[test]
fn presigned_get() {
    let headers = bytes(&[HOST]);
    let request = Request { method: "GET", path: "/test.txt", query: "", headers: &headers };
    let mut query = Vec::new();
    signer().presign(at(EXAMPLE_TIME), 86_400, &request, &mut query).unwrap();
    assert_eq!(
        String::from_utf8(query).unwrap(),
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
         &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
}

/// The body of both chunked examples: 65 KiB of "a" in chunks of 64 KiB.
fn framed(chunks: [&str; 3], trailer: &str) -> Vec<u8> {
    let [first, second, last] = chunks;
    let mut framed = format!("10000;chunk-signature={first}\r\n").into_bytes();
    framed.extend([b'a'; 65_536]);
    framed.extend(format!("\r\n400;chunk-signature={second}\r\n").bytes());
    framed.extend([b'a'; 1024]);
    framed.extend(format!("\r\n0;chunk-signature={last}\r\n{trailer}\r\n").bytes());
    framed
}

fn check_upload(headers: &[(&str, &str)], streaming: Streaming, head: &str, expected: &[u8]) {
    let headers = bytes(headers);
    let request = Request { method: "PUT", path: "/examplebucket/chunkObject.txt", query: "", headers: &headers };
    let mut signer = signer();
    let mut added = Vec::new();
    let signature = signer.sign(at(EXAMPLE_TIME), &request, &Payload::Chunks(streaming), &mut added).unwrap();
    assert_eq!(signature.hex(), head);

    let mut encoder = signer.chunks(at(EXAMPLE_TIME), signature, streaming);
    let mut framed = Vec::new();
    encoder.chunk(&[b'a'; 65_536], &mut framed);
    encoder.chunk(&[b'a'; 1024], &mut framed);
    encoder.finish(&mut framed);
    assert!(framed == expected, "{}", String::from_utf8_lossy(&framed).replace("aaaaaaaa", ""));
    let length = ChunkEncoder::framed_bytes(streaming, 66_560, NonZeroU64::new(65_536).unwrap());
    assert_eq!(length, framed.len() as u64);

    let all = signed(&request, &added);
    let received = Request { headers: &all, ..request };
    let keys = keys();
    let verified = Verifier::new(None).verify(&received, at(EXAMPLE_TIME), |_| Some(&keys)).unwrap();
    let SignedBody::Chunks(mut decoder) = verified.body else { panic!("the body comes in chunks") };
    let (mut at, mut body) = (0, Vec::new());
    loop {
        let progress = decoder.read(&framed[at..]).unwrap();
        if let Event::Body(range) = &progress.event {
            body.extend_from_slice(&framed[at + range.start..at + range.end]);
        }
        at += progress.consumed;
        if progress.event == Event::End {
            break;
        }
    }
    assert!(at == framed.len() && body == [b'a'; 66_560]);
}

#[test]
fn chunked_upload() {
    let headers = [
        ("Host", "s3.amazonaws.com"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("Content-Encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"),
        ("Content-Length", "66824"),
    ];
    let chunks = [
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ];
    let head = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    check_upload(&headers, Streaming::Signed, head, &framed(chunks, ""));
}

#[test]
fn chunked_upload_with_a_trailer() {
    let headers = [
        ("Host", "s3.amazonaws.com"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("Content-Encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"),
        ("x-amz-trailer", "x-amz-checksum-crc32c"),
    ];
    let chunks = [
        "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
        "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
        "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
    ];
    let trailer = "x-amz-checksum-crc32c:sOO8/Q==\r\n\
                   x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n";
    let head = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";
    let streaming = Streaming::SignedTrailer(Trailer::new(Algorithm::Crc32c).unwrap());
    check_upload(&headers, streaming, head, &framed(chunks, trailer));
}
