//! Arbitrary text as a header line from the user: accepted headers are one line, and secrets are never shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Header;

fuzz_target!(|line: &str| {
    let Ok(header) = Header::parse(line) else { return };
    let mut sent = Vec::new();
    header.write_to(&mut sent);
    assert_eq!(sent.iter().filter(|byte| matches!(byte, b'\r' | b'\n' | 0)).count(), 2, "one line end");
    assert!(sent.ends_with(b"\r\n"));
    if header.is_secret() {
        assert_eq!(header.to_string(), format!("{}: (hidden)", header.name));
    }
});
