//! The connection to the bus, which is driven by a separate thread. The owner of [`Bus`] sends and receives without
//! blocking, or with a limited wait.

use super::credentials::Credentials;
use super::frame::{Frame, HEAD_MAX};
use crate::transport::mailbox::Mailbox;
use async_nats::connection::State;
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError, StatusCode, Subscriber,
};
use futures_util::StreamExt;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::mpsc;

/// Maximum number of messages that wait for the owner, and of messages that wait to be sent. Further messages are lost,
/// and the links repeat them.
const WAITING_MAX: usize = 1024;
/// Maximum length of the body of a message. A longer message would block other users of the bus for longer.
pub(super) const BODY_MAX: usize = 128 << 10;
/// A server is usable only if it accepts messages of this length.
const PAYLOAD_MIN: usize = 4 << 10;
/// Time limit for connecting to a server.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Pause between two attempts to connect again. The first attempt has no pause.
const RECONNECT_EVERY: Duration = Duration::from_millis(500);
/// Time between two checks of the connection.
const PING_EVERY: Duration = Duration::from_secs(5);
/// Time limit for sending the last messages.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// Start of the text with which a server reports a violation of permissions.
const VIOLATION: &str = "permissions violation";
/// Maximum number of characters of that text that are shown.
const VIOLATION_MAX: usize = 100;

/// A change of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// The connection is lost. The client tries to connect again.
    Lost,
    /// The client is connected again.
    Back,
}

/// A function that is called when the connection changes.
pub type OnBusEvent = Arc<dyn Fn(BusEvent) + Send + Sync>;

/// The servers of a bus, and how to connect to them.
#[derive(Clone)]
pub struct BusOptions {
    /// URLs of the servers, separated by commas: `nats://HOST:PORT` or `tls://HOST:PORT`.
    pub url: String,
    /// File with credentials: a `.creds` file, as `nsc` writes it, or the seed of an nkey.
    pub credentials: Option<PathBuf>,
    /// File with the CA certificates to trust. TLS is then required.
    pub ca: Option<PathBuf>,
    /// Called when the connection changes.
    pub on_event: OnBusEvent,
}

impl BusOptions {
    /// Checks the URL, without connecting.
    ///
    /// # Errors
    /// [`NatsError::CredentialsInUrl`] and [`NatsError::Url`].
    pub fn check(&self) -> Result<(), NatsError> {
        servers(&self.url).map(|_| ())
    }
}

/// Reason why a bus is not usable.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// The URL contains a user or a password.
    #[error("the URL contains credentials, which other users of this host can see: write them to a file")]
    CredentialsInUrl,
    /// The URL is malformed.
    #[error("the URL must be nats://HOST:PORT or tls://HOST:PORT")]
    Url,
    /// The file with credentials cannot be read.
    #[error("cannot read the credentials in {}: {error}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// No server could be reached, or it refused the connection.
    #[error("cannot connect to {url}: {why}")]
    Connect {
        /// The URL.
        url: String,
        /// Why.
        why: String,
    },
    /// The server does not know the credentials, or there are none.
    #[error("the server at {url} {}", if *has_credentials { "refuses the credentials" } else { "requires credentials" })]
    Unauthorized {
        /// The URL.
        url: String,
        /// `true` if credentials were sent.
        has_credentials: bool,
    },
    /// The certificate of the server is not trusted, or TLS failed in another way.
    #[error("cannot connect to {url} with TLS: {why}")]
    Tls {
        /// The URL.
        url: String,
        /// Why.
        why: String,
    },
    /// The credentials are not for this side of the protocol.
    #[error("the credentials do not permit what is necessary ({0})")]
    NotPermitted(String),
    /// The server accepts only small messages.
    #[error("the server accepts only messages up to {0} bytes: set max_payload to at least {PAYLOAD_MIN}")]
    Payload(usize),
    /// The thread of the connection cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// A message that arrived, or the reply of the server to a message that did not.
pub enum Arrived {
    /// A message, with its subject.
    Frame(String, Frame),
    /// A message of [`Bus::ask`] had no subscriber. The text is its reply subject.
    NoSubscriber(String),
}

/// A message to send.
struct Outgoing {
    subject: String,
    reply: Option<String>,
    bytes: Vec<u8>,
}

/// A connection to the bus.
pub struct Bus {
    client: Client,
    inbox: Mailbox<Arrived>,
    outbox: Option<mpsc::Sender<Outgoing>>,
    thread: Option<JoinHandle<()>>,
    piece_max: usize,
    denied: Denied,
}

/// The first violation of permissions that the server reported.
type Denied = Arc<OnceLock<String>>;

