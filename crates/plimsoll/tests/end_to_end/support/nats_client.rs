//! A client of NATS that is not Plimsoll, for finding out what a server permits.

use async_nats::{ConnectOptions, Event, ServerError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
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
