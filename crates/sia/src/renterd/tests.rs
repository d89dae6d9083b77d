use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::timestamp::UtcSecond;

fn contract(funds: &str, price: &str, spent: [&str; 4], more: &str) -> String {
    let [uploads, accounts, deletions, roots] = spent;
    format!(
        r#"{{"id":"fcid:55","hostKey":"ed25519:01","proofHeight":0,"renewedFrom":"fcid:00","revisionHeight":1,
        "revisionNumber":2,"size":4194304,"startHeight":5,"state":"active","usability":"good","windowStart":9,
        "windowEnd":11,"contractPrice":"{price}","initialRenterFunds":"{funds}","spending":{{"uploads":"{uploads}",
        "fundAccount":"{accounts}","deletions":"{deletions}","sectorRoots":"{roots}"}},"v2":true{more}}}"#
    )
}

fn amount(text: &str) -> Hastings {
    text.parse().unwrap()
}

#[test]
fn totals_count_archived_spending_and_active_funds() {
    let archived = r#","archivalReason":"renewed","renewedTo":"fcid:77""#;
    let body = format!(
        "[{},{},{}]",
        contract("1000", "20", ["100", "50", "7", "3"], ""),
        contract("10", "20", ["40", "0", "0", "0"], ""),
        contract("500", "30", ["400", "5", "0", "0"], archived)
    );
    let contracts = contracts(body.as_bytes()).unwrap();
    let totals = contract_totals(&contracts).unwrap();
    let spending = Spending {
        uploads: amount("540"),
        fund_account: amount("55"),
        deletions: amount("7"),
        sector_roots: amount("3"),
    };
    // The first contract has 1000 − 160 left, and the second one 10 − 40.
    let remaining = "810".parse().unwrap();
    let expected = ContractTotals { count: 2, size_bytes: 8_388_608, fees: amount("70"), spending, remaining };
    assert_eq!(totals, expected);
    assert_eq!(contracts[1].remaining(), "-30".parse().ok());
}

#[test]
fn null_and_nothing_are_empty_lists() {
    for body in ["", "null", "null\n", "[]\n"] {
        assert_eq!(contracts(body.as_bytes()), Ok(Vec::new()));
        assert_eq!(contract_metrics(body.as_bytes()), Ok(Vec::new()));
        assert_eq!(wallet_metrics(body.as_bytes()), Ok(Vec::new()));
        assert_eq!(buckets(body.as_bytes()), Ok(Vec::new()));
    }
    let page = ObjectPage::parse(br#"{"hasMore":false,"nextMarker":"","objects":null}"#).unwrap();
    assert!(page.objects.is_empty() && !page.has_more);
    let error = Wallet::parse(b"").unwrap_err().to_string();
    assert_eq!(error, "cannot read the response to GET /api/bus/wallet of renterd: the body is empty");
}

#[test]
fn a_sample_is_a_row_and_a_row_a_sample() {
    let body = format!("[{}]", contract("1000", "20", ["100", "50", "7", "3"], ""));
    let contracts = contract_totals(&contracts(body.as_bytes()).unwrap()).unwrap();
    let stats = ObjectStats::parse(
        br#"{"numObjects":3,"numUnfinishedObjects":1,"minHealth":0.5,"totalObjectsSize":600000,
        "totalUnfinishedObjectsSize":9,"totalSectorsSize":25165824,"totalUploadedSize":1220000000}"#,
    )
    .unwrap();
    let wallet = Wallet::parse(
        br#"{"spendable":"1","confirmed":"2","unconfirmed":"3","immature":"4","address":"addr:0","scanHeight":5}"#,
    )
    .unwrap();
    let latency = Duration::from_micros(12_034);
    let sample =
        Sample::new(UtcSecond(1_518_365_102), Some(contracts), Some(stats.into()), Some(wallet), Some(300), latency);
    let row = "2018-02-11T16:05:02,1,4194304,3,1,600000,25165824,0.5,20,100,50,7,3,180,840,1,2,3,4,300,12.034";
    assert_eq!(sample.row(), row);
    assert_eq!(row.split(',').count(), COLUMNS.len());
    assert_eq!(Sample::parse_row(row), Ok(sample));
    // A collector may write all digits of a number of milliseconds.
    assert_eq!(Sample::parse_row(&row.replace("12.034", "12.034000000000001")), Ok(sample));
    assert!(Sample::parse_row(&row.replace("12.034", "-1")).is_err());
    let blank = Sample::new(UtcSecond(0), None, Some(stats.into()), None, None, Duration::ZERO);
    assert_eq!(blank.row(), "1970-01-01T00:00:00,,,3,1,600000,25165824,0.5,,,,,,,,,,,,,0.000");
    assert_eq!(Sample::parse_row(&blank.row()), Ok(blank));
    assert!(Sample::parse_row(&row.replace("12.034", "12")).is_ok());
    assert!(Sample::parse_row(&row.replace("0.5", "inf")).is_err());
}

