//! Arbitrary text as a URL and as a redirect from it: the result can be sent, survives formatting and parsing, and has
//! the credentials only if the origin is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Url;

fn check(url: &Url) {
    let again = Url::parse(&url.to_string()).expect("what is shown reads back");
    assert_eq!(again.to_string(), url.to_string());
    assert_eq!(again.origin(), url.origin());
    assert!(url.origin().port != 0 && !url.origin().host.is_empty());
    assert!(url.target().starts_with('/'));
    assert!(url.target().bytes().chain(url.host_header().bytes()).all(|byte| byte.is_ascii_graphic()));
}

fuzz_target!(|data: (&str, &str)| {
    let (base, location) = data;
    let Ok(base) = Url::parse(base) else { return };
    check(&base);
    if let Ok(joined) = base.join(location) {
        check(&joined);
        if joined.origin() == base.origin() && base.credentials().is_some() {
            assert!(joined.credentials().is_some());
        }
    }
});
