//! How attempts and operations end.
//!
//! Every attempt ends in exactly one [`AttemptClass`] for exactly one [`Cause`]; an operation ends in an
//! [`OpOutcome`]. Both are closed sets: nothing is decided by comparing text, and a report can list all that can go
//! wrong. Oddities that do not change the class are [`Flag`]s beside it.

use crate::enumerated;
use crate::values::Enumerated;
use serde::{Deserialize, Serialize};

enumerated! {
    /// The part of an attempt in which it ended.
    pub enum Phase {
        Resolve => "resolve", "looking up the host's addresses";
        Connect => "connect", "opening the connection";
        Tls => "tls", "the TLS handshake";
        Send => "send", "sending the request";
        Head => "head", "waiting for and reading the head of the answer";
        Body => "body", "reading the body of the answer";
    }
}

enumerated! {
    /// The one class in which an attempt ends.
    pub enum AttemptClass {
        Ok => "ok", "the answer was complete and as asked";
        Http3xx => "http_3xx", "a 3xx status: a redirect that was not followed, or 304";
        Http4xx => "http_4xx", "refused with a 4xx status";
        Http5xx => "http_5xx", "failed with a 5xx status";
        Throttled => "throttled", "told to slow down (429 or 503)";
        Dns => "dns", "the host's name could not be resolved";
        ConnectRefused => "connect_refused", "the connection was refused";
        ConnectTimeout => "connect_timeout", "the connection was not opened in time";
        ConnectOther => "connect_other", "the connection could not be opened";
        TlsHandshake => "tls_handshake", "the TLS handshake failed";
        TlsCert => "tls_cert", "the server's certificate was not accepted";
        TimeoutHead => "timeout_head", "no complete head of an answer in time";
        TimeoutIdle => "timeout_idle", "the body stalled";
        TimeoutTotal => "timeout_total", "not complete within the total time allowed";
        ClosedEarly => "closed_early", "closed before the first byte of an answer";
        StaleReuse => "stale_reuse", "a kept connection turned out to be closed";
        Reset => "reset", "the connection was reset";
        Incomplete => "incomplete", "the answer was cut short";
        Protocol => "protocol", "the answer is not valid HTTP";
        Range => "range", "the answer does not hold the range asked for";
        Redirect => "redirect", "the redirect could not be followed";
        RedirectDenied => "redirect_denied", "the redirect must not be followed";
        Decode => "decode", "the body could not be decoded";
        Integrity => "integrity", "the body is not the object's";
        Unexpected => "unexpected", "a check of the answer failed";
        S3Error => "s3_error", "a 200 with an error in its body";
        Auth => "auth", "credentials were not accepted";
        Indeterminate => "indeterminate", "whether the write took place is not known";
        ClientResource => "client_resource", "this host ran out of ports, descriptors or memory";
        InflightAtEnd => "inflight_at_end", "still in flight when the run ended";
        Interrupted => "interrupted", "cut off by the user";
        Internal => "internal", "a defect in this program";
    }
}

