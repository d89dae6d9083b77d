//! The wait until a renter accepts uploads. The renter must be synced, and must have enough money and contracts.

use super::{Renter, Unread, is_interrupted, pause};
use crate::console;
use crate::failure::Failure;
use crate::progress::requests_interrupted;
use measure::units::format_span;
use report::escape::escape;
use sia::Unmet;
use std::mem::discriminant;
use std::time::{Duration, Instant};

/// First pause between two checks. Each pause is twice as long as the previous one, up to the longest pause.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// A reason to wait.
enum Obstacle {
    /// A condition for uploads is not met.
    Unmet(Unmet),
    /// The renter does not report whether the conditions are met.
    Unknown(String),
}

impl Obstacle {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unmet(unmet), Self::Unmet(other)) => discriminant(unmet) == discriminant(other),
            (Self::Unknown(_), Self::Unknown(_)) => true,
            _ => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Unmet(unmet) => unmet.to_string(),
            Self::Unknown(why) => why.clone(),
        }
    }
}

impl Renter {
    /// Fails if the renter refuses the password.
    pub fn check_password(&self) -> Result<(), Failure> {
        let refused = self.system.documents().first().and_then(|document| self.get(document.path).err());
        match refused {
            Some(Unread { status: Some(401 | 403), about }) => {
                let name = self.system.name();
                Err(Failure::could_not_run(format!("{name} refuses requests: {about}; check the password of its API")))
            }
            // The checks that follow report other failures.
            _ => Ok(()),
        }
    }

    /// Fails if the bucket of the objects does not exist. renterd would refuse every upload.
    fn require_bucket(&self) -> Result<(), Failure> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        match self.get(&format!("/api/bus/bucket/{bucket}")) {
            Err(Unread { status: Some(404), about }) => Err(Failure::could_not_run(format!(
                "{} has no bucket `{}`: {about}; create the bucket, or correct the path of the URL",
                self.system.name(),
                escape(bucket)
            ))),
            // The checks that follow report other failures.
            _ => Ok(()),
        }
    }

    /// Waits until the renter accepts uploads, at most for the time `most` for each condition. Fails without waiting if
    /// only the user can meet a condition. If the renter does not respond, calls `reach`, which waits for a response.
    pub fn wait_until_ready(&self, most: Duration, reach: &dyn Fn() -> Result<(), Failure>) -> Result<(), Failure> {
        let name = self.system.name();
        self.require_bucket()?;
        let (mut waiting, mut time): (Option<(Obstacle, Instant)>, Duration) = (None, PAUSE);
        while let Some(obstacle) = self.obstacle() {
            if matches!(obstacle, Obstacle::Unknown(_)) {
                reach()?;
            }
            let may_pass = match &obstacle {
                Obstacle::Unmet(unmet) => unmet.may_pass(),
                Obstacle::Unknown(_) => true,
            };
            let text = obstacle.text();
            if !may_pass {
                return Err(Failure::could_not_run(format!("{name} accepts no uploads yet: {text}")));
            }
            let since = match &waiting {
                Some((before, since)) if before.is_like(&obstacle) => *since,
                _ => {
                    console::eprintln(&format!("waiting for {name}, up to {}: {text}", format_span(most)));
                    Instant::now()
                }
            };
            waiting = Some((obstacle, since));
            let left = most.saturating_sub(since.elapsed());
            if left.is_zero() {
                let most = format_span(most);
                return Err(Failure::could_not_run(format!("{name} accepts no uploads after {most}: {text}")));
            }
            pause(time.min(left));
            time = (time * 2).min(PAUSE_MAX);
            if is_interrupted() {
                return Err(requests_interrupted(format!("interrupted while waiting for {name}: {text}")));
            }
        }
        Ok(())
    }

    fn obstacle(&self) -> Option<Obstacle> {
        match self.snapshot(self.system.documents_of_readiness()).unmet() {
            Ok(unmet) => unmet.map(Obstacle::Unmet),
            Err(unknown) => Some(Obstacle::Unknown(unknown.to_string())),
        }
    }
}
