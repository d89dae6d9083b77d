use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::timestamp::UtcSecond;

fn contract(amounts: [&str; 6], size: u64) -> String {
    let [total, fees, storage, upload, download, left] = amounts;
    format!(
        r#"{{"id":"1","totalcost":"{total}","fees":"{fees}","StorageSpending":"{storage}","uploadspending":"{upload}",
        "downloadspending":"{download}","renterfunds":"{left}","size":{size},"lasttransaction":{{"a":[1]}}}}"#
    )
}

fn file(name: &str, bytes: u64, uploaded: u64, progress: f64) -> String {
    format!(
        r#"{{"siapath":"{name}","filesize":{bytes},"available":true,"renewing":true,"redundancy":-1,
        "uploadedbytes":{uploaded},"uploadprogress":{progress},"expiration":60000}}"#
    )
}

/// The contracts, files and wallet in the tests of the study's collector (`test_state.py`).
fn collectors_own() -> (Contracts, FileTotals, Wallet) {
    let active = [
        contract(["200000", "10000", "2000", "800", "60", "3"], 22),
        contract(["500000", "70000", "5000", "100", "10", "2"], 77),
    ];
    let inactive = [
        contract(["100000", "5000", "1000", "400", "30", "1"], 11),
        contract(["250000", "35000", "2500", "50", "5", "3"], 33),
    ];
    let (active, inactive) = (active.join(","), inactive.join(","));
    let contracts = format!(r#"{{"activecontracts":[{active}],"inactivecontracts":[{inactive}]}}"#);
    let files = [file("a", 900, 50, 90.0), file("b", 800, 100, 100.0), file("c", 100, 5, 90.0)].join(",");
    let wallet = br#"{"encrypted":true,"unlocked":true,"rescanning":false,"confirmedsiacoinbalance":"900",
        "unconfirmedoutgoingsiacoins":"35","unconfirmedincomingsiacoins":"92","siafundbalance":"0"}"#;
    (
        Contracts::parse(contracts.as_bytes()).unwrap(),
        FileTotals::parse(format!(r#"{{"files":[{files}]}}"#).as_bytes()).unwrap(),
        Wallet::parse(wallet).unwrap(),
    )
}

#[test]
fn a_sample_has_the_values_of_the_collectors_own_test() {
    let (contracts, files, wallet) = collectors_own();
    let end = UtcSecond(1_518_458_755);
    let latency = Duration::from_millis(207);
    let sample = Sample::new(end, Some(contracts.totals().unwrap()), Some(files), Some(wallet.into()), latency);
    let row = "2018-02-12T18:05:55,4,3,2,143,1700.0,155,1050000,120000,10500,1350,105,9,900,35,92,207.0";
    assert_eq!(sample.row(), row);
    assert_eq!(Sample::parse_row(row), Ok(sample));
}

#[test]
fn failed_requests_leave_blank_cells() {
    let (contracts, _, wallet) = collectors_own();
    let (end, latency) = (UtcSecond(0), Duration::from_micros(1_234_567));
    let sample = Sample::new(end, Some(contracts.totals().unwrap()), None, Some(wallet.into()), latency);
    let row = "1970-01-01T00:00:00,4,,,143,,,1050000,120000,10500,1350,105,9,900,35,92,1234.567";
    assert_eq!(sample.row(), row);
    assert_eq!(Sample::parse_row(row), Ok(sample));
    let nothing = Sample::new(end, None, None, None, latency).row();
    assert_eq!(nothing, "1970-01-01T00:00:00,,,,,,,,,,,,,,,,1234.567");
}

#[test]
fn a_renter_without_files_has_no_floating_point_sum() {
    let none = FileTotals::parse(br#"{"files":null}"#).unwrap();
    let sample = Sample::new(UtcSecond(0), None, Some(none), None, Duration::ZERO);
    assert_eq!(sample.row(), "1970-01-01T00:00:00,,0,0,,0,0,,,,,,,,,,0.0");
}

#[test]
fn rows_of_the_collectors_own_test_parse() {
    let row = "2018-02-11T16:05:02,5,3,2,9,4444,900,65,25,2,35,0,100,75,26,83,5.0\n";
    let sample = Sample::parse_row(row).unwrap();
    assert_eq!(sample.contracts.unwrap().fees.get(), 25);
    assert_eq!(sample.row(), row.trim_end().replace("4444", "4444.0"));
    for (row, problem) in [
        ("", "expected 17 cells, found 1"),
        (&row.replace(",5.0", ""), "expected 17 cells, found 16"),
        (&row.replace(",25,", ",2x5,"), "column contract_fee_spending: expected decimal digits, got \"2x5\""),
        (&row.replace("4444", "nan"), "column total_file_bytes: expected a finite number, got \"nan\""),
        (&row.replace("T16", " 16"), "column timestamp: expected a time like 2018-02-11T16:05:02"),
    ] {
        let error = Sample::parse_row(row).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

#[test]
fn the_header_is_that_of_the_collector() {
    let header = "timestamp,contract_count,file_count,uploads_in_progress_count,total_contract_size,total_file_bytes,\
        uploaded_bytes,total_contract_spending,contract_fee_spending,storage_spending,upload_spending,\
        download_spending,remaining_renter_funds,wallet_siacoin_balance,wallet_outgoing_siacoins,\
        wallet_incoming_siacoins,api_latency\n";
    assert_eq!(Sample::append(b"", None).unwrap().before, header);
    assert_eq!(Sample::append(header.as_bytes(), Some(b'\n')).unwrap().before, "");
}

#[test]
fn contracts_parse_under_the_keys_of_each_version() {
    let one = contract(["9", "1", "2", "3", "0", "3"], 1);
    let until_1_3_2 = Contracts::parse(format!(r#"{{"contracts":[{one}]}}"#).as_bytes()).unwrap();
    assert_eq!((until_1_3_2.active.len(), until_1_3_2.inactive.len()), (1, 0));
    let both = one.replace("\"StorageSpending\"", "\"storagespending\":\"2\",\"StorageSpending\"");
    let later = format!(
        r#"{{"contracts":[{both},{both}],"activecontracts":[{both}],"inactivecontracts":[],"expiredcontracts":[{both}]}}"#
    );
    let later = Contracts::parse(later.as_bytes()).unwrap();
    assert_eq!((later.active.len(), later.expired.len(), later.totals().unwrap().count), (1, 1, 1));
    assert_eq!(later.active, until_1_3_2.active);
    let lower = one.replace("StorageSpending", "storagespending");
    assert_eq!(
        Contracts::parse(format!(r#"{{"activecontracts":[{lower}]}}"#).as_bytes()).unwrap().active,
        later.active
    );
    assert!(Contracts::parse(br#"{"contracts":null}"#).unwrap().active.is_empty());
}

#[test]
fn what_contracts_lack_is_named() {
    let one = contract(["9", "1", "2", "3", "0", "3"], 1);
    let begin = "cannot read the response to GET /renter/contracts of siad: ";
    for (body, problem) in [
        (r#"{"message":"no"}"#.to_owned(), "missing field `activecontracts` (before siad 1.3.3: `contracts`)"),
        (format!(r#"{{"contracts":[{one},{}]}}"#, one.replace("fees", "fee")), "at contracts[1]: missing field `fees`"),
        (
            format!(r#"{{"contracts":[{}]}}"#, one.replace("StorageSpending", "x")),
            "at contracts[0]: missing field `storagespending`",
        ),
        (
            format!(r#"{{"contracts":[{}]}}"#, one.replace("\"fees\":\"1\"", "\"fees\":1")),
            "at contracts[0].fees: invalid type: integer `1`, expected an amount of hastings as a string",
        ),
        (
            format!(r#"{{"contracts":[{}]}}"#, one.replace("\"size\":1", "\"size\":\"1\"")),
            "at contracts[0].size: invalid type: string \"1\", expected u64",
        ),
    ] {
        let error = Contracts::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{begin}{problem}")), "{error}");
    }
}

#[test]
fn sums_of_amounts_are_checked() {
    let most = i128::MAX.to_string();
    let huge = contract([&most, "0", "0", "0", "0", "0"], u64::MAX);
    let contracts = Contracts::parse(format!(r#"{{"contracts":[{huge},{huge}]}}"#).as_bytes()).unwrap();
    assert!(contracts.totals().unwrap_err().to_string().ends_with("the sum of the amounts is too large"));
}

#[test]
fn files_are_found_by_name() {
    let body = format!(r#"{{"more":[1],"files":[{},{}]}}"#, file("b\\u00e4/x", 1, 2, 33.5), file("a", 3, 4, 100.0));
    let files = Files::parse(body.as_bytes()).unwrap();
    assert_eq!(files.files.iter().map(|file| &*file.siapath).collect::<Vec<_>>(), ["a", "bä/x"]);
    assert_eq!(files.get("bä/x").map(|file| (file.bytes, file.is_in_progress())), Some((1, true)));
    assert_eq!(files.get("c"), None);
    let begin = "cannot read the response to GET /renter/files of siad: ";
    for (body, problem) in [
        ("{}", "missing field `files`"),
        (r#"{"files":[{"siapath":"a"}]}"#, "at files[0]: missing field `filesize`"),
        (r#"{"files":null,"files":null}"#, "duplicate field `files`"),
        (r#"{"files":"x"}"#, "at files: invalid type: string \"x\", expected a list or null"),
    ] {
        let error = Files::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{begin}{problem}")), "{error}");
    }
}

#[test]
fn the_number_of_files_is_bounded() {
    let one = r#"{"siapath":"","filesize":1,"uploadedbytes":1,"uploadprogress":1}"#;
    let body = |count: usize| format!(r#"{{"files":[{}{one}]}}"#, format!("{one},").repeat(count - 1));
    assert_eq!(FileTotals::parse(body(FILES_MAX).as_bytes()).unwrap().count, FILES_MAX as u64);
    let error = FileTotals::parse(body(FILES_MAX + 1).as_bytes()).unwrap_err().to_string();
    assert!(error.contains("at files: the list has more than 1000000 entries"), "{error}");
}

#[test]
fn the_renters_accounting_parses_in_both_forms() {
    let body = |fees: &str| {
        format!(
            r#"{{"settings":{{"allowance":{{"funds":"5","hosts":50,"period":12960,"renewwindow":6480}}}},
            "financialmetrics":{{{fees}"downloadspending":"2","storagespending":"3","uploadspending":"4","unspent":"1"}},
            "currentperiod":200}}"#
        )
    };
    let renter = Renter::parse(body(r#""contractspending":"10","#).as_bytes()).unwrap();
    assert_eq!((renter.allowance.hosts, renter.allowance.period), (50, 12_960));
    assert_eq!(renter.spending.contracts, ContractSpending::Total("10".parse().unwrap()));
    let renter = Renter::parse(body(r#""contractspending":"10","contractfees":"7","#).as_bytes()).unwrap();
    assert_eq!(renter.spending.contracts, ContractSpending::Fees("7".parse().unwrap()));
    let error = Renter::parse(body("").as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("at financialmetrics: missing field `contractfees`"), "{error}");
}

#[test]
fn small_documents_parse() {
    let consensus =
        Consensus::parse(br#"{"synced":true,"height":62248,"currentblock":"00","target":[0],"difficulty":"1234"}"#);
    assert_eq!(consensus, Ok(Consensus { synced: true, height: 62_248 }));
    let prices = br#"{"downloadterabyte":"1","formcontracts":"2","storageterabytemonth":"3","uploadterabyte":"4"}"#;
    assert_eq!(Prices::parse(prices).unwrap().upload_tb.get(), 4);
    let error = Wallet::parse(br#"{"encrypted":1}"#).unwrap_err().to_string();
    assert!(error.contains("GET /wallet of siad: at encrypted: invalid type: integer `1`"), "{error}");
}

#[test]
fn failures_have_a_message() {
    assert_eq!(
        error_message(b"{\"message\":\"wallet must be unlocked\"}\n"),
        Some("wallet must be unlocked".to_owned())
    );
    assert_eq!(error_message(b"{\"message\":\"a\\u001b[1mb\"}").as_deref(), Some("a\u{fffd}[1mb"));
    assert_eq!(error_message(b"404 page not found"), None);
}

proptest! {
    #[test]
    fn any_row_parses_or_is_refused(row in "[0-9T:,.eE-]{0,60}|([0-9T.-]{0,4},){16}[0-9]{0,3}") {
        if let Ok(sample) = Sample::parse_row(&row) {
            prop_assert_eq!(Sample::parse_row(&sample.row()), Ok(sample));
        }
    }

    #[test]
    fn any_body_parses_or_is_refused(body in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (Contracts::parse(&body), Files::parse(&body), Wallet::parse(&body), error_message(&body));
    }
}

#[test]
fn the_name_of_a_file_is_in_the_url_of_its_upload() {
    let name = |url| siapath_of_upload(url);
    assert_eq!(name("http://h:9980/renter/upload/a%20b/c?source=/x").as_deref(), Some("a b/c"));
    assert_eq!(name("/renter/upload").as_deref(), Some(""));
    assert_eq!(name("http://h/bucket/"), None);
}
