//! The cases that come with the program.

use super::Case;

/// Names and texts of `cases/*.toml`.
macro_rules! cases {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../cases/", $name, ".toml")))),*]
    };
}

#[rustfmt::skip]
const SHIPPED: &[(&str, &str)] = cases![
    "14-tls-answer"
    "16-head-byte-by-byte"
    "16-interim-then-silence"
    "16-silence"
    "17-closes-without-a-byte"
    "17-half-closes-without-a-byte"
    "18-stale-closed"
    "18-stale-post"
    "18-stale-reset"
    "18-stale-twice"
    "19-reset-before-head"
    "19-reset-in-head"
    "20-head-cut-in-status-line"
    "20-head-without-end"
    "20-interim-then-close"
    "21-endless-header-value"
    "21-endless-headers"
    "21-too-many-headers"
    "22-blank-in-header-name"
    "22-garbage"
    "22-header-without-colon"
    "22-nul-in-header"
    "23-http09"
    "23-http11-then-http09"
    "24-http10-chunked"
    "24-http10-keep-alive"
    "24-http10-until-close"
    "24-http10-with-length"
    "25-length-list-different"
    "25-length-negative"
    "25-length-overflow"
    "25-length-text"
    "25-length-twice-equal"
    "25-length-two-different"
    "26-chunked-and-length"
    "27-endless-interim-heads"
    "27-interim-heads"
    "28-http2-preface"
    "28-http2-settings"
    "28-switches-protocols"
    "29-continue-after-the-body"
    "29-late-continue"
    "29-no-continue"
    "29-refused-unread"
    "30-417"
    "30-417-again"
    "30-417-unasked"
    "31-fails"
    "31-refused"
    "31-refused-and-closed"
    "31-refused-chunked"
    "31-refused-slowly"
    "31-refused-without-reading"
    "31-reset"
    "31-stalls"
    "31-success-too-early"
    "32-status-099"
    "32-status-1000"
    "32-status-600"
    "32-status-99"
    "32-status-999"
    "32-status-word"
    "33-no-body"
    "33-one-byte-missing"
    "33-short-body"
    "34-excess-after-chunks"
    "34-excess-after-large-body"
    "34-excess-bytes"
    "34-unasked-second-answer"
    "35-cut-before-end-of-trailers"
    "35-cut-in-chunk"
    "35-cut-in-chunk-size"
    "35-no-last-chunk"
    "36-chunk-size-empty"
    "36-chunk-size-line-feed-only"
    "36-chunk-size-negative"
    "36-chunk-size-not-hex"
    "36-chunk-size-overflow"
    "36-chunk-too-long"
    "37-chunk-extension-flood"
    "37-extensions-on-every-chunk"
    "37-trailer-flood"
    "39-unasked-gzip"
    "40-stalls-at-the-last-byte"
    "40-stalls-in-body"
    "40-stalls-in-chunks"
    "41-trickles"
    "42-reset-in-body"
    "42-reset-in-chunks"
    "42-reset-until-close"
    "43-half-closes"
    "43-half-closes-in-the-answer"
    "43-refused-and-half-closed"
    "44-body-after-204"
    "44-body-after-304"
    "44-body-after-head"
    "45-empty-200"
    "45-empty-chunked-200"
    "45-empty-until-close"
    "45-shorter-object"
    "46-zero-bytes"
    "46-zero-bytes-known"
    "48-endless-body"
    "48-endless-body-of-known-size"
    "48-endless-chunks-of-known-size"
    "49-range-ignored"
    "49-range-ignored-endless"
    "49-range-ignored-same-length"
    "50-body-longer-than-range"
    "50-body-shorter-than-range"
    "50-other-offsets"
    "50-shorter-range"
    "51-bad-content-range"
    "51-no-content-range"
    "51-two-content-ranges"
    "51-unasked-206"
    "52-multipart"
    "53-range-refused"
    "55-endless-body-of-a-redirect"
    "55-endless-redirects"
    "55-loop-of-two-hosts"
    "55-redirect-to-itself"
    "56-empty-location"
    "56-location-with-a-blank"
    "56-location-without-host"
    "56-no-location"
    "56-other-scheme"
    "56-port-zero"
    "56-two-equal-locations"
    "56-two-locations"
    "57-credentials-in-location"
    "57-credentials-to-another-host"
    "57-credentials-within-a-host"
    "59-302-after-post"
    "59-303-after-put"
    "59-307-after-put"
    "59-308-after-post"
    "64-closed"
    "64-closed-after-large"
    "64-head-cut-short"
    "64-reset"
    "64-silence"
    "64-stale"
];

impl Case {
    /// The names of all cases, in the order of their rows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// All cases, in the order of their rows.
    #[must_use]
    pub fn all() -> Vec<Self> {
        // That each of them can be read is seen to by a test.
        SHIPPED.iter().filter_map(|(name, text)| Self::parse(name, text).ok()).collect()
    }

    /// The case of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        Self::parse(name, text).ok()
    }
}
