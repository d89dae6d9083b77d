use super::*;
use crate::date::Date;

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// A run whose inputs are all known.
fn inputs() -> StudyInputs {
    let date: Date = "2018-03-11".parse().unwrap();
    let rate = Rate::new("SC".parse().unwrap(), "USD".parse().unwrap(), "0.013951".parse().unwrap(), date).unwrap();
    StudyInputs {
        file_bytes: 4_779_487_970_000,
        absolute_bytes: Some(16_900_000_000_000),
        files: 2626,
        contracts: Some(62),
        money: Some(StudyMoney {
            left_wallet: money("5000SC"),
            remaining: money("622.9SC"),
            upload: Some(money("94.3SC")),
            fees: Some(money("640.6SC")),
            reported: Some(money("2243.8SC")),
            rate: Some(rate),
            contract: "2.77 months".parse().unwrap(),
        }),
        wall_time: Hours("231.7".parse().unwrap()),
        active_time: Some(Hours("214.7".parse().unwrap())),
        unplanned_restarts: Some(0),
        files_above_target: Some(12),
        download: Some(Download {
            bytes: 2_000_000_000_000,
            time: Hours("50".parse().unwrap()),
            cost: Some(money("25SC")),
        }),
    }
}

#[test]
fn every_row_has_a_value() {
    let rows = Row::PUBLISHED.iter().chain(&Row::FURTHER);
    let cells: Vec<String> = rows.map(|row| inputs().cell(*row).to_string()).collect();
    assert_eq!(
        cells,
        [
            "4.3 TiB",
            "15.4 TiB",
            "28.3 %",
            "2,626",
            "62",
            "4,377.10 SC (61.06 USD)",
            "4.51 USD",
            "231.7 hours (9.7 days)",
            "45.8 Mbit/s",
            "162.1 Mbit/s",
            "0",
            "49.5 Mbit/s",
            "28.5 %",
            "12",
            "88.9 Mbit/s",
            "12.50 SC",
        ]
    );
    assert_eq!(
        inputs().footnotes(),
        [
            "Total spent is the money that left the wallet, minus the money in contracts that is assumed to come back.",
            "1 SC = 0.013951 USD on 2018-03-11.",
            "Cost per TB (10^12 bytes) and month is for contracts of 2.77 months. It includes fees and excludes uploads.",
        ]
    );
}

#[test]
fn a_cell_without_its_input_names_it() {
    let unknown = StudyInputs {
        absolute_bytes: None,
        contracts: None,
        money: None,
        active_time: None,
        unplanned_restarts: None,
        files_above_target: None,
        download: None,
        ..inputs()
    };
    let rows = Row::PUBLISHED.iter().chain(&Row::FURTHER);
    let missing = rows.filter(|row| matches!(unknown.cell(**row), Cell::Missing(Missing::Input(_)))).count();
    assert_eq!(missing, 12);
    assert_eq!(unknown.cell(Row::StorageEfficiency).to_string(), "n/a (not known: absolute bytes)");
    assert!(unknown.footnotes().is_empty());
    let json = serde_json::to_value(unknown.cell(Row::Spent)).unwrap();
    assert_eq!(json, serde_json::json!({"missing": "not known: spending"}));
    let json = serde_json::to_value(inputs().cell(Row::CostPerTbMonth)).unwrap();
    assert_eq!(json["known"][0]["money"]["currency"], "USD");
}

#[test]
fn a_run_of_nothing_divides_by_nothing() {
    let mut empty = StudyInputs {
        file_bytes: 0,
        absolute_bytes: Some(0),
        wall_time: Hours(Exact::zero()),
        active_time: Some(Hours(Exact::zero())),
        download: Some(Download { bytes: 0, time: Hours(Exact::zero()), cost: Some(money("0SC")) }),
        ..inputs()
    };
    empty.money.as_mut().unwrap().reported = Some(money("0SC"));
    let rows = Row::PUBLISHED.iter().chain(&Row::FURTHER);
    let zeros = rows.filter(|row| matches!(empty.cell(**row), Cell::Missing(Missing::Zero(_)))).count();
    assert_eq!(zeros, 8);
    assert_eq!(empty.cell(Row::FileBandwidth).to_string(), "n/a (time: 0)");
}

#[test]
fn money_in_two_currencies_is_never_added() {
    let mut mixed = inputs();
    mixed.money.as_mut().unwrap().remaining = money("622.9USD");
    for row in [Row::Spent, Row::CostPerTbMonth] {
        let cell = mixed.cell(row).to_string();
        assert_eq!(cell, "n/a (cannot combine amounts in SC and in USD without a rate between them)");
    }
}

#[test]
fn ledgers_of_the_study_give_its_row() {
    let hastings = |text: &str| text.parse::<sia::Siacoins>().unwrap().in_hastings();
    let ledger = |contracts, confirmed: &str| {
        let zero = sia::Hastings::ZERO;
        let wallet = Some(sia::siad::WalletTotals { confirmed: hastings(confirmed), outgoing: zero, incoming: zero });
        let latency = std::time::Duration::ZERO;
        let sample = sia::siad::Sample::new(sia::UtcSecond(0), Some(contracts), None, wallet, latency);
        crate::Ledger::of_siad(&sample).unwrap()
    };
    let contracts = sia::siad::ContractTotals {
        total_cost: hastings("2866.7"),
        fees: hastings("640.6"),
        storage: hastings("1508.8"),
        upload: hastings("94.3"),
        remaining: hastings("622.9"),
        ..Default::default()
    };
    let (start, end) = (ledger(sia::siad::ContractTotals::default(), "5000"), ledger(contracts, "0"));
    let published = inputs().money.unwrap();
    let from_ledgers =
        StudyMoney::of_ledgers(&start, &end, published.rate.clone(), published.contract.clone()).unwrap();
    // The study published rounded amounts for the components of the spending. The sum of these amounts is 0.1 SC below
    // the published sum.
    assert_eq!(from_ledgers, StudyMoney { reported: Some(money("2243.7SC")), ..published });
}

#[test]
fn a_bill_gives_the_row_of_systems_without_wallets() {
    let sheet = crate::PriceSheet::parse(crate::price_sheet::shipped("s3-standard").unwrap()).unwrap();
    let month: Months = "1 month".parse().unwrap();
    let bill = sheet.bill(&crate::Usage::of_plan(1 << 40, 1_000_000, month.clone()));
    let table = StudyInputs { file_bytes: 1 << 40, money: StudyMoney::of_bill(&bill, month), ..inputs() };
    // Requests cost 5 USD, and storage costs 23.552 USD.
    assert_eq!(table.cell(Row::Spent).to_string(), "28.55 USD");
    assert_eq!(table.cell(Row::CostPerTbMonth).to_string(), "25.97 USD");
    assert_eq!(table.footnotes().len(), 2);
}
