//! Outcomes of attempts and operations.
//!
//! Every attempt ends with exactly one [`AttemptClass`] and exactly one [`Cause`], and every operation with an
//! [`OpOutcome`]. All three are enums, so that no decision compares text, and so that a report can list everything that
//! can go wrong. A [`Flag`] is a peculiarity that does not change the class.

use crate::enumerated;
use crate::values::Enumerated;
use serde::{Deserialize, Serialize};

enumerated! {
    /// Phase in which an attempt ended.
    pub enum Phase {
        Resolve => "resolve", "looking up the host's addresses";
        Connect => "connect", "opening the connection";
        Tls => "tls", "the TLS handshake";
        Send => "send", "sending the request";
        Head => "head", "waiting for and reading the response head";
        Body => "body", "reading the response body";
    }
}

enumerated! {
    /// Class of an attempt's outcome.
    pub enum AttemptClass {
        Ok => "ok", "the response was complete and as expected";
        Http3xx => "http_3xx", "a 3xx status: a redirect that was not followed, or 304";
        Http4xx => "http_4xx", "rejected with a 4xx status";
        Http5xx => "http_5xx", "failed with a 5xx status";
        Throttled => "throttled", "asked to slow down (429 or 503)";
        Dns => "dns", "the host's name could not be resolved";
        ConnectRefused => "connect_refused", "the connection was refused";
        ConnectTimeout => "connect_timeout", "the connection was not opened in time";
        ConnectOther => "connect_other", "the connection could not be opened";
        TlsHandshake => "tls_handshake", "the TLS handshake failed";
        TlsCert => "tls_cert", "the server's certificate was not accepted";
        TimeoutHead => "timeout_head", "no complete response head in time";
        TimeoutIdle => "timeout_idle", "the body stalled";
        TimeoutTotal => "timeout_total", "not complete within the total timeout";
        ClosedEarly => "closed_early", "closed before the first byte of a response";
        StaleReuse => "stale_reuse", "a kept-alive connection had been closed";
        Reset => "reset", "the connection was reset";
        Incomplete => "incomplete", "the response was truncated";
        Protocol => "protocol", "the response is not valid HTTP";
        Range => "range", "the response does not contain the requested range";
        Redirect => "redirect", "the redirect could not be followed";
        RedirectDenied => "redirect_denied", "following the redirect is not allowed";
        Decode => "decode", "the body could not be decoded";
        Integrity => "integrity", "the body has wrong content";
        Unexpected => "unexpected", "a check of the response failed";
        S3Error => "s3_error", "a 200 with an error in its body";
        Auth => "auth", "credentials were not accepted";
        Indeterminate => "indeterminate", "it is unknown whether the write took place";
        ClientResource => "client_resource", "this host ran out of ports, descriptors or memory";
        LocalFile => "local_file", "a local file has changed or could not be read";
        InflightAtEnd => "inflight_at_end", "still in flight at the end of the run";
        Interrupted => "interrupted", "cut off by the user";
        Internal => "internal", "a defect in this program";
    }
}

