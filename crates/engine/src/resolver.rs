//! Name lookups in the background, so that no thread of the run loop waits for a resolver.
//!
//! A background thread calls the system's resolver. The threads of the run read the resolver's cache when they open a
//! connection, at most once a second for each host. Names are looked up again after `FRESH`, because the addresses of a
//! long-lived service change.

use crate::network::{NameError, Resolution};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::resolve::ResolveError;

/// Time after which a result is looked up again.
const FRESH: Duration = Duration::from_secs(30);
/// Maximum number of names that are kept. The number must be limited, because redirects can contain any number of
/// names.
const NAMES_MAX: usize = 4096;

type Name = (String, u16);

struct Entry {
    answer: Option<Result<Arc<[SocketAddr]>, NameError>>,
    asked: Instant,
}

/// A cache of the addresses of names, filled by a background thread.
pub struct Resolver {
    cache: Arc<Mutex<HashMap<Name, Entry>>>,
    questions: Mutex<Sender<Name>>,
}

impl Resolver {
    /// Starts a resolver and its background thread. The thread ends when the resolver is dropped.
    #[must_use]
    pub fn start() -> Arc<Self> {
        let (questions, asked) = channel();
        let cache = Arc::new(Mutex::new(HashMap::new()));
        let answers = Arc::clone(&cache);
        std::thread::spawn(move || answer(&asked, &answers));
        Arc::new(Self { cache, questions: Mutex::new(questions) })
    }

    /// Returns the known result for a name. If there is no result, or only an old one, requests a lookup in the
    /// background.
    pub fn look_up(&self, host: &str, port: u16) -> Resolution {
        if let Some(address) = literal(host) {
            return Resolution::Found(Arc::from([SocketAddr::new(address, port)]));
        }
        let name = (host.to_owned(), port);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= NAMES_MAX && !cache.contains_key(&name) {
            return Resolution::Failed(NameError::NoAnswer);
        }
        let known = cache.get(&name).map(|entry| (entry.answer.clone(), entry.asked.elapsed() > FRESH));
        if known.as_ref().is_none_or(|(_, stale)| *stale) {
            let answer = known.as_ref().and_then(|(answer, _)| answer.clone());
            cache.insert(name.clone(), Entry { answer, asked: Instant::now() });
            let _ = self.questions.lock().unwrap_or_else(PoisonError::into_inner).send(name);
        }
        match known.and_then(|(answer, _)| answer) {
            None => Resolution::Pending,
            Some(Ok(addresses)) => Resolution::Found(addresses),
            Some(Err(error)) => Resolution::Failed(error),
        }
    }
}

/// Returns the IP address if the host is one, with or without brackets; `None` if the host is a name.
fn literal(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

fn answer(asked: &Receiver<Name>, cache: &Mutex<HashMap<Name, Entry>>) {
    while let Ok((host, port)) = asked.recv() {
        let answer = match sys::resolve::resolve(&host, port) {
            Ok(addresses) if addresses.is_empty() => Err(NameError::NotFound),
            Ok(addresses) => Ok(Arc::from(addresses)),
            Err(ResolveError::NotFound) => Err(NameError::NotFound),
            Err(ResolveError::TryAgain | ResolveError::Failed(_)) => Err(NameError::NoAnswer),
        };
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = cache.get_mut(&(host, port)) {
            // While the resolver fails, an old result is better than none.
            if answer.is_ok() || !matches!(entry.answer, Some(Ok(_))) {
                entry.answer = Some(answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_look_up() {
        let resolver = Resolver::start();
        for (host, port) in [("127.0.0.1", 80), ("::1", 8080), ("[::1]", 8080)] {
            assert!(
                matches!(resolver.look_up(host, port), Resolution::Found(found) if found.len() == 1 && found[0].port() == port)
            );
        }
    }

    #[test]
    fn names_are_looked_up_in_the_background() {
        let resolver = Resolver::start();
        let deadline = Instant::now() + Duration::from_secs(20);
        let found = loop {
            match resolver.look_up("localhost", 80) {
                Resolution::Pending if Instant::now() < deadline => std::thread::yield_now(),
                found => break found,
            }
        };
        assert!(matches!(found, Resolution::Found(addresses) if addresses.iter().all(|a| a.ip().is_loopback())));
    }
}
