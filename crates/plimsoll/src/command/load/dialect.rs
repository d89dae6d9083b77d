//! The flags that say how a system is asked, and what they come to: a place, a form of requests, and objects by their names.

use super::{place::Place, s3};
use crate::command::get::read::Lines;
use crate::command::get::urls::{LIST, URLS_MAX};
use crate::failure::Failure;
use crate::redact;
use crate::typed::expand;
use clap::ValueEnum;
use engine::dialect::{Alluxio, Ask, Connection, Dialect, Filestash, Form, Format, Gateway, Http, Piece};
use engine::plan::{Auth, SESSIONS_MAX, Sessions, Shared, Targets};
use std::fmt::Display;
use std::num::NonZeroU64;
use std::path::Path;
use wire::gateway::Depth;
use wire::s3::S3Location;
use wire::{Header, HeaderName, HeaderValue, Url};

/// How a system is asked.
#[derive(clap::Args, Debug)]
#[group(skip)]
#[command(next_help_heading = "Systems")]
pub struct Args {
    /// Ask as http, piece, gateway, alluxio or filestash is asked: URLs are servers, and objects have names.
    #[arg(long = "as", value_enum, value_name = "SYSTEM", hide_possible_values = true, hide_short_help = true)]
    pub system: Option<System>,
    /// gateway: ask for car or raw [default: car].
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true, hide_short_help = true)]
    pub format: Option<FormatOf>,
    /// filestash: log in to this backend, like sftp,hostname=h,username=u,password=@FILE; also ${ENV} [default: blackhole].
    #[arg(long, value_name = "LOGIN", hide_short_help = true)]
    pub connection: Option<String>,
    /// filestash: all slots in one session, or each in its own: shared or per-slot [default: shared].
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true, hide_short_help = true)]
    pub sessions: Option<SharedBy>,
}

/// Systems that have a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum System {
    /// Paths below a URL.
    Http,
    /// `/piece/CID`.
    Piece,
    /// `/ipfs/CID`.
    Gateway,
    /// The S3 API of Alluxio workers.
    Alluxio,
    /// A web file manager.
    Filestash,
}

/// What gateways send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatOf {
    /// A block with those below it.
    Car,
    /// A block alone.
    Raw,
}

/// How slots share sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SharedBy {
    /// One for all.
    Shared,
    /// One for each.
    PerSlot,
}

/// A system at its place.
#[derive(Debug)]
pub struct Spoken {
    /// Where its objects are; for a dataset, as its container.
    pub place: Place,
    /// How they are asked for.
    pub form: Form,
    dialect: Box<dyn Dialect>,
    ask: Ask,
    /// Path of the system at its server.
    base: String,
    name: &'static str,
}

/// What the user has said besides, as far as a session depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The user shows who asks, by cookies or otherwise.
    pub identified: bool,
    /// Slots, where there is a fixed number of them.
    pub slots: Option<NonZeroU64>,
    /// How closely the blocks of a gateway are looked at.
    pub depth: Depth,
}

impl Args {
    /// What the flags come to, when they name a system. `words` are what was typed besides flags.
    pub fn spoken(
        &self,
        ask: Ask,
        servers: &[String],
        s3: &s3::Args,
        beside: Beside,
    ) -> Result<Option<Spoken>, Failure> {
        let Some(system) = self.system else { return Ok(None) };
        let name = system.name();
        if let Some(location) = servers.iter().find(|word| S3Location::is_meant(word)) {
            return Err(Failure::usage(format!(
                "`{}`: --as {name} asks servers by their URLs: write http://host:port, with the bucket as its path",
                redact::url_text(location)
            )));
        }
        let dialect = self.dialect(system, beside)?;
        let form = dialect.form(ask).ok_or_else(|| {
            let what = match ask {
                Ask::Read => "be read",
                Ask::List => "be listed",
                Ask::Write => "be written",
            };
            Failure::usage(format!("--as {name}: its objects can not {what}"))
        })?;
        let mut place = Place::of(servers, s3)?;
        let base = place.container.clone();
        place.auth = match dialect.opening(&base) {
            None => Auth::None,
            Some(_) if place.origins.len() > 1 => {
                return Err(Failure::usage(format!("--as {name}: sessions are opened at one server: name one URL")));
            }
            Some(opening) => {
                let sessions = Sessions { opening, shared: self.shared(beside)?, lines: [].into() };
                Auth::Session(Box::new(sessions))
            }
        };
        Ok(Some(Spoken { place, form, dialect, ask, base, name }))
    }

