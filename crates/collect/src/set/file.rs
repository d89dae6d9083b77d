//! The files of predefined sets, in TOML.

use crate::source::{Format, JsonPath, Numbers, Picked, Selector};
use measure::series::{Column, ColumnKind, ColumnUnit};
use serde::Deserialize;

/// A predefined set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetFile {
    /// A short description of the set.
    pub about: String,
    /// The requests of a poll, in order.
    pub request: Vec<Request>,
}

/// A request, and the columns that are picked from its response.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub path: String,
    format: FormatName,
    /// The first words of a response in the format `numbers`.
    #[serde(default)]
    begins: String,
    /// Number of values in a response with the format `numbers`.
    #[serde(default)]
    numbers: usize,
    #[serde(default)]
    pub headers: Vec<String>,
    /// Body of a POST request.
    pub body: Option<String>,
    column: Vec<ColumnEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormatName {
    Json,
    Metrics,
    Numbers,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnEntry {
    name: String,
    pick: OneOrMore,
    #[serde(default = "gauge")]
    kind: ColumnKind,
    #[serde(default = "count")]
    unit: ColumnUnit,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

fn gauge() -> ColumnKind {
    ColumnKind::Gauge
}

fn count() -> ColumnUnit {
    ColumnUnit::Count
}

impl SetFile {
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.about.is_empty() || file.request.is_empty() {
            return Err("a set needs a description and a request".to_owned());
        }
        Ok(file)
    }
}

impl Request {
    /// Returns the format with its columns.
    pub fn format(&self) -> Result<Format, String> {
        Ok(match self.format {
            FormatName::Json => Format::Json(self.picked(json_path)?),
            FormatName::Metrics => Format::Metrics(self.picked(selectors)?),
            FormatName::Numbers => {
                let picked = self.picked(|texts| {
                    let index = one(texts)?.parse::<usize>().map_err(|error| error.to_string())?;
                    if index < self.numbers { Ok(index) } else { Err(format!("{index} is too large")) }
                })?;
                Format::Numbers(Numbers { begins: self.begins.clone(), count: self.numbers, picked })
            }
        })
    }

    fn picked<P>(&self, pick: impl Fn(&[String]) -> Result<P, String>) -> Result<Vec<Picked<P>>, String> {
        let column = |entry: &ColumnEntry| {
            let column = Column::new(&entry.name, entry.kind, entry.unit);
            let column = column.ok_or_else(|| format!("{:?} is no name of a column", entry.name))?;
            let pick = pick(entry.pick.all()).map_err(|error| format!("{}: {error}", entry.name))?;
            Ok(Picked { column, pick, required: false })
        };
        self.column.iter().map(column).collect()
    }
}

fn one(texts: &[String]) -> Result<&String, String> {
    match texts {
        [one] => Ok(one),
        _ => Err("expected one place".to_owned()),
    }
}

fn json_path(texts: &[String]) -> Result<JsonPath, String> {
    one(texts)?.parse::<JsonPath>().map_err(|error| error.to_string())
}

fn selectors(texts: &[String]) -> Result<Vec<Selector>, String> {
    texts.iter().map(|text| text.parse::<Selector>().map_err(|error| format!("{text}: {error}"))).collect()
}
