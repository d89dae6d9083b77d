//! The flags that select a dialect. A dialect is the form in which one kind of system expects requests for objects.

use super::{URLS_MAX, dataset_location::DatasetLocation, s3};
use crate::failure::Failure;
use crate::input_file::{Limits, Lines};
use crate::redact;
use crate::secret_reference::expand;
use clap::ValueEnum;
use engine::dialect::{
    Access, Alluxio, Connection, Dialect, Filestash, Form, Format, Gateway, Http, Piece, Renterd, Siad,
};
use engine::plan::{Auth, SESSIONS_MAX, Sessions, Shared, Targets};
use std::fmt::Display;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;
use wire::gateway::Depth;
use wire::s3::S3Location;
use wire::{Header, HeaderName, HeaderValue, Url};

/// The dialect and its settings.
#[derive(clap::Args, Debug)]
#[group(skip)]
#[command(next_help_heading = "Systems")]
pub struct Args {
    /// Speak the protocol of this system: http, piece, gateway, alluxio, filestash, siad or renterd. Arguments are URLs
    /// of servers and names of objects.
    #[arg(long = "as", value_enum, value_name = "SYSTEM", hide_possible_values = true, hide_short_help = true)]
    pub system: Option<System>,
    /// gateway: format to request, car or raw [default: car].
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true, hide_short_help = true)]
    pub format: Option<FormatOf>,
    /// filestash: log in to this backend, e.g. sftp,hostname=h,username=u,password=@FILE; also ${ENV} [default: blackhole].
    #[arg(long, value_name = "LOGIN", hide_short_help = true)]
    pub connection: Option<String>,
    /// filestash: use one session for all slots (shared), or one session for each slot (per-slot) [default: shared].
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true, hide_short_help = true)]
    pub sessions: Option<SharedBy>,
    /// siad: time between two checks of an upload's progress [default: 15s].
    #[arg(long, value_name = "TIME", value_parser = super::values::timeout, hide_short_help = true)]
    pub poll_every: Option<Duration>,
}

/// Time between two checks of an upload's progress. The load tester of the Sia study used the same time.
const POLL_EVERY: Duration = Duration::from_secs(15);

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
    /// The old renter of Sia.
    Siad,
    /// The renter of Sia.
    Renterd,
}

/// Formats of a gateway's responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatOf {
    /// A block and all blocks below it.
    Car,
    /// A single block.
    Raw,
}

/// The assignment of sessions to slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SharedBy {
    /// One session for all slots.
    Shared,
    /// One session per slot.
    PerSlot,
}

/// The location of a system's objects, and the form of the requests for them.
#[derive(Debug)]
pub struct SystemLocation {
    /// Location of the objects.
    pub location: DatasetLocation,
    /// Form of the requests.
    pub form: Form,
    dialect: Box<dyn Dialect>,
    access: Access,
    /// Path of the system on its server.
    base: String,
    name: &'static str,
}

/// Settings of a run that affect its dialect and come from other flags.
#[derive(Clone, Copy, Debug)]
pub struct DialectSettings {
    /// `true` if the user gives credentials: a cookie, basic authentication, or a secret header.
    pub identified: bool,
    /// Number of slots, if this number is fixed.
    pub slots: Option<NonZeroU64>,
    /// Verification of a gateway's blocks.
    pub depth: Depth,
}

