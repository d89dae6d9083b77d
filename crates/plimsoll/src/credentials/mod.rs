//! The keys for S3. The sources are flags, a named profile, the environment, the default profile, and the machine's
//! role, in this order. A profile has keys, or names a role or a program that has keys. All keys come from the first
//! source that has keys, so sources are never mixed. Messages show the source of the keys, but never the keys.

mod endpoint;
mod instance_metadata;
mod process;
mod profile;
mod profile_keys;
mod renewal;
mod role;

pub use endpoint::{Service, configured, origin};
pub use renewal::keep_current;

use crate::failure::Failure;
use crate::secret_reference;
use clap::ValueEnum;
use std::fmt;
use std::path::PathBuf;
use wire::sigv4::{Keys, KeysError, Secret, Timestamp};

/// Region of signatures, if none is set.
pub const DEFAULT_REGION: &str = "us-east-1";

/// Choice of the sources in which to search for keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SourceChoice {
    /// Flags, a named profile, the environment, then the default profile.
    #[default]
    Auto,
    /// Only the metadata service of this cloud machine.
    Imds,
}

/// Flags with the keys for S3, or with the location of the keys.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "S3 credentials")]
#[group(skip)]
pub struct Args {
    /// Access key; also @FILE or ${ENV} [default: from the environment or ~/.aws].
    #[arg(long, hide_short_help = true, value_name = "KEY", requires = "secret_key")]
    pub access_key: Option<String>,
    /// Secret key for --access-key; use @FILE or ${ENV}, since other users of this host can see command lines.
    #[arg(long, hide_short_help = true, value_name = "SECRET", requires = "access_key")]
    pub secret_key: Option<String>,
    /// Session token of a temporary --access-key; also @FILE or ${ENV}.
    #[arg(long, hide_short_help = true, value_name = "TOKEN", requires = "access_key")]
    pub session_token: Option<String>,
    /// Profile in ~/.aws/credentials or ~/.aws/config.
    #[arg(long, hide_short_help = true, value_name = "NAME", conflicts_with = "access_key")]
    pub profile: Option<String>,
    /// Where to get the S3 credentials: auto (flags, profile, environment), or imds (the IAM role of this cloud
    /// instance).
    #[arg(long, hide_short_help = true, value_enum, default_value = "auto", value_name = "FROM", hide_possible_values = true, conflicts_with_all = ["access_key", "profile"])]
    pub credentials: SourceChoice,
}

impl Args {
    /// Returns the name of the profile in use.
    pub fn active_profile(&self, around: &Surroundings) -> String {
        self.profile.clone().or_else(|| around.get("AWS_PROFILE")).unwrap_or_else(|| "default".to_owned())
    }
}

/// The source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `--access-key` and `--secret-key`.
    Flags,
    /// `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
    Environment,
    /// A profile in a file.
    Profile(String, PathBuf),
    /// The program (`credential_process`) that a profile in a file names.
    Process(String, PathBuf),
    /// The role of a profile in a file, from a token service.
    Role(String, PathBuf),
    /// The metadata service, for the role with this name.
    Imds(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags => f.write_str("the command line"),
            Self::Environment => f.write_str("the environment (AWS_ACCESS_KEY_ID)"),
            Self::Profile(name, path) => write!(f, "profile {} in {}", name.escape_debug(), path.display()),
            Self::Process(name, path) => {
                write!(f, "credential_process of profile {} in {}", name.escape_debug(), path.display())
            }
            Self::Role(name, path) => write!(f, "role_arn of profile {} in {}", name.escape_debug(), path.display()),
            Self::Imds(role) => write!(f, "the metadata service, role {}", role.escape_debug()),
        }
    }
}

/// Keys and their source.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The keys.
    pub keys: Keys,
    /// The source of the keys.
    pub source: Source,
    /// Region in the environment, or else the region in the source of the keys.
    pub region: Option<String>,
    /// Time at which the keys expire.
    pub expires: Option<Timestamp>,
}

