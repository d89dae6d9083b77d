use super::*;
use crate::tun;
use std::process::{Command, Stdio};

fn record() -> Record {
    let process = std::process::id();
    let started_ticks = processes::started_ticks(process).unwrap();
    Record {
        owner: Owner { process, started_ticks },
        boot: processes::boot().unwrap(),
        down: "1Gbit/s,40ms".to_owned(),
        up: "0s".to_owned(),
        ends: ends(7),
        measured: None,
        differences: Vec::new(),
        updates: 0,
    }
}

/// Returns the ends of a path whose namespaces have this number.
fn ends(namespace: u64) -> Ends {
    Ends::Tun {
        namespaces: vec![namespace],
        near: PathBuf::from("/proc/1/fd/3"),
        far: PathBuf::from("/proc/1/fd/4"),
        address: "198.18.0.2".parse().unwrap(),
        congestion: "cubic".to_owned(),
        buffers: tun::Buffers::FitPath,
        counts: Box::default(),
    }
}

#[test]
fn a_record_exists_as_long_as_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(&folder.path().join("links")).unwrap();
    let registered = registry.register(&record()).unwrap();
    assert_eq!(registry.links().unwrap(), [(record(), LinkState::Running)]);
    assert_eq!(registry.clean().unwrap(), [], "the link of a running process was cleaned");
    drop(registered);
    assert_eq!(registry.links().unwrap(), []);
}

#[test]
fn the_record_of_an_ended_process_is_removed_even_if_its_number_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    // The record has the number of this process, but another start time.
    let mut old = record();
    old.owner.started_ticks += 1;
    std::mem::forget(registry.register(&old).unwrap());
    assert_eq!(registry.links().unwrap(), [(old.clone(), LinkState::Abandoned)]);
    assert_eq!(registry.clean().unwrap(), [Cleaned { record: old, killed: vec![] }]);
    assert_eq!(registry.clean().unwrap(), []);
}

#[test]
fn only_marked_processes_in_the_namespaces_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    let here = sys::namespace::Network::current().unwrap().id();
    // No process has this number, so only the two child processes below can have the mark of this owner.
    let owner = Owner { process: u32::MAX, started_ticks: 1 };
    let child = |mark: &str| {
        let mut command = Command::new("sleep");
        command.arg("60").env(tun::MARK, mark).stdin(Stdio::null()).spawn().unwrap()
    };
    let (mut marked, mut other) = (child(&u32::MAX.to_string()), child("1"));
    let elsewhere = Record { owner, ends: ends(here + 1), ..record() };
    std::mem::forget(registry.register(&elsewhere).unwrap());
    assert!(registry.clean().unwrap()[0].killed.is_empty());
    let at_this_end = Record { owner, ends: ends(here), ..record() };
    std::mem::forget(registry.register(&at_this_end).unwrap());
    assert_eq!(registry.clean().unwrap()[0].killed, [marked.id()]);
    assert!(!marked.wait().unwrap().success());
    assert!(other.try_wait().unwrap().is_none(), "a process of another link was killed");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn records_of_another_boot_kill_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    let old = Record { boot: "another".to_owned(), ..record() };
    std::mem::forget(registry.register(&old).unwrap());
    assert_eq!(registry.clean().unwrap(), [Cleaned { record: old, killed: vec![] }]);
}

#[test]
fn files_that_are_no_records_stay() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    fs::write(folder.path().join("1.json"), "{").unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert_eq!((registry.links().unwrap(), registry.clean().unwrap()), (vec![], vec![]));
    assert!(folder.path().join("1.json").exists() && folder.path().join("notes.txt").exists());
}
