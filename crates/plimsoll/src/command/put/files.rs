//! Files to be sent: all below a directory, or one.

use crate::command::load::place::Place;
use crate::failure::Failure;
use engine::plan::{ORIGINS_MAX, Source, Targets};
use std::fs;
use std::path::{Path, PathBuf};
use wire::Url;

/// Files of a run, at most.
const FILES_MAX: usize = 10_000_000;

/// The files below `path`, each with its name below it as its key.
pub fn targets(path: &Path, place: &Place) -> Result<(Targets, Source), Failure> {
    let refused =
        |path: &Path, why: &dyn std::fmt::Display| Failure::usage(format!("--from {}: {why}", path.display()));
    let base = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut files = Vec::new();
    collect(path, &mut files).map_err(|(path, error)| refused(&path, &error))?;
    if files.is_empty() {
        return Err(refused(path, &"there is no file below it"));
    }
    files.sort();
    let mut targets = Targets::at(place.origins.clone());
    let origin = place.origins.first().ok_or_else(|| refused(path, &"there is no server"))?;
    for (file, size) in &files {
        let key = file.strip_prefix(base).ok().and_then(Path::to_str);
        let key = key.ok_or_else(|| refused(file, &"its name is not UTF-8: rename it"))?;
        let mut text = format!("{}://{}{}/", origin.scheme, origin.host_header(), place.container);
        wire::percent::push_path(&place.prefix, &mut text);
        wire::percent::push_path(key, &mut text);
        let url = Url::parse(&text).map_err(|error| refused(file, &error))?;
        if !targets.push(&url) {
            return Err(refused(file, &format_args!("more than {ORIGINS_MAX} servers")));
        }
        if let Some(item) = targets.items_mut().last_mut() {
            item.size = Some(*size);
        }
    }
    Ok((targets, Source::Files(files.into())))
}

/// Regular files below a path; links are not followed, so that no circle has to be feared.
fn collect(path: &Path, files: &mut Vec<(PathBuf, u64)>) -> Result<(), (PathBuf, String)> {
    let failed = |error: std::io::Error| (path.to_owned(), error.to_string());
    let about = if files.is_empty() { fs::metadata(path) } else { fs::symlink_metadata(path) }.map_err(failed)?;
    if about.is_file() {
        if files.len() >= FILES_MAX {
            return Err((path.to_owned(), format!("more than {FILES_MAX} files: name a smaller directory")));
        }
        files.push((path.to_owned(), about.len()));
    } else if about.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            collect(&entry.map_err(failed)?.path(), files)?;
        }
    }
    Ok(())
}
