//! Where the keys for S3 come from: typed, a named profile, the environment, the default profile, or the machine's own
//! role. The first place that has any is taken whole; places are never mixed. What was found is never shown, only where.

mod endpoint;
mod imds;
mod profile;

pub use endpoint::configured;

use crate::failure::Failure;
use crate::typed;
use clap::ValueEnum;
use std::fmt;
use std::path::PathBuf;
use wire::sigv4::{Keys, KeysError, Secret, Timestamp};

/// Whom to ask for keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Ask {
    /// Flags, a named profile, the environment, then the default profile.
    #[default]
    Auto,
    /// The metadata service of this cloud machine, and nothing else.
    Imds,
}

/// Keys for S3, or where to find them.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "S3 credentials")]
#[group(skip)]
pub struct Args {
    /// Access key; @FILE or ${ENV} read it from there [default: from environment or ~/.aws].
    #[arg(long, hide_short_help = true, value_name = "KEY", requires = "secret_key")]
    pub access_key: Option<String>,
    /// Secret key of --access-key; better as @FILE or ${ENV}, since others on this host can see command lines.
    #[arg(long, hide_short_help = true, value_name = "SECRET", requires = "access_key")]
    pub secret_key: Option<String>,
    /// Session token of a temporary --access-key; @FILE or ${ENV} read it from there.
    #[arg(long, hide_short_help = true, value_name = "TOKEN", requires = "access_key")]
    pub session_token: Option<String>,
    /// Profile in ~/.aws/credentials or ~/.aws/config.
    #[arg(long, hide_short_help = true, value_name = "NAME", conflicts_with = "access_key")]
    pub profile: Option<String>,
    /// Whom to ask: auto, or imds for the role of this cloud machine.
    #[arg(long, hide_short_help = true, value_enum, default_value = "auto", value_name = "FROM", hide_possible_values = true, conflicts_with_all = ["access_key", "profile"])]
    pub credentials: Ask,
}

/// Where keys were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `--access-key` and `--secret-key`.
    Flags,
    /// `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
    Environment,
    /// A profile in a file.
    Profile(String, PathBuf),
    /// The metadata service, for this role.
    Imds(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags => f.write_str("the command line"),
            Self::Environment => f.write_str("the environment (AWS_ACCESS_KEY_ID)"),
            Self::Profile(name, path) => write!(f, "profile {} in {}", name.escape_debug(), path.display()),
            Self::Imds(role) => write!(f, "the metadata service, role {}", role.escape_debug()),
        }
    }
}

/// Keys and where they are from.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// To sign with.
    pub keys: Keys,
    /// Where they were found.
    pub source: Source,
    /// The region said beside them or in the environment.
    pub region: Option<String>,
    /// After which they are refused.
    pub expires: Option<Timestamp>,
}

/// What is around this program: its environment and home directory. Tests have others.
pub struct Surroundings<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Surroundings<'a> {
    /// With these environment variables.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable }
    }

    /// A variable that is set and not empty.
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// The region that the environment says.
    pub fn region(&self) -> Option<String> {
        self.get("AWS_REGION").or_else(|| self.get("AWS_DEFAULT_REGION"))
    }

    /// A file that a variable names, or one in the home directory.
    fn file(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.get(variable).map(PathBuf::from);
        named.or_else(|| self.get("HOME").map(|home| PathBuf::from(home).join(below_home)))
    }
}

/// Reads a variable of this process.
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Credentials {
    /// Finds keys; none when there are none in any place that was to be asked.
    pub fn find(args: &Args, around: &Surroundings) -> Result<Option<Self>, Failure> {
        let mut found = match (&args.access_key, &args.profile, args.credentials) {
            (Some(access_key), ..) => Some(Self::typed(access_key, args)?),
            (None, _, Ask::Imds) => Some(imds::ask(around)?),
            (None, Some(name), Ask::Auto) => Some(profile::named(name, around)?),
            (None, None, Ask::Auto) => match Self::from_environment(around)? {
                Some(found) => Some(found),
                None => profile::usual(around)?,
            },
        };
        if let Some(found) = &mut found {
            // The environment says more than a file does.
            found.region = around.region().or_else(|| found.region.take());
        }
        Ok(found)
    }

    fn typed(access_key: &str, args: &Args) -> Result<Self, Failure> {
        let access_key = typed::expand(access_key, "--access-key")?;
        let secret = args.secret_key.as_deref().unwrap_or_default();
        let secret = Secret::new(typed::expand(secret, "--secret-key")?);
        let token = args.session_token.as_deref().map(|token| typed::expand(token, "--session-token")).transpose()?;
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

    fn checked(access_key: &str, secret: Secret, token: Option<Secret>, source: Source) -> Result<Self, Failure> {
        let keys = Keys::new(access_key, secret, token)
            .map_err(|error: KeysError| Failure::usage(format!("keys from {source}: {error}")))?;
        Ok(Self { keys, source, region: None, expires: None })
    }
}

fn half(set: &str, missing: &str) -> Failure {
    Failure::usage(format!("{set} is set and {missing} is not: set both, or unset it to use a profile"))
}

#[cfg(test)]
mod tests;
