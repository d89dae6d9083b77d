use super::*;

fn text(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

#[test]
fn the_commands_of_study_1() {
    let link = LinkSpec { down: "1Gbit/s,40ms".parse().unwrap(), ..LinkSpec::default() };
    let commands = Commands::new(&link, 42);
    assert_eq!(
        text(&commands.make()),
        "ip netns add plimsoll-42-near
ip netns add plimsoll-42-far
ip link add plimsoll0 netns plimsoll-42-near type veth peer name plimsoll0 netns plimsoll-42-far
ip -netns plimsoll-42-near link set lo up
ip -netns plimsoll-42-near link set plimsoll0 gso_max_segs 1
ip -netns plimsoll-42-near address add 198.18.0.1/30 dev plimsoll0
ip -netns plimsoll-42-near link set plimsoll0 up
ip -netns plimsoll-42-far link set lo up
ip -netns plimsoll-42-far link set plimsoll0 gso_max_segs 1
ip -netns plimsoll-42-far address add 198.18.0.2/30 dev plimsoll0
ip -netns plimsoll-42-far link set plimsoll0 up
tc -netns plimsoll-42-far qdisc add dev plimsoll0 root netem limit 6606 delay 40000us rate 1000000000bit
"
    );
    assert_eq!(text(&commands.remove()), "ip netns delete plimsoll-42-near\nip netns delete plimsoll-42-far\n");
    assert_eq!(
        commands.show(Direction::Down).to_string(),
        "tc -netns plimsoll-42-far -statistics -json qdisc show dev plimsoll0"
    );
}

#[test]
fn each_item_has_its_place() {
    let up = "10Mbit/s,5ms,jitter=1ms,loss=0.5%,reorder=2%,queue=15140B".parse().unwrap();
    let link = LinkSpec { up, ..LinkSpec::default() };
    // 6 ms at 10 Mbit/s are 7500 bytes. With the queue, these are 14.95 segments.
    let expected = "netem limit 15 delay 5000us 1000us loss 0.5% reorder 2% rate 10000000bit";
    assert_eq!(netem(&link, Direction::Up).as_deref(), Some(expected));
    assert_eq!(netem(&link, Direction::Down), None);
    let unlimited = LinkSpec { up: "1us".parse().unwrap(), ..LinkSpec::default() };
    assert_eq!(netem(&unlimited, Direction::Up).as_deref(), Some("netem limit 10000000 delay 1us"));
}