impl Args {
    /// Returns the location for the system that the flags select, or `None` if the flags select no system. `servers`
    /// are the URLs of the system.
    pub fn locate(
        &self,
        access: Access,
        servers: &[String],
        s3: &s3::Args,
        settings: DialectSettings,
    ) -> Result<Option<SystemLocation>, Failure> {
        let Some(system) = self.system else { return Ok(None) };
        let name = system.name();
        if let Some(s3_location) = servers.iter().find(|word| S3Location::has_scheme(word)) {
            return Err(Failure::usage(format!(
                "--as {name} needs server URLs, not `{}`: write http://host:port, with the bucket as the path",
                redact::url_text(s3_location)
            )));
        }
        let dialect = self.dialect(system, settings)?;
        let form = dialect.form(access).ok_or_else(|| {
            let what = match access {
                Access::Read => "read",
                Access::List => "list",
                Access::Write => "write",
                Access::Delete => "delete",
            };
            Failure::usage(format!("--as {name} cannot {what} objects"))
        })?;
        let mut location = DatasetLocation::of(servers, s3)?;
        let base = location.container.clone();
        dialect.check_base(&base).map_err(|error| Failure::usage(format!("--as {name}: {error}")))?;
        if location.credentials.is_none() && !settings.identified {
            let variable = system.password_variable();
            location.credentials = variable.map(|name| expand(&format!(":${{{name}}}"), name)).transpose()?;
        }
        location.auth = match dialect.opening(&base) {
            None => Auth::None,
            Some(_) if location.origins.len() > 1 => {
                return Err(Failure::usage(format!("--as {name} opens its sessions on one server: name one URL")));
            }
            Some(opening) => {
                let sessions = Sessions { opening, shared: self.shared(settings)?, lines: [].into() };
                Auth::Session(Box::new(sessions))
            }
        };
        Ok(Some(SystemLocation { location, form, dialect, access, base, name }))
    }

    /// Refuses flags of systems that are not selected.
    pub fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--format", self.format.is_some(), System::Gateway),
            ("--connection", self.connection.is_some(), System::Filestash),
            ("--sessions", self.sessions.is_some(), System::Filestash),
            ("--poll-every", self.poll_every.is_some(), System::Siad),
        ];
        match given.iter().find(|(_, is_given, system)| *is_given && self.system != Some(*system)) {
            Some((flag, _, system)) => Err(Failure::usage(format!("{flag} requires --as {}", system.name()))),
            None => Ok(()),
        }
    }

    /// Returns the time between two checks of the progress of a background upload.
    pub fn poll_every(&self) -> Duration {
        self.poll_every.unwrap_or(POLL_EVERY)
    }

    fn dialect(&self, system: System, settings: DialectSettings) -> Result<Box<dyn Dialect>, Failure> {
        Ok(match system {
            System::Http => Box::new(Http),
            System::Piece => Box::new(Piece),
            System::Alluxio => Box::new(Alluxio),
            System::Siad => Box::new(Siad),
            System::Renterd => Box::new(Renterd),
            System::Gateway => {
                let format = if self.format == Some(FormatOf::Raw) { Format::Raw } else { Format::Car };
                Box::new(Gateway { format, depth: settings.depth })
            }
            System::Filestash => {
                let connection = match (&self.connection, settings.identified) {
                    (Some(_), true) => {
                        return Err(Failure::usage(
                            "--connection logs in by itself: leave out either --connection, or -C, -u and other credentials",
                        ));
                    }
                    (None, true) => None,
                    (text, false) => Some(connection(text.as_deref().unwrap_or("blackhole"))?),
                };
                Box::new(Filestash::new(connection))
            }
        })
    }

    fn shared(&self, settings: DialectSettings) -> Result<Shared, Failure> {
        match (self.sessions, settings.slots) {
            (None | Some(SharedBy::Shared), _) => Ok(Shared::One),
            (Some(SharedBy::PerSlot), Some(slots)) if slots.get() <= SESSIONS_MAX => Ok(Shared::PerSlot(slots)),
            (Some(SharedBy::PerSlot), Some(slots)) => Err(Failure::usage(format!(
                "--sessions per-slot: {slots} slots are too many; the maximum is {SESSIONS_MAX}"
            ))),
            (Some(SharedBy::PerSlot), None) => Err(Failure::usage(
                "--sessions per-slot needs a fixed number of slots: use -c, without -R and --stages",
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
            Self::Siad => "siad",
            Self::Renterd => "renterd",
        }
    }

    /// Returns the environment variable with the password that the system's own programs use, if it is set.
    pub fn password_variable(self) -> Option<&'static str> {
        let variable = match self {
            Self::Siad => "SIA_API_PASSWORD",
            Self::Renterd => "RENTERD_API_PASSWORD",
            Self::Http | Self::Piece | Self::Gateway | Self::Alluxio | Self::Filestash => return None,
        };
        std::env::var(variable).is_ok_and(|password| !password.is_empty()).then_some(variable)
    }
}

