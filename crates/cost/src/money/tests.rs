use super::*;
use crate::date::Date;
use proptest::prelude::*;

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn rate(from: &str, to: &str, value: &str) -> Rate {
    let date: Date = "2018-03-14".parse().unwrap();
    Rate::new(from.parse().unwrap(), to.parse().unwrap(), value.parse().unwrap(), date).unwrap()
}

#[test]
fn amounts_have_a_number_and_a_currency() {
    for (text, printed) in
        [("20USD", "20.00 USD"), ("4377.1 SC", "4377.10 SC"), (" 5_000SC", "5000.00 SC"), ("0.00423USD", "0.0042 USD")]
    {
        assert_eq!(money(text).to_string(), printed);
    }
    for (text, problem) in [
        ("20", "expected a currency code of 2 to 8 capital letters, after the number, such as 20USD or 5000SC"),
        ("$20", "expected a decimal number, such as 0.023, followed by a currency, such as 20USD or 5000SC"),
        ("-20USD", "expected a decimal number, such as 0.023, followed by a currency, such as 20USD or 5000SC"),
        ("20usd", "expected a currency code of 2 to 8 capital letters, after the number, such as 20USD or 5000SC"),
        (
            "5KS",
            "expected SC for siacoins, because amounts in hastings or in multiples of siacoins are easily misread, after \
             the number, such as 20USD or 5000SC",
        ),
    ] {
        assert_eq!(text.parse::<Money>().unwrap_err().to_string(), problem, "{text}");
    }
}

#[test]
fn two_currencies_never_meet_without_a_rate() {
    let (dollars, siacoins) = (money("1USD"), money("1SC"));
    assert_eq!(
        dollars.plus(&siacoins).unwrap_err().to_string(),
        "cannot combine amounts in USD and in SC without a rate between them"
    );
    assert!(dollars.minus(&siacoins).is_err() && dollars.ratio(&siacoins).is_err());
    assert!(Money::total(Currency::US_DOLLAR, [&dollars, &siacoins]).is_err());
    let rates = Rates(vec![rate("EUR", "USD", "1.1")]);
    assert!(
        rates.convert(&siacoins, Currency::US_DOLLAR).unwrap_err().to_string().starts_with("cannot convert SC to USD")
    );
}

#[test]
fn a_stated_rate_converts_both_ways_exactly() {
    // The price of a siacoin at the start of the study's second test.
    let rates = Rates(vec![rate("SC", "USD", "0.013951")]);
    let dollars = rates.convert(&money("4377.1SC"), Currency::US_DOLLAR).unwrap();
    assert_eq!(dollars.amount.to_string(), "61.0649221");
    assert_eq!(rates.convert(&dollars, Currency::SIACOIN).unwrap(), money("4377.1SC"));
    assert!(rates.0[0].convert(&money("1EUR")).is_err());
}

#[test]
fn rates_are_positive_and_between_two_currencies() {
    let stored = |from: &str, value: &str| {
        let json = format!(r#"{{"from":"{from}","to":"USD","value":"{value}","date":"2018-03-14"}}"#);
        serde_json::from_str::<Rate>(&json).map_err(|error| error.to_string())
    };
    assert_eq!(stored("SC", "0.013951"), Ok(rate("SC", "USD", "0.013951")));
    assert!(stored("SC", "0").unwrap_err().contains("above 0") && stored("SC", "-1").is_err());
    assert!(stored("USD", "1").unwrap_err().contains("two different currencies"));
}

#[test]
fn a_siacoin_is_ten_to_the_24_hastings() {
    let hastings = |text: &str| Money::from(text.parse::<Hastings>().unwrap());
    assert_eq!(hastings("4377100000000000000000000000"), money("4377.1SC"));
    assert_eq!(hastings("1").amount.to_string(), "0.000000000000000000000001");
    let lost: SignedHastings = "-2133300000000000000000000000".parse().unwrap();
    assert_eq!(Money::from(lost).to_string(), "-2133.30 SC");
}

proptest! {
    #[test]
    fn sums_of_hastings_are_exact(a in 0..1_u128 << 120, b in 0..1_u128 << 120) {
        let hastings = |number| Hastings::new(number).unwrap();
        let sum = Money::from(hastings(a)).plus(&Money::from(hastings(b))).unwrap();
        prop_assert_eq!(sum.minus(&Money::from(hastings(b))).unwrap(), Money::from(hastings(a)));
        prop_assert_eq!(sum, Money::from(hastings(a + b)));
    }

    #[test]
    fn any_text_is_an_amount_or_an_error(text in "[-0-9. _A-Za-z$€]{0,20}") {
        if let Ok(money) = text.parse::<Money>() {
            let json = serde_json::to_string(&money).unwrap();
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), money);
        }
    }
}
