//! Shares in percent, such as `0.1%`.

use super::UnitError;

/// Parses a share from `0%` to `100%`. Returns it as a number from 0 to 1.
///
/// # Errors
/// Fails if the text is not such a share. The error contains the text.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let percent: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| UnitError::new(format!("`{text}` is not a share from 0% to 100%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_need_a_percent_sign_and_a_value_in_range() {
        for (text, share) in [("0%", 0.0), ("0.1%", 0.001), ("99.9 %", 0.999), ("100%", 1.0)] {
            assert!((parse_share(text).unwrap() - share).abs() < 1e-12, "{text}");
        }
        for text in ["", "%", "1", "-1%", "100.1%", "NaN%", "one%"] {
            assert!(parse_share(text).unwrap_err().to_string().contains("from 0% to 100%"), "{text}");
        }
    }
}
