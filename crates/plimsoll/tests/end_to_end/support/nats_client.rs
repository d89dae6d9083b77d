//! Clients of NATS that are not Plimsoll. They find out what a server permits, and send the messages of others again.

use async_nats::{ConnectOptions, Event, ServerError};
use futures_util::StreamExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Time for which the client waits for a violation that the server has not reported yet. The server reports it before
/// its response to a flush.
const PATIENCE: Duration = Duration::from_secs(5);

/// Action of a client on a subject.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Publish,
    Subscribe,
}

/// The way to a server.
pub struct Client {
    pub url: String,
    pub ca: PathBuf,
    /// Seed of the nkey.
    pub seed: String,
}

impl Client {
    /// Returns whether the server permits an act.
    pub fn may(&self, act: Act, subject: &str) -> bool {
        runtime().block_on(async {
            let errors = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&errors);
            let options = ConnectOptions::with_nkey(self.seed.clone())
                .add_root_certificates(self.ca.clone())
                .require_tls(true)
                .event_callback(move |event| {
                    if let Event::ServerError(ServerError::Other(text)) = event {
                        kept.lock().expect("no panic").push(text);
                    }
                    async {}
                });
            let client = options.connect(&self.url).await.expect("the server accepts the key");
            let _subscriber = match act {
                Act::Publish => {
                    client.publish(subject.to_owned(), "".into()).await.expect("it is queued");
                    None
                }
                Act::Subscribe => Some(client.subscribe(subject.to_owned()).await.expect("it is queued")),
            };
            client.flush().await.expect("the server responds");
            // A second act that is always a violation shows that the report of the first one has arrived.
            client.publish("barrier", "".into()).await.expect("it is queued");
            client.flush().await.expect("the server responds");
            let begun = Instant::now();
            loop {
                let errors = errors.lock().expect("no panic").clone();
                if let Some(at) = errors.iter().position(|text| text.contains("barrier")) {
                    return at == 0;
                }
                assert!(begun.elapsed() < PATIENCE, "no report of the barrier: {errors:?}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
    }
}

/// Everything that coordinators sent to agents: subjects and messages.
pub type Sent = Vec<(String, Vec<u8>)>;

/// A client that records what coordinators send to agents.
pub struct Recorder {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Sent>,
}

impl Recorder {
    /// Starts to record at a server without keys.
    pub fn start(url: &str) -> Self {
        let (url, (stop, stopped), (ready, is_ready)) = (url.to_owned(), mpsc::channel(), mpsc::channel());
        let thread = std::thread::spawn(move || {
            runtime().block_on(async {
                let client = async_nats::connect(url).await.expect("the server accepts everyone");
                let mut messages = client.subscribe("plimsoll.agent.*").await.expect("it is queued");
                client.flush().await.expect("the server responds");
                ready.send(()).expect("the test waits");
                let mut sent = Sent::new();
                while stopped.try_recv() == Err(TryRecvError::Empty) {
                    let next = tokio::time::timeout(Duration::from_millis(20), messages.next()).await;
                    sent.extend(
                        next.ok().flatten().map(|message| (message.subject.to_string(), message.payload.to_vec())),
                    );
                }
                sent
            })
        });
        is_ready.recv_timeout(PATIENCE).expect("the recorder is connected");
        Self { stop, thread }
    }

    /// Stops, and returns the record.
    pub fn finish(self) -> Sent {
        drop(self.stop);
        self.thread.join().expect("the recorder does not fail")
    }
}

/// Sends messages at a server without keys.
pub fn send_again(url: &str, messages: &Sent) {
    runtime().block_on(async {
        let client = async_nats::connect(url).await.expect("the server accepts everyone");
        for (subject, message) in messages {
            client.publish(subject.clone(), message.clone().into()).await.expect("it is queued");
        }
        client.flush().await.expect("the server responds");
    });
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
