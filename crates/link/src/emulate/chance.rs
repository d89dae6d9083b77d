//! Independent random events with a fixed probability.

use measure::values::random::Random;

/// A sequence of independent trials. Each trial is a hit with the same probability.
///
/// The sequence does not draw a random number for each trial, but only for the gap to the next hit. Gaps are
/// geometrically distributed: floor(ln u / ln(1 − p)) for u uniform in (0, 1). A frame without a hit therefore costs
/// one comparison, for any number of segments.
#[derive(Clone, Debug)]
pub struct Chance {
    random: Random,
    /// 1 / ln(1 − p); `None` if p is 0, so that there are no hits.
    scale: Option<f64>,
    misses_left: u64,
}

impl Chance {
    /// Creates the sequence for a seed. `share` is the probability of a hit, from 0 to 1.
    pub fn new(share: f64, seed: u64) -> Self {
        let scale = (share > 0.0).then(|| 1.0 / (-share).ln_1p());
        let mut chance = Self { random: Random::new(seed), scale, misses_left: u64::MAX };
        chance.draw();
        chance
    }

    /// Returns the number of misses before the next hit.
    pub fn misses_left(&self) -> u64 {
        self.misses_left
    }

    /// Skips `trials` trials, all of which are misses. There must be at least this many misses before the next hit.
    pub fn miss(&mut self, trials: u64) {
        debug_assert!(trials <= self.misses_left, "a hit was passed over");
        // If hits are impossible, the number stays at its maximum.
        if self.scale.is_some() {
            self.misses_left = self.misses_left.saturating_sub(trials);
        }
    }

    /// Makes the next trial, and returns whether it hits.
    pub fn next_hits(&mut self) -> bool {
        if self.misses_left > 0 {
            self.miss(1);
            return false;
        }
        self.draw();
        true
    }

    fn draw(&mut self) {
        if let Some(scale) = self.scale {
            // With p = 1, `scale` is −0, so the gap is 0. A gap that is too large for the integer becomes the maximum.
            self.misses_left = (self.random.unit().ln() * scale) as u64;
        }
    }
}
