//! Parser of price sheets. Converts YAML to a [`PriceSheet`], or reports a diagnostic for each mistake.

use std::fmt::Display;
use std::str::FromStr;

use study::scenario::yaml::{self, Entry, Node, Value};
use study::scenario::{Diagnostic, Position};

use super::{Basis, DataPrice, Fees, PriceSheet, RequestPrices, StoragePrice};
use crate::exact::Exact;
use crate::money::{Rate, Rates};
use crate::units::{DataUnit, Months};

/// Maximum size of a price sheet in bytes.
const BYTES_MAX: usize = 64 << 10;
/// Maximum number of rates in a price sheet.
const RATES_MAX: usize = 100;
/// Maximum length of a text in characters.
const TEXT_CHARS_MAX: usize = 2_000;
/// Maximum number of contracts in an estimate.
const CONTRACTS_MAX: u64 = 1_000_000_000;

const KEYS: [&str; 13] = [
    "name",
    "currency",
    "date",
    "source",
    "notes",
    "storage",
    "upload",
    "download",
    "requests",
    "fees",
    "term",
    "redundancy",
    "rates",
];
const STORAGE_KEYS: [&str; 4] = ["price", "per", "bytes", "minimum"];
const DATA_KEYS: [&str; 3] = ["price", "per", "bytes"];
/// The kinds of bytes to which a price of storage can apply. Uploads and downloads have their own lists below. The
/// first kind is the default.
const STORAGE_BASES: [&str; 2] = ["file", "absolute"];
const UPLOAD_BASES: [&str; 3] = ["transferred", "file", "absolute"];
const DOWNLOAD_BASES: [&str; 1] = ["transferred"];
const REQUEST_KEYS: [&str; 4] = ["put", "get", "list", "delete"];
const FEE_KEYS: [&str; 3] = ["fixed", "per_contract", "contracts"];
const RATE_KEYS: [&str; 4] = ["from", "to", "value", "date"];

impl PriceSheet {
    /// Parses a price sheet.
    ///
    /// # Errors
    /// Returns all mistakes in the order of the file. After a syntax error, returns only this error.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut parser = Parser { diagnostics: Vec::new() };
        let sheet = parser.sheet(text);
        match (sheet, parser.diagnostics.is_empty()) {
            (Some(sheet), true) => Ok(sheet),
            _ => {
                parser.diagnostics.sort_by_key(|diagnostic| diagnostic.at);
                Err(parser.diagnostics)
            }
        }
    }
}

struct Parser {
    diagnostics: Vec<Diagnostic>,
}

/// The entries of a map, with its position and its description for error messages.
struct Fields<'n> {
    at: Position,
    what: &'static str,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    fn get(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

impl Parser {
    fn error<T>(&mut self, at: Position, message: impl Into<String>) -> Option<T> {
        self.diagnostics.push(Diagnostic::new(at, message));
        None
    }