enumerated! {
    /// Why an attempt ended in its class.
    pub enum Cause {
        None => "none", "no fault";
        NameNotFound => "name_not_found", "no such host name";
        ResolverFailed => "resolver_failed", "the resolver gave no answer";
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
        CertUnknownIssuer => "cert_unknown_issuer", "nobody who is trusted here has signed the certificate (--cacert names an authority)";
        CertInvalid => "cert_invalid", "the certificate is damaged, revoked, wrongly signed, or of no use for a server";
        TlsAlert => "tls_alert", "the server ended TLS with an alert";
        TlsIncompatible => "tls_incompatible", "no version, cipher or protocol of TLS in common";
        TlsBroken => "tls_broken", "a message of the handshake is not valid TLS";
        TlsClosed => "tls_closed", "closed in the middle of the TLS handshake";
        TlsReset => "tls_reset", "reset in the middle of the TLS handshake";
        TlsTimedOut => "tls_timed_out", "no complete TLS handshake within the connect timeout";
        PlainAnswer => "plain_answer", "the server speaks plain HTTP on this port: write http://";
        NotHttp2 => "not_http2", "the server does not speak HTTP/2 on this port: leave --http2 out";
        BadHttp2 => "bad_http2", "what came on the connection is not valid HTTP/2";
        BadStream => "bad_stream", "an answer breaks a rule of HTTP/2; its connection goes on";
        StreamReset => "stream_reset", "the server reset the stream (HTTP/2)";
        StreamRefused => "stream_refused", "the server refused the stream before processing it (REFUSED_STREAM)";
        AboveGoaway => "above_goaway", "the server takes no more streams on the connection, and has not seen this one (GOAWAY)";
        GoneAway => "gone_away", "the server ended the connection with an error (GOAWAY)";
        TlsAnswer => "tls_answer", "the server speaks TLS on this port: write https://";
        BadTlsRecord => "bad_tls_record", "a TLS record is damaged or can not be decrypted";
        SendFailed => "send_failed", "the request could not be sent";
        SendStalled => "send_stalled", "the server took no byte of the request within the idle timeout";
        BodyUnreadable => "body_unreadable", "the request could not be made: its body can not be read, or it can not be signed";
        AnsweredEarly => "answered_early", "a success before all of the request was sent";
        HeadTimedOut => "head_timed_out", "no complete head within the head timeout";
        ClosedBeforeHead => "closed_before_head", "closed without a byte of an answer";
        StaleConnection => "stale_connection", "a kept connection was closed by the server";
        ResetInHead => "reset_in_head", "reset before the head was complete";
        HeadCutShort => "head_cut_short", "closed inside the head";
        HeadTooLarge => "head_too_large", "the head is larger than 64 KiB or has over 100 fields";
        BadHead => "bad_head", "the head is not valid HTTP/1";
        NotHttp => "not_http", "the answer is not HTTP/1 at all";
        BadStatus => "bad_status", "the status code is not one of HTTP";
        BadContentLength => "bad_content_length", "Content-Length is not a length, or two differ";
        BadTransferEncoding => "bad_transfer_encoding", "Transfer-Encoding unknown, or sent with HTTP/1.0";
        TooManyInterim => "too_many_interim", "too many 1xx answers";
        UnexpectedSwitch => "unexpected_switch", "101 without having been asked to switch";
        BodyCutShort => "body_cut_short", "closed before the body was complete";
        ChunksCutShort => "chunks_cut_short", "closed before the last chunk";
        BadChunk => "bad_chunk", "a chunk's framing is broken";
        ChunkExtensionsTooLarge => "chunk_extensions_too_large", "chunk extensions of more than 16 KiB";
        TrailersTooLarge => "trailers_too_large", "trailers of more than 16 KiB";
        BodyStalled => "body_stalled", "no byte of the body within the idle timeout";
        TotalTimedOut => "total_timed_out", "not complete within the total timeout";
        ResetInBody => "reset_in_body", "reset inside the body";
        RangeIgnored => "range_ignored", "200 with the whole object to a range request";
        RangeBy200 => "range_by_200", "200 instead of 206, with the Content-Range and the length of the range (--accept-200-ranges)";
        WrongContentRange => "wrong_content_range", "206 with a range other than the one asked for";
        NoContentRange => "no_content_range", "206 without a valid Content-Range";
        UnaskedPartial => "unasked_partial", "206 to a request without a range";
        MultipartRange => "multipart_range", "206 in several parts to a single range";
        RangeRefused => "range_refused", "416 to a valid range";
        RangeBeyondEnd => "range_beyond_end", "416: the range that was asked for begins behind the object's end";
        WrongRangeLength => "wrong_range_length", "the body is not as long as its Content-Range";
        NotFollowed => "not_followed", "a redirect, and following is off";
        NotModified => "not_modified", "304: the object is the one that the request names, so its body was not sent (--expect-status 304 counts it as a success)";
        MethodChange => "method_change", "301, 302 or 303 to a method that following it would turn into GET";
        TooManyRedirects => "too_many_redirects", "more redirects in a row than allowed";
        RedirectLoop => "redirect_loop", "redirects lead back to a URL of the same operation, up to the number allowed";
        TooManyOrigins => "too_many_origins", "redirects have led to 4096 further hosts already";
        NoLocation => "no_location", "a redirect without a Location";
        TwoLocations => "two_locations", "a redirect with two different Locations";
        BadLocation => "bad_location", "Location is not a URL";
        SchemeNotSpoken => "scheme_not_spoken", "redirected to a scheme that this program does not speak";
        Downgrade => "downgrade", "redirected from https to http (--allow-downgrade follows)";
        PrivateAddress => "private_address", "redirected from a public to a private address (--allow-private-redirects follows)";
        Status => "status", "the status code says so";
        ContentDiffers => "content_differs", "a byte of the body is not the object's";
        ErrorWithin200 => "error_within_200", "the status was 200, and the body an error";
        SlowDown => "slow_down", "S3 asks for fewer requests (SlowDown)";
        ClockSkew => "clock_skew", "the clocks of server and client differ too much (RequestTimeTooSkewed)";
        SignatureDiffers => "signature_differs", "the signature is another one: a wrong secret, or a request changed on its way (SignatureDoesNotMatch)";
        AuthorizationMalformed => "authorization_malformed", "what was signed is for another region or service (AuthorizationHeaderMalformed)";
        UnknownAccessKey => "unknown_access_key", "the access key is not known (InvalidAccessKeyId)";
        TokenExpired => "token_expired", "the session token is over its time (ExpiredToken)";
        TokenInvalid => "token_invalid", "the session token is not valid (InvalidToken)";
        AccessDenied => "access_denied", "these keys may not do that (AccessDenied)";
        AckedLost => "acked_lost", "an object of the dataset is not there (404 or 410): lost, or never put";
        HashDiffers => "hash_differs", "the checksum of the body is not the expected one";
        NoHash => "no_hash", "the answer has no checksum of its whole body to compare with";
        ObjectChanged => "object_changed", "ETag or length differ from those of an earlier range of the object";
        NotACar => "not_a_car", "the body is not a CAR (CARv1)";
        OtherRoot => "other_root", "the header of the CAR names another root than the CID that was asked for";
        BadCar => "bad_car", "a block's length or CID in the CAR is not valid, or a block cannot be decoded";
        CarCutShort => "car_cut_short", "the CAR ends inside a block, although the HTTP body is complete";
        RootMissing => "root_missing", "the CAR has no block for the CID that was asked for";
        BlockMissing => "block_missing", "the CAR lacks blocks of the DAG that was asked for";
        PathMissing => "path_missing", "the CAR does not lead to the path that was asked for";
        BlockDiffers => "block_differs", "the bytes of a block do not have the hash in its CID";
        UnrelatedBlock => "unrelated_block", "the CAR has blocks that are not part of the DAG that was asked for";
        Unverifiable => "unverifiable", "the blocks cannot be checked: hash, codec, size, number or order is not supported";
        BadMessage => "bad_message", "a message of the server can not be understood";
        MessageTooLarge => "message_too_large", "a message of the server is larger than any that it should send";
        SizeDiffers => "size_differs", "the body has not the expected size";
        StatusDiffers => "status_differs", "the status is not an expected one";
        HeaderDiffers => "header_differs", "a header is not as expected";
        RunEnded => "run_ended", "the drain at the end of the run was over";
        BytesReached => "bytes_reached", "cut off when as many bytes as asked for had come";
        UserInterrupt => "user_interrupt", "interrupted";
        Defect => "defect", "a defect in this program";
    }
}

