use super::*;
use crate::mark;
use crate::tun;
use std::process::{Child, Command, Stdio};

fn record() -> Record {
    Record {
        owner: Owner::current().unwrap(),
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

/// Starts a process in a new network namespace, which has the mark of `owner`. Returns `None` if this system does not
/// allow namespaces.
fn in_marked_namespace(owner: Owner) -> Option<Child> {
    let start = move || match sys::namespace::Network::unshare() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        made => {
            made.unwrap();
            sys::interface::start("lo", None).unwrap();
            mark::set(owner).unwrap();
            // The process has no environment, like a daemon that has erased it.
            Some(Command::new("/bin/sleep").arg("60").env_clear().stdin(Stdio::null()).spawn().unwrap())
        }
    };
    std::thread::spawn(start).join().unwrap()
}

#[test]
fn only_processes_in_the_namespaces_of_the_link_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    // No process has these numbers.
    let owner = Owner { process: (1 << 24) - 1, started_ticks: 1 };
    let (Some(mut inside), Some(mut outside)) =
        (in_marked_namespace(owner), in_marked_namespace(Owner { started_ticks: 2, ..owner }))
    else {
        eprintln!("skipped: this user may not create network namespaces");
        return;
    };
    let abandoned = Record { owner, ..record() };
    std::mem::forget(registry.register(&abandoned).unwrap());
    assert_eq!(registry.clean().unwrap()[0].killed, [inside.id()]);
    assert!(!inside.wait().unwrap().success());
    assert!(outside.try_wait().unwrap().is_none(), "a process of another link was killed");
    outside.kill().unwrap();
    outside.wait().unwrap();
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
