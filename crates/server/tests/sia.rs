//! Tests the stand-ins for siad and renterd with the crate that reads the reports of the real daemons. The crate must
//! be able to parse the reports of the stand-ins.

use crate::common::{Client, Response, config};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use server::{Config, HyperServer, Renterd, Server, Siad, SiadVersion, StandIn};
use sia::invariants::{Counter, CounterWatch, contract_gap, wealth_gap};
use sia::{Unmet, UtcSecond, renterd, siad, unmet_of_renterd, unmet_of_siad};
use std::num::NonZeroU64;
use std::thread::sleep;
use std::time::Duration;

const FUNDS: &str = "funds=5000000000000000000000000000&period=12960";

fn start(siad: Siad) -> (Server, Client) {
    let server = Server::start(&Config { stand_in: StandIn::Siad(siad), ..config() }).unwrap();
    let client = Client::connect(server.addresses()[0]);
    (server, client)
}

fn body(client: &mut Client, target: &str) -> Vec<u8> {
    let response = client.get(target, "User-Agent: Sia-Agent\r\n");
    assert_eq!(response.status, 200, "{target}");
    response.body
}

fn post(client: &mut Client, target: &str) -> Response {
    client.send(&format!("POST {target} HTTP/1.1\r\nHost: x\r\nUser-Agent: Sia-Agent\r\nContent-Length: 0\r\n\r\n"));
    client.response()
}

fn poll(client: &mut Client) -> siad::Sample {
    let contracts = siad::Contracts::parse(&body(client, "/renter/contracts")).unwrap().totals().unwrap();
    let files = siad::FileTotals::parse(&body(client, "/renter/files")).unwrap();
    let wallet = siad::Wallet::parse(&body(client, "/wallet")).unwrap();
    siad::Sample::new(UtcSecond(0), Some(contracts), Some(files), Some(wallet.into()), Duration::ZERO)
}

fn unmet(client: &mut Client, need: u64) -> Option<Unmet> {
    unmet_of_siad(
        &siad::Consensus::parse(&body(client, "/consensus")).unwrap(),
        &siad::Wallet::parse(&body(client, "/wallet")).unwrap(),
        &siad::Renter::parse(&body(client, "/renter")).unwrap(),
        &siad::Contracts::parse(&body(client, "/renter/contracts")).unwrap(),
        need,
    )
}

