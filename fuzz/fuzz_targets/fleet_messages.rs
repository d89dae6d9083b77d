//! Messages of agents and coordinators, messages of the bus, and lists of hosts. No input causes a panic, accepted
//! messages survive formatting and parsing, and no message of an agent brings a coordinator into an invalid state.
#![no_main]

use fleet::clock::CoordinatorTime;
use fleet::coordinator::{Coordinator, Settings};
use fleet::message::{FromAgent, Hash, RunId, ToAgent};
use fleet::transport::nats::Frame;
use fleet::{hosts, lines};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|bytes: &[u8]| {
    let mut stream = bytes;
    while let Ok(Some(message)) = lines::read::<ToAgent>(&mut stream) {
        let line = lines::encode(&message).expect("a message that was read is short");
        assert_eq!(lines::read(&mut line.as_slice()).expect("the line is valid"), Some(message));
    }
    let seconds = Duration::from_secs(10);
    let settings = Settings {
        build: Hash::of(b""),
        run: RunId::try_from("run".to_owned()).expect("a good name"),
        plan: "{}".to_owned(),
        spread_max: seconds,
        silence_max: seconds,
        prepare_max: seconds,
        tolerate_lost: 0,
        parts: 1,
    };
    let names = vec!["a".to_owned()];
    let (mut coordinator, _) = Coordinator::begin(settings, names, CoordinatorTime(0), 0);
    let (mut stream, mut now) = (bytes, 0);
    while let Ok(Some(message)) = lines::read::<FromAgent>(&mut stream) {
        now += 1_000_000;
        let _ = coordinator.on_message(CoordinatorTime(now), 0, message);
        let _ = coordinator.on_time(CoordinatorTime(now));
    }
    if let Some(frame) = Frame::decode(bytes) {
        assert_eq!(Frame::decode(&frame.encode()), Some(frame));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = hosts::parse_hosts(text);
    }
});
