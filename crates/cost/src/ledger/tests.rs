use super::*;
use proptest::prelude::*;
use sia::siad::{ContractTotals, Sample, WalletTotals};
use sia::{Hastings, Siacoins, UtcSecond};
use std::time::Duration;

fn hastings(siacoins: &str) -> Hastings {
    siacoins.parse::<Siacoins>().unwrap().in_hastings()
}

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}

/// The renter's report at the end of the study's real-data test.
fn study_contracts() -> ContractTotals {
    ContractTotals {
        count: 62,
        size_bytes: 16_900_000_000_000,
        total_cost: hastings("2866.7"),
        fees: hastings("640.6"),
        storage: hastings("1508.8"),
        upload: hastings("94.3"),
        download: Hastings::ZERO,
        remaining: hastings("622.9"),
    }
}

fn sample(contracts: ContractTotals, [confirmed, outgoing, incoming]: [&str; 3]) -> Sample {
    let wallet =
        WalletTotals { confirmed: hastings(confirmed), outgoing: hastings(outgoing), incoming: hastings(incoming) };
    Sample::new(UtcSecond(0), Some(contracts), None, Some(wallet), Duration::ZERO)
}

fn ledger(contracts: ContractTotals, wallet: &str) -> Ledger {
    Ledger::of_siad(&sample(contracts, [wallet, "0", "0"])).unwrap()
}

/// The table "Cost accounting is unreliable" of the study's last report.
#[test]
fn discrepancies_of_the_study() {
    for (renter, start, end, lost) in
        [("2966.7", "5000", "0", "-2033.3"), ("2866.7", "5000", "0", "-2133.3"), ("2833.3", "5000", "1800", "-366.7")]
    {
        let before = ledger(ContractTotals::default(), start);
        let contracts = ContractTotals { total_cost: hastings(renter), ..ContractTotals::default() };
        let gap = before.wealth_gap(&ledger(contracts, end)).unwrap();
        assert_eq!(gap.amount, exact(lost));
    }
}

/// The study's four components and the remaining money add up to 0.1 SC less than the total printed next to them.
#[test]
fn contracts_cost_what_was_spent_and_what_remains() {
    let mut contracts = study_contracts();
    assert_eq!(ledger(contracts, "0").contract_gap().unwrap().to_string(), "0.10 SC");
    contracts.total_cost = hastings("2866.6");
    assert!(ledger(contracts, "0").contract_gap().unwrap().amount.is_zero());
    contracts.fees = hastings("640.600000000000000000000001");
    assert_eq!(ledger(contracts, "0").contract_gap().unwrap().amount, exact("-0.000000000000000000000001"));
}

#[test]
fn money_on_its_way_is_counted_once() {
    let before = ledger(ContractTotals::default(), "5000");
    let formed = ContractTotals { total_cost: hastings("100"), ..ContractTotals::default() };
    for wallet in [["5000", "400", "300"], ["4900", "0", "0"]] {
        let after = Ledger::of_siad(&sample(formed, wallet)).unwrap();
        assert!(before.wealth_gap(&after).unwrap().amount.is_zero(), "{wallet:?}");
    }
    let unknown = Sample { wallet: None, ..sample(formed, ["0", "0", "0"]) };
    assert_eq!(Ledger::of_siad(&unknown), None);
}

#[test]
fn sums_that_fall_are_found() {
    let less = ContractTotals { storage: hastings("1508"), ..study_contracts() };
    let (before, after) = (ledger(study_contracts(), "0"), ledger(less, "0"));
    let fell = before.decreases(&after).unwrap();
    assert_eq!(fell.len(), 1);
    assert_eq!((fell[0].name.as_str(), fell[0].before.to_string()), ("storage_spending", "1508.80 SC".to_owned()));
    assert_eq!(fell[0].after.minus(&fell[0].before).unwrap().to_string(), "-0.80 SC");
    assert!(after.decreases(&before).unwrap().is_empty() && before.decreases(&before).unwrap().is_empty());
    let dollars = Ledger { currency: Currency::US_DOLLAR, ..before.clone() };
    assert!(before.decreases(&dollars).is_err() && before.wealth_gap(&dollars).is_err());
}