#[test]
fn siads_accounting_balances_while_files_are_uploaded() {
    for version in [SiadVersion::V1_3_1, SiadVersion::V1_3_7] {
        let bandwidth = NonZeroU64::new(2_000_000_000).unwrap();
        let (_server, mut client) = start(Siad { version, bandwidth, ..Siad::default() });
        assert_eq!(unmet(&mut client, 50), Some(Unmet::NoAllowance));
        let (first, mut watch) = (poll(&mut client), CounterWatch::default());
        assert_eq!(post(&mut client, &format!("/renter?{FUNDS}")).status, 204);
        assert_eq!(unmet(&mut client, 50), None);
        assert_eq!(unmet(&mut client, 51), Some(Unmet::Contracts { have: 50, need: 51 }));
        let source = std::env::current_exe().unwrap();
        assert_eq!(post(&mut client, &format!("/renter/upload/x?source={}", source.display())).status, 204);
        loop {
            let sample = poll(&mut client);
            assert!(contract_gap(&sample.contracts.unwrap()).unwrap().is_zero());
            assert!(wealth_gap(&first, &sample).unwrap().is_zero());
            assert_eq!(watch.siad(&sample), []);
            assert_eq!(siad::Sample::parse_row(&sample.row()), Ok(sample));
            if sample.files.unwrap().in_progress == 0 {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        let files = siad::Files::parse(&body(&mut client, "/renter/files")).unwrap();
        let file = files.get("x").unwrap();
        let bytes = source.metadata().unwrap().len();
        assert_eq!((file.bytes, file.available), (bytes, true));
        assert_eq!(file.uploaded_bytes, siad::Redundancy::default().absolute_bytes(bytes));
        let contracts = siad::Contracts::parse(&body(&mut client, "/renter/contracts")).unwrap().totals().unwrap();
        assert_eq!(contracts.size_bytes, file.uploaded_bytes);
        assert!(siad::Prices::parse(&body(&mut client, "/renter/prices")).unwrap().upload_tb.get() > 0);
    }
}

#[test]
fn falling_spending_on_storage_is_found() {
    let falling_storage = Some(Duration::from_millis(300));
    let (_server, mut client) = start(Siad { falling_storage, locked: true, ..Siad::default() });
    assert_eq!(unmet(&mut client, 50), Some(Unmet::WalletLocked));
    post(&mut client, "/wallet/unlock?encryptionpassword=x");
    post(&mut client, &format!("/renter?{FUNDS}"));
    let source = std::env::current_exe().unwrap();
    post(&mut client, &format!("/renter/upload/x?source={}", source.display()));
    let (mut watch, mut fell, mut gaps) = (CounterWatch::default(), Vec::new(), 0);
    for _ in 0..60 {
        let sample = poll(&mut client);
        fell.extend(watch.siad(&sample));
        gaps += u64::from(!contract_gap(&sample.contracts.unwrap()).unwrap().is_zero());
        sleep(Duration::from_millis(20));
    }
    assert!(!fell.is_empty() && fell.iter().all(|fell| fell.counter == Counter::Storage), "{fell:?}");
    assert!((1..60).contains(&gaps), "{gaps}");
}

#[test]
fn refusals_of_siad_have_a_message() {
    let (_server, mut client) = start(Siad::default());
    let refused = post(&mut client, "/renter/delete/x");
    assert_eq!(siad::error_message(&refused.body).as_deref(), Some("no file known with that path"));
    let contracts = siad::Contracts::parse(&refused.body).unwrap_err().to_string();
    assert!(contracts.contains("missing field `activecontracts`"), "{contracts}");
}

#[test]
fn renterds_documents_are_read_before_and_after_an_upload() {
    let renterd = Renterd { bucket: Some("bucket".to_owned()), packing: false, ..Renterd::default() };
    let server = HyperServer::start_renterd(&config(), None, &renterd).unwrap();
    let mut client = Client::connect(server.addresses()[0]);
    let lines = format!("Authorization: Basic {}\r\n", STANDARD.encode(":test"));
    let mut get = |target: &str| client.get(target, &lines).body;
    let consensus = renterd::Consensus::parse(&get("/api/bus/consensus/state")).unwrap();
    let wallet = renterd::Wallet::parse(&get("/api/bus/wallet")).unwrap();
    let autopilot = renterd::Autopilot::parse(&get("/api/bus/autopilot")).unwrap();
    let upload = renterd::UploadSettings::parse(&get("/api/bus/settings/upload")).unwrap();
    let contracts = renterd::contracts(&get("/api/bus/contracts?filtermode=all")).unwrap();
    assert_eq!(unmet_of_renterd(&consensus, &wallet, &autopilot, &contracts, &upload), None);
    assert_eq!(renterd::buckets(&get("/api/bus/buckets")).unwrap()[0].name, "bucket");
    assert!(renterd::ObjectPage::parse(&get("/api/bus/objects/?bucket=bucket")).unwrap().objects.is_empty());
    assert!(renterd::contracts(&get("/api/bus/contracts?filtermode=archived")).unwrap().is_empty());
    assert_eq!(renterd::UploadStats::parse(&get("/api/worker/stats/uploads")).unwrap().num_uploaders, 3);
    renterd::Memory::parse(&get("/api/worker/memory")).unwrap();
    let series = "start=2020-01-01T00:00:00Z&n=1000&interval=31536000000";
    assert_eq!(renterd::contract_metrics(&get(&format!("/api/bus/metric/contract?{series}"))).unwrap().len(), 1);
    assert_eq!(renterd::wallet_metrics(&get(&format!("/api/bus/metric/wallet?{series}"))).unwrap().len(), 1);
    let target = "/api/worker/object/x?bucket=bucket";
    client.send(&format!("PUT {target} HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: 5\r\n\r\n12345"));
    assert_eq!(client.response().status, 200);
    let mut get = |target: &str| client.get(target, &lines).body;
    let stats = renterd::ObjectStats::parse(&get("/api/bus/stats/objects")).unwrap();
    assert_eq!((stats.objects_bytes, stats.sectors_bytes, stats.num_objects), (5, 12 << 20, 1));
    let page = renterd::ObjectPage::parse(&get("/api/bus/objects/?bucket=bucket")).unwrap();
    assert_eq!((page.objects[0].key.as_str(), page.objects[0].bytes), ("/x", 5));
    let contracts = renterd::contracts(&get("/api/bus/contracts?filtermode=all")).unwrap();
    let totals = renterd::contract_totals(&contracts).unwrap();
    assert_eq!((totals.count, totals.size_bytes), (3, 12 << 20));
    let waiting = Some(renterd::waiting_bytes(&get("/api/bus/slabbuffers")).unwrap());
    assert_eq!(waiting, Some(0), "packing is off");
    let (stats, wallet) = (Some(stats.into()), Some(wallet));
    let sample = renterd::Sample::new(UtcSecond(0), Some(totals), stats, wallet, waiting, Duration::ZERO);
    assert_eq!(renterd::Sample::parse_row(&sample.row()), Ok(sample));
    let missing = get("/api/worker/object/none?bucket=bucket");
    assert_eq!(renterd::error_message(&missing), "couldn't fetch object: couldn't fetch object: object not found");
}