/// The environment variables and the home directory. Tests replace them.
pub struct Surroundings<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Surroundings<'a> {
    /// Creates surroundings. `variable` returns the value of an environment variable.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable }
    }

    /// Returns an environment variable if it is set and not empty.
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Returns the region in the environment.
    pub fn region(&self) -> Option<String> {
        self.get("AWS_REGION").or_else(|| self.get("AWS_DEFAULT_REGION"))
    }

    /// Returns the path in an environment variable, or else a path below the home directory.
    fn file(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.get(variable).map(PathBuf::from);
        named.or_else(|| self.get("HOME").map(|home| PathBuf::from(home).join(below_home)))
    }
}

/// Reads an environment variable of this process.
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Credentials {
    /// Finds keys. Returns `None` if no source has keys.
    pub fn find(args: &Args, around: &Surroundings) -> Result<Option<Self>, Failure> {
        let mut found = match (&args.access_key, &args.profile, args.credentials) {
            (Some(access_key), ..) => Some(Self::typed(access_key, args)?),
            (None, _, SourceChoice::Imds) => Some(instance_metadata::request_credentials(around)?),
            (None, Some(name), SourceChoice::Auto) => Some(profile_keys::named(name, around)?),
            (None, None, SourceChoice::Auto) => match Self::from_environment(around)? {
                Some(found) => Some(found),
                None => profile_keys::usual(around)?,
            },
        };
        if let Some(found) = &mut found {
            // The environment has precedence over files.
            found.region = around.region().or_else(|| found.region.take());
        }
        Ok(found)
    }

    fn typed(access_key: &str, args: &Args) -> Result<Self, Failure> {
        let access_key = secret_reference::expand(access_key, "--access-key")?;
        let secret = args.secret_key.as_deref().unwrap_or_default();
        let secret = Secret::new(secret_reference::expand(secret, "--secret-key")?);
        let token = args
            .session_token
            .as_deref()
            .map(|token| secret_reference::expand(token, "--session-token"))
            .transpose()?;
        Self::checked(&access_key, secret, token.map(Secret::new), Source::Flags)
    }

    fn from_environment(around: &Surroundings) -> Result<Option<Self>, Failure> {
        let (access_key, secret) = (around.get("AWS_ACCESS_KEY_ID"), around.get("AWS_SECRET_ACCESS_KEY"));
        match (access_key, secret) {
            (Some(access_key), Some(secret)) => {
                let token = around.get("AWS_SESSION_TOKEN").map(Secret::new);
                Self::checked(&access_key, Secret::new(secret), token, Source::Environment).map(Some)
            }
            (None, None) => Ok(None),
            (Some(_), None) => Err(half("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")),
            (None, Some(_)) => Err(half("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")),
        }
    }

    /// Parses keys in JSON. `token` is the name of the JSON field with the session token. Returns `None` if there are
    /// no keys.
    fn from_json(found: &serde_json::Value, token: &str, source: Source) -> Result<Option<Self>, Failure> {
        let text = |name: &str| found.get(name).and_then(serde_json::Value::as_str);
        let (Some(access_key), Some(secret)) = (text("AccessKeyId"), text("SecretAccessKey")) else { return Ok(None) };
        let keys = Self::checked(access_key, Secret::new(secret), text(token).map(Secret::new), source)?;
        Ok(Some(Self { expires: text("Expiration").and_then(expiry), ..keys }))
    }

    fn checked(access_key: &str, secret: Secret, token: Option<Secret>, source: Source) -> Result<Self, Failure> {
        let keys = Keys::new(access_key, secret, token)
            .map_err(|error: KeysError| Failure::usage(format!("keys from {source}: {error}")))?;
        Ok(Self { keys, source, region: None, expires: None })
    }
}

/// Parses a time such as `2026-11-21T12:00:00Z` or `2026-11-21T12:00:00+00:00`, both in UTC.
fn expiry(text: &str) -> Option<Timestamp> {
    let utc = text.strip_suffix("+00:00").or_else(|| text.strip_suffix('Z'))?;
    let seconds = utc.split('.').next().unwrap_or(utc);
    Timestamp::parse(&format!("{}Z", seconds.replace(['-', ':'], "")))
}

fn half(set: &str, missing: &str) -> Failure {
    Failure::usage(format!("{set} is set, but {missing} is not: set both, or unset {set} to use a profile"))
}

#[cfg(test)]
mod tests;