#[test]
fn spending_between_two_ledgers_is_a_bill() {
    let before = ledger(ContractTotals { upload: hastings("4.3"), ..ContractTotals::default() }, "5000");
    let bill = before.spent_until(&ledger(study_contracts(), "0"), "siad").unwrap();
    assert_eq!(bill.amount(Component::Upload).unwrap().to_string(), "90.00 SC");
    assert_eq!(bill.amount(Component::Requests).unwrap().to_string(), "0.00 SC");
    assert_eq!(bill.total().money.to_string(), "2239.40 SC");
}

#[test]
fn renterd_reports_neither_storage_nor_what_was_put_into_contracts() {
    let spending = sia::renterd::Spending {
        uploads: hastings("3"),
        fund_account: hastings("2"),
        deletions: hastings("0.5"),
        sector_roots: hastings("0.25"),
    };
    let contracts = sia::renterd::ContractTotals {
        count: 3,
        size_bytes: 1 << 30,
        fees: hastings("1"),
        spending,
        remaining: hastings("93.25").signed(),
    };
    let wallet = |spendable: &str, unconfirmed: &str| sia::renterd::Wallet {
        spendable: hastings(spendable),
        confirmed: hastings("1000"),
        unconfirmed: hastings(unconfirmed),
        immature: Hastings::ZERO,
    };
    let ledger = |contracts, wallet| {
        Ledger::of_renterd(&sia::renterd::Sample::new(
            UtcSecond(0),
            Some(contracts),
            None,
            Some(wallet),
            None,
            Duration::ZERO,
        ))
        .unwrap()
    };
    let before = ledger(sia::renterd::ContractTotals::default(), wallet("1000", "0"));
    // The payment for the contracts takes 400 SC from the wallet and returns 300 SC as change.
    let after = ledger(contracts, wallet("600", "300"));
    assert_eq!(after.contract_gap(), None);
    assert!(before.wealth_gap(&after).unwrap().amount.is_zero());
    let bill = before.spent_until(&after, "renterd").unwrap();
    assert_eq!(bill.amount(Component::Other).unwrap().to_string(), "2.75 SC");
    assert_eq!(bill.amount(Component::Upload).unwrap().to_string(), "3.00 SC");
    let json = serde_json::to_string(&after).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), after);
}

/// Returns random totals for a comparison with the rules of the crate `sia`. Those rules are applied to samples instead
/// of ledgers, and must give the same results.
fn totals() -> impl Strategy<Value = ContractTotals> {
    proptest::array::uniform6(0..1_u128 << 100).prop_map(|amounts| {
        let [total_cost, fees, storage, upload, download, remaining] =
            amounts.map(|amount| Hastings::new(amount).unwrap());
        ContractTotals { count: 1, size_bytes: 1, total_cost, fees, storage, upload, download, remaining }
    })
}

proptest! {
    #[test]
    fn gaps_are_those_of_the_samples(before in totals(), after in totals(), wallets: [u64; 6]) {
        let sample = |totals, wallets: &[u64]| {
            let [confirmed, outgoing, incoming] = [0, 1, 2].map(|index: usize| Hastings::new(wallets[index].into()).unwrap());
            let wallet = WalletTotals { confirmed, outgoing, incoming };
            Sample::new(UtcSecond(0), Some(totals), None, Some(wallet), Duration::ZERO)
        };
        let (first, later) = (sample(before, &wallets[..3]), sample(after, &wallets[3..]));
        let (start, end) = (Ledger::of_siad(&first).unwrap(), Ledger::of_siad(&later).unwrap());
        let gap = sia::invariants::contract_gap(&after).unwrap();
        prop_assert_eq!(end.contract_gap().unwrap(), Money::from(gap));
        let gap = sia::invariants::wealth_gap(&first, &later).unwrap();
        prop_assert_eq!(start.wealth_gap(&end).unwrap(), Money::from(gap));
        let mut watch = sia::invariants::CounterWatch::default();
        watch.siad(&first);
        let fell: Vec<_> = watch.siad(&later).iter().map(|fell| fell.counter.column()).collect();
        let mut ours: Vec<_> = start.decreases(&end).unwrap().into_iter().map(|fell| fell.name).collect();
        ours.sort();
        let mut fell: Vec<String> = fell.into_iter().map(str::to_owned).collect();
        fell.sort();
        prop_assert_eq!(ours, fell);
    }
}
