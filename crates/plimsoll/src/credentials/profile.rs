//! Profiles in `~/.aws/credentials` and `~/.aws/config`.

use super::Surroundings;
use crate::failure::Failure;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The settings of one section of a file.
#[derive(Debug, Default)]
pub(super) struct Settings {
    plain: HashMap<String, String>,
    /// Nested settings, which are indented lines below a setting without a value. The map's keys are pairs of names:
    /// the name of the outer setting, and the name of the nested setting.
    nested: HashMap<(String, String), String>,
}

impl Settings {
    /// Returns the value of a setting, if it is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.plain.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Like [`Self::get`], for a nested setting.
    pub(super) fn nested(&self, above: &str, name: &str) -> Option<&str> {
        let value = self.nested.get(&(above.to_owned(), name.to_owned()));
        value.map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// A profile, with its sections in the order of the files.
pub(super) struct Profile {
    /// Name of the profile.
    pub(super) name: String,
    /// The sections, one for each file that exists.
    pub(super) sections: Vec<Sections>,
}

impl Profile {
    /// Reads a profile from the files. A profile that no file contains has no settings.
    pub(super) fn read(name: &str, around: &Surroundings) -> Result<Self, Failure> {
        let mut sections = Vec::new();
        for (path, is_config) in places(around) {
            let Some(text) = read(&path)? else { continue };
            let section = if is_config && name != "default" { format!("profile {name}") } else { name.to_owned() };
            let profile = section_of(&text, &section).unwrap_or_default();
            sections.push(Sections { path, profile, text });
        }
        Ok(Self { name: name.to_owned(), sections })
    }

    /// Returns the first value of a setting that is not empty, and its file.
    pub(super) fn setting(&self, name: &str) -> Option<(&str, &Path)> {
        self.sections.iter().find_map(|Sections { path, profile, .. }| Some((profile.get(name)?, path.as_path())))
    }

    /// Returns an error about the profile. `path` is the file with the setting that causes it.
    pub(super) fn refused(&self, path: &Path, why: &str) -> Failure {
        Failure::usage(format!("profile `{}` in {} {why}", self.name.escape_debug(), path.display()))
    }
}

/// A profile's section, and the other sections of its file.
pub(super) struct Sections {
    /// The file.
    pub(super) path: PathBuf,
    /// The section of the profile.
    pub(super) profile: Settings,
    text: String,
}

impl Sections {
    /// Returns another section of the same file, if it exists.
    pub(super) fn other(&self, name: &str) -> Option<Settings> {
        section_of(&self.text, name)
    }
}

/// Returns the paths of the files. The flag is `true` for a file in which the section of a profile is `[profile NAME]`
/// instead of `[NAME]`. The section of the default profile is `[default]` in both files.
pub(super) fn places(around: &Surroundings) -> Vec<(PathBuf, bool)> {
    let credentials = around.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    let config = around.file("AWS_CONFIG_FILE", ".aws/config");
    credentials.map(|path| (path, false)).into_iter().chain(config.map(|path| (path, true))).collect()
}

/// Returns the advice to let the AWS CLI print the keys of a profile.
pub(super) fn by_program(profile: &Profile) -> String {
    format!(
        "add `credential_process = aws configure export-credentials --profile {} --format process` to it",
        profile.name.escape_debug()
    )
}

/// Reads a file. Returns `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
    match opened {
        Ok(bytes) if bytes as u64 > MAX_FILE_BYTES => {
            Err(Failure::usage(format!("{} is larger than 1 MiB: check that it is a profile file", path.display())))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Returns the settings of a section if the section exists. If a setting occurs twice, the later value is used. An
/// indented line below a setting without a value is a nested setting. Any other indented line continues the previous
/// value and is ignored.
fn section_of(text: &str, wanted: &str) -> Option<Settings> {
    let mut settings = None;
    let mut inside = false;
    let mut above = None;
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            inside = name.0.split_whitespace().eq(wanted.split_whitespace());
            above = None;
            if inside {
                settings.get_or_insert_with(Settings::default);
            }
            continue;
        }
        let is_comment = line.trim_start().starts_with(['#', ';']);
        let Some(settings) = settings.as_mut().filter(|_| inside && !is_comment) else { continue };
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        if line.starts_with([' ', '\t']) {
            if let Some(above) = &above {
                settings.nested.insert((String::clone(above), name), value);
            }
        } else {
            above = Some(name.clone()).filter(|_| value.is_empty());
            settings.plain.insert(name, value);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_lines_belong_to_the_setting_without_a_value_above_them() {
        let text = "[services a]\ns3 =\n  # endpoint_url = comment\n\n\tendpoint_url = http://one\nec2=\n endpoint_url = x\n\
                    other = value\n  endpoint_url = continued\n[services b]\n  endpoint_url = orphan\n";
        let section = section_of(text, "services a").unwrap();
        assert_eq!(section.nested("s3", "endpoint_url"), Some("http://one"));
        assert_eq!(section.nested("ec2", "endpoint_url"), Some("x"));
        assert_eq!(section.nested.len(), 2);
        assert_eq!(section.get("endpoint_url"), None);
        assert!(section_of(text, "services b").unwrap().nested.is_empty());
    }

    #[test]
    fn sections_are_read_as_other_tools_do() {
        let text = "aws_access_key_id = outside\n[default]\nAWS_Access_Key_Id=one\n# comment = x\ns3 =\n  region = inner\n\
                    region = r1 \n[ profile  two ]\r\nregion=r2\r\naws_secret_access_key = a=b\n[default]\nregion = r3\n";
        let default = section_of(text, "default").unwrap();
        assert_eq!(default.get("aws_access_key_id"), Some("one"));
        assert_eq!(default.get("region"), Some("r3"));
        assert_eq!(default.plain["s3"], "");
        assert_eq!(default.plain.len(), 3);
        assert_eq!((default.nested("s3", "region"), default.nested.len()), (Some("inner"), 1));
        let two = section_of(text, "profile two").unwrap();
        assert_eq!((two.get("region"), two.get("aws_secret_access_key")), (Some("r2"), Some("a=b")));
        assert!(section_of(text, "two").is_none());
    }
}
