//! Failures to save or read runs.

use super::run_sets;
use crate::failure::Failure;
use std::path::Path;
use store::{StoreError, StoreErrorKind};

/// Returns the failure for `what`, which could not be saved in the directory of --out.
pub fn cannot_save(what: &str, error: &StoreError) -> Failure {
    Failure::could_not_run(format!("cannot save {what}: {error}; name another directory with --out"))
}

/// Returns the failure for a run that was saved only partly.
pub fn not_all_saved(errors: &[StoreError], directory: &Path) -> Failure {
    let what: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let directory = directory.display();
    Failure::could_not_run(format!(
        "the run was not saved completely: {}; `plimsoll report {directory}` shows what was saved",
        what.join("; ")
    ))
}

/// Returns the failure for a run that the user named and that cannot be read.
pub fn cannot_read(error: &StoreError) -> Failure {
    if matches!(error.kind, StoreErrorKind::NotARun)
        && let Some(inside) = run_sets::find_below(&error.path)
    {
        let (directory, inside) = (error.path.display(), inside.display());
        return Failure::usage(format!(
            "{directory} is not a run but contains runs: name one of them, for example {inside}"
        ));
    }
    if matches!(error.kind, StoreErrorKind::Format { .. }) {
        return Failure::usage(format!("{error}; use that version to read it"));
    }
    Failure::usage(format!("{error}; name the directory of a run, for example runs/20261121-023000-localhost_8080"))
}

/// Returns the failure for a run that this process has just saved and that cannot be read.
pub fn cannot_read_back(error: &StoreError) -> Failure {
    match error.kind {
        StoreErrorKind::Format { .. } => cannot_read(error),
        _ => Failure::could_not_run(format!("cannot read the saved run: {error}")),
    }
}
