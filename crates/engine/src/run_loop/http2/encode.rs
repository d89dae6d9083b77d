//! Requests of HTTP/2: the same head as in HTTP/1, said in its fields. There is one place where heads are made (`request`),
//! with signatures, ranges and credentials; what it wrote is read here line by line.

use http::uri::{Authority, PathAndQuery};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use wire::url::Scheme;

/// Fields that HTTP/2 says in other ways, or not at all (RFC 9113 §8.2.2).
const NOT_SENT: [&str; 7] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// The request whose head in HTTP/1 that is. `None` when it can not be said in HTTP/2, which is a defect: method, target
/// and fields were checked when they were read.
#[inline]
pub(in crate::run_loop) fn of_head(scheme: Scheme, head: &[u8]) -> Option<Request<()>> {
    let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
    let (method, rest) = lines.next()?.split_once(' ')?;
    let (target, _) = rest.rsplit_once(' ')?;
    let mut request = Request::new(());
    let mut authority = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ")?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if name == http::header::HOST {
            authority = Some(Authority::try_from(value).ok()?);
        } else if !NOT_SENT.contains(&name.as_str()) {
            request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
    }
    let scheme = match scheme {
        Scheme::Http => http::uri::Scheme::HTTP,
        Scheme::Https => http::uri::Scheme::HTTPS,
    };
    let path = PathAndQuery::try_from(target).ok()?;
    *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
    *request.uri_mut() = Uri::builder().scheme(scheme).authority(authority?).path_and_query(path).build().ok()?;
    *request.version_mut() = http::Version::HTTP_2;
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_head_but_for_the_connection() {
        let head = "PUT /a?b=%20 HTTP/1.1\r\nHost: other.test:81\r\nConnection: close\r\nAccept: */*\r\nTE: gzip\r\n\
            Transfer-Encoding: chunked\r\nX-A: b: c\r\nX-Empty: \r\nX-A: d\r\n\r\n";
        let request = of_head(Scheme::Https, head.as_bytes()).unwrap();
        assert_eq!(request.uri(), "https://other.test:81/a?b=%20");
        assert_eq!(request.method(), Method::PUT);
        let fields: Vec<_> = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(fields, [("accept", &b"*/*"[..]), ("x-a", b"b: c"), ("x-a", b"d"), ("x-empty", b"")]);
    }

    #[test]
    fn what_is_no_head_is_no_request() {
        for head in ["", "GET /", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"] {
            assert!(of_head(Scheme::Http, head.as_bytes()).is_none(), "{head:?}");
        }
    }
}
