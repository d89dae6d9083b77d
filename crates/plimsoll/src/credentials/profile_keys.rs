//! Searches for keys in a profile: keys in its files, the keys of its role, or keys that its program prints.

use super::profile::{Profile, Sections, Settings, by_program, places};
use super::role::Role;
use super::{Credentials, Source, Surroundings, process};
use crate::failure::Failure;
use std::path::Path;
use wire::sigv4::Secret;

/// Settings of profiles whose keys come from a login in the browser (AWS IAM Identity Center).
const SSO: [&str; 2] = ["sso_session", "sso_start_url"];

/// Returns the keys of a profile that the user named. A profile without keys is a usage error.
pub fn named(name: &str, around: &Surroundings) -> Result<Credentials, Failure> {
    find(name, around, &[])?.ok_or_else(|| {
        let places: Vec<_> = places(around).iter().map(|(path, _)| path.display().to_string()).collect();
        Failure::usage(format!("profile `{}` has no keys in {}", name.escape_debug(), places.join(" or ")))
    })
}

/// Returns the keys of the profile in `AWS_PROFILE`, or of the default profile.
pub fn usual(around: &Surroundings) -> Result<Option<Credentials>, Failure> {
    match around.get("AWS_PROFILE") {
        Some(name) => named(&name, around).map(Some),
        None => find("default", around, &[]),
    }
}

/// Returns the keys of a profile. `asked` contains the names of the profiles whose roles need these keys.
pub(super) fn find(name: &str, around: &Surroundings, asked: &[String]) -> Result<Option<Credentials>, Failure> {
    let profile = Profile::read(name, around)?;
    let region = profile.setting("region").map(|(text, _)| text.to_owned());
    // If a profile names itself as the source of the keys for its role, the other keys in this profile are used for the
    // role.
    let is_own_source = asked.last().is_some_and(|last| last == name);
    let found = match Role::of(&profile)?.filter(|_| !is_own_source) {
        Some(role) => Some(role.request_credentials(around, asked)?),
        None => without_role(&profile)?,
    };
    Ok(found.map(|found| Credentials { region, ..found }))
}

/// Returns the keys in the files, or the keys that the profile's program prints.
fn without_role(profile: &Profile) -> Result<Option<Credentials>, Failure> {
    for Sections { path, profile: settings, .. } in &profile.sections {
        if let Some(found) = keys(&profile.name, path, settings)? {
            return Ok(Some(found));
        }
    }
    if let Some((command, path)) = profile.setting("credential_process") {
        return process::run(command, &Source::Process(profile.name.clone(), path.to_owned())).map(Some);
    }
    for setting in SSO {
        if let Some((_, path)) = profile.setting(setting) {
            return Err(
                profile.refused(path, &format!("uses {setting}, which is not supported: {}", by_program(profile)))
            );
        }
    }
    Ok(None)
}

fn keys(name: &str, path: &Path, settings: &Settings) -> Result<Option<Credentials>, Failure> {
    let get = |setting| settings.get(setting);
    let source = || Source::Profile(name.to_owned(), path.to_owned());
    match (get("aws_access_key_id"), get("aws_secret_access_key")) {
        (Some(access_key), Some(secret)) => {
            let token = get("aws_session_token").map(Secret::new);
            Credentials::checked(access_key, Secret::new(secret), token, source()).map(Some)
        }
        (None, None) => Ok(None),
        (access_key, _) => {
            let missing = if access_key.is_some() { "aws_secret_access_key" } else { "aws_access_key_id" };
            Err(Failure::usage(format!("{} has no {missing}: add it there", source())))
        }
    }
}