enumerated! {
    /// Cause of an attempt's outcome.
    pub enum Cause {
        None => "none", "no failure";
        NameNotFound => "name_not_found", "no such host name";
        ResolverFailed => "resolver_failed", "the resolver returned no result";
        Refused => "refused", "connection refused";
        ConnectTimedOut => "connect_timed_out", "no connection within the connect timeout";
        Unreachable => "unreachable", "no route to the host";
        ConnectFailed => "connect_failed", "the connection failed";
        OutOfPorts => "out_of_ports", "no local port left";
        OutOfDescriptors => "out_of_descriptors", "no file descriptor left";
        OutOfMemory => "out_of_memory", "no memory left for a socket";
        CertExpired => "cert_expired", "the certificate has expired, or the clock of this host is wrong";
        CertNotYetValid => "cert_not_yet_valid", "the certificate is not valid yet, or the clock of this host is wrong";
        CertWrongHost => "cert_wrong_host", "the certificate is for another host";
        CertUnknownIssuer => "cert_unknown_issuer", "unknown certificate authority (--cacert adds one)";
        CertInvalid => "cert_invalid", "the certificate is damaged, revoked, wrongly signed, or not for servers";
        TlsAlert => "tls_alert", "the server ended TLS with an alert";
        TlsIncompatible => "tls_incompatible", "no TLS version, cipher or protocol in common";
        TlsBroken => "tls_broken", "a handshake message is not valid TLS";
        TlsClosed => "tls_closed", "closed during the TLS handshake";
        TlsReset => "tls_reset", "reset during the TLS handshake";
        TlsTimedOut => "tls_timed_out", "no complete TLS handshake within the connect timeout";
        PlainResponse => "plain_response", "the server speaks plain HTTP on this port; use http://";
        NotHttp2 => "not_http2", "the server does not speak HTTP/2 on this port; omit --http2";
        BadHttp2 => "bad_http2", "data on the connection is not valid HTTP/2";
        BadStream => "bad_stream", "a response violates HTTP/2; its connection continues";
        StreamReset => "stream_reset", "the server reset the stream (HTTP/2)";
        StreamRefused => "stream_refused", "the server refused the stream before processing it (REFUSED_STREAM)";
        AboveGoaway => "above_goaway", "the server accepts no more streams on the connection, and has not processed this stream (GOAWAY)";
        GoneAway => "gone_away", "the server closed the connection with an error (GOAWAY)";
        TlsResponse => "tls_response", "the server speaks TLS on this port; use https://";
        BadTlsRecord => "bad_tls_record", "a TLS record is damaged or cannot be decrypted";
        SendFailed => "send_failed", "the request could not be sent";
        SendStalled => "send_stalled", "the server accepted no byte of the request within the idle timeout";
        BodyUnreadable => "body_unreadable", "the request could not be made: its body cannot be read or signed";
        SourceChanged => "source_changed", "the local file has changed since it was found";
        EarlyResponse => "early_response", "a success response before the whole request was sent";
        HeadTimedOut => "head_timed_out", "no complete head within the head timeout";
        ClosedBeforeHead => "closed_before_head", "closed without a byte of a response";
        StaleConnection => "stale_connection", "the server had closed a kept-alive connection";
        ResetInHead => "reset_in_head", "reset before the head was complete";
        HeadCutShort => "head_cut_short", "closed inside the response head";
        HeadTooLarge => "head_too_large", "the response head exceeds 64 KiB or 100 fields";
        BadHead => "bad_head", "the response head is not valid HTTP/1";
        NotHttp => "not_http", "the response is not HTTP/1";
        BadStatus => "bad_status", "the status code is not valid";
        BadContentLength => "bad_content_length", "Content-Length is not a number, or two Content-Length fields differ";
        BadTransferEncoding => "bad_transfer_encoding", "unknown Transfer-Encoding, or any Transfer-Encoding with HTTP/1.0";
        TooManyInterim => "too_many_interim", "too many 1xx responses";
        UnexpectedSwitch => "unexpected_switch", "101 without an Upgrade request";
        BodyCutShort => "body_cut_short", "closed before the body was complete";
        ChunksCutShort => "chunks_cut_short", "closed before the last chunk";
        BadChunk => "bad_chunk", "invalid chunk framing";
        ChunkExtensionsTooLarge => "chunk_extensions_too_large", "more than 16 KiB of chunk extensions";
        TrailersTooLarge => "trailers_too_large", "more than 16 KiB of trailers";
        BodyStalled => "body_stalled", "no byte of the body within the idle timeout";
        TotalTimedOut => "total_timed_out", "not complete within the total timeout";
        ResetInBody => "reset_in_body", "reset during the body";
        RangeIgnored => "range_ignored", "200 with the whole object in response to a range request";
        RangeBy200 => "range_by_200", "200 instead of 206, with Content-Range and length of the range (--accept-200-ranges accepts it)";
        WrongContentRange => "wrong_content_range", "206 with a range other than the requested one";
        NoContentRange => "no_content_range", "206 without a valid Content-Range";
        UnrequestedPartial => "unrequested_partial", "206 in response to a request without a range";
        MultipartRange => "multipart_range", "206 with several parts in response to a single range";
        RangeRefused => "range_refused", "416 in response to a valid range";
        RangeBeyondEnd => "range_beyond_end", "416: the requested range starts after the end of the object";
        WrongRangeLength => "wrong_range_length", "the length of the body differs from its Content-Range";
        NotFollowed => "not_followed", "a redirect, but following redirects is off";
        NotModified => "not_modified", "304: the object has not changed, so its body was not sent (--expect-status 304 counts it as a success)";
        MethodChange => "method_change", "301, 302 or 303 in response to a method that a client would change to GET";
        TooManyRedirects => "too_many_redirects", "more redirects in a row than allowed";
        RedirectLoop => "redirect_loop", "redirects returned to an earlier URL until the limit was reached";
        TooManyOrigins => "too_many_origins", "redirects to more than 4096 further hosts";
        NoLocation => "no_location", "a redirect without Location";
        TwoLocations => "two_locations", "a redirect with two different Locations";
        BadLocation => "bad_location", "Location is not a valid URL";
        UnsupportedScheme => "unsupported_scheme", "a redirect to an unsupported scheme";
        Downgrade => "downgrade", "a redirect from https to http (--allow-downgrade follows it)";
        PrivateAddress => "private_address", "a redirect from a public to a private address (--allow-private-redirects follows it)";
        UnnamedHost => "unnamed_host", "a redirect from S3 to a host or port that the command does not name (--allow-other-hosts follows it)";
        Status => "status", "an error status code";
        ContentDiffers => "content_differs", "a body byte differs from the object";
        ErrorWithin200 => "error_within_200", "the status was 200, but the body contained an error";
        SlowDown => "slow_down", "S3 asked for fewer requests (SlowDown)";
        ClockSkew => "clock_skew", "the clocks of server and client differ too much (RequestTimeTooSkewed)";
        SignatureDiffers => "signature_differs", "the signature does not match: a wrong secret, or a request changed on the way (SignatureDoesNotMatch)";
        AuthorizationMalformed => "authorization_malformed", "the signature is for another region or service (AuthorizationHeaderMalformed)";
        UnknownAccessKey => "unknown_access_key", "unknown access key (InvalidAccessKeyId)";
        TokenExpired => "token_expired", "the session token has expired (ExpiredToken)";
        TokenInvalid => "token_invalid", "the session token is not valid (InvalidToken)";
        AccessDenied => "access_denied", "these credentials do not allow the request (AccessDenied)";
        AckedLost => "acked_lost", "an object of the dataset is missing (404 or 410): lost, or never written";
        HashDiffers => "hash_differs", "the checksum of the body differs from the expected one";
        NoHash => "no_hash", "the response has no checksum of the whole body";
        ObjectChanged => "object_changed", "ETag or length differ from those of an earlier range of the object";
        NotACar => "not_a_car", "the body is not a CAR (CARv1)";
        OtherRoot => "other_root", "the root in the CAR header is not the requested CID";
        BadCar => "bad_car", "a block in the CAR has an invalid length or CID, or cannot be decoded";
        CarCutShort => "car_cut_short", "the CAR ends inside a block, although the HTTP body is complete";
        RootMissing => "root_missing", "the CAR has no block for the requested CID";
        BlockMissing => "block_missing", "the CAR lacks blocks of the requested DAG";
        PathMissing => "path_missing", "the CAR does not lead to the requested path";
        BlockDiffers => "block_differs", "the bytes of a block do not have the hash of its CID";
        UnrelatedBlock => "unrelated_block", "the CAR has blocks outside the requested DAG";
        Unverifiable => "unverifiable", "the blocks cannot be verified: unsupported hash, codec, size, number or order";
        BadMessage => "bad_message", "a message of the server cannot be parsed";
        MessageTooLarge => "message_too_large", "a message of the server exceeds the size limit";
        SizeDiffers => "size_differs", "the body does not have the expected size";
        StatusDiffers => "status_differs", "the status code is not an expected one";
        HeaderDiffers => "header_differs", "a header does not have the expected value";
        RunEnded => "run_ended", "not finished when the drain at the end of the run was over";
        BytesReached => "bytes_reached", "cut off when the requested number of bytes had arrived";
        UserInterrupt => "user_interrupt", "interrupted by the user";
        Defect => "defect", "a defect in this program";
    }
}

