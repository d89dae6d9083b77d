use super::*;
use proptest::prelude::*;

fn diagnostics(text: &str) -> Vec<String> {
    PriceSheet::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

/// A price sheet that uses every key.
const FULL: &str = "\
name: Example
currency: EUR
date: 2026-01-31
source: https://example.com/prices
notes: Made up.
redundancy: 1.5
storage: {price: 4.20, per: TiB, bytes: absolute, minimum: 30 days}
upload: {price: 0.1, per: GB, bytes: file}
download: {price: 0.2, per: GB}
requests: {put: 0.01, get: 0.001, list: 0.01, delete: 0}
fees: {fixed: 1, per_contract: 0.05, contracts: 50}
term: 3 months
rates: [{from: EUR, to: USD, value: 1.1, date: 2026-01-30}]
";

#[test]
fn every_key_is_read() {
    let sheet = PriceSheet::parse(FULL).unwrap();
    let storage = sheet.storage.clone().unwrap();
    assert_eq!(storage.data.bytes, Basis::Absolute { redundancy: "1.5".parse().unwrap() });
    assert_eq!((storage.data.price.to_string(), storage.data.per), ("4.2".to_owned(), DataUnit::Tebibyte));
    assert_eq!(storage.minimum, Some("30 days".parse().unwrap()));
    assert_eq!(sheet.upload.as_ref().unwrap().bytes, Basis::File);
    assert_eq!(sheet.download.as_ref().unwrap().bytes, Basis::Transferred);
    assert_eq!(sheet.requests.delete, Some(Exact::zero()));
    assert_eq!(sheet.fees.as_ref().unwrap().contracts, 50);
    assert_eq!(sheet.rates.0.len(), 1);
    let json = serde_json::to_string(&sheet).unwrap();
    assert_eq!(serde_json::from_str::<PriceSheet>(&json).unwrap(), sheet);
}

#[test]
fn shipped_price_sheets_are_valid() {
    for (name, text) in SHIPPED {
        let sheet = PriceSheet::parse(text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert!(sheet.source.is_some_and(|source| source.starts_with("https://")), "{name}");
        assert!(sheet.notes.is_some(), "{name}");
    }
    assert!(shipped("s3-standard").is_some() && shipped("unknown").is_none());
}

/// The response of siad 1.3.1 before the study's second test. The study did not publish the download price, so it is
/// invented.
#[test]
fn the_prices_of_a_running_siad_are_a_sheet() {
    let siacoins = |text: &str| text.parse::<sia::Siacoins>().unwrap().in_hastings();
    let prices = sia::siad::Prices {
        download_tb: siacoins("25"),
        form_contracts: siacoins("56.2"),
        storage_tb_month: siacoins("96.5"),
        upload_tb: siacoins("27.7"),
    };
    let date = "2018-03-11".parse().unwrap();
    let snapshot = PriceSheet::of_siad(&prices, date, "2.77 months".parse().unwrap(), Rates::default());
    let published = PriceSheet::parse(shipped("sia-2018").unwrap()).unwrap();
    assert_eq!((&snapshot.storage, &snapshot.upload), (&published.storage, &published.upload));
    assert_eq!((&snapshot.fees, &snapshot.term), (&published.fees, &published.term));
    assert_eq!(snapshot.download.unwrap().price, Exact::from(25_u64));
    assert_eq!(PriceSheet::of_siad(&prices, date, Months::zero(), Rates::default()).term, None);
}

#[test]
fn each_mistake_has_its_position_and_its_fix() {
    for (from, to, at, message) in [
        ("name: Example\n", "", "1:1", "a price sheet needs `name`, e.g. name: My provider"),
        ("currency: EUR", "currency: hastings", "2:11", "`currency`: expected SC for siacoins, because amounts in"),
        ("currency: EUR", "currency: €", "2:11", "`currency`: expected a currency code of 2 to 8 capital letters"),
        ("2026-01-31", "31.1.2026", "3:7", "`date`: expected a date, such as 2018-03-14, got `31.1.2026`"),
        ("redundancy: 1.5\n", "", "6:41", "a price of absolute bytes needs `redundancy`"),
        ("redundancy: 1.5", "redundancy: 0.5", "6:13", "`redundancy` must be at least 1"),
        ("4.20", "4,20", "7:20", "unknown `20`; `storage` has the keys price, per, bytes, minimum"),
        ("price: 4.20", "price: -4.20", "7:18", "`price`: expected a decimal number, such as 0.023, got `-4.20`"),
        ("per: TiB", "per: T", "7:29", "`per` has the unknown unit `T`; use GB (10^9 bytes), GiB (2^30), TB (10^12)"),
        ("per: TiB, ", "", "7:10", "`storage` needs `per`, e.g. per: TB"),
        ("bytes: absolute", "bytes: transferred", "7:41", "unknown `transferred`; `bytes` can be file, absolute"),
        (
            "30 days",
            "30",
            "7:60",
            "`minimum`: expected a time, such as 3 months, 12 weeks, 30 days or 36 hours, got `30`",
        ),
        ("get: 0.001", "gett: 0.001", "10:23", "unknown `gett`; `requests` has the keys put, get, list, delete"),
        (
            ", contracts: 50",
            "",
            "11:7",
            "to estimate a fee per contract, add the number of contracts, e.g. contracts: 50",
        ),
        ("contracts: 50", "contracts: 50.5", "11:49", "`contracts` must be a number of contracts, got `50.5`"),
        ("term: 3 months", "term: 0 months", "12:7", "`term` must be above 0"),
        ("to: USD", "to: EUR", "13:9", "a rate needs two different currencies"),
        ("value: 1.1", "value: 0", "13:9", "a rate must be above 0"),
        ("date: 2026-01-30", "day: 2026-01-30", "13:42", "unknown `day`; a rate has the keys from, to, value, date"),
        ("name: Example", "name: [a]", "1:7", "`name` must be a single value, not a list or a map"),
    ] {
        assert!(FULL.contains(from), "{from}");
        let found = diagnostics(&FULL.replacen(from, to, 1));
        let expected = format!("{at}: {message}");
        // One mistake can cause two diagnostics: for example, an invalid key also leaves a required key missing.
        assert!(found.iter().any(|found| found.starts_with(&expected)), "{from} → {to}: {found:?}");
    }
}

#[test]
fn all_mistakes_are_reported_in_order() {
    let found = diagnostics("currency: usd\nstorage: 5\nnam: x\n");
    let lines: Vec<&str> = found.iter().map(|found| found.split_once(": ").unwrap().0).collect();
    assert_eq!(lines, ["1:1", "1:1", "1:11", "2:10", "3:1"], "{found:?}");
}

#[test]
fn files_that_are_no_price_sheets_are_refused() {
    for (text, problem) in [
        ("", "1:1: the file is empty; docs/cost.md shows what a price sheet contains"),
        ("# only a comment\n\n", "1:1: the file is empty; docs/cost.md shows what a price sheet contains"),
        ("[1]", "1:1: a price sheet must be a map with the keys name, currency, date"),
        ("a: 1\na: 2", "2:1: `a` appears a second time; remove one of them"),
    ] {
        let found = diagnostics(text);
        assert!(found.len() == 1 && found[0].starts_with(problem), "{found:?}");
    }
    assert!(diagnostics("a: [")[0].contains("this is not YAML"));
    assert!(diagnostics(&" ".repeat(70_000))[0].contains("larger than 64 KiB"));
    let twice = FULL.replace("}]", "}, {from: USD, to: EUR, value: 0.9, date: 2026-01-30}]");
    assert!(diagnostics(&twice)[0].contains("a second rate between USD and EUR"), "{:?}", diagnostics(&twice));
}

/// Returns a price sheet as JSON, the form that editors check.
fn as_json(text: &str) -> serde_json::Value {
    use study::scenario::yaml::{Node, Value, parse};
    fn value(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Null => serde_json::Value::Null,
            Value::Text(text) => text.parse::<f64>().map_or_else(
                |_| text.as_str().into(),
                |number| {
                    // Editors parse a number such as 50 as an integer.
                    text.parse::<u64>().map_or_else(|_| number.into(), Into::into)
                },
            ),
            Value::List(items) => items.iter().map(value).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), value(&entry.node)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
    value(&parse(text).unwrap())
}

#[test]
fn the_published_schema_is_up_to_date_and_agrees_with_the_parser() {
    let printed = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/prices.schema.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &printed).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(printed == published, "docs/schema/prices.schema.json is stale: run the tests with UPDATE_GOLDEN=1");
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for text in SHIPPED.iter().map(|(_, text)| *text).chain([FULL]) {
        let faults: Vec<String> = validator.iter_errors(&as_json(text)).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
    for (from, to) in [
        ("name: Example\n", ""),
        ("currency: EUR", "currency: eur"),
        ("date: 2026-01-31", "date: today"),
        ("term: 3 months", "term: 3 years"),
        ("per: TiB", "per: T"),
        ("4.20", "-4.20"),
        ("bytes: absolute", "bytes: transferred"),
        ("get: 0.001", "gett: 0.001"),
        ("value: 1.1, ", ""),
        ("contracts: 50", "contracts: 50.5"),
        ("fixed: 1", "fix: 1"),
    ] {
        let wrong = FULL.replacen(from, to, 1);
        assert!(wrong != FULL && PriceSheet::parse(&wrong).is_err(), "{to}");
        assert!(!validator.is_valid(&as_json(&wrong)), "{to}");
    }
}

proptest! {
    #[test]
    fn changed_sheets_never_panic(at in 0..FULL.len(), inserted in "[-0-9a-zA-Z:{}\\[\\], \n.]{0,6}") {
        let mut text = FULL.to_owned();
        text.insert_str(at, &inserted);
        if let Ok(sheet) = PriceSheet::parse(&text) {
            let json = serde_json::to_string(&sheet).unwrap();
            prop_assert_eq!(serde_json::from_str::<PriceSheet>(&json).unwrap(), sheet);
        }
    }
}
