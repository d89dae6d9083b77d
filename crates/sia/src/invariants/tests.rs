use std::time::Duration;

use super::*;
use crate::siad::{ContractTotals, WalletTotals};
use crate::{Siacoins, UtcSecond};

fn siacoins(text: &str) -> Hastings {
    text.parse::<Siacoins>().unwrap().in_hastings()
}

/// Totals of contracts that cost 5,000 SC: 4,377.1 SC of fees and spending, and 622.9 SC that remain.
fn contracts() -> ContractTotals {
    ContractTotals {
        count: 62,
        size_bytes: 16_900_000_000_000,
        total_cost: siacoins("5000"),
        fees: siacoins("1200.25"),
        storage: siacoins("3082.55"),
        upload: siacoins("94.3"),
        download: Hastings::ZERO,
        remaining: siacoins("622.9"),
    }
}

fn sample(contracts: Option<ContractTotals>, wallet: [&str; 3]) -> siad::Sample {
    let [confirmed, outgoing, incoming] = wallet.map(siacoins);
    let wallet = Some(WalletTotals { confirmed, outgoing, incoming });
    siad::Sample::new(UtcSecond(0), contracts, None, wallet, Duration::ZERO)
}

#[test]
fn a_contract_costs_what_it_was_spent_on() {
    assert!(contract_gap(&contracts()).unwrap().is_zero());
    let lost = ContractTotals { upload: siacoins("90"), ..contracts() };
    assert_eq!(contract_gap(&lost).unwrap().to_siacoins(), "4.3");
    let twice = ContractTotals { fees: siacoins("1200.250000000000000000000001"), ..contracts() };
    assert_eq!(contract_gap(&twice).unwrap().get(), -1);
}

#[test]
fn money_on_its_way_to_a_contract_is_counted_once() {
    let before = sample(Some(ContractTotals::default()), ["5000", "0", "0"]);
    let formed = ContractTotals { total_cost: siacoins("100"), ..ContractTotals::default() };
    // The payment takes 400 SC from the wallet and returns 300 SC as change.
    let unconfirmed = sample(Some(formed), ["5000", "400", "300"]);
    let confirmed = sample(Some(formed), ["4900", "0", "0"]);
    assert!(wealth_gap(&before, &unconfirmed).unwrap().is_zero());
    assert!(wealth_gap(&before, &confirmed).unwrap().is_zero());
    let lost = sample(Some(formed), ["2800", "0", "0"]);
    assert_eq!(wealth_gap(&before, &lost).unwrap().to_siacoins(), "-2100");
    assert_eq!(wealth_gap(&before, &sample(None, ["4900", "0", "0"])), None);
}

#[test]
fn falling_counters_are_found_once_and_across_gaps() {
    let mut watch = CounterWatch::default();
    let wallet = ["0"; 3];
    let less = ContractTotals { storage: siacoins("3082"), upload: siacoins("94.2"), ..contracts() };
    assert!(watch.siad(&sample(Some(contracts()), wallet)).is_empty());
    assert!(watch.siad(&sample(Some(contracts()), wallet)).is_empty());
    assert!(watch.siad(&sample(None, wallet)).is_empty());
    let fell = watch.siad(&sample(Some(less), wallet));
    let found: Vec<_> = fell.iter().map(|fell| (fell.counter.column(), fell.by().to_siacoins())).collect();
    assert_eq!(found, [("storage_spending", "0.55".to_owned()), ("upload_spending", "0.1".to_owned())]);
    assert!(watch.siad(&sample(Some(less), wallet)).is_empty());
}

#[test]
fn falling_counters_of_renterd_are_found() {
    let mut watch = CounterWatch::default();
    let sample = |uploads: &str, fees: &str| {
        let spending = renterd::Spending { uploads: siacoins(uploads), ..renterd::Spending::default() };
        let contracts = renterd::ContractTotals { fees: siacoins(fees), spending, ..Default::default() };
        renterd::Sample::new(UtcSecond(0), Some(contracts), None, None, None, Duration::ZERO)
    };
    assert!(watch.renterd(&sample("1", "2")).is_empty());
    assert!(watch.renterd(&sample("1.5", "2")).is_empty());
    let fell = watch.renterd(&sample("1.5", "1.75"));
    assert_eq!(fell, [Decrease { counter: Counter::Fees, from: siacoins("2"), to: siacoins("1.75") }]);
}
