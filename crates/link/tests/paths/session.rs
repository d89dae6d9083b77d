//! A session: made, recorded, measured, and gone.

use crate::support::{alone, core_time, had_cpu_since, skip, spec};
use link::LinkError;
use link::session::Session;
use link::state::{LinkState, Registry};
use link::tun::Settings;

#[test]
fn a_session_is_recorded_and_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    let (spec, started) = (spec("100Mbit/s,10ms", "20Mbit/s,5ms"), core_time());
    let session = match Session::start(&spec, &Settings::default(), &registry) {
        Err(LinkError::Right(right)) => return skip(&right.to_string()),
        session => session.unwrap(),
    };
    let links = registry.links().unwrap();
    let [(record, LinkState::Running)] = &links[..] else { panic!("{links:?}") };
    assert_eq!((record.down.as_str(), record.up.as_str()), ("100Mbit/s,10ms", "20Mbit/s,5ms"));
    assert!(session.cleaned().is_empty());
    if had_cpu_since(session.path(), started) {
        assert_eq!(session.differences(), [], "{:?}", session.measured());
    }
    drop(session);
    assert_eq!(registry.links().unwrap(), []);
}
