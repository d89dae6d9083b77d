//! The S3 server named in the environment or in a profile.
//!
//! The sources and their order are the same as in the AWS SDKs (section "Service-specific endpoints" of the SDK
//! reference guide). There is no default server, because requests go only to hosts that the user named.

use super::profile::{self, Sections};
use super::{Args, Surroundings};
use crate::failure::Failure;
use std::fmt;
use std::path::PathBuf;

/// Environment variables that name the server. The first variable that is set is used.
const VARIABLES: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// The source that names a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// An environment variable.
    Variable(&'static str),
    /// A `[services NAME]` section in a file.
    Services(String, PathBuf),
    /// A profile in a file.
    Profile(String, PathBuf),
}

impl fmt::Display for NamedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Services(name, path) => {
                write!(f, "endpoint_url of s3 in [services {}] in {}", name.escape_debug(), path.display())
            }
            Self::Profile(name, path) => {
                write!(f, "endpoint_url of profile {} in {}", name.escape_debug(), path.display())
            }
        }
    }
}

/// Finds the configured URL of the S3 server.
///
/// # Errors
/// Fails if a file cannot be read, or if the profile refers to a `[services]` section that does not exist.
pub fn configured(args: &Args, around: &Surroundings) -> Result<Option<(String, NamedBy)>, Failure> {
    let is_true = |text: &str| text.trim().eq_ignore_ascii_case("true");
    let ignored = around.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").map(|text| is_true(&text));
    if ignored == Some(true) {
        return Ok(None);
    }
    let name = args.profile.clone().or_else(|| around.get("AWS_PROFILE")).unwrap_or_else(|| "default".to_owned());
    let found = profile::sections(&name, around)?;
    let setting = |setting| found.iter().find_map(|Sections { path, profile, .. }| Some((profile.get(setting)?, path)));
    if ignored.is_none() && setting("ignore_configured_endpoint_urls").is_some_and(|(text, _)| is_true(text)) {
        return Ok(None);
    }
    let variable = VARIABLES.into_iter().find_map(|name| Some((around.get(name)?, NamedBy::Variable(name))));
    if variable.is_some() {
        return Ok(variable);
    }
    if let Some((services, path)) = setting("services") {
        let section =
            found.iter().find_map(|sections| Some((sections.other(&format!("services {services}"))?, sections)));
        let Some((section, Sections { path, .. })) = section else {
            return Err(Failure::usage(format!(
                "profile {} in {} has services = {}, but no section [services {}] exists: add it, or use --endpoint",
                name.escape_debug(),
                path.display(),
                services.escape_debug(),
                services.escape_debug()
            )));
        };
        if let Some(url) = section.nested("s3", "endpoint_url") {
            return Ok(Some((url.to_owned(), NamedBy::Services(services.to_owned(), path.clone()))));
        }
    }
    Ok(setting("endpoint_url").map(|(url, path)| (url.to_owned(), NamedBy::Profile(name.clone(), path.clone()))))
}
