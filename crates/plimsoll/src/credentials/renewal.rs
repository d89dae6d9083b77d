//! Renewal of temporary keys during long work. Temporary keys usually expire after an hour.

use super::{Args, Credentials, Surroundings, process_variable};
use crate::console;
use crate::saved;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use wire::sigv4::{SharedKeys, Timestamp};

/// Time before the expiry at which keys are renewed. AWS SDKs use the same time.
const BEFORE: u64 = 5 * 60;
/// Interval between two checks. The thread checks whether renewal is due and whether the keys are still in use.
const LOOK: Duration = Duration::from_secs(1);
/// Seconds until the next attempt after a failure.
const PAUSE: u64 = 30;

/// Starts a thread that renews temporary keys from their source, as long as a signer uses them.
pub fn keep_current(found: &Credentials, args: &Args, keys: &Arc<SharedKeys>) {
    let Some(expires) = found.expires else { return };
    let (args, keys) = (args.clone(), Arc::downgrade(keys));
    thread::spawn(move || renew(&args, &keys, expires));
}

fn renew(args: &Args, keys: &Weak<SharedKeys>, expires: Timestamp) {
    let mut due = due(unix_seconds(), expires);
    let mut has_failed = false;
    loop {
        thread::sleep(LOOK);
        let Some(keys) = keys.upgrade() else { return };
        if unix_seconds() < due {
            continue;
        }
        match Credentials::find(args, &Surroundings::new(&process_variable)) {
            Ok(Some(found)) => {
                has_failed = false;
                keys.replace(found.keys);
                match found.expires {
                    Some(expires) => due = self::due(unix_seconds(), expires),
                    None => return,
                }
            }
            failed => {
                if !has_failed {
                    let why = match failed {
                        Err(failure) => failure.into_message(),
                        Ok(_) => "the source of the keys no longer has any".to_owned(),
                    };
                    console::eprintln(&format!("warning: cannot renew the temporary keys for S3: {why}"));
                }
                has_failed = true;
                due = unix_seconds() + PAUSE;
            }
        }
    }
}

/// Returns the time at which to renew keys. Keys that expire soon are renewed after half of their remaining time.
fn due(now: u64, expires: Timestamp) -> u64 {
    let left = expires.unix_seconds().saturating_sub(now);
    now + if left > 2 * BEFORE { left - BEFORE } else { left / 2 }
}

fn unix_seconds() -> u64 {
    saved::unix_ms() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_renewed_before_they_expire() {
        let at = |seconds: u64| Timestamp::from_unix_seconds(seconds);
        assert_eq!(due(1_700_000_000, at(1_700_003_600)), 1_700_003_300);
        assert_eq!(due(1_700_000_000, at(1_700_000_060)), 1_700_000_030);
        // Keys that have already expired are renewed at once.
        assert_eq!(due(1_700_000_000, at(1_699_999_000)), 1_700_000_000);
    }
}
