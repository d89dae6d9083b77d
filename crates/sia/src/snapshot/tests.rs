use super::*;
use serde_json::json;

/// Returns a snapshot of renterd with these values, and with usual values in its other documents.
fn renterd(synced: bool, contracts: &Value) -> Snapshot {
    let mut snapshot = Snapshot::new(System::Renterd);
    let amounts = json!({"spendable": "5", "confirmed": "5", "unconfirmed": "0", "immature": "0"});
    let period = json!({"amount": 3, "period": 6048, "renewWindow": 2016, "download": 1, "upload": 1, "storage": 1, "prune": false});
    let bodies = [
        json!({"synced": synced, "blockHeight": 7}),
        amounts,
        json!({"enabled": true, "contracts": period}),
        contracts.clone(),
        json!({"packing": {"enabled": true, "slabBufferMaxSizeSoft": 1}, "redundancy": {"minShards": 2, "totalShards": 3}}),
    ];
    for (document, body) in RENTERD.iter().zip(bodies) {
        snapshot.add(*document, Ok(body.to_string().as_bytes()));
    }
    snapshot
}

fn contract(id: u32) -> Value {
    json!({
        "id": id.to_string(), "size": 10, "state": "active", "usability": "good", "contractPrice": "1",
        "initialRenterFunds": "100", "archivalReason": null,
        "spending": {"uploads": "7", "fundAccount": "1", "deletions": "0", "sectorRoots": "0"},
    })
}

#[test]
fn a_snapshot_shows_whether_uploads_are_accepted() {
    let three = json!([contract(1), contract(2), contract(3)]);
    assert_eq!(renterd(true, &three).unmet(), Ok(None));
    assert_eq!(renterd(false, &three).unmet(), Ok(Some(Unmet::NotSynced { height: 7 })));
    assert_eq!(renterd(true, &Value::Null).unmet(), Ok(Some(Unmet::Contracts { have: 0, need: 3 })));
    let mut gap = renterd(true, &three);
    gap.documents.remove("wallet");
    gap.add(RENTERD[1], Err("status 500".to_owned()));
    assert_eq!(gap.unmet().unwrap_err().to_string(), "cannot read wallet of renterd: status 500");
}

#[test]
fn samples_are_the_same_after_saving() {
    let snapshot = renterd(true, &json!([contract(1)]));
    let saved = Snapshot::parse(&serde_json::to_vec(&snapshot).unwrap()).unwrap();
    assert_eq!(saved, snapshot);
    let sample = saved.renterd_sample().unwrap();
    assert_eq!(sample.contracts.unwrap().spending.uploads.to_string(), "7");
    assert!(sample.objects.is_none() && saved.siad_sample().is_none());
    assert_eq!((saved.contract_blocks(), saved.started()), (Some(6048), None));
    assert_eq!(Snapshot::parse(br#"{"format":9}"#), None);
}

#[test]
fn bodies_may_be_empty_and_must_be_json() {
    let mut snapshot = Snapshot::new(System::Siad);
    snapshot.add(SIAD[6], Ok(b"{\"files\":null}\n"));
    snapshot.add(SIAD[5], Ok(b"<html>"));
    assert_eq!(snapshot.siad_files(), Ok(siad::Files::default()));
    assert!(snapshot.missing["version"].starts_with("the response is not JSON"));
    let sample = snapshot.siad_sample().unwrap();
    assert!(sample.files.is_some() && sample.contracts.is_none());
}
