//! Tests that users without a permission get a message of one sentence with the permission and a workaround.

use crate::support::{bench, skip, spec};
use link::LinkError;
use link::tun::{Path, Settings};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Name of the test below. Another test in this file starts it as another user.
const USER: &str = "permissions::a_user_without_permissions";
/// The user `nobody`.
const NOBODY: &str = "65534";
const MARK: &str = "PLIMSOLL_TEST_USER";

/// A helper of another test: tries to create a path, and prints the error.
#[test]
#[ignore = "started by another test"]
fn a_user_without_permissions() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    match Path::open(&spec("1ms", "1ms"), &Settings::default()) {
        Ok(_) => eprintln!("made"),
        Err(LinkError::Permission(missing)) => eprintln!("missing: {missing}"),
        Err(error) => eprintln!("other: {error}"),
    }
}

#[test]
fn the_missing_permission_is_named() {
    // Only root can run a test as another user.
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("paths");
    fs::copy(program, &copy).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&copy)
        .args(["--exact", USER, "--ignored", "--nocapture"])
        .env(MARK, "1")
        .current_dir("/")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return skip("setpriv is not installed") };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if text.contains("setpriv:") {
        return skip("only root can run a test as another user");
    }
    assert!(text.contains("missing: creating a network namespace needs CAP_SYS_ADMIN"), "{text}");
    assert!(text.contains("unshare -Urn") && text.contains("`plimsoll link relay`"), "{text}");
}

#[test]
fn an_unknown_congestion_control_is_named_with_those_of_the_kernel() {
    if bench("1ms", "1ms").is_none() {
        return;
    }
    let settings = Settings { congestion: Some("nonexistent".to_owned()), ..Settings::default() };
    let error = Path::open(&spec("1ms", "1ms"), &settings).unwrap_err().to_string();
    assert!(error.contains("no congestion control `nonexistent`") && error.contains("reno"), "{error}");
}
