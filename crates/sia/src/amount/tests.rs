use proptest::prelude::*;

use super::*;

fn siacoins(text: &str) -> Hastings {
    text.parse::<Siacoins>().unwrap().in_hastings()
}

#[test]
fn the_amounts_of_the_study_are_exact() {
    // The study's real-data test: 5,000 SC in the wallet, 622.9 SC left in contracts, 94.3 SC spent on uploads.
    let spent = siacoins("5000").minus(siacoins("622.9")).amount().unwrap();
    assert_eq!(spent.in_siacoins().to_string(), "4377.1");
    assert_eq!(spent.get(), 4_377_100_000_000_000_000_000_000_000);
    let without_uploads = spent.minus(siacoins("94.3")).amount().unwrap();
    assert_eq!(without_uploads.in_siacoins().to_string(), "4282.8");
}

#[test]
fn amounts_are_decimal_digits() {
    assert_eq!("0".parse(), Ok(Hastings::ZERO));
    assert_eq!("340282366920938463463374607431768211455".parse::<Hastings>(), Err(AmountError::TooLarge));
    assert_eq!("170141183460469231731687303715884105727".parse(), Ok(Hastings(MAX)));
    assert_eq!("170141183460469231731687303715884105728".parse::<Hastings>(), Err(AmountError::TooLarge));
    for text in ["", "-1", "+1", "1.0", " 1", "1e3", "0x1", "1 SC", "١"] {
        assert_eq!(text.parse::<Hastings>(), Err(AmountError::NotANumber), "{text}");
    }
}

#[test]
fn siacoins_parse_exactly() {
    assert_eq!(siacoins("0.000000000000000000000001"), Hastings(1));
    assert_eq!(siacoins("1.500000000000000000000000000"), Hastings(PER_SIACOIN / 2 * 3));
    assert_eq!("0.0000000000000000000000001".parse::<Siacoins>(), Err(AmountError::TooPrecise));
    assert_eq!("999999999999999".parse::<Siacoins>(), Err(AmountError::TooLarge));
    for text in ["", ".", "1.", ".5", "-1", "1,5", "1.5.5", "1.x"] {
        assert_eq!(text.parse::<Siacoins>(), Err(AmountError::NotANumber), "{text}");
    }
}

#[test]
fn siacoins_show_as_many_decimals_as_asked_for() {
    let amount = siacoins("4282.8").in_siacoins();
    assert_eq!((format!("{amount}"), format!("{amount:.0}")), ("4282.8".to_owned(), "4283".to_owned()));
    assert_eq!(format!("{amount:.3}"), "4282.800");
    assert_eq!(format!("{:.2}", siacoins("0.005").in_siacoins()), "0.01");
    assert_eq!(format!("{:.2}", siacoins("0.004999").in_siacoins()), "0.00");
    assert_eq!(format!("{:.24}", Hastings(1).in_siacoins()), "0.000000000000000000000001");
    assert_eq!(Hastings::ZERO.in_siacoins().to_string(), "0");
    assert_eq!(Hastings(1).minus(siacoins("2.5")).to_siacoins(), "-2.499999999999999999999999");
}

#[test]
fn only_strings_are_amounts_in_json() {
    assert_eq!(serde_json::from_str::<Hastings>("\"12\"").unwrap(), Hastings(12));
    assert_eq!(serde_json::to_string(&Hastings(12)).unwrap(), "\"12\"");
    for (json, problem) in [
        ("12", "invalid type: integer `12`, expected an amount of hastings as a string of decimal digits"),
        ("\"1 SC\"", "expected decimal digits, got \"1 SC\""),
        ("null", "invalid type: null, expected an amount of hastings"),
    ] {
        let error = serde_json::from_str::<Hastings>(json).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

proptest! {
    #[test]
    fn every_amount_survives_its_text(hastings in 0..=MAX) {
        let amount = Hastings(hastings);
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        prop_assert_eq!(amount.in_siacoins().to_string().parse(), Ok(amount.in_siacoins()));
    }

    #[test]
    fn differences_never_overflow(a in 0..=MAX, b in 0..=MAX) {
        let (a, b) = (Hastings(a), Hastings(b));
        prop_assert_eq!(a.minus(b).get(), -b.minus(a).get());
        prop_assert_eq!(a.minus(b).to_string().parse(), Ok(a.minus(b)));
        prop_assert_eq!(b.signed().checked_add(a.minus(b)), Some(a.signed()));
        prop_assert_eq!(a.checked_add(b).is_some(), a.0.checked_add(b.0).is_some_and(|sum| sum <= MAX));
    }

    #[test]
    fn any_text_is_an_amount_or_an_error(text in "[-+0-9. eSC]{0,45}") {
        let _ = text.parse::<Hastings>();
        let _ = text.parse::<Siacoins>();
        let _ = text.parse::<SignedHastings>();
    }
}