impl Bus {
    /// Connects to the bus, and subscribes to subjects.
    ///
    /// # Errors
    /// Fails if no server can be reached, or if the options are unusable.
    pub fn connect(options: &BusOptions, subjects: Vec<String>) -> Result<Self, NatsError> {
        let servers = servers(&options.url)?;
        let inbox = Mailbox::new(WAITING_MAX);
        let (outbox, sending) = mpsc::channel(WAITING_MAX);
        let (report, connected) = sync_channel(1);
        let denied = Denied::default();
        let (own, options, reported) = (inbox.clone(), options.clone(), Arc::clone(&denied));
        let work = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(drive(servers, options, subjects, reported, own, sending, report)),
            Err(error) => {
                let _ = report.send(Err(NatsError::Thread(error)));
            }
        };
        let thread = thread::Builder::new().name("bus".to_owned()).spawn(work).map_err(NatsError::Thread)?;
        let lost = || NatsError::Thread(std::io::Error::other("it ended"));
        let client: Client = connected.recv().unwrap_or_else(|_| Err(lost()))?;
        let payload = client.server_info().max_payload;
        if payload < PAYLOAD_MIN {
            return Err(NatsError::Payload(payload));
        }
        let piece_max = (payload - HEAD_MAX).min(BODY_MAX);
        Ok(Self { client, inbox, outbox: Some(outbox), thread: Some(thread), piece_max, denied })
    }

    /// Returns the maximum length of the body of a message.
    pub fn piece_max(&self) -> usize {
        self.piece_max
    }

    /// Returns whether the connection is open now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Checks that the server has not reported a violation of permissions.
    pub fn check_permissions(&self) -> Result<(), NatsError> {
        self.denied.get().map_or(Ok(()), |text| Err(NatsError::NotPermitted(text.clone())))
    }

    /// Sends a message, which may get lost.
    pub fn send(&self, subject: String, frame: &Frame) {
        self.post(Outgoing { subject, reply: None, bytes: frame.encode() });
    }

    /// Sends a message like [`Self::send`]. If the subject has no subscriber, [`Arrived::NoSubscriber`] arrives on the reply
    /// subject, which must be one of the own subjects.
    pub fn ask(&self, subject: String, reply: String, frame: &Frame) {
        self.post(Outgoing { subject, reply: Some(reply), bytes: frame.encode() });
    }

    fn post(&self, message: Outgoing) {
        if let Some(outbox) = &self.outbox {
            let _ = outbox.try_send(message);
        }
    }

    /// Returns the next message, or `None` if none arrives within `wait`.
    pub fn receive(&self, wait: Duration) -> Option<Arrived> {
        self.inbox.take(wait)
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.inbox.abandon();
        // Dropping the only sender closes the channel. The thread then sends the remaining messages and ends.
        self.outbox = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the servers that a URL names. Errors do not quote the URL, which may contain a secret.
fn servers(url: &str) -> Result<Vec<ServerAddr>, NatsError> {
    if url.contains('@') {
        return Err(NatsError::CredentialsInUrl);
    }
    let server = |text: &str| {
        let is_plain = text.starts_with("nats://") || text.starts_with("tls://");
        let server = text.parse::<ServerAddr>().ok().filter(|server| is_plain && !server.host().is_empty());
        server.ok_or(NatsError::Url)
    };
    url.split(',').map(server).collect()
}

/// Drives the connection until the owner drops its end.
async fn drive(
    servers: Vec<ServerAddr>,
    options: BusOptions,
    subjects: Vec<String>,
    denied: Denied,
    inbox: Mailbox<Arrived>,
    mut sending: mpsc::Receiver<Outgoing>,
    report: SyncSender<Result<Client, NatsError>>,
) {
    let client = match open(servers, &options, subjects, denied, &inbox).await {
        Ok(client) => client,
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    let _ = report.send(Ok(client.clone()));
    while let Some(Outgoing { subject, reply, bytes }) = sending.recv().await {
        // After a reconnect, the new server may accept only shorter messages than the first one. Publishing a longer
        // message then fails. Its link gets no acknowledgement, and the agent counts as silent.
        let _ = match reply {
            Some(reply) => client.publish_with_reply(subject, reply, bytes.into()).await,
            None => client.publish(subject, bytes.into()).await,
        };
    }
    let _ = tokio::time::timeout(FLUSH_MAX, client.flush()).await;
}

/// Connects, subscribes to the subjects, and starts to pass on their messages.
async fn open(
    servers: Vec<ServerAddr>,
    options: &BusOptions,
    subjects: Vec<String>,
    denied: Denied,
    inbox: &Mailbox<Arrived>,
) -> Result<Client, NatsError> {
    let failed = |why: String| NatsError::Connect { url: options.url.clone(), why };
    let client = settings(options, denied)?.connect(servers).await.map_err(|error| not_connected(options, &error))?;
    for subject in subjects {
        let subscriber = client.subscribe(subject).await.map_err(|error| failed(error.to_string()))?;
        tokio::spawn(pass_on(subscriber, inbox.clone()));
    }
    // Make sure that the server knows the subscriptions before the first message is sent, so that no reply is lost.
    let flushed = tokio::time::timeout(CONNECT_MAX, client.flush()).await;
    match flushed {
        Ok(Ok(())) => Ok(client),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("the server does not respond".to_owned())),
    }
}

/// Returns the reason why there is no connection.
fn not_connected(options: &BusOptions, error: &ConnectError) -> NatsError {
    let url = options.url.clone();
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            NatsError::Unauthorized { url, has_credentials: options.credentials.is_some() }
        }
        ConnectErrorKind::Tls => NatsError::Tls { url, why: error.to_string() },
        _ => match tls_error(error) {
            Some(cause) => NatsError::Tls { url, why: cause.to_string() },
            None => NatsError::Connect { url, why: error.to_string() },
        },
    }
}

