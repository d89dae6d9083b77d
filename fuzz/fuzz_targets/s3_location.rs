//! Arbitrary text as an S3 location or a checksum: displayed values parse again, and sent values are visible ASCII.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::checksum::Checksum;
use wire::s3::{Addressing, S3Location};

fuzz_target!(|text: &str| {
    if let Ok(location) = text.parse::<S3Location>() {
        assert_eq!(location.to_string().parse(), Ok(location.clone()));
        for addressing in [Addressing::Path, Addressing::VirtualHost] {
            let mut path = String::new();
            addressing.write_path(&location.bucket, &location.key, &mut path);
            assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
    if let Ok(checksum) = text.parse::<Checksum>() {
        assert_eq!(checksum.to_string().parse(), Ok(checksum));
    }
});
