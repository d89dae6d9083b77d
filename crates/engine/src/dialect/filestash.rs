//! Filestash, a web file manager. The operations are the API calls `ls`, `cat` and `save` of Filestash. These calls
//! need a session, which a login opens.
//!
//! Calls of the API need `X-Requested-With: XmlHttpRequest`, in exactly this spelling. The session is a token, which is
//! sent as cookies of at most 3,800 characters each. The response to an upload contains `Connection: close`, so each
//! upload needs a new connection.

use super::{Access, BadName, Dialect, Form};
use crate::plan::{BodyPlan, Opening, RequestPlan};
use measure::OpKind;
use std::fmt;
use std::fmt::Write;
use wire::{Header, HeaderName, HeaderValue};

/// Files of a backend of Filestash.
#[derive(Clone, Debug)]
pub struct Filestash {
    connection: Option<Connection>,
}

/// Backend of a session, with the parameters of the login.
#[derive(Clone)]
pub struct Connection {
    kind: String,
    parameters: Vec<(String, String)>,
}

/// Shows only the names of the parameters, because their values may be secret.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.parameters.iter().map(|(name, _)| name);
        f.debug_struct("Connection").field("kind", &self.kind).field("parameters", &names.collect::<Vec<_>>()).finish()
    }
}

impl Connection {
    /// Returns a login for a backend such as `blackhole` or `sftp`, with parameters such as `hostname`, `port`,
    /// `username` and `password`.
    #[must_use]
    pub fn new(kind: &str, parameters: Vec<(String, String)>) -> Self {
        Self { kind: kind.to_owned(), parameters }
    }

    /// Returns the body of the login request.
    fn login(&self) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let mut login = format!(r#"{{"type":{}"#, text(&self.kind));
        for (name, value) in &self.parameters {
            // Writing to memory does not fail.
            let _ = write!(login, ",{}:{}", text(name), text(value));
        }
        login.push('}');
        login
    }
}

/// Header fields that every call of the API needs.
const CALL: &[(&str, &str)] = &[("X-Requested-With", "XmlHttpRequest")];
/// Maximum number of characters of one cookie.
const COOKIE_MAX: usize = 3800;
/// Maximum number of characters of a token. A longer token would not fit into the head of a request.
const TOKEN_MAX: usize = 48 << 10;

impl Filestash {
    /// Returns the dialect. `connection` is `None` if the user already has a session.
    #[must_use]
    pub fn new(connection: Option<Connection>) -> Self {
        Self { connection }
    }
}

impl Dialect for Filestash {
    fn form(&self, access: Access) -> Option<Form> {
        let form = match access {
            Access::Read => Form::plain("GET", OpKind::Get),
            Access::List => Form::plain("GET", OpKind::List),
            Access::Write => Form::plain("POST", OpKind::Put),
            Access::Delete => Form::plain("POST", OpKind::Delete),
        };
        Some(Form { headers: CALL, ..form })
    }

    fn target(&self, access: Access, base: &str, name: &str) -> Result<String, BadName> {
        let key = name.strip_prefix('/').unwrap_or(name);
        if key.is_empty() && access != Access::List {
            return Err(BadName::Empty);
        }
        let mut target = format!("{base}/api/files/{}?path=/", call(access));
        wire::percent::push_path(key, &mut target);
        Ok(target)
    }

    /// Returns a target that ends with `path=`. The path of the object, which starts with a slash, is appended as the
    /// value of this parameter.
    fn container(&self, access: Access, base: &str) -> Option<String> {
        Some(format!("{base}/api/files/{}?path=", call(access)))
    }