enumerated! {
    /// Something odd about an attempt that does not change its class.
    pub enum Flag {
        ExcessBytes => "excess_bytes", "bytes after the end of the answer; connection closed";
        UnaskedEncoding => "unasked_encoding", "an encoded body though identity was asked for";
        SmugglingRisk => "smuggling_risk", "both Transfer-Encoding and Content-Length";
        DuplicateLength => "duplicate_length", "the same Content-Length twice";
        Http10 => "http_1_0", "an HTTP/1.0 answer";
        Failover => "failover", "another address of the host was tried first";
        Resent => "resent", "sent again after a stale kept connection, because it was not processed (HTTP/2), or without Expect after 417";
        Followed => "followed", "a redirect that was followed";
        LengthDiffers => "length_differs", "a body that is not as long as the first one";
        KeptAlive => "kept_alive", "the connection stayed open: it was used again, or was open when the run ended";
        Interim => "interim", "1xx answers before the final one";
        UncleanTls => "unclean_tls", "TLS closed without close_notify";
        Persistent => "persistent", "the response allows its connection to be used again; ab counts these";
        Unprocessed => "unprocessed", "HTTP/2: the server said that it has not processed the request";
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Adds `flag`.
    #[inline]
    pub fn set(&mut self, flag: Flag) {
        self.0 |= 1 << flag.index();
    }

    /// Whether `flag` is in the set.
    #[must_use]
    pub fn has(self, flag: Flag) -> bool {
        self.0 & (1 << flag.index()) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members of the set.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |flag| self.has(*flag))
    }
}

impl Serialize for Flags {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The end of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// The class.
    pub class: AttemptClass,
    /// Its cause.
    pub cause: Cause,
    /// Where in the attempt it ended.
    pub phase: Phase,
}

impl AttemptOutcome {
    /// The good end.
    pub const OK: Self = Self { class: AttemptClass::Ok, cause: Cause::None, phase: Phase::Body };

    /// A failure.
    #[must_use]
    pub const fn failed(class: AttemptClass, cause: Cause, phase: Phase) -> Self {
        Self { class, cause, phase }
    }
}

/// The end of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OpOutcome {
    /// Ended well.
    Ok,
    /// Its last attempt failed.
    Failed(AttemptOutcome),
    /// Was in flight when the drain was over; healthy, and censored at what it has waited.
    Unfinished,
    /// Was in flight when as many bytes as asked for had come, and was ended by this client. It says nothing of the target.
    CutOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
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
