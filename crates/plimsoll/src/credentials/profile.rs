//! Profiles in `~/.aws/credentials` and `~/.aws/config`, as other tools write them.

use super::{Credentials, Source, Surroundings};
use crate::failure::Failure;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use wire::sigv4::Secret;

/// The most bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Settings by which a profile gets its keys elsewhere, which is not done here.
const ELSEWHERE: [&str; 6] =
    ["source_profile", "credential_source", "role_arn", "credential_process", "sso_session", "sso_start_url"];

/// The settings of one profile in one file.
type Settings = HashMap<String, String>;

/// The profile that was asked for by name; that it is not there is the user's mistake.
pub fn named(name: &str, around: &Surroundings) -> Result<Credentials, Failure> {
    find(name, around)?.ok_or_else(|| {
        let places: Vec<_> = places(around).iter().map(|(path, _)| path.display().to_string()).collect();
        Failure::usage(format!("there are no keys for profile `{}` in {}", name.escape_debug(), places.join(" or ")))
    })
}

/// The profile of `AWS_PROFILE`, or the default one.
pub fn usual(around: &Surroundings) -> Result<Option<Credentials>, Failure> {
    match around.get("AWS_PROFILE") {
        Some(name) => named(&name, around).map(Some),
        None => find("default", around),
    }
}

/// The files, and whether sections of others than the default profile begin with `profile`.
fn places(around: &Surroundings) -> Vec<(PathBuf, bool)> {
    let credentials = around.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    let config = around.file("AWS_CONFIG_FILE", ".aws/config");
    credentials.map(|path| (path, false)).into_iter().chain(config.map(|path| (path, true))).collect()
}

fn find(name: &str, around: &Surroundings) -> Result<Option<Credentials>, Failure> {
    let (mut found, mut region, mut elsewhere) = (None, None, None);
    for (path, is_config) in places(around) {
        let Some(text) = read(&path)? else { continue };
        let section = if is_config && name != "default" { format!("profile {name}") } else { name.to_owned() };
        let settings = section_of(&text, &section);
        if found.is_none() {
            found = keys(name, &path, &settings)?;
        }
        if elsewhere.is_none() {
            elsewhere =
                ELSEWHERE.iter().find(|setting| settings.contains_key(**setting)).map(|setting| (*setting, path));
        }
        region = region.or_else(|| settings.get("region").cloned());
    }
    if let (None, Some((setting, path))) = (&found, elsewhere) {
        return Err(Failure::usage(format!(
            "profile `{}` in {} gets its keys by {setting}, which is not supported: put keys into the environment, \
             for example with `aws configure export-credentials --format env`",
            name.escape_debug(),
            path.display()
        )));
    }
    Ok(found.map(|found| Credentials { region, ..found }))
}

fn keys(name: &str, path: &Path, settings: &Settings) -> Result<Option<Credentials>, Failure> {
    let get = |setting| settings.get(setting).filter(|value: &&String| !value.is_empty());
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

/// The text of a file; none when there is no such file.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
    match opened {
        Ok(bytes) if bytes as u64 > MAX_FILE_BYTES => {
            Err(Failure::usage(format!("{} is larger than 1 MiB: is it a file of profiles?", path.display())))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::usage(format!("{} can not be read: {error}", path.display()))),
    }
}

/// The settings of a section. Later ones replace earlier ones; indented lines belong to a setting with parts of its
/// own, none of which is needed.
fn section_of(text: &str, wanted: &str) -> Settings {
    let mut settings = Settings::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            inside = name.0.split_whitespace().eq(wanted.split_whitespace());
        } else if inside
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((name, value)) = line.split_once('=')
        {
            settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_as_other_tools_do() {
        let text = "aws_access_key_id = outside\n[default]\nAWS_Access_Key_Id=one\n# comment = x\ns3 =\n  region = inner\n\
                    region = r1 \n[ profile  two ]\r\nregion=r2\r\naws_secret_access_key = a=b\n[default]\nregion = r3\n";
        let default = section_of(text, "default");
        assert_eq!(default["aws_access_key_id"], "one");
        assert_eq!(default["region"], "r3");
        assert_eq!(default["s3"], "");
        assert_eq!(default.len(), 3);
        let two = section_of(text, "profile two");
        assert_eq!((two["region"].as_str(), two["aws_secret_access_key"].as_str()), ("r2", "a=b"));
        assert!(section_of(text, "two").is_empty());
    }
}
