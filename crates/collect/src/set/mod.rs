//! Predefined sets. A set contains the endpoints and columns of a known system. Most sets are files below `sets/`.

mod address;
mod file;

pub use address::Address;

use crate::source::{Endpoint, HttpSource, RenterdSource, SiadSource, Source};
use address::Base;
use file::SetFile;

/// A predefined set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    name: &'static str,
    content: Content,
}

/// The content of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// siad, with the columns of the study's collector.
    Siad,
    /// renterd.
    Renterd,
    /// The text of a file.
    File(&'static str),
}

/// All sets, in the order in which they are listed.
const SETS: [Set; 8] = [
    Set { name: "siad", content: Content::Siad },
    Set { name: "renterd", content: Content::Renterd },
    Set { name: "booster-http", content: Content::File(include_str!("../../sets/booster-http.toml")) },
    Set { name: "lotus-miner", content: Content::File(include_str!("../../sets/lotus-miner.toml")) },
    Set { name: "minio", content: Content::File(include_str!("../../sets/minio.toml")) },
    Set { name: "alluxio", content: Content::File(include_str!("../../sets/alluxio.toml")) },
    Set { name: "nginx", content: Content::File(include_str!("../../sets/nginx.toml")) },
    Set { name: "node", content: Content::File(include_str!("../../sets/node.toml")) },
];

/// The reason why a set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError<E> {
    /// The URL lacks a parameter.
    #[error("the URL needs a parameter, for example {example}")]
    Parameter {
        /// A URL with the parameter.
        example: String,
    },
    /// The set's file is wrong, which is a defect of this program.
    #[error("the set is damaged ({0})")]
    Damaged(String),
    /// The caller could not connect an endpoint.
    #[error("{0}")]
    Connect(E),
}

impl Set {
    /// Returns all sets.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &SETS
    }

    /// Returns the set with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SETS.into_iter().find(|set| set.name == name)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns a short description of the set.
    #[must_use]
    pub fn about(self) -> String {
        match self.content {
            Content::Siad => "siad: the columns of the study's collector".to_owned(),
            Content::Renterd => "renterd: contracts, objects, spending and wallet".to_owned(),
            Content::File(text) => SetFile::parse(text).map(|file| file.about).unwrap_or_default(),
        }
    }

    /// Returns the sources of the set for the system at a URL. `connect` creates the endpoint of each address.
    ///
    /// # Errors
    /// Returns an error if the URL lacks a parameter, or `connect` fails.
    pub fn sources<E>(
        self,
        url: &str,
        connect: &mut dyn FnMut(&Address) -> Result<Endpoint, E>,
    ) -> Result<Vec<Source>, SetError<E>> {
        let base = Base::of(url);
        let mut one = |path: &str, headers: &[&str]| {
            let headers = headers.iter().map(|header| (*header).to_owned()).collect();
            connect(&Address { url: base.below(path), headers }).map_err(SetError::Connect)
        };
        match self.content {
            Content::Siad => {
                let mut one = |path| one(path, &[SiadSource::HEADER]);
                let [contracts, files, wallet] = SiadSource::PATHS;
                let endpoints = [one(contracts)?, one(files)?, one(wallet)?];
                Ok(vec![Source::Siad(Box::new(SiadSource::new(endpoints)))])
            }
            Content::Renterd => {
                let mut one = |path| one(path, &[]);
                let [contracts, objects, wallet, buffers] = RenterdSource::PATHS;
                let endpoints = [one(contracts)?, one(objects)?, one(wallet)?, one(buffers)?];
                Ok(vec![Source::Renterd(Box::new(RenterdSource::new(endpoints)))])
            }
            Content::File(text) => {
                let file = SetFile::parse(text).map_err(SetError::Damaged)?;
                let only = file.request.len() == 1;
                file.request.iter().map(|request| source(request, &base, only, connect)).collect()
            }
        }
    }
}

fn source<E>(
    request: &file::Request,
    base: &Base,
    only: bool,
    connect: &mut dyn FnMut(&Address) -> Result<Endpoint, E>,
) -> Result<Source, SetError<E>> {
    let body = match &request.body {
        Some(body) => Some(base.filled(body).map_err(|example| SetError::Parameter { example })?),
        None => None,
    };
    // Parameters for the body are not sent in the URL.
    let url = base.url(&request.path, only, body.is_none());
    let mut headers = request.headers.clone();
    if body.is_some() {
        headers.push("Content-Type: application/json".to_owned());
    }
    let endpoint = connect(&Address { url, headers }).map_err(SetError::Connect)?;
    let endpoint = match &body {
        Some(body) => endpoint.posting(body.as_bytes()),
        None => endpoint,
    };
    let format = request.format().map_err(SetError::Damaged)?;
    Ok(Source::Http(HttpSource::new(endpoint, format)))
}

#[cfg(test)]
mod tests;
