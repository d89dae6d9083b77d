//! Any text as a location of S3's or as a checksum: what is shown reads back, and what is sent has nothing but visible
//! ASCII.
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
