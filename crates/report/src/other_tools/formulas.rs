//! The formulas of ab and httpbench, so that numbers can be compared with the numbers of these tools.
//!
//! `seconds` (T) is the length of the measurement, `done` is the number of operations that ended, and `concurrency` (c)
//! is the number of slots. A function returns `None` if it would divide by zero.

fn over(value: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| value / divisor)
}

/// Returns ab's "Requests per second": done / T.
#[must_use]
pub fn requests_per_second(done: u64, seconds: f64) -> Option<f64> {
    over(done as f64, seconds)
}

/// Returns ab's "Time per request (mean)", in milliseconds: c·T·1000 / done.
#[must_use]
pub fn time_per_request_ms(concurrency: f64, seconds: f64, done: u64) -> Option<f64> {
    over(concurrency * seconds * 1000.0, done as f64)
}

/// Returns ab's "Time per request (mean, across all concurrent requests)", in milliseconds: T·1000 / done.
#[must_use]
pub fn time_across_all_ms(seconds: f64, done: u64) -> Option<f64> {
    over(seconds * 1000.0, done as f64)
}

/// Returns ab's "Transfer rate" in KiB per second: bytes / 1024 / T. In ab's output, the unit is called Kbytes.
#[must_use]
pub fn kib_per_second(bytes: u64, seconds: f64) -> Option<f64> {
    over(bytes as f64 / 1024.0, seconds)
}

/// Returns httpbench's rate in decimal GB per second.
#[must_use]
pub fn gigabytes_per_second(bytes: u64, seconds: f64) -> Option<f64> {
    over(bytes as f64 / 1e9, seconds)
}

/// Returns httpbench's rate in Gbit per second.
#[must_use]
pub fn gigabits_per_second(bytes: u64, seconds: f64) -> Option<f64> {
    over(bytes as f64 * 8.0 / 1e9, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, truth: f64, slack: f64) {
        let found = found.expect("a value");
        assert!((found - truth).abs() <= slack, "found {found}, published {truth}");
    }

    /// Alluxio's published httpbench run.
    #[test]
    fn httpbench_as_published() {
        near(gigabytes_per_second(390_860_000_000, 35.03), 11.16, 0.005);
        near(gigabits_per_second(390_860_000_000, 35.03), 89.3, 0.05);
    }

    /// Filestash's published ab run. The printed duration is rounded to 5.449 s, but the other numbers were computed
    /// from 5.448549 s.
    #[test]
    fn ab_as_published() {
        near(requests_per_second(100_000, 5.449), 18_351.99, 0.01);
        let seconds = 100_000.0 / 18_353.51;
        near(requests_per_second(100_000, seconds), 18_353.51, 0.005);
        near(time_per_request_ms(500.0, seconds, 100_000), 27.243, 0.000_5);
        near(time_across_all_ms(seconds, 100_000), 0.054, 0.000_5);
        near(kib_per_second(1_013_758_486, seconds), 181_699.45, 0.05);
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert_eq!(requests_per_second(5, 0.0), None);
        assert_eq!(time_per_request_ms(1.0, 1.0, 0), None);
        assert_eq!(time_across_all_ms(1.0, 0), None);
        assert_eq!(kib_per_second(1, 0.0), None);
        assert_eq!((gigabytes_per_second(1, 0.0), gigabits_per_second(1, 0.0)), (None, None));
    }
}
