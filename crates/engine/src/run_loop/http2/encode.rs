//! Requests in the form of HTTP/2, as fields.

use crate::run_loop::request::fields::Fields;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use wire::url::Scheme;

/// Fields that HTTP/2 expresses in other ways, or forbids (RFC 9113 §8.2.2).
const NOT_SENT: [&str; 7] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// Part of a request that is the same for all requests of a kind.
#[derive(Debug)]
pub(in crate::run_loop) struct FixedHead {
    method: Method,
    scheme: http::uri::Scheme,
    authority: Authority,
    fields: HeaderMap,
}

impl FixedHead {
    /// Returns the fields of `fixed` in the form of HTTP/2. Returns `None` if the fields cannot be sent with HTTP/2,
    /// which is a defect of this program. Method and fields were checked when the plan was created.
    pub fn new(method: &str, scheme: Scheme, fixed: &Fields) -> Option<Self> {
        let host = fixed.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
        let mut fields = HeaderMap::new();
        append(fixed, &mut fields)?;
        Some(Self {
            method: Method::from_bytes(method.as_bytes()).ok()?,
            scheme: match scheme {
                Scheme::Http => http::uri::Scheme::HTTP,
                Scheme::Https => http::uri::Scheme::HTTPS,
            },
            authority: Authority::try_from(host.1).ok()?,
            fields,
        })
    }

    /// Returns a request. `None` means that the request cannot be sent with HTTP/2, which is a defect of this program.
    #[inline]
    pub fn request(&self, target: &str, fields: &Fields) -> Option<Request<()>> {
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(self.authority.clone());
        uri.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from_parts(uri).ok()?;
        *request.version_mut() = http::Version::HTTP_2;
        *request.headers_mut() = self.fields.clone();
        append(fields, request.headers_mut())?;
        Some(request)
    }
}

/// Appends the fields that HTTP/2 sends.
#[inline]
fn append(fields: &Fields, out: &mut HeaderMap) -> Option<()> {
    for (name, value) in fields.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if !NOT_SENT.contains(&name.as_str()) {
            out.append(name, HeaderValue::from_bytes(value).ok()?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::default();
        pairs.iter().for_each(|(name, value)| fields.push(name, value.as_bytes()));
        fields
    }

    #[test]
    fn all_fields_are_sent_except_those_of_the_connection() {
        let fixed = fields(&[("Host", "other.test:81"), ("Connection", "close"), ("Accept", "*/*"), ("TE", "gzip")]);
        let own = [("Transfer-Encoding", "chunked"), ("X-A", "b: c"), ("X-Empty", ""), ("X-A", "d")];
        let head = FixedHead::new("PUT", Scheme::Https, &fixed).unwrap();
        let request = head.request("/a?b=%20", &fields(&own)).unwrap();
        assert_eq!(request.uri(), "https://other.test:81/a?b=%20");
        assert_eq!(request.method(), Method::PUT);
        let sent: Vec<_> = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(sent, [("accept", &b"*/*"[..]), ("x-a", b"b: c"), ("x-a", b"d"), ("x-empty", b"")]);
    }

    #[test]
    fn invalid_fields_make_no_request() {
        for fixed in [&[][..], &[("Accept", "*/*")], &[("Host", "a b")], &[("Host", "a"), ("b c", "d")]] {
            assert!(FixedHead::new("GET", Scheme::Http, &fields(fixed)).is_none(), "{fixed:?}");
        }
        let head = FixedHead::new("GET", Scheme::Http, &fields(&[("Host", "a")])).unwrap();
        assert!(head.request("/a b", &Fields::default()).is_none());
    }
}
