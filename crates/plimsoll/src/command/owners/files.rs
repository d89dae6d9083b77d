//! The files of `owners`: a list of all objects with their owners, and a list of URLs for each owner.

use super::ObjectOwners;
use crate::failure::Failure;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// File that lists all objects with their owners.
pub const OWNERS: &str = "owners.txt";
/// File that lists the objects without an owner.
pub const FAILURES: &str = "failures.txt";

/// The list of URLs of an owner.
pub struct List {
    /// Host and port of the owner.
    pub owner: String,
    /// Number of objects.
    pub objects: usize,
    /// File with their URLs.
    pub path: PathBuf,
}

/// Writes all files to a directory. Fails if one of the files exists.
pub fn write_all(owners: &ObjectOwners, directory: &Path) -> Result<Vec<List>, Failure> {
    fs::create_dir_all(directory).map_err(|error| refused(directory, &error))?;
    let names = owners.names().iter().enumerate();
    let lines = names.filter_map(|(index, name)| Some(format!("{}|{}", owners.owner(index)?, escaped(name))));
    write(&directory.join(OWNERS), lines)?;
    let failures = owners.failures().map(|(name, status, cause)| {
        let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
        format!("{}|{cause}{status}", escaped(name))
    });
    if owners.failures().next().is_some() {
        write(&directory.join(FAILURES), failures)?;
    }
    let mut lists = Vec::new();
    for (number, (owner, objects)) in owners.by_owner().into_iter().enumerate() {
        // The number makes each file name unique. The host name alone is not enough, because it comes from a server.
        let path = directory.join(format!("{number:02}-{}.urls", store::directory_name::host_and_port(&owner)));
        write(&path, objects.iter().filter_map(|index| owners.url(*index)))?;
        lists.push(List { owner, objects: objects.len(), path });
    }
    Ok(lists)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let fix = if error.kind() == io::ErrorKind::AlreadyExists { "; name another directory with --out" } else { "" };
    Failure::could_not_run(format!("cannot write {}: {error}{fix}", path.display()))
}

fn write(path: &Path, lines: impl Iterator<Item = impl Display>) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(path)?);
        for line in lines {
            writeln!(file, "{line}")?;
        }
        file.flush()
    };
    write().map_err(|error| refused(path, &error))
}

/// Percent-encodes control characters, `|` and `%`. The name then stays on one line and cannot contain the separator.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() || matches!(c, '|' | '%') {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                text += &format!("%{byte:02X}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_one_line_and_can_be_decoded() {
        for (name, line) in [
            ("dir/a b.bin", "dir/a b.bin"),
            ("a|b", "a%7Cb"),
            ("100%", "100%25"),
            ("tab\tescape\u{1b}next\u{85}", "tab%09escape%1Bnext%C2%85"),
        ] {
            assert_eq!(escaped(name), line);
        }
    }
}