enumerated! {
    /// Peculiarity of an attempt that does not change its class.
    pub enum Flag {
        ExcessBytes => "excess_bytes", "bytes after the end of the response; connection closed";
        UnrequestedEncoding => "unrequested_encoding", "the body was encoded although identity was requested";
        SmugglingRisk => "smuggling_risk", "both Transfer-Encoding and Content-Length";
        DuplicateLength => "duplicate_length", "the same Content-Length twice";
        Http10 => "http_1_0", "an HTTP/1.0 response";
        Failover => "failover", "another address of the host was tried first";
        Resent => "resent", "sent again, because the connection was stale, the server had not processed the request (HTTP/2), or it refused Expect (417)";
        Followed => "followed", "a redirect that was followed";
        LengthDiffers => "length_differs", "the length of the body differs from that of the first response";
        KeptAlive => "kept_alive", "the connection stayed open: it was used again, or was open at the end of the run";
        Interim => "interim", "1xx responses before the final one";
        UncleanTls => "unclean_tls", "TLS closed without close_notify";
        Persistent => "persistent", "the response allows its connection to be reused; ab counts these";
        Unprocessed => "unprocessed", "HTTP/2: the server reported that it had not processed the request";
    }
}

/// Set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Adds `flag`.
    #[inline]
    pub fn set(&mut self, flag: Flag) {
        self.0 |= 1 << flag.index();
    }

    /// Returns whether `flag` is in the set.
    #[must_use]
    pub fn has(self, flag: Flag) -> bool {
        self.0 & (1 << flag.index()) != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the members of the set.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |flag| self.has(*flag))
    }
}

