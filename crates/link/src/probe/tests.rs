use super::*;

fn spec() -> LinkSpec {
    let down = "1Gbit/s,40ms,loss=1%".parse().unwrap();
    LinkSpec { down, up: "100Mbit/s,10ms".parse().unwrap() }
}

fn measured(round_trip_micros: u64, down_megabits: u64, lost: u64) -> Measured {
    let direction = |megabits: u64, lost| MeasuredDirection {
        rate: Some(DataRate::bits_per_second(megabits * 1_000_000)),
        sent: 20_000,
        lost,
        health: Health::Good,
    };
    Measured {
        round_trip: Duration::from_micros(round_trip_micros),
        down: direction(down_megabits, lost),
        up: direction(100, 0),
    }
}

#[test]
fn a_path_as_described_has_no_differences() {
    for (round_trip, rate, lost) in [(50_300, 1000, 200), (47_600, 960, 160), (52_400, 1040, 240)] {
        assert_eq!(measured(round_trip, rate, lost).differences(&spec()), [], "{round_trip} {rate} {lost}");
    }
}

#[test]
fn each_difference_is_reported_with_both_values() {
    let text = |measured: Measured| {
        let differences = measured.differences(&spec());
        differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(text(measured(60_000, 1000, 200)), "round trip: asked 50.00 ms, measured 60.00 ms");
    assert_eq!(text(measured(50_000, 910, 200)), "rate down: asked 1Gbit/s, measured 910.0Mbit/s (-9.0 %)");
    assert_eq!(text(measured(50_000, 1060, 200)), "rate down: asked 1Gbit/s, measured 1060.0Mbit/s (+6.0 %)");
    assert_eq!(text(measured(50_000, 1000, 300)), "loss down: asked 1 %, measured 1.500 % (300 of 20000)");
    assert_eq!(text(measured(50_000, 1000, 0)), "loss down: asked 1 %, measured 0.000 % (0 of 20000)");
    let mut lossy = measured(50_000, 1000, 200);
    lossy.up.lost = 1;
    assert_eq!(text(lossy), "loss up: asked 0 %, measured 0.005 % (1 of 20000)");
}

/// The test sends the flow over loopback, so the measured rate is the rate of the sender.
#[test]
fn a_flow_has_its_pace_and_is_counted() {
    let (sender, receiver) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let pace = Pace { datagram_bytes: 1000, datagrams: 500, bytes_per_second: 2e6, together: 2 };
    let flow = datagrams::flow(&sender, &receiver, pace, Duration::from_secs(5)).unwrap();
    assert_eq!((flow.sent, flow.received), (500, 500));
    let rate = flow.bytes_per_second.unwrap();
    assert!((1.8e6..2.2e6).contains(&rate), "{rate}");
}

#[test]
fn a_relay_is_measured_as_it_was_asked_for() {
    let spec = LinkSpec { down: "100Mbit/s,20ms".parse().unwrap(), up: "50Mbit/s,10ms".parse().unwrap() };
    let measured = measure_relay(&spec).unwrap();
    assert!((30..40).contains(&measured.round_trip.as_millis()), "{measured:?}");
    for (direction, asked) in [(&measured.down, 1e8), (&measured.up, 5e7)] {
        let ratio = direction.rate.unwrap().as_bits() as f64 / asked;
        // Other tests run at the same time, so the relay may have to wait for a core.
        assert!((0.8..1.1).contains(&ratio), "{ratio}: {measured:?}");
    }
    let unlimited = LinkSpec { down: "5ms".parse().unwrap(), ..LinkSpec::default() };
    assert_eq!(measure_relay(&unlimited).unwrap().down.rate, None);
}
