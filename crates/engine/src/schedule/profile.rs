//! A level that changes over time as a piecewise linear function.

use std::num::NonZeroU64;
use std::time::Duration;

/// A stage of a profile. During the stage, the level changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StagePlan {
    /// Length of the stage.
    pub length: Duration,
    /// The level at the end of the stage.
    pub level: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    start: f64,
    length: f64,
    from: f64,
    to: f64,
    /// ∫ level dt from 0 to `start`.
    area_before: f64,
}

/// Level over the time of a run, in operations per second or in slots. After the last stage, the level stays the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Level at the start, as specified.
    from: f64,
    stages: Vec<StagePlan>,
    segments: Vec<Segment>,
    /// Level after the last segment.
    last: f64,
    /// End of the last segment, in seconds.
    end: f64,
    /// ∫ level dt from 0 to `end`.
    area: f64,
}

/// Reason why stages are not a valid profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A level is negative or not a number.
    #[error("a level must be 0 or more")]
    BadLevel,
    /// All levels are 0.
    #[error("at least one level must be above 0")]
    NoLoad,
}

impl Profile {
    /// Returns a constant profile.
    ///
    /// # Errors
    /// Fails if `level` is not above 0.
    pub fn constant(level: f64) -> Result<Self, ProfileError> {
        Self::stages(level, &[])
    }

    /// Returns a constant number of slots.
    #[must_use]
    pub fn slots(count: NonZeroU64) -> Self {
        Self::flat(count.get() as f64)
    }

    fn flat(level: f64) -> Self {
        Self { from: level, stages: Vec::new(), segments: Vec::new(), last: level, end: 0.0, area: 0.0 }
    }

    /// Returns a profile that rises from 0 to `level` over `ramp`.
    ///
    /// # Errors
    /// Fails if `level` is not above 0.
    pub fn ramp(level: f64, ramp: Duration) -> Result<Self, ProfileError> {
        Self::stages(0.0, &[StagePlan { length: ramp, level }])
    }

    /// Returns a profile that starts at level `from` and goes through `stages`.
    ///
    /// # Errors
    /// Fails if a level is negative or not a number, or if no level is above 0.
    pub fn stages(from: f64, stages: &[StagePlan]) -> Result<Self, ProfileError> {
        let levels = || stages.iter().map(|stage| stage.level).chain([from]);
        if !levels().all(|level| level.is_finite() && level >= 0.0) {
            return Err(ProfileError::BadLevel);
        }
        if !levels().any(|level| level > 0.0) {
            return Err(ProfileError::NoLoad);
        }
        let mut profile = Self { stages: stages.to_vec(), ..Self::flat(from) };
        for stage in stages {
            let length = stage.length.as_secs_f64();
            if length > 0.0 {
                profile.segments.push(Segment {
                    start: profile.end,
                    length,
                    from: profile.last,
                    to: stage.level,
                    area_before: profile.area,
                });
                profile.end += length;
                profile.area += length * (profile.last + stage.level) / 2.0;
            }
            profile.last = stage.level;
        }
        Ok(profile)
    }

    /// Returns the profile of one of `parts` equal parts. `parts` must be at least 1.
    #[must_use]
    pub fn divided(&self, parts: f64) -> Self {
        let stage = |stage: &StagePlan| StagePlan { level: stage.level / parts, ..*stage };
        let segment = |segment: &Segment| Segment {
            from: segment.from / parts,
            to: segment.to / parts,
            area_before: segment.area_before / parts,
            ..*segment
        };
        Self {
            from: self.from / parts,
            stages: self.stages.iter().map(stage).collect(),
            segments: self.segments.iter().map(segment).collect(),
            last: self.last / parts,
            end: self.end,
            area: self.area / parts,
        }
    }

    /// Returns the level at the start, as specified.
    #[must_use]
    pub fn level_at_start(&self) -> f64 {
        self.from
    }

    /// Returns the stages as specified. The result is empty if the level never changes.
    #[must_use]
    pub fn as_stages(&self) -> &[StagePlan] {
        &self.stages
    }

    /// Returns the level at `seconds` from the start.
    #[must_use]
    pub fn level(&self, seconds: f64) -> f64 {
        match self.segments.iter().find(|segment| seconds < segment.start + segment.length) {
            Some(segment) => segment.from + (segment.to - segment.from) * (seconds - segment.start) / segment.length,
            None => self.last,
        }
    }