impl Serialize for Flags {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// Class of the outcome.
    pub class: AttemptClass,
    /// Cause of the outcome.
    pub cause: Cause,
    /// Phase in which the attempt ended.
    pub phase: Phase,
}

impl AttemptOutcome {
    /// Outcome of a successful attempt.
    pub const OK: Self = Self { class: AttemptClass::Ok, cause: Cause::None, phase: Phase::Body };

    /// Returns the outcome of an attempt that failed.
    #[must_use]
    pub const fn failed(class: AttemptClass, cause: Cause, phase: Phase) -> Self {
        Self { class, cause, phase }
    }
}

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OpOutcome {
    /// The operation succeeded.
    Ok,
    /// The last attempt of the operation failed.
    Failed(AttemptOutcome),
    /// The operation had not failed, but was still in flight at the end of the drain. Its response time is unknown, but
    /// is at least the time that the operation had waited.
    Unfinished,
    /// The client cut off the operation, because the requested number of bytes had arrived. Such an operation shows
    /// nothing about the target.
    CutOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_round_trip() {
        fn check<E: Enumerated + std::fmt::Debug>() {
            for (index, member) in E::ALL.iter().enumerate() {
                assert_eq!(member.index(), index);
                assert_eq!(E::from_name(member.name()), Some(*member));
            }
        }
        check::<AttemptClass>();
        check::<Cause>();
        check::<Phase>();
        check::<Flag>();
    }

    #[test]
    fn flags_fit_their_set() {
        let mut flags = Flags::default();
        for flag in Flag::ALL {
            assert!(!flags.has(*flag));
            flags.set(*flag);
        }
        assert_eq!(flags.iter().count(), Flag::ALL.len());
    }
}
