//! Selection of values from a response. If some values are missing, there is a failure.

use measure::series::{Column, FailureClass, Number, PollFailure};

/// A column, and the position of its value in a response.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked<P> {
    /// The column.
    pub column: Column,
    /// The position of its value in the response.
    pub pick: P,
    /// `true` if a response without this value is a failure. The columns of predefined sets are optional, because a set
    /// is used for several versions of a system.
    pub required: bool,
}

/// `Ok` contains the values of a response, and a failure if some values are missing. `Err` is a failure of the whole
/// response.
pub(super) type Parsed = Result<(Vec<Option<Number>>, Option<PollFailure>), PollFailure>;

/// Returns the failure if a required value is missing, or if all values are missing.
pub(super) fn missing<P>(picked: &[Picked<P>], values: &[Option<Number>]) -> Option<PollFailure> {
    let absent = || picked.iter().zip(values).filter(|(_, value)| value.is_none()).map(|(picked, _)| picked);
    let required = || absent().filter(|picked| picked.required);
    if let Some(first) = required().next() {
        let more = match required().count() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        return Some(PollFailure::new(FailureClass::Missing, &format!("{}{more}", first.column.name)));
    }
    let none = !picked.is_empty() && absent().count() == picked.len();
    none.then(|| PollFailure::new(FailureClass::Missing, "the response has none of the expected values"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::series::{ColumnKind, ColumnUnit};

    fn picked(name: &str, required: bool) -> Picked<()> {
        Picked { column: Column::new(name, ColumnKind::Gauge, ColumnUnit::Count).unwrap(), pick: (), required }
    }

    #[test]
    fn required_values_and_one_of_the_others_must_be_there() {
        let columns = [picked("a", true), picked("b", true), picked("c", false)];
        let one = || Some(Number::from(1));
        let about = |values: &[Option<Number>]| missing(&columns, values).map(|failure| failure.detail);
        assert_eq!(about(&[one(), one(), None]), None);
        assert_eq!(about(&[one(), None, one()]), Some("b".into()));
        assert_eq!(about(&[None, None, one()]), Some("a and 1 more".into()));
        let optional = [picked("c", false), picked("d", false)];
        assert_eq!(missing(&optional, &[None, one()]), None);
        assert!(missing(&optional, &[None, None]).is_some());
    }
}