    fn opening(&self, base: &str) -> Option<Opening> {
        let connection = self.connection.as_ref()?;
        let fields = CALL.iter().chain(&[("Content-Type", "application/json"), ("Accept-Encoding", "identity")]);
        let header = |(name, value): &(&str, &str)| {
            Some(Header { name: HeaderName::parse(name).ok()?, value: HeaderValue::parse(value).ok()? })
        };
        let request = RequestPlan {
            headers: fields.filter_map(header).collect(),
            body: Some(BodyPlan::of_bytes(connection.login().into_bytes().into())),
            ..RequestPlan::new("POST", OpKind::Request)
        };
        let about = format!("filestash, {}", connection.kind);
        let hidden = connection.parameters.iter().filter(|(name, _)| wire::is_secret_name(name));
        let hidden = hidden.map(|(_, value)| value.as_str().into()).collect();
        Some(Opening { about, target: format!("{base}/api/session"), request, read: cookies, reason, hidden })
    }
}

fn call(access: Access) -> &'static str {
    match access {
        Access::Read => "cat",
        Access::List => "ls",
        Access::Write => "save",
        Access::Delete => "rm",
    }
}

/// Returns the cookies of the session, from the response to a login.
fn cookies(response: &[u8]) -> Option<String> {
    let response: serde_json::Value = serde_json::from_slice(response).ok()?;
    let token = response.get("result")?.get("authorization")?.as_str()?;
    // Server-supplied values end up in a request header, so only cookie characters are accepted.
    let is_sound = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\');
    if token.is_empty() || token.len() > TOKEN_MAX || !token.bytes().all(is_sound) {
        return None;
    }
    let mut line = String::from("Cookie: ");
    // All characters are ASCII, so no character is split between two cookies.
    for (index, piece) in token.as_bytes().chunks(COOKIE_MAX).enumerate() {
        let (before, number) = if index == 0 { ("", String::new()) } else { ("; ", index.to_string()) };
        let _ = write!(line, "{before}auth{number}={}", String::from_utf8_lossy(piece));
    }
    Some(line)
}

/// Returns the message of a refused login. Filestash sends the message as JSON, but a proxy in front of Filestash may
/// send plain text.
fn reason(response: &[u8]) -> Option<String> {
    let message = |response: serde_json::Value| Some(response.get("message")?.as_str()?.to_owned());
    let text = || String::from_utf8_lossy(response).into_owned();
    let reason = serde_json::from_slice(response).ok().and_then(message).unwrap_or_else(text);
    Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_json_and_never_shown() {
        let parameters = vec![("password".to_owned(), "a\"b\\".to_owned()), ("port".to_owned(), "22".to_owned())];
        let connection = Connection::new("sftp", parameters);
        assert_eq!(connection.login(), r#"{"type":"sftp","password":"a\"b\\","port":"22"}"#);
        let filestash = Filestash::new(Some(connection));
        let shown = format!("{filestash:?} {:?}", filestash.opening(""));
        assert!(!shown.contains("a\\\"b") && !shown.contains("97, "), "{shown}");
    }

    #[test]
    fn refusals_give_their_reason() {
        let cases: [(&[u8], Option<&str>); 4] = [
            (br#"{"status":"error","message":"Not authorised"}"#, Some("Not authorised")),
            (b"<h1>Bad gateway</h1>\n", Some("<h1>Bad gateway</h1>")),
            (b"{}", Some("{}")),
            (b"", None),
        ];
        for (body, expected) in cases {
            assert_eq!(reason(body).as_deref(), expected);
        }
    }

    #[test]
    fn tokens_are_sent_as_cookies() {
        let response =
            |token: &str| cookies(format!(r#"{{"status":"ok","result":{{"authorization":"{token}"}}}}"#).as_bytes());
        assert_eq!(response("abc=="), Some("Cookie: auth=abc==".to_owned()));
        let long = response(&"x".repeat(2 * COOKIE_MAX + 1)).unwrap();
        let parts: Vec<&str> = long.strip_prefix("Cookie: ").unwrap().split("; ").collect();
        assert_eq!(parts.len(), 3);
        assert!(parts[1].starts_with("auth1=x") && parts[1].len() == COOKIE_MAX + 6 && parts[2] == "auth2=x");
        for bad in ["", "a;b", "a\\r\\nHost: evil", "a b", &"x".repeat(TOKEN_MAX + 1)] {
            assert_eq!(response(bad), None);
        }
        assert_eq!(cookies(b"{}"), None);
        assert_eq!(cookies(b"\xff"), None);
    }
}
