//! Clients, receivers and validators in Python. S3 clients have several versions: the system's version, and the oldest
//! and newest version in the lists of `.ci/clients`. `.ci/clients/install` creates a virtual environment for each
//! listed version.

use super::peer;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of the version lists. Each virtual environment has its own list.
const LISTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/clients");
/// Python programs to try. Debian's Python comes first, because Debian's boto3 is installed for it.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];
const S3CMDS: [&str; 2] = ["/usr/bin/s3cmd", "/usr/local/bin/s3cmd"];

/// Returns every installed Python that has any version of boto3.
pub fn pythons_with_boto3() -> Vec<PathBuf> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let environments = environments("boto3-").into_iter().map(|place| place.join("bin/python"));
    for python in PYTHONS.iter().map(PathBuf::from).chain(environments) {
        let Some(version) = boto3_version(&python) else { continue };
        if found.iter().all(|(other, _)| *other != version) {
            found.push((version, python));
        }
    }
    let found: Vec<_> = found.into_iter().map(|(_, python)| python).collect();
    peer("boto3", (!found.is_empty()).then_some(found)).unwrap_or_default()
}

/// Returns every installed s3cmd.
pub fn s3cmds() -> Vec<PathBuf> {
    let environments = environments("s3cmd-").into_iter().map(|place| place.join("bin/s3cmd"));
    let found: Vec<_> = S3CMDS.iter().map(PathBuf::from).chain(environments).filter(|path| path.exists()).collect();
    peer("s3cmd", (!found.is_empty()).then_some(found)).unwrap_or_default()
}

/// Returns a Python that has the messages of OTLP.
pub fn python_with_otlp() -> Option<PathBuf> {
    let environment = listed("opentelemetry-proto-").first().and_then(environment)?;
    Some(environment.join("bin/python"))
}

/// Returns the program that validates manifests for Kubernetes.
pub fn kubernetes_validate() -> Option<PathBuf> {
    let environment = listed("kubernetes-validate-").first().and_then(environment)?;
    Some(environment.join("bin/kubernetes-validate"))
}

fn boto3_version(python: &Path) -> Option<String> {
    let mut command = Command::new(python);
    command.args(["-c", "import boto3; print(boto3.__version__)"]).env_remove("PYTHONHOME").env_remove("PYTHONPATH");
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the listed environments that exist. There must be an oldest and a newest version.
fn environments(prefix: &str) -> Vec<PathBuf> {
    let names = listed(prefix);
    assert!(names.len() >= 2, "oldest and newest version must be listed: {names:?}");
    names.iter().filter_map(environment).collect()
}

/// Returns the names of the listed environments that start with `prefix`, in order.
fn listed(prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(LISTS)
        .expect("can read .ci/clients")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".txt").filter(|name| name.starts_with(prefix)).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Returns a listed environment, if it exists. A missing environment is reported as skipped, or fails the test with
/// `REQUIRE_PEERS=1`.
fn environment(name: &String) -> Option<PathBuf> {
    let found = cache().map(|cache| cache.join(name)).filter(|place| place.join("installed.txt").exists());
    peer(&format!("{name} (`.ci/clients/install`)"), found)
}

fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("plimsoll/clients"))
}
