//! Responses of siad and renterd, and rows of their tables: each is rejected, or its values can be added up and written
//! again. The first byte selects the parser.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sia::{Hastings, Siacoins, invariants, renterd, siad};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    match choice % 12 {
        0 => {
            if let Ok(totals) = siad::Contracts::parse(body).and_then(|contracts| contracts.totals()) {
                let _ = invariants::contract_gap(&totals);
            }
        }
        1 => {
            let (files, totals) = (siad::Files::parse(body), siad::FileTotals::parse(body));
            assert_eq!(files.map(|files| files.files.len() as u64).ok(), totals.map(|totals| totals.count).ok());
        }
        2 => drop((siad::Wallet::parse(body), siad::Consensus::parse(body), siad::error_message(body))),
        3 => drop((siad::Renter::parse(body), siad::Prices::parse(body))),
        4 => {
            if let Ok(contracts) = renterd::contracts(body) {
                let _ = renterd::contract_totals(&contracts);
            }
        }
        5 => drop((renterd::ObjectPage::parse(body), renterd::ObjectStats::parse(body), renterd::buckets(body))),
        6 => {
            drop((renterd::Wallet::parse(body), renterd::Autopilot::parse(body), renterd::UploadSettings::parse(body)))
        }
        7 => drop((renterd::contract_metrics(body), renterd::wallet_metrics(body), renterd::UploadStats::parse(body))),
        8 => drop((renterd::Parts::parse(body), renterd::OpenUploads::parse(body), renterd::error_message(body))),
        9 => {
            let _ = siad::Sample::append(body, body.last().copied());
            if let Ok(sample) = siad::Sample::parse_row(&String::from_utf8_lossy(body)) {
                assert_eq!(siad::Sample::parse_row(&sample.row()), Ok(sample));
                let _ = (invariants::wealth(&sample), invariants::CounterWatch::default().siad(&sample));
            }
        }
        10 => {
            if let Ok(sample) = renterd::Sample::parse_row(&String::from_utf8_lossy(body)) {
                assert_eq!(renterd::Sample::parse_row(&sample.row()), Ok(sample));
            }
        }
        _ => {
            let text = String::from_utf8_lossy(body);
            if let Ok(amount) = text.parse::<Hastings>() {
                assert_eq!(amount.in_siacoins().to_string().parse::<Siacoins>(), Ok(amount.in_siacoins()));
            }
            let _ = text.parse::<Siacoins>();
        }
    }
});