/// Parses `TYPE,NAME=VALUE,…`. Error messages never contain a value, because it may be a secret.
fn connection(text: &str) -> Result<Connection, Failure> {
    let mut parts = text.split(',');
    let kind = parts.next().unwrap_or_default().trim();
    if kind.is_empty() || kind.contains('=') {
        return Err(Failure::usage(
            "--connection: the type must come first, e.g. `blackhole` or `sftp,hostname=h,username=u`",
        ));
    }
    let parameter = |part: &str| match part.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), expand(value, &format!("--connection {}", name.trim()))?))
        }
        _ => Err(Failure::usage(
            "--connection: parameters are NAME=VALUE, separated by commas; read a value that contains a comma from @FILE or ${ENV}",
        )),
    };
    Ok(Connection::new(kind, parts.map(parameter).collect::<Result<_, _>>()?))
}

impl SystemLocation {
    /// Returns the location for a dataset. Fails if users cannot choose the names of objects on the system.
    pub fn dataset_location(self) -> Result<(DatasetLocation, Form), Failure> {
        let container = self.dialect.container(self.access, &self.base).ok_or_else(|| {
            let name = self.name;
            Failure::usage(format!(
                "--as {name} cannot use a dataset, because CIDs name the objects: list CIDs with --url-file FILE"
            ))
        })?;
        let query = self.dialect.query(self.access, &self.base).map(Into::into);
        Ok((DatasetLocation { container, query, ..self.location }, self.form))
    }

    /// Returns the objects with these names, and the objects named in a list.
    pub fn targets(&self, names: &[&str], list: Option<&Path>) -> Result<Targets, Failure> {
        let mut targets = Targets::at(self.location.origins.clone());
        for name in names {
            self.add(name, &mut targets, &format_args!("`{}`", redact::url_text(name)))?;
        }
        if let Some(path) = list {
            let mut lines = Lines::open(path, Limits::LIST)?;
            while let Some((text, place)) = lines.next()? {
                if !text.is_empty() && !text.starts_with('#') {
                    self.add(text, &mut targets, &place)?;
                }
            }
        }
        if targets.items().is_empty() {
            self.add("/", &mut targets, &"no objects: write names after the URL, or use --url-file FILE")?;
        }
        Ok(targets)
    }

    fn add(&self, name: &str, targets: &mut Targets, place: &dyn Display) -> Result<(), Failure> {
        let refused = |why: &dyn Display| Failure::usage(format!("{place}: {why}"));
        let target = self.dialect.target(self.access, &self.base, name).map_err(|error| refused(&error))?;
        let origin = self.location.origins.first().ok_or_else(|| refused(&"no server given; write its URL"))?;
        let text = format!("{}://{}{target}", origin.scheme, origin.host_header());
        let url = Url::parse(&text).map_err(|error| refused(&error))?;
        if url.target() != target {
            return Err(refused(&"a URL cannot contain this name unchanged"));
        }
        if targets.items().len() >= URLS_MAX {
            return Err(refused(&format_args!("more than {URLS_MAX} names; split the list")));
        }
        let _ = targets.push(&url);
        Ok(())
    }
}

/// Adds header fields that the user has not set. A `User-Agent` replaces the program's own.
pub fn add_headers(fields: &[(&str, &str)], headers: &mut Vec<Header>) -> Result<(), Failure> {
    for (name, value) in fields {
        headers.retain(|header| !(header.name.is(name) && is_default_agent(header)));
        if !headers.iter().any(|header| header.name.is(name)) {
            let name = HeaderName::parse(name).map_err(Failure::usage)?;
            headers.push(Header { name, value: HeaderValue::parse(value).map_err(Failure::usage)? });
        }
    }
    Ok(())
}

fn is_default_agent(header: &Header) -> bool {
    header.name.is("user-agent") && header.value.as_str() == super::headers::USER_AGENT
}