    /// Returns the highest level.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.segments.iter().flat_map(|segment| [segment.from, segment.to]).fold(self.last, f64::max)
    }

    /// Returns the total length of the stages.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::from_secs_f64(self.end)
    }

    /// Returns whether the level never changes.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns Λ(t) = ∫ level dt from 0 to `seconds`. For a rate, Λ is the number of operations requested so far.
    #[must_use]
    pub fn area(&self, seconds: f64) -> f64 {
        match self.segments.iter().find(|segment| seconds < segment.start + segment.length) {
            Some(segment) => {
                let inside = (seconds - segment.start).max(0.0);
                let slope = (segment.to - segment.from) / segment.length;
                segment.area_before + inside * (segment.from + slope * inside / 2.0)
            }
            None => self.area + (seconds - self.end) * self.last,
        }
    }

    /// Returns Λ⁻¹(`area`), which is the time in seconds at which ∫ level dt reaches `area`. Returns `None` if the
    /// integral never reaches `area`.
    #[must_use]
    pub fn time_of(&self, area: f64) -> Option<f64> {
        for segment in &self.segments {
            let inside = area - segment.area_before;
            if inside <= segment.length * (segment.from + segment.to) / 2.0 {
                // Solves inside = from·x + slope·x²/2 for x, in a form that avoids loss of digits by cancellation.
                let slope = (segment.to - segment.from) / segment.length;
                let root = (segment.from * segment.from + 2.0 * slope * inside).max(0.0).sqrt();
                let denominator = segment.from + root;
                let x = if denominator > 0.0 { 2.0 * inside / denominator } else { 0.0 };
                return Some(segment.start + x.clamp(0.0, segment.length));
            }
        }
        let rest = area - self.area;
        if rest <= 0.0 {
            return Some(self.end);
        }
        (self.last > 0.0).then(|| self.end + rest / self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profiles() -> impl Strategy<Value = Profile> {
        let stage = (0_u64..20_000, 0.0_f64..5_000.0)
            .prop_map(|(ms, level)| StagePlan { length: Duration::from_millis(ms), level });
        (0.0_f64..5_000.0, prop::collection::vec(stage, 0..6))
            .prop_filter_map("no load", |(from, stages)| Profile::stages(from, &stages).ok())
    }

    proptest! {
        #[test]
        fn time_of_inverts_area(profile in profiles(), seconds in 0.0_f64..120.0) {
            let area = profile.area(seconds);
            let back = profile.time_of(area).unwrap_or(seconds);
            // While the level is 0, the area is the same at many instants. The test therefore compares areas and not
            // instants.
            prop_assert!((profile.area(back) - area).abs() <= 1e-6 * area.max(1.0), "{area} -> {back} -> {}", profile.area(back));
        }

        #[test]
        fn area_is_the_integral_of_level(profile in profiles(), seconds in 0.0_f64..60.0) {
            let steps = 20_000;
            let width = seconds / f64::from(steps);
            let sum: f64 = (0..steps).map(|i| profile.level((f64::from(i) + 0.5) * width) * width).sum();
            // Each jump of the level adds an error of at most the level times `width` to a midpoint sum.
            prop_assert!((sum - profile.area(seconds)).abs() <= 10.0 * 5_000.0 * width + 1e-6 * sum);
        }

        #[test]
        fn times_never_go_back(profile in profiles()) {
            let mut last = 0.0;
            for n in 0..2000 {
                let Some(time) = profile.time_of(f64::from(n) * 7.3) else { break };
                prop_assert!(time >= last - 1e-9);
                last = time;
            }
        }
    }

    #[test]
    fn wrong_levels_are_refused() {
        assert_eq!(Profile::constant(0.0), Err(ProfileError::NoLoad));
        assert_eq!(Profile::constant(-3.0), Err(ProfileError::BadLevel));
        assert_eq!(Profile::constant(f64::NAN), Err(ProfileError::BadLevel));
    }

    #[test]
    fn a_ramp_offers_half_of_its_level() {
        let ramp = Profile::ramp(1000.0, Duration::from_secs(10)).unwrap();
        assert!((ramp.area(10.0) - 5_000.0).abs() < 1e-9);
        assert!((ramp.level(5.0) - 500.0).abs() < 1e-9);
        assert!((ramp.level(99.0) - 1000.0).abs() < 1e-9);
    }
}