    fn sheet(&mut self, text: &str) -> Option<PriceSheet> {
        if text.len() > BYTES_MAX {
            return self.error(Position::START, "the file is larger than 64 KiB, the limit for a price sheet");
        }
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return self.error(Position::START, "the file is empty; docs/cost.md shows what a price sheet contains");
        }
        let root = match yaml::parse(text) {
            Ok(root) => root,
            Err(diagnostic) => return self.error(diagnostic.at, diagnostic.message),
        };
        let fields = self.fields(&root, "a price sheet", &KEYS)?;
        let redundancy = fields.get("redundancy").and_then(|entry| self.redundancy(entry));
        let (name, currency, date) =
            (self.name(&fields), self.required(&fields, "currency"), self.required(&fields, "date"));
        let sheet = PriceSheet {
            name: name.unwrap_or_default(),
            source: fields.get("source").and_then(|entry| self.text(entry)),
            notes: fields.get("notes").and_then(|entry| self.text(entry)),
            storage: fields.get("storage").and_then(|entry| self.storage(entry, redundancy.as_ref())),
            upload: fields.get("upload").and_then(|entry| self.transfer(entry, redundancy.as_ref(), &UPLOAD_BASES)),
            download: fields.get("download").and_then(|entry| self.transfer(entry, None, &DOWNLOAD_BASES)),
            requests: fields.get("requests").and_then(|entry| self.requests(entry)).unwrap_or_default(),
            fees: fields.get("fees").and_then(|entry| self.fees(entry)),
            term: fields.get("term").and_then(|entry| self.term(entry)),
            rates: fields.get("rates").and_then(|entry| self.rates(entry)).unwrap_or_default(),
            currency: currency?,
            date: date?,
        };
        Some(sheet)
    }

    fn name(&mut self, fields: &Fields) -> Option<String> {
        let Some(entry) = fields.get("name") else { return self.missing(fields, "name") };
        let name = self.text(entry)?;
        if name.is_empty() || name.chars().count() > 80 || name.chars().any(char::is_control) {
            return self.error(entry.node.at, "`name` must be one line of up to 80 characters");
        }
        Some(name)
    }

    fn redundancy(&mut self, entry: &Entry) -> Option<Exact> {
        let redundancy = self.number(entry)?;
        if redundancy < Exact::from(1_u64) {
            return self.error(entry.node.at, "`redundancy` must be at least 1 (stored bytes per byte of a file)");
        }
        Some(redundancy)
    }

    fn storage(&mut self, entry: &Entry, redundancy: Option<&Exact>) -> Option<StoragePrice> {
        let fields = self.fields(&entry.node, "`storage`", &STORAGE_KEYS)?;
        let data = self.data_price(&fields, redundancy, &STORAGE_BASES);
        let minimum = fields.get("minimum").map(|entry| self.parsed::<Months>(entry));
        match (data, minimum) {
            (Some(data), None) => Some(StoragePrice { data, minimum: None }),
            (Some(data), Some(Some(minimum))) => Some(StoragePrice { data, minimum: Some(minimum) }),
            _ => None,
        }
    }

    fn transfer(&mut self, entry: &Entry, redundancy: Option<&Exact>, bases: &[&str]) -> Option<DataPrice> {
        let fields = self.fields(&entry.node, "a price of data", &DATA_KEYS)?;
        self.data_price(&fields, redundancy, bases)
    }

    /// Parses a price per unit of data. `bases` are the valid kinds of bytes; the first one is the default.
    fn data_price(&mut self, fields: &Fields, redundancy: Option<&Exact>, bases: &[&str]) -> Option<DataPrice> {
        let price = self.required_number(fields, "price");
        let per = self.unit(fields);
        let basis = fields.get("bytes");
        let word = match basis {
            Some(entry) => self.text(entry)?,
            None => bases.first().copied().unwrap_or_default().to_owned(),
        };
        let at = basis.map_or(fields.at, |entry| entry.node.at);
        let bytes = match (word.as_str(), redundancy) {
            (other, _) if !bases.contains(&other) => {
                self.error(at, format!("unknown `{other}`; `bytes` can be {}", bases.join(", ")))
            }
            ("file", _) => Some(Basis::File),
            ("transferred", _) => Some(Basis::Transferred),
            (_, Some(redundancy)) => Some(Basis::Absolute { redundancy: redundancy.clone() }),
            (_, None) => self.error(
                at,
                "a price of absolute bytes needs `redundancy` in the price sheet for estimates, e.g. redundancy: 3",
            ),
        };
        Some(DataPrice { price: price?, per: per?, bytes: bytes? })
    }

    fn unit(&mut self, fields: &Fields) -> Option<DataUnit> {
        let Some(entry) = fields.get("per") else { return self.missing(fields, "per") };
        let text = self.text(entry)?;
        let found = DataUnit::ALL.iter().find(|(symbol, _)| *symbol == text);
        if found.is_none() {
            return self.error(
                entry.node.at,
                format!(
                    "`per` has the unknown unit `{text}`; use GB (10^9 bytes), GiB (2^30), TB (10^12) or TiB (2^40)"
                ),
            );
        }
        found.map(|(_, unit)| *unit)
    }

    fn requests(&mut self, entry: &Entry) -> Option<RequestPrices> {
        let fields = self.fields(&entry.node, "`requests`", &REQUEST_KEYS)?;
        let mut price = |key: &str| fields.get(key).and_then(|entry| self.number(entry));
        Some(RequestPrices { put: price("put"), get: price("get"), list: price("list"), delete: price("delete") })
    }

    fn fees(&mut self, entry: &Entry) -> Option<Fees> {
        let fields = self.fields(&entry.node, "`fees`", &FEE_KEYS)?;
        let mut fee = |key: &str| fields.get(key).and_then(|entry| self.number(entry)).unwrap_or_else(Exact::zero);
        let (fixed, per_contract) = (fee("fixed"), fee("per_contract"));
        let contracts = fields.get("contracts").and_then(|entry| self.contracts(entry));
        if !per_contract.is_zero() && fields.get("contracts").is_none() {
            return self
                .error(fields.at, "to estimate a fee per contract, add the number of contracts, e.g. contracts: 50");
        }
        Some(Fees { fixed, per_contract, contracts: contracts.unwrap_or(0) })
    }

    fn contracts(&mut self, entry: &Entry) -> Option<u64> {
        let text = self.text(entry)?;
        let contracts = text.parse::<u64>().ok().filter(|contracts| *contracts <= CONTRACTS_MAX);
        if contracts.is_none() {
            return self.error(entry.node.at, format!("`contracts` must be a number of contracts, got `{text}`"));
        }
        contracts
    }

    fn term(&mut self, entry: &Entry) -> Option<Months> {
        let term = self.parsed::<Months>(entry)?;
        if term.0.is_zero() {
            return self.error(entry.node.at, "`term` must be above 0; leave it out if there are no terms");
        }
        Some(term)
    }

    fn rates(&mut self, entry: &Entry) -> Option<Rates> {
        let Value::List(nodes) = &entry.node.value else {
            return self.error(
                entry.node.at,
                "`rates` must be a list, e.g. [{from: SC, to: USD, value: 0.0139, date: 2018-03-14}]",
            );
        };
        if nodes.len() > RATES_MAX {
            return self.error(entry.node.at, format!("a price sheet has at most {RATES_MAX} rates"));
        }
        let mut rates = Rates::default();
        for node in nodes {
            if let Some(rate) = self.rate(node) {
                if rates.between(rate.from(), rate.to()).is_some() {
                    let (from, to) = (rate.from(), rate.to());
                    return self.error(node.at, format!("a second rate between {from} and {to}; remove one of them"));
                }
                rates.0.push(rate);
            }
        }
        Some(rates)
    }

    fn rate(&mut self, node: &Node) -> Option<Rate> {
        let fields = self.fields(node, "a rate", &RATE_KEYS)?;
        let (from, to) = (self.required(&fields, "from"), self.required(&fields, "to"));
        let (value, date) = (self.required_number(&fields, "value"), self.required(&fields, "date"));
        match Rate::new(from?, to?, value?, date?) {
            Ok(rate) => Some(rate),
            Err(error) => self.error(node.at, error.to_string()),
        }
    }

    fn required<T: FromStr<Err: Display>>(&mut self, fields: &Fields, key: &str) -> Option<T> {
        match fields.get(key) {
            Some(entry) => self.parsed(entry),
            None => self.missing(fields, key),
        }
    }

    fn required_number(&mut self, fields: &Fields, key: &str) -> Option<Exact> {
        match fields.get(key) {
            Some(entry) => self.number(entry),
            None => self.missing(fields, key),
        }
    }

    fn missing<T>(&mut self, fields: &Fields, key: &str) -> Option<T> {
        let example = match key {
            "name" => "name: My provider",
            "currency" => "currency: USD",
            "date" => "date: 2026-01-31",
            "per" => "per: TB",
            "from" => "from: SC",
            "to" => "to: USD",
            "value" => "value: 0.0139",
            _ => "price: 0.023",
        };
        self.error(fields.at, format!("{} needs `{key}`, e.g. {example}", fields.what))
    }

    fn number(&mut self, entry: &Entry) -> Option<Exact> {
        let text = self.text(entry)?;
        match Exact::parse_unsigned(&text) {
            Ok(number) => Some(number),
            Err(error) => self.error(entry.node.at, format!("`{}`: {error}, got `{text}`", entry.key)),
        }
    }

    fn parsed<T: FromStr<Err: Display>>(&mut self, entry: &Entry) -> Option<T> {
        let text = self.text(entry)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => self.error(entry.node.at, format!("`{}`: {error}, got `{text}`", entry.key)),
        }
    }

    fn text(&mut self, entry: &Entry) -> Option<String> {
        let Value::Text(text) = &entry.node.value else {
            return self.error(entry.node.at, format!("`{}` must be a single value, not a list or a map", entry.key));
        };
        if text.chars().count() > TEXT_CHARS_MAX {
            return self.error(
                entry.node.at,
                format!("`{}` is longer than {TEXT_CHARS_MAX} characters; shorten it", entry.key),
            );
        }
        Some(text.clone())
    }

    /// Returns the entries of a map. Adds a diagnostic for each unknown key.
    fn fields<'n>(&mut self, node: &'n Node, what: &'static str, known: &[&str]) -> Option<Fields<'n>> {
        let Value::Map(entries) = &node.value else {
            return self.error(node.at, format!("{what} must be a map with the keys {}", known.join(", ")));
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let message = format!("unknown `{}`; {what} has the keys {}", entry.key, known.join(", "));
            self.diagnostics.push(Diagnostic::new(entry.at, message));
        }
        Some(Fields { at: node.at, what, entries })
    }
}
