//! Tests a session: it is created, recorded, measured, and removed.

use crate::support::{alone, core_time, had_cpu_since, skip, spec};
use link::LinkError;
use link::session::Session;
use link::state::{Ends, LinkState, Record, Registry};
use link::tun::Settings;

#[test]
fn a_session_is_recorded_and_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    let (spec, started) = (spec("100Mbit/s,10ms", "20Mbit/s,5ms"), core_time());
    let mut session = match Session::tun(&spec, &Settings::default(), &registry) {
        Err(LinkError::Permission(missing)) => return skip(&missing.to_string()),
        session => session.unwrap(),
    };
    let links = registry.links().unwrap();
    let [(record, LinkState::Running)] = &links[..] else { panic!("{links:?}") };
    assert_eq!((record.down.as_str(), record.up.as_str()), ("100Mbit/s,10ms", "20Mbit/s,5ms"));
    assert!(session.cleaned().is_empty() && record.measured.is_some());
    assert_eq!(registry.running().unwrap(), [session.record().clone()]);
    if had_cpu_since(session.path().unwrap(), started) {
        assert_eq!(record.differences, Vec::<String>::new(), "{:?}", record.measured);
    }
    session.publish().unwrap();
    let later = registry.running().unwrap().remove(0);
    let counts = |record: &Record| match &record.ends {
        Ends::Tun { counts, .. } => [0, 1].map(|place| (counts[place].wire.passed, counts[place].elapsed)),
        Ends::Relay { .. } => panic!("{record:?}"),
    };
    assert!(later.updates > record.updates && counts(&later)[0].0 > 1000, "{later:?}");
    drop(session);
    assert_eq!(registry.links().unwrap(), []);
}

#[test]
fn a_relay_is_recorded_and_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path()).unwrap();
    let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let spec = spec("100Mbit/s,10ms", "5ms");
    let session = Session::relay(&spec, ("files.example:80", target), 1, &registry).unwrap();
    let record = session.record();
    let Ends::Relay { address, target } = &record.ends else { panic!("{record:?}") };
    assert!(address.ip().is_loopback() && target == "files.example:80");
    assert!(session.path().is_none() && record.namespaces().is_empty());
    let round_trip = record.measured.unwrap().round_trip;
    assert!((15..40).contains(&round_trip.as_millis()), "{round_trip:?}");
    assert_eq!(registry.links().unwrap().len(), 1);
    drop(session);
    assert!(registry.links().unwrap().is_empty());
}
