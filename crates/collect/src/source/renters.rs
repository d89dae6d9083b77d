//! The renters of Sia: siad, as the study's collector polled it, and its successor renterd.

use super::Reading;
use super::http::{Endpoint, Response};
use measure::series::{Column, ColumnKind, ColumnUnit, FailureClass, Number, PollFailure};
use sia::{UtcSecond, renterd, siad};
use std::time::{Duration, Instant};

/// Number of columns with times in a table of samples: the first and the last column. The source does not return values
/// for them, because each poll already contains these times.
const TIMES: usize = 2;

/// Creates the columns of a table, without its times.
fn columns_of(names: &[&str]) -> Vec<Column> {
    let inner = &names[1..names.len() - 1];
    let column = |name: &&str| Column { name: (*name).to_owned(), kind: ColumnKind::Gauge, unit: unit(name) };
    inner.iter().map(column).collect()
}

fn unit(name: &str) -> ColumnUnit {
    match name {
        "min_health" => ColumnUnit::Share,
        _ if name.ends_with("_count") => ColumnUnit::Count,
        _ if name.ends_with("_bytes") || name.ends_with("_size") => ColumnUnit::Bytes,
        _ => ColumnUnit::Hastings,
    }
}

/// Parses the cells of a row, without its times.
fn values_of(row: &str) -> Vec<Option<Number>> {
    let cells: Vec<&str> = row.split(',').collect();
    let inner = cells.get(1..cells.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().map(|cell| Number::parse(cell)).collect()
}

/// A sequence of requests with a common time limit.
struct Requests {
    until: Instant,
    time: Duration,
    failure: Option<PollFailure>,
}

impl Requests {
    fn new(bound: Duration) -> Self {
        Self { until: Instant::now() + bound, time: Duration::ZERO, failure: None }
    }

    /// Makes a request and parses its response. Keeps the first failure.
    fn get<T>(&mut self, endpoint: &Endpoint, parse: impl FnOnce(&[u8]) -> Result<T, sia::ParseError>) -> Option<T> {
        let Response { time, body } = endpoint.get(self.until.saturating_duration_since(Instant::now()));
        self.time += time;
        let parsed = body.and_then(|body| {
            parse(&body).map_err(|error| PollFailure::new(FailureClass::NotUnderstood, &error.to_string()))
        });
        match parsed {
            Ok(value) => Some(value),
            Err(failure) => {
                self.failure.get_or_insert(failure);
                None
            }
        }
    }

    fn reading(self, row: &str, columns: usize) -> Reading {
        let values = values_of(row);
        debug_assert_eq!(values.len(), columns, "{row}");
        Reading { values, requests: self.time, failure: self.failure }
    }
}

/// siad's contracts, files and wallet, in the order of the study's collector.
#[derive(Clone, Debug)]
pub struct SiadSource {
    contracts: Endpoint,
    files: Endpoint,
    wallet: Endpoint,
}

impl SiadSource {
    /// The paths of the endpoints, in order.
    pub const PATHS: [&'static str; 3] = ["/renter/contracts", "/renter/files", "/wallet"];
    /// The header field that siad requires.
    pub const HEADER: &'static str = "User-Agent: Sia-Agent";

    /// Creates a source from the endpoints of [`Self::PATHS`].
    #[must_use]
    pub fn new([contracts, files, wallet]: [Endpoint; 3]) -> Self {
        Self { contracts, files, wallet }
    }

    pub(super) fn columns() -> Vec<Column> {
        columns_of(&siad::COLUMNS)
    }

    pub(super) fn shown(&self) -> &str {
        self.wallet.shown()
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let mut requests = Requests::new(bound);
        let contracts = requests.get(&self.contracts, |body| siad::Contracts::parse(body)?.totals());
        let files = requests.get(&self.files, siad::FileTotals::parse);
        let wallet = requests.get(&self.wallet, siad::Wallet::parse);
        let sample = siad::Sample::new(UtcSecond(0), contracts, files, wallet.map(Into::into), requests.time);
        requests.reading(&sample.row(), siad::COLUMNS.len() - TIMES)
    }
}

/// renterd's contracts, objects, wallet and slab buffers.
#[derive(Clone, Debug)]
pub struct RenterdSource {
    contracts: Endpoint,
    objects: Endpoint,
    wallet: Endpoint,
    buffers: Endpoint,
}

impl RenterdSource {
    /// The paths of the endpoints, in order. Archived contracts are included, because otherwise total spending would
    /// drop with each renewal.
    pub const PATHS: [&'static str; 4] =
        ["/api/bus/contracts?filtermode=all", "/api/bus/stats/objects", "/api/bus/wallet", "/api/bus/slabbuffers"];

    /// Creates a source from the endpoints of [`Self::PATHS`].
    #[must_use]
    pub fn new([contracts, objects, wallet, buffers]: [Endpoint; 4]) -> Self {
        Self { contracts, objects, wallet, buffers }
    }

    pub(super) fn columns() -> Vec<Column> {
        columns_of(&renterd::COLUMNS)
    }

    pub(super) fn shown(&self) -> &str {
        self.wallet.shown()
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let mut requests = Requests::new(bound);
        let contracts = requests.get(&self.contracts, |body| renterd::contract_totals(&renterd::contracts(body)?));
        let objects = requests.get(&self.objects, renterd::ObjectStats::parse);
        let wallet = requests.get(&self.wallet, renterd::Wallet::parse);
        let waiting = requests.get(&self.buffers, renterd::waiting_bytes);
        let objects = objects.map(Into::into);
        let sample = renterd::Sample::new(UtcSecond(0), contracts, objects, wallet, waiting, requests.time);
        requests.reading(&sample.row(), renterd::COLUMNS.len() - TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_those_of_the_tables_without_times() {
        let siad = SiadSource::columns();
        assert_eq!(siad.len(), 15);
        assert_eq!((siad[0].name.as_str(), siad[0].unit), ("contract_count", ColumnUnit::Count));
        assert_eq!((siad[3].name.as_str(), siad[3].unit), ("total_contract_size", ColumnUnit::Bytes));
        assert_eq!((siad[5].name.as_str(), siad[5].unit), ("uploaded_bytes", ColumnUnit::Bytes));
        assert_eq!((siad[14].name.as_str(), siad[14].unit), ("wallet_incoming_siacoins", ColumnUnit::Hastings));
        let renterd = RenterdSource::columns();
        assert_eq!((renterd.len(), renterd[6].unit), (19, ColumnUnit::Share));
    }

    #[test]
    fn cells_keep_their_digits_and_blanks() {
        let row = "2018-02-11T16:05:02,50,12,,4.194276e+16,340282366920938463463374607431768211455,1.5";
        let texts: Vec<Option<String>> = values_of(row).iter().map(|cell| Some(cell.as_ref()?.to_string())).collect();
        let expected =
            [Some("50"), Some("12"), None, Some("4.194276e+16"), Some("340282366920938463463374607431768211455")];
        assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
    }
}
