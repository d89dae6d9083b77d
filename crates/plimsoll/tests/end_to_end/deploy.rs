//! Tests of the files in `deploy/`, as far as this is possible without Kubernetes and without a running systemd.

use crate::support::{Running, TestDir, kubernetes_validate, kustomize, systemd_analyze};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of the files.
const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
/// The oldest version of Kubernetes for which the manifests are meant, and the newest one that the validator knows.
const KUBERNETES: [&str; 2] = ["1.31", "1.37"];
/// Highest accepted exposure of the service, as `systemd-analyze security` computes it, times ten.
const EXPOSURE_MAX: &str = "20";

/// Copies the files of a directory of `deploy/`, without its directories.
fn copy(name: &str, to: &Path) {
    fs::create_dir_all(to).expect("can create a directory");
    for entry in fs::read_dir(Path::new(DEPLOY).join(name)).expect("the directory exists") {
        let path = entry.expect("can read the directory").path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().expect("it has a name"))).expect("can copy a file");
        }
    }
}

fn run(program: &Path, words: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(words);
    let ended = Running::of(command).end();
    assert_eq!(ended.code, Some(0), "{} {words:?}: {}{}", program.display(), ended.stderr, ended.stdout);
    ended.stdout + &ended.stderr
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn the_manifests_for_kubernetes_are_valid() {
    let place = TestDir::new();
    let (Some(kustomize), Some(validate)) = (kustomize(), kubernetes_validate()) else { return };
    let directory = place.path("kubernetes");
    copy("kubernetes", &directory);
    place.run(["fleet", "init", "kubernetes/secrets", "--host", "nats.plimsoll.svc"]).expect(0);
    let built = place.path("built.yaml");
    run(&kustomize, &["build", &text(&directory), "--output", &text(&built)]);
    for manifest in [built.clone(), directory.join("reader.yaml")] {
        for version in KUBERNETES {
            run(&validate, &["--strict", "--kubernetes-version", version, &text(&manifest)]);
        }
    }
    let built = fs::read_to_string(built).expect("kustomize wrote it");
    for kind in ["StatefulSet", "Job", "NetworkPolicy", "Secret", "PersistentVolumeClaim", "Namespace"] {
        assert!(built.contains(&format!("\nkind: {kind}\n")), "no {kind}");
    }
    let pods = built.matches("restartPolicy: ").count() + built.matches("kind: StatefulSet").count();
    for line in ["automountServiceAccountToken: false", "runAsNonRoot: true", "readOnlyRootFilesystem: true"] {
        assert_eq!((built.matches(line).count(), pods), (3, 3), "{line}");
    }
}

/// Returns the unit in a directory of its own, with a program that exists.
fn unit(place: &TestDir) -> PathBuf {
    let unit = fs::read_to_string(Path::new(DEPLOY).join("systemd/plimsoll-agent.service")).expect("the unit exists");
    let installed = "ExecStart=/usr/local/bin/plimsoll ";
    assert!(unit.contains(installed));
    place.write(
        "plimsoll-agent.service",
        unit.replace(installed, &format!("ExecStart={} ", env!("CARGO_BIN_EXE_plimsoll"))),
    )
}

#[test]
fn the_unit_for_systemd_is_valid_and_has_few_rights() {
    let place = TestDir::new();
    let Some(analyze) = systemd_analyze() else { return };
    let unit = text(&unit(&place));
    let output = run(&analyze, &["verify", &unit]);
    assert!(output.is_empty(), "{output}");
    run(&analyze, &["security", "--offline=yes", "--no-pager", &format!("--threshold={EXPOSURE_MAX}"), &unit]);
}
