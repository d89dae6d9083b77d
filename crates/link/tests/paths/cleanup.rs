//! Tests that nothing remains after a path has ended, or after its owner was killed.

use crate::support::{PATIENCE, alone, bench, skip, spec, start};
use link::session::Session;
use link::state::{LinkState, Registry, Side};
use link::tun::{Path, Settings};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Name of the test below. Another test in this file starts it in a separate process.
const OWNER: &str = "cleanup::owner_of_a_link";
const FOLDER: &str = "PLIMSOLL_TEST_REGISTRY";

fn interfaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the processes that are in a network namespace.
fn inside(namespace: u64) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_inside =
        |process: &String| fs::metadata(format!("/proc/{process}/ns/net")).is_ok_and(|file| file.ino() == namespace);
    processes.filter(is_inside).collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn the_end_of_a_path_ends_its_processes_and_changes_no_interface() {
    let before = interfaces();
    let Some(bench) = bench("1ms", "1ms") else { return };
    assert_eq!(interfaces(), before, "the path has devices in the namespace of the host");
    let namespaces = [bench.path.near().namespace_id(), bench.path.far().namespace_id()];
    let server = start(bench.path.far(), "sleep", &["1000"]);
    assert_eq!(inside(namespaces[1]), [server.id().to_string()]);
    drop(server);
    drop(bench);
    for namespace in namespaces {
        assert_eq!(inside(namespace), Vec::<String>::new());
    }
    assert_eq!(interfaces(), before);
}

/// A helper of another test: owns a link until the process is killed. A command at the far end starts a process that
/// runs longer than the command.
#[test]
#[ignore = "started by another test"]
fn owner_of_a_link() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let spec = spec("1Gbit/s,1ms", "1ms");
    let registry = Registry::open(folder.as_ref()).unwrap();
    let session = Session::tun(&spec, &Settings::default(), &registry).unwrap();
    let mut server = Command::new("sh");
    session
        .path()
        .unwrap()
        .far()
        .host(server.args(["-c", "sleep 1000 & echo $! >&2; wait"]).stdin(Stdio::null()))
        .unwrap();
    server.spawn().unwrap().wait().unwrap();
}

#[test]
fn a_killed_owner_leaves_only_what_the_next_start_removes() {
    let _alone = alone();
    if let Err(link::LinkError::Permission(missing)) = Path::open(&spec("1ms", "1ms"), &Settings::default()) {
        return skip(&missing.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", OWNER, "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut survivor = String::new();
    BufReader::new(owner.stderr.take().unwrap()).read_line(&mut survivor).unwrap();
    let survivor = survivor.trim().to_owned();
    let registry = Registry::open(folder.path()).unwrap();
    let links = registry.links().unwrap();
    let [(record, LinkState::Running)] = &links[..] else { panic!("{links:?}") };
    assert_eq!(registry.clean().unwrap(), []);
    // Other processes can enter the near end while the link exists.
    for (side, id) in [Side::Near, Side::Far].into_iter().zip(record.namespaces()) {
        assert_eq!(record.network(side).unwrap().unwrap().id(), *id);
    }

    owner.kill().unwrap();
    owner.wait().unwrap();
    let far = record.namespaces()[1];
    // The kernel kills the command, but not the process that the command has started.
    wait_until("the command at the far end survives", || inside(far) == [survivor.clone()]);
    let cleaned = registry.clean().unwrap();
    assert_eq!(cleaned.len(), 1);
    assert_eq!(cleaned[0].killed, [survivor.parse::<u32>().unwrap()]);
    wait_until("a process is left in a namespace", || record.namespaces().iter().all(|id| inside(*id).is_empty()));
    assert_eq!((registry.links().unwrap(), registry.clean().unwrap()), (vec![], vec![]));
}
