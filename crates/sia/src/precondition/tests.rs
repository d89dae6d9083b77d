use super::*;
use crate::Hastings;

fn siad_parts() -> (siad::Consensus, siad::Wallet, siad::Renter, siad::Contracts) {
    let consensus = siad::Consensus { synced: true, height: 7 };
    let wallet = siad::Wallet {
        encrypted: true,
        unlocked: true,
        confirmed: Hastings::new(5).unwrap(),
        outgoing: Hastings::ZERO,
        incoming: Hastings::ZERO,
    };
    let renter = siad::Renter::parse(
        br#"{"settings":{"allowance":{"funds":"5","hosts":50,"period":12960,"renewwindow":6480}},
        "financialmetrics":{"contractfees":"0","downloadspending":"0","storagespending":"0","uploadspending":"0","unspent":"5"}}"#,
    );
    let one = r#"{"id":"1","totalcost":"1","fees":"1","storagespending":"0","uploadspending":"0",
        "downloadspending":"0","renterfunds":"0","size":0}"#;
    let contracts = siad::Contracts::parse(format!(r#"{{"activecontracts":[{one},{one}]}}"#).as_bytes());
    (consensus, wallet, renter.unwrap(), contracts.unwrap())
}

#[test]
fn each_condition_of_siad_is_found() {
    let (consensus, wallet, renter, contracts) = siad_parts();
    assert_eq!(unmet_of_siad(&consensus, &wallet, &renter, &contracts, 2), None);
    let unsynced = siad::Consensus { synced: false, ..consensus };
    assert_eq!(unmet_of_siad(&unsynced, &wallet, &renter, &contracts, 2), Some(Unmet::NotSynced { height: 7 }));
    let none = siad::Wallet { encrypted: false, unlocked: false, ..wallet };
    assert_eq!(unmet_of_siad(&consensus, &none, &renter, &contracts, 2), Some(Unmet::NoWallet));
    let locked = siad::Wallet { unlocked: false, ..wallet };
    assert_eq!(unmet_of_siad(&consensus, &locked, &renter, &contracts, 2), Some(Unmet::WalletLocked));
    let few = Unmet::Contracts { have: 2, need: 50 };
    assert_eq!(unmet_of_siad(&consensus, &wallet, &renter, &contracts, 50), Some(few));
    let mut without = renter;
    without.allowance.funds = Hastings::ZERO;
    assert_eq!(unmet_of_siad(&consensus, &wallet, &without, &contracts, 2), None);
    assert_eq!(unmet_of_siad(&consensus, &wallet, &without, &contracts, 3), Some(Unmet::NoAllowance));
    let empty = siad::Wallet { confirmed: Hastings::ZERO, ..wallet };
    let no_contracts = siad::Contracts::default();
    assert_eq!(unmet_of_siad(&consensus, &empty, &renter, &no_contracts, 3), Some(Unmet::WalletEmpty));
    // The wallet may be empty if all money is in contracts.
    assert_eq!(unmet_of_siad(&consensus, &empty, &renter, &contracts, 2), None);
}

#[test]
fn each_condition_of_renterd_is_found() {
    let consensus = renterd::Consensus { synced: true, block_height: 9 };
    let wallet = renterd::Wallet {
        spendable: Hastings::ZERO,
        confirmed: Hastings::new(1).unwrap(),
        unconfirmed: Hastings::ZERO,
        immature: Hastings::ZERO,
    };
    let autopilot = renterd::Autopilot::parse(
        br#"{"enabled":true,"contracts":{"amount":50,"period":6048,"renewWindow":2016,"download":1,"upload":1,"storage":4,"prune":false}}"#,
    )
    .unwrap();
    let upload = renterd::UploadSettings::parse(
        br#"{"packing":{"enabled":true,"slabBufferMaxSizeSoft":4294967296},"redundancy":{"minShards":2,"totalShards":3}}"#,
    )
    .unwrap();
    let contract = |usability: &str, archived: &str| {
        format!(
            r#"{{"id":"fcid:1","size":0,"state":"active","usability":"{usability}","contractPrice":"1","initialRenterFunds":"1",
            "spending":{{"uploads":"0","fundAccount":"0","deletions":"0","sectorRoots":"0"}}{archived}}}"#
        )
    };
    let contracts = |usabilities: &[&str]| {
        let list: Vec<String> = usabilities.iter().map(|usability| contract(usability, "")).collect();
        renterd::contracts(format!("[{}]", list.join(",")).as_bytes()).unwrap()
    };
    let unmet = |consensus, wallet, autopilot, contracts: &[renterd::Contract]| {
        unmet_of_renterd(consensus, wallet, autopilot, contracts, &upload)
    };
    let good = contracts(&["good"; 3]);
    assert_eq!(unmet(&consensus, &wallet, &autopilot, &good), None);
    let unsynced = renterd::Consensus { synced: false, ..consensus };
    assert_eq!(unmet(&unsynced, &wallet, &autopilot, &good), Some(Unmet::NotSynced { height: 9 }));
    let few = Some(Unmet::Contracts { have: 2, need: 3 });
    assert_eq!(unmet(&consensus, &wallet, &autopilot, &contracts(&["good", "bad", "good", "odd"])), few);
    let archived = contract("good", r#","archivalReason":"renewed""#);
    let mixed = format!("[{},{},{archived}]", contract("good", ""), contract("good", ""));
    assert_eq!(unmet(&consensus, &wallet, &autopilot, &renterd::contracts(mixed.as_bytes()).unwrap()), few);
    let off = renterd::Autopilot { enabled: false, ..autopilot };
    assert_eq!(unmet(&consensus, &wallet, &off, &[]), Some(Unmet::AutopilotOff));
    assert_eq!(unmet(&consensus, &wallet, &off, &good), None);
    let empty = renterd::Wallet { confirmed: Hastings::ZERO, ..wallet };
    assert_eq!(unmet(&consensus, &empty, &autopilot, &[]), Some(Unmet::WalletEmpty));
}

#[test]
fn messages_are_one_line_with_the_fix() {
    for (unmet, text) in [
        (
            Unmet::NotSynced { height: 7 },
            "the daemon is not synced and has only block 7; wait until it has the whole chain",
        ),
        (Unmet::WalletLocked, "the wallet is locked; unlock it, e.g. with `siac wallet unlock`"),
        (
            Unmet::Contracts { have: 2, need: 50 },
            "2 of 50 contracts are formed; wait, or check the funds and the number of online hosts",
        ),
    ] {
        assert_eq!(unmet.to_string(), text);
    }
    assert!(Unmet::Contracts { have: 0, need: 1 }.may_pass() && !Unmet::WalletLocked.may_pass());
}
