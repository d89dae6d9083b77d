//! The servers of S3 and of the token service (STS) that are named in the environment or in a profile.
//!
//! The sources and their order are the same as in the AWS SDKs (section "Service-specific endpoints" of the SDK
//! reference guide). There is no default server, because requests go only to hosts that the user named.

use super::Surroundings;
use super::profile::{Profile, Sections};
use crate::failure::Failure;
use std::fmt;
use std::path::PathBuf;
use wire::{Origin, Url};

/// A service whose server can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Storage.
    S3,
    /// Temporary keys of roles.
    Sts,
}

impl Service {
    /// Returns the environment variables that name the server. The first variable that is set is used.
    fn variables(self) -> [&'static str; 2] {
        match self {
            Self::S3 => ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
            Self::Sts => ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"],
        }
    }

    /// Returns the name of the service in `[services]` sections.
    fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Sts => "sts",
        }
    }
}

/// The source that names a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// An environment variable.
    Variable(&'static str),
    /// A `[services NAME]` section in a file.
    Services(Service, String, PathBuf),
    /// A profile in a file.
    Profile(String, PathBuf),
}

impl fmt::Display for NamedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Services(service, name, path) => {
                let (service, name) = (service.name(), name.escape_debug());
                write!(f, "endpoint_url of {service} in [services {name}] in {}", path.display())
            }
            Self::Profile(name, path) => {
                write!(f, "endpoint_url of profile {} in {}", name.escape_debug(), path.display())
            }
        }
    }
}

/// Finds the configured URL of a service's server. `profile` is the name of the profile in use.
///
/// # Errors
/// Fails if a file cannot be read, or if the profile refers to a `[services]` section that does not exist.
pub fn configured(
    service: Service,
    profile: &str,
    around: &Surroundings,
) -> Result<Option<(String, NamedBy)>, Failure> {
    let is_true = |text: &str| text.trim().eq_ignore_ascii_case("true");
    let ignored = around.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").map(|text| is_true(&text));
    if ignored == Some(true) {
        return Ok(None);
    }
    let profile = Profile::read(profile, around)?;
    let setting = |name| profile.setting(name);
    if ignored.is_none() && setting("ignore_configured_endpoint_urls").is_some_and(|(text, _)| is_true(text)) {
        return Ok(None);
    }
    let variable = service.variables().into_iter().find_map(|name| Some((around.get(name)?, NamedBy::Variable(name))));
    if variable.is_some() {
        return Ok(variable);
    }
    if let Some((services, path)) = setting("services") {
        let mut sections = profile.sections.iter();
        let section = sections.find_map(|sections| Some((sections.other(&format!("services {services}"))?, sections)));
        let Some((section, Sections { path, .. })) = section else {
            let name = services.escape_debug();
            let why =
                format!("has services = {name}, but no section [services {name}] exists: add it, or use --endpoint");
            return Err(profile.refused(path, &why));
        };
        if let Some(url) = section.nested(service.name(), "endpoint_url") {
            return Ok(Some((url.to_owned(), NamedBy::Services(service, services.to_owned(), path.clone()))));
        }
    }
    let named_by = |path: &std::path::Path| NamedBy::Profile(profile.name.clone(), path.to_owned());
    Ok(setting("endpoint_url").map(|(url, path)| (url.to_owned(), named_by(path))))
}

/// Parses the URL of a server. Messages contain `named_by`, the source of the URL.
///
/// # Errors
/// Fails if the URL is wrong, or if it has a path or credentials.
pub fn origin(text: &str, named_by: &dyn fmt::Display) -> Result<Origin, Failure> {
    let refused = |why: &str| Failure::usage(format!("{named_by} `{}`: {why}", crate::redact::url_text(text)));
    let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    if url.credentials().is_some() {
        return Err(refused("an endpoint cannot contain keys; use --access-key, or set AWS_ACCESS_KEY_ID"));
    }
    if url.target() != "/" {
        return Err(refused("an endpoint cannot have a path; write http://host:9000, and the bucket as s3://BUCKET"));
    }
    Ok(url.origin().clone())
}