    /// A flag of one system means nothing to another.
    pub fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--format", self.format.is_some(), System::Gateway),
            ("--connection", self.connection.is_some(), System::Filestash),
            ("--sessions", self.sessions.is_some(), System::Filestash),
        ];
        match given.iter().find(|(_, is_given, system)| *is_given && self.system != Some(*system)) {
            Some((flag, _, system)) => Err(Failure::usage(format!("{flag} needs --as {}", system.name()))),
            None => Ok(()),
        }
    }

    fn dialect(&self, system: System, beside: Beside) -> Result<Box<dyn Dialect>, Failure> {
        Ok(match system {
            System::Http => Box::new(Http),
            System::Piece => Box::new(Piece),
            System::Alluxio => Box::new(Alluxio),
            System::Gateway => {
                let format = if self.format == Some(FormatOf::Raw) { Format::Raw } else { Format::Car };
                Box::new(Gateway { format, depth: beside.depth })
            }
            System::Filestash => {
                let connection = match (&self.connection, beside.identified) {
                    (Some(_), true) => {
                        return Err(Failure::usage(
                            "--connection opens a session: leave out -C, -u and other credentials, or --connection",
                        ));
                    }
                    (None, true) => None,
                    (text, false) => Some(connection(text.as_deref().unwrap_or("blackhole"))?),
                };
                Box::new(Filestash::new(connection))
            }
        })
    }

    fn shared(&self, beside: Beside) -> Result<Shared, Failure> {
        match (self.sessions, beside.slots) {
            (None | Some(SharedBy::Shared), _) => Ok(Shared::One),
            (Some(SharedBy::PerSlot), Some(slots)) if slots.get() <= SESSIONS_MAX => Ok(Shared::PerSlot(slots)),
            (Some(SharedBy::PerSlot), Some(slots)) => {
                Err(Failure::usage(format!("--sessions per-slot: at most {SESSIONS_MAX} slots, and these are {slots}")))
            }
            (Some(SharedBy::PerSlot), None) => Err(Failure::usage(
                "--sessions per-slot goes with a fixed number of slots: write -c, without -R and --stages",
            )),
        }
    }
}

impl System {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Piece => "piece",
            Self::Gateway => "gateway",
            Self::Alluxio => "alluxio",
            Self::Filestash => "filestash",
        }
    }
}

/// Reads `TYPE,NAME=VALUE,…`. Messages repeat no value: it may be a secret.
fn connection(text: &str) -> Result<Connection, Failure> {
    let mut parts = text.split(',');
    let kind = parts.next().unwrap_or_default().trim();
    if kind.is_empty() || kind.contains('=') {
        return Err(Failure::usage(
            "--connection: write the type first, like blackhole, or sftp,hostname=h,username=u",
        ));
    }
    let parameter = |part: &str| match part.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), expand(value, &format!("--connection {}", name.trim()))?))
        }
        _ => Err(Failure::usage(
            "--connection: parameters are NAME=VALUE, with commas between; a value with commas comes from @FILE or ${ENV}",
        )),
    };
    Ok(Connection::new(kind, parts.map(parameter).collect::<Result<_, _>>()?))
}

impl Spoken {
    /// The place of objects whose keys users choose.
    pub fn area(self) -> Result<(Place, Form), Failure> {
        let container = self.dialect.container(self.ask, &self.base).ok_or_else(|| {
            let name = self.name;
            Failure::usage(format!(
                "--as {name}: its objects are named by what they hold: give CIDs, with --url-file FILE"
            ))
        })?;
        Ok((Place { container, ..self.place }, self.form))
    }

    /// The objects of these names, and of those of a list.
    pub fn targets(&self, names: &[&str], list: Option<&Path>) -> Result<Targets, Failure> {
        let mut targets = Targets::at(self.place.origins.clone());
        for name in names {
            self.add(name, &mut targets, &format_args!("`{}`", redact::url_text(name)))?;
        }
        if let Some(path) = list {
            let mut lines = Lines::open(path, LIST)?;
            while let Some((text, place)) = lines.next()? {
                if !text.is_empty() && !text.starts_with('#') {
                    self.add(text, &mut targets, &place)?;
                }
            }
        }
        if targets.items().is_empty() {
            self.add("/", &mut targets, &"which objects? Write names behind the URL, or --url-file FILE")?;
        }
        Ok(targets)
    }

    fn add(&self, name: &str, targets: &mut Targets, place: &dyn Display) -> Result<(), Failure> {
        let refused = |why: &dyn Display| Failure::usage(format!("{place}: {why}"));
        let target = self.dialect.target(self.ask, &self.base, name).map_err(|error| refused(&error))?;
        let origin = self.place.origins.first().ok_or_else(|| refused(&"there is no server"))?;
        let text = format!("{}://{}{target}", origin.scheme, origin.host_header());
        let url = Url::parse(&text).map_err(|error| refused(&error))?;
        if url.target() != target {
            return Err(refused(&"no URL can hold this name as it is"));
        }
        if targets.items().len() >= URLS_MAX {
            return Err(refused(&format_args!("more than {URLS_MAX} names: cut the list in parts")));
        }
        let _ = targets.push(&url);
        Ok(())
    }
}

/// Adds fields of a form to those of the user, who comes first.
pub fn add_headers(fields: &[(&str, &str)], headers: &mut Vec<Header>) -> Result<(), Failure> {
    for (name, value) in fields {
        if !headers.iter().any(|header| header.name.is(name)) {
            let name = HeaderName::parse(name).map_err(Failure::usage)?;
            headers.push(Header { name, value: HeaderValue::parse(value).map_err(Failure::usage)? });
        }
    }
    Ok(())
}
