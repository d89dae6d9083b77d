//! The part that is the same in every request of one kind to one origin. This part is encoded once for each version of
//! HTTP.

use super::fields::Fields;
use crate::plan::{Auth, Plan, RequestPlan, Route};
use crate::run_loop::http1::encode::FixedHead as Http1Head;
use crate::run_loop::http2::encode::FixedHead as Http2Head;
use wire::header::Header;
use wire::message::Version;
use wire::url::Origin;

/// Fixed part of the requests of one kind to one origin.
#[derive(Debug)]
pub(in crate::run_loop) struct RequestTemplate {
    pub http1: Http1Head,
    /// The fixed part in the form of HTTP/2. `None` if HTTP/2 is not used, or if the fields cannot be sent with HTTP/2,
    /// which is a defect of this program.
    pub http2: Option<Box<Http2Head>>,
    /// Fixed fields that a signature covers; `None` for origins whose requests are not signed.
    pub signed: Option<Box<SignedFields>>,
    /// `true` if requests contain the header field of their slot's session.
    pub sends_session: bool,
}

/// Fixed part of the data that a signature covers.
#[derive(Debug)]
pub(in crate::run_loop) struct SignedFields {
    pub method: Box<str>,
    /// Names and values of `Host` and of the S3 header fields.
    pub fields: Vec<(Box<str>, Box<[u8]>)>,
}

impl RequestTemplate {
    /// Returns the template of `request` for `origin`. `trusted` means that the user named this origin. Credentials are
    /// sent only to such origins.
    pub fn new(plan: &Plan, request: &RequestPlan, origin: &Origin, trusted: bool) -> Self {
        let fields = fixed_fields(plan, request, origin, trusted);
        // A proxy expects the whole URL.
        let prefix = match &plan.connections.route {
            Route::Proxy { .. } => format!("http://{}", origin.host_header()),
            Route::Direct | Route::Unix(_) => String::new(),
        };
        let http2 =
            plan.connections.http2.as_ref().and_then(|_| Http2Head::new(&request.method, origin.scheme, &fields));
        let signs = trusted && matches!(plan.auth, Auth::S3 { .. });
        Self {
            http1: Http1Head::new(&request.method, &prefix, plan.http.version, &fields),
            http2: http2.map(Box::new),
            signed: signs.then(|| Box::new(SignedFields::new(request, origin))),
            sends_session: trusted && matches!(plan.auth, Auth::Session(_)),
        }
    }
}

/// Returns the header fields that every request of this kind contains. Fields with credentials come last.
fn fixed_fields(plan: &Plan, request: &RequestPlan, origin: &Origin, trusted: bool) -> Fields {
    let (mut fields, mut credentials) = (Fields::default(), Fields::default());
    if let Route::Proxy { authorization: Some(value), .. } = &plan.connections.route {
        credentials.push("Proxy-Authorization", value.as_bytes());
    }
    // A `Host` field that the user set is sent only to the hosts that the user named.
    let sent = |header: &&Header| trusted || !header.name.is("host");
    if !request.headers.iter().filter(sent).any(|header| header.name.is("host")) {
        fields.push("Host", origin.host_header().to_string().as_bytes());
    }
    match (plan.http.version, plan.http.keep_alive) {
        (Version::Http10, true) => fields.push("Connection", b"Keep-Alive"),
        (Version::Http11 | Version::Http2, false) => fields.push("Connection", b"close"),
        (Version::Http10, false) | (Version::Http11 | Version::Http2, true) => {}
    }
    for header in request.headers.iter().filter(sent) {
        let (name, value) = (header.name.as_str(), header.value.as_str().as_bytes());
        if !header.is_secret() {
            fields.push(name, value);
        } else if trusted {
            credentials.push(name, value);
        }
    }
    fields.extend(&credentials);
    fields
}

impl SignedFields {
    fn new(request: &RequestPlan, origin: &Origin) -> Self {
        let of_s3 = |name: &str| name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("x-amz-"));
        let covered = request.headers.iter().filter(|it| it.name.is("host") || of_s3(it.name.as_str()));
        let mut fields: Vec<(Box<str>, Box<[u8]>)> =
            covered.map(|header| (header.name.as_str().into(), header.value.as_str().as_bytes().into())).collect();
        if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            fields.push(("host".into(), origin.host_header().to_string().into_bytes().into()));
        }
        Self { method: request.method.clone(), fields }
    }
}