/// Returns the error of TLS that caused an I/O error, for example because of the certificate of the server.
fn tls_error(error: &ConnectError) -> Option<&rustls::Error> {
    let source = std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?;
    source.get_ref()?.downcast_ref()
}

/// Returns the description of a violation of permissions, if the server reports one. The protocol has no other form for
/// it than this text.
fn violation(text: &str) -> Option<String> {
    let is_violation = text.get(..VIOLATION.len()).is_some_and(|start| start.eq_ignore_ascii_case(VIOLATION));
    is_violation.then(|| text.chars().take(VIOLATION_MAX).collect())
}

fn settings(options: &BusOptions, denied: Denied) -> Result<ConnectOptions, NatsError> {
    // If the program contains several crypto providers, rustls has no default one, so select a provider.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let on_event = Arc::clone(&options.on_event);
    let mut was_connected = false;
    let report = std::sync::Mutex::new(move |event: &Event| match event {
        Event::Connected if std::mem::replace(&mut was_connected, true) => on_event(BusEvent::Back),
        Event::Disconnected => on_event(BusEvent::Lost),
        Event::ServerError(ServerError::Other(text)) => {
            if let Some(text) = violation(text) {
                let _ = denied.set(text);
            }
        }
        _ => {}
    });
    let report = Arc::new(report);
    let mut settings = ConnectOptions::new()
        .name("plimsoll")
        .connection_timeout(CONNECT_MAX)
        .ping_interval(PING_EVERY)
        .subscription_capacity(WAITING_MAX)
        .client_capacity(WAITING_MAX)
        .reconnect_delay_callback(|attempts| if attempts <= 1 { Duration::ZERO } else { RECONNECT_EVERY })
        .event_callback(move |event| {
            let report = Arc::clone(&report);
            async move { (report.lock().unwrap_or_else(std::sync::PoisonError::into_inner))(&event) }
        });
    if let Some(path) = &options.credentials {
        let added = Credentials::read(path).and_then(|credentials| credentials.add_to(settings));
        settings = added.map_err(|error| NatsError::Credentials { path: path.clone(), error })?;
    }
    if let Some(path) = &options.ca {
        settings = settings.add_root_certificates(path.clone()).require_tls(true);
    }
    Ok(settings)
}

/// Passes on the messages of a subscription. If the inbox is full, messages are lost, and their links repeat them.
async fn pass_on(mut subscriber: Subscriber, inbox: Mailbox<Arrived>) {
    while let Some(message) = subscriber.next().await {
        let subject = message.subject.to_string();
        let arrived = if message.status == Some(StatusCode::NO_RESPONDERS) {
            Some(Arrived::NoSubscriber(subject))
        } else {
            Frame::decode(&message.payload).map(|frame| Arrived::Frame(subject, frame))
        };
        if let Some(arrived) = arrived {
            let _ = inbox.post(arrived, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_of_permissions_are_recognized() {
        let text = "Permissions Violation for Publish to \"plimsoll.call\"";
        assert_eq!(violation(text).as_deref(), Some(text));
        assert_eq!(violation(&text.repeat(100)).map(|text| text.len()), Some(VIOLATION_MAX));
        for other in ["", "Stale Connection", "Permissions", "ä".repeat(30).as_str()] {
            assert_eq!(violation(other), None, "{other}");
        }
    }

    #[test]
    fn urls_with_credentials_are_refused_and_not_shown() {
        for url in ["nats://me:CANARY@h:4222", "tls://CANARY@h", "me:CANARY@h"] {
            let error = servers(url).expect_err("it has credentials");
            assert!(matches!(error, NatsError::CredentialsInUrl) && !error.to_string().contains("CANARY"), "{error}");
        }
        for url in ["", "h:4222", "http://h/", "ws://h/", "nats://", "nats://a,"] {
            assert!(matches!(servers(url), Err(NatsError::Url)), "{url}");
        }
        assert_eq!(servers("nats://a:4222,tls://b").expect("good").len(), 2);
    }
}
