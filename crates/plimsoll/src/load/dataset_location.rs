//! The location of a dataset: a URL or an S3 prefix, on one or several servers.

use super::s3;
use crate::failure::Failure;
use crate::redact;
use crate::secret_reference;
use content::Dataset;
use engine::plan::{Area, Auth, Members, ObjectQuery, ObjectSet, Spread, Targets};
use wire::s3::S3Location;
use wire::{Origin, Url};

/// A bucket or folder on one or several servers, and the settings to access it.
#[derive(Debug)]
pub struct DatasetLocation {
    /// The servers. Each server has all objects.
    pub origins: Vec<Origin>,
    /// Path of the bucket or folder, percent-encoded, without a trailing slash.
    pub container: String,
    /// Query of every request, without the question mark.
    pub query: Option<Box<str>>,
    /// Prefix of every key: empty, or with a trailing slash.
    pub prefix: String,
    /// Authentication of requests.
    pub auth: Auth,
    /// User and password from a URL.
    pub credentials: Option<String>,
    /// Distribution of requests over the servers.
    pub spread: Spread,
    /// `true` if the objects can be listed.
    pub can_list: bool,
    /// Query in requests for each object.
    pub object_query: ObjectQuery,
}

impl DatasetLocation {
    /// Parses the location that the user typed: one `s3://BUCKET/PREFIX`, or one or more URLs with the same path.
    pub fn of(typed: &[String], s3: &s3::Args) -> Result<Self, Failure> {
        let place = Self::with_query(typed, s3)?;
        match (&place.query, typed) {
            (Some(_), [text, ..]) => Err(refused(text, &"a dataset's URL cannot have a query; leave it out")),
            _ => Ok(place),
        }
    }

    /// Like [`Self::of`], but the URLs may have a query. Every request has this query after the key.
    pub fn with_query(typed: &[String], s3: &s3::Args) -> Result<Self, Failure> {
        match typed {
            [] => Err(Failure::usage(
                "no URL given: write http://host:port/path, or s3://BUCKET/PREFIX with --endpoint URL",
            )),
            [one] if S3Location::has_scheme(one) => Self::of_s3(one, s3),
            several => Self::of_urls(several, s3.spread()),
        }
    }

    fn of_s3(text: &str, flags: &s3::Args) -> Result<Self, Failure> {
        let refused = |why: &dyn std::fmt::Display| Failure::usage(format!("`{}`: {why}", redact::url_text(text)));
        let location: S3Location = text.parse().map_err(|error| refused(&error))?;
        let service = flags.service()?;
        let addressing = service.addressing;
        let origins = service.endpoints.iter().map(|endpoint| addressing.origin(endpoint, &location.bucket));
        let origins = origins.collect::<Result<_, _>>().map_err(|error| refused(&error))?;
        let mut container = String::new();
        addressing.write_path(&location.bucket, "", &mut container);
        Ok(Self {
            origins,
            container: container.trim_end_matches('/').to_owned(),
            query: None,
            prefix: folder(&location.key),
            auth: service.auth,
            credentials: None,
            spread: flags.spread(),
            can_list: true,
            object_query: ObjectQuery::None,
        })
    }

    fn of_urls(typed: &[String], spread: Spread) -> Result<Self, Failure> {
        let (mut origins, mut container, mut credentials) = (Vec::new(), None, None);
        for text in typed {
            if S3Location::has_scheme(text) {
                return Err(refused(
                    text,
                    &"only one s3:// location is allowed; for several servers use --endpoint URL,URL",
                ));
            }
            let url = Url::parse(text).map_err(|error| refused(text, &error))?;
            let (path, query) = url.target().split_once('?').unwrap_or((url.target(), ""));
            let place = (path.trim_end_matches('/').to_owned(), query.to_owned());
            if container.get_or_insert_with(|| place.clone()) != &place {
                return Err(refused(text, &"all servers must have the same path and query"));
            }
            let found = url.credentials().map(secret_reference::of_url).transpose()?;
            if let Some(found) = found
                && credentials.get_or_insert_with(|| found.clone()) != &found
            {
                return Err(refused(
                    text,
                    &"the URLs have different credentials; use the same in all URLs, or remove them and use -u",
                ));
            }
            origins.push(url.origin().clone());
        }
        let (container, query) = container.unwrap_or_default();
        let query = Some(query).filter(|query| !query.is_empty()).map(Into::into);
        let prefix = String::new();
        Ok(Self {
            origins,
            container,
            query,
            prefix,
            auth: Auth::None,
            credentials,
            spread,
            can_list: false,
            object_query: ObjectQuery::None,
        })
    }

    /// Returns the single object that an S3 location names.
    pub fn one_object(&self) -> Result<Targets, Failure> {
        let key = self.prefix.trim_end_matches('/');
        if key.is_empty() {
            return Err(Failure::usage(
                "no object given: write s3://BUCKET/KEY, or describe a dataset, for example --count 100 --size 1MiB",
            ));
        }
        self.at(key)
    }

    /// Returns the object with this key below the prefix.
    pub fn one(&self, key: &str) -> Result<Targets, Failure> {
        self.at(&format!("{}{key}", self.prefix))
    }

    /// Returns the bucket or folder itself, as the target of a request.
    pub fn bucket(&self) -> Result<Targets, Failure> {
        self.at("")
    }

    fn at(&self, key: &str) -> Result<Targets, Failure> {
        let mut targets = Targets::at(self.origins.clone());
        self.push(key, &mut targets)?;
        Ok(targets)
    }

    fn push(&self, key: &str, targets: &mut Targets) -> Result<(), Failure> {
        if let Some(origin) = self.origins.first() {
            let mut text = format!("{}://{}{}", origin.scheme, origin.host_header(), self.container);
            if !key.is_empty() || self.container.is_empty() {
                text.push('/');
            }
            wire::percent::push_path(key, &mut text);
            let url = Url::parse(&text).map_err(|error| Failure::usage(error.to_string()))?;
            let _ = targets.push(&url);
        }
        Ok(())
    }

    /// Returns the objects of a set in this location.
    pub fn targets(&self, set: impl Into<ObjectSet>) -> Targets {
        self.members(set, Members::All)
    }

    /// Returns the objects of a set with these numbers in this location.
    pub fn chosen(&self, set: impl Into<ObjectSet>, numbers: &[u64]) -> Targets {
        self.members(set, Members::Chosen(numbers.into()))
    }

    /// Returns the path of a key in the bucket or folder, percent-encoded.
    pub fn path(&self, key: &str) -> String {
        let mut path = format!("{}/", self.container);
        wire::percent::push_path(key, &mut path);
        path
    }

    /// Returns the objects with these numbers that runs of `mix` wrote next to the dataset.
    pub fn fresh(&self, dataset: Dataset, numbers: Vec<u64>) -> Targets {
        self.members(dataset, Members::Fresh(numbers.into()))
    }

    /// Returns some objects of a set in this location.
    pub fn members(&self, set: impl Into<ObjectSet>, objects: Members) -> Targets {
        let (container, prefix) = (self.container.as_str().into(), self.prefix.as_str().into());
        let area = Area { set: set.into(), objects, container, prefix, query: self.object_query };
        Targets::of_set(self.origins.clone(), area)
    }
}

fn refused(text: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("`{}`: {why}", redact::url_text(text)))
}

/// Returns a prefix with a trailing slash, or the empty prefix.
fn folder(prefix: &str) -> String {
    if prefix.is_empty() || prefix.ends_with('/') { prefix.to_owned() } else { format!("{prefix}/") }
}
