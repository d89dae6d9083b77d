use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> DirectionSpec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn users_forms_are_accepted() {
    let path = parsed("1Gbit/s,40ms");
    assert_eq!(path.rate, Some(DataRate::bits_per_second(1_000_000_000)));
    assert_eq!(path.delay, Duration::from_millis(40));
    assert_eq!(parsed("40ms, 1Gbit/s"), path);
    assert_eq!(parsed("delay=40ms,rate=125MB/s"), path);
    let all = parsed("1Gbit/s,40ms,jitter=2ms,loss=0.1%,reorder=1%,queue=5MB");
    assert_eq!((all.jitter, all.queue), (Duration::from_millis(2), Some(ByteSize(5_000_000))));
    assert!((all.loss - 0.001).abs() < 1e-12 && (all.reorder - 0.01).abs() < 1e-12);
    assert_eq!(parsed("50ms").rate, None);
}

#[test]
fn errors_contain_the_fix() {
    for (text, part) in [
        ("", "needs a rate or a delay"),
        ("1Gbit/s,,40ms", "needs a rate or a delay"),
        ("1Gbps", "not a span of time"),
        ("1Gbps/s", "not a size"),
        ("1Gbit/s,latency=4ms", "no `latency`"),
        ("1Gbit/s,2Gbit/s", "rate is given twice"),
        ("1bit/s", "between 8kbit/s and 400Gbit/s"),
        ("11s", "at most 10s"),
        ("1ms,jitter=2ms", "at most its delay of 1ms (got 2ms)"),
        ("loss=101%", "0% to 100%"),
        ("1Gbit/s,reorder=1%", "needs a delay"),
        ("1Gbit/s,queue=100B", "1514B"),
    ] {
        let message = text.parse::<DirectionSpec>().expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn the_default_queue_is_the_bandwidth_delay_product() {
    let spec = LinkSpec { down: parsed("1Gbit/s,40ms"), up: parsed("100Mbit/s,10ms,queue=2MB") };
    // 1 Gbit/s × 50 ms.
    assert_eq!(spec.queue_bytes(Direction::Down), Some(6_250_000));
    assert_eq!(spec.queue_bytes(Direction::Up), Some(2_000_000));
    assert_eq!(LinkSpec::default().queue_bytes(Direction::Down), None);
    let slow = LinkSpec { down: parsed("1Mbit/s,1ms"), up: DirectionSpec::default() };
    assert_eq!(slow.queue_bytes(Direction::Down), Some(QUEUE_MIN_BYTES));
}

#[test]
fn memory_is_limited() {
    assert_eq!(LinkSpec { down: parsed("10Gbit/s,40ms"), up: parsed("10Gbit/s,40ms") }.check(), Ok(()));
    let error = LinkSpec { down: parsed("100Gbit/s,1s"), up: DirectionSpec::default() }.check().unwrap_err();
    assert!(error.to_string().contains("maximum 4GiB"), "{error}");
}

proptest! {
    #[test]
    fn display_parses_back(
        rate in proptest::option::of(8_000_u64..400_000_000_000),
        delay in 0_u64..10_000_000,
        jitter in 0_u64..1000,
        loss in 0_u32..100_000,
        reorder in 0_u32..100_000,
        queue in proptest::option::of(1514_u64..1 << 30),
    ) {
        let delay = Duration::from_micros(delay + jitter + 1);
        let spec = DirectionSpec {
            rate: rate.map(DataRate::bits_per_second),
            delay,
            jitter: Duration::from_micros(jitter),
            loss: f64::from(loss) / 1e5,
            reorder: f64::from(reorder) / 1e5,
            queue: queue.map(ByteSize),
        };
        let again: DirectionSpec = spec.to_string().parse().unwrap();
        prop_assert!((again.loss - spec.loss).abs() < 1e-12 && (again.reorder - spec.reorder).abs() < 1e-12);
        prop_assert_eq!(DirectionSpec { loss: spec.loss, reorder: spec.reorder, ..again }, spec);
    }

    #[test]
    fn never_panics(text in ".{0,40}") {
        let _ = text.parse::<DirectionSpec>();
    }
}

#[test]
fn a_link_is_one_value() {
    let setting: LinkSetting = "1Gbit/s,40ms".parse().unwrap();
    assert_eq!((setting.spec.down, setting.spec.up), (parsed("1Gbit/s,40ms"), DirectionSpec::default()));
    let both: LinkSetting = "  down=40ms,loss=1%   congestion=cubic up=5Mbit/s ".parse().unwrap();
    assert_eq!((both.spec.down, both.spec.up), (parsed("40ms,loss=1%"), parsed("5Mbit/s")));
    assert_eq!(both.congestion.as_deref(), Some("cubic"));
    for setting in [setting, both] {
        assert_eq!(setting.to_string().parse::<LinkSetting>().unwrap(), setting, "{setting}");
    }
    for (text, part) in [
        ("", "needs a rate or a delay"),
        ("congestion=bbr", "needs a rate or a delay"),
        ("1ms 2ms", "down is given twice"),
        ("1ms up=1ms up=2ms", "up is given twice"),
        ("1ms congestion=a/b", "not the name of a congestion control"),
        ("1ms via=tun", "no `via`"),
    ] {
        let message = text.parse::<LinkSetting>().expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}