#[test]
fn buffers_hold_what_waits_for_packing() {
    // A response of renterd 2.9.3.
    let body = br#"[{"complete":false,"filename":"2-3-f7ed0890","size":300000,"maxSize":8388608,"locked":false}]"#;
    assert_eq!(waiting_bytes(body), Ok(300_000));
    assert_eq!((waiting_bytes(b"[]\n"), waiting_bytes(b"null")), (Ok(0), Ok(0)));
    assert!(waiting_bytes(br#"[{"size":-1}]"#).is_err());
}

#[test]
fn amounts_must_be_hastings() {
    for (body, problem) in [
        (
            r#"{"spendable":"1 SC","confirmed":"2","unconfirmed":"3","immature":"4"}"#,
            "at spendable: expected decimal digits",
        ),
        (r#"{"spendable":1.5,"confirmed":"2","unconfirmed":"3","immature":"4"}"#, "at spendable: invalid type"),
        (r#"{"spendable":"1","unconfirmed":"3","immature":"4"}"#, "missing field `confirmed`"),
    ] {
        let error = Wallet::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let error = contracts(format!("[{}]", contract("1", "1", ["1", "", "1", "1"], "")).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("at [0].spending.fundAccount: expected decimal digits"), "{error}");
}

#[test]
fn metrics_parse() {
    let body = br#"[{"timestamp":"2026-11-22T10:00:00Z","contractID":"fcid:00","hostKey":"ed25519:00",
        "remainingCollateral":"1","remainingFunds":"2","revisionNumber":3,"deleteSpending":"4",
        "fundAccountSpending":"5","sectorRootsSpending":"6","uploadSpending":"7"}]"#;
    let metrics = contract_metrics(body).unwrap();
    assert_eq!((metrics[0].remaining_funds, metrics[0].upload_spending), (amount("2"), amount("7")));
    assert_eq!(metrics[0].timestamp.parse(), Ok(UtcSecond(1_795_341_600)));
    let body =
        br#"[{"timestamp":"2026-11-22T10:00:00Z","confirmed":"1","spendable":"2","unconfirmed":"3","immature":"4"}]"#;
    assert_eq!(wallet_metrics(body).unwrap()[0].spendable, amount("2"));
}

#[test]
fn documents_of_the_worker_parse() {
    let stats = UploadStats::parse(
        br#"{"avgSlabUploadSpeedMbps":12.34,"avgOverdrivePct":0,"healthyUploaders":3,"numUploaders":4,"uploadersStats":null}"#,
    )
    .unwrap();
    assert_eq!((stats.avg_slab_upload_speed_mbps, stats.healthy_uploaders), (12.34, 3));
    let memory =
        Memory::parse(br#"{"download":{"available":1,"total":2},"upload":{"available":3,"total":4}}"#).unwrap();
    assert_eq!(memory.upload, MemoryOf { available_bytes: 3, total_bytes: 4 });
}

#[test]
fn multipart_uploads_parse() {
    assert_eq!(CreatedUpload::parse(br#"{"uploadID":"ab"}"#).unwrap().upload_id, "ab");
    assert_eq!(CompletedUpload::parse(br#"{"eTag":"cd"}"#).unwrap().e_tag, "cd");
    let parts = Parts::parse(
        br#"{"hasMore":true,"nextMarker":1,"parts":[{"partNumber":1,"lastModified":"x","eTag":"ef","size":5}]}"#,
    )
    .unwrap();
    assert_eq!(parts.parts, [Part { part_number: 1, e_tag: "ef".to_owned(), bytes: 5 }]);
    assert!(Parts::parse(br#"{"hasMore":false,"nextMarker":0,"parts":null}"#).unwrap().parts.is_empty());
    let uploads = OpenUploads::parse(
        br#"{"hasMore":false,"nextMarker":"","nextUploadIDMarker":"","uploads":[{"bucket":"b","encryptionKey":"key:0",
        "key":"/k","uploadID":"ab","createdAt":"2026-11-22T10:00:00Z"}]}"#,
    )
    .unwrap();
    assert_eq!((uploads.uploads[0].key.as_str(), uploads.uploads[0].upload_id.as_str()), ("/k", "ab"));
}

#[test]
fn failures_are_a_line_of_text() {
    assert_eq!(error_message(b"consensus is not synced\n"), "consensus is not synced");
    assert_eq!(error_message(b"a\x1b[1m\nb\xff"), "a\u{fffd}[1m\u{fffd}b\u{fffd}");
}

proptest! {
    #[test]
    fn any_row_parses_or_is_refused(row in "([0-9T.-]{0,4},){19}[0-9.]{0,5}") {
        if let Ok(sample) = Sample::parse_row(&row) {
            prop_assert_eq!(Sample::parse_row(&sample.row()), Ok(sample));
        }
    }

    #[test]
    fn any_body_parses_or_is_refused(body in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (contracts(&body), ObjectPage::parse(&body), Wallet::parse(&body), Parts::parse(&body));
    }
}
