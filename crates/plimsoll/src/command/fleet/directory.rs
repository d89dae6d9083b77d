//! The directory of a new message bus.

use crate::failure::Failure;
use fleet::transport::nats::setup::SetupFile;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Permissions of a new directory, of a file with a secret, and of another file.
const DIRECTORY_MODE: u32 = 0o700;
const SECRET_MODE: u32 = 0o600;
const PUBLIC_MODE: u32 = 0o644;

/// Writes all files to a new or empty directory, or none. Only this user can then read the directory.
pub fn write(directory: &Path, files: &[SetupFile]) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::could_not_run(format!("cannot write {}: {error}; name another directory", path.display()))
    };
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        .map_err(|error| failed(directory, error))?;
    let is_used = fs::read_dir(directory).map_err(|error| failed(directory, error))?.next().is_some();
    if is_used {
        return Err(Failure::could_not_run(format!(
            "{} is not empty, and keys are never overwritten: name a new directory",
            directory.display()
        )));
    }
    // The directory may have existed before.
    fs::set_permissions(directory, Permissions::from_mode(DIRECTORY_MODE)).map_err(|error| failed(directory, error))?;
    for (number, file) in files.iter().enumerate() {
        let path = directory.join(file.name);
        if let Err(error) = write_new(&path, file) {
            for written in files.iter().take(number) {
                let _ = fs::remove_file(directory.join(written.name));
            }
            return Err(failed(&path, error));
        }
    }
    Ok(())
}

/// Writes a file that does not exist yet. If that fails, there is no file.
fn write_new(path: &Path, file: &SetupFile) -> io::Result<()> {
    let mode = if file.is_secret { SECRET_MODE } else { PUBLIC_MODE };
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    opened.write_all(file.content.as_bytes()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
