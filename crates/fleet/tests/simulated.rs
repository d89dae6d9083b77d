//! A fleet in simulated time: real state machines of coordinator and agents, with delays, shifted clocks and failures.

use fleet::agent::{self, Agent, Event, LEASE, StopReason};
use fleet::away::AWAY_MAX;
use fleet::clock::{AgentTime, CoordinatorTime, Drift};
use fleet::coordinator::{self, Abort, Coordinator, Ended, Loss, Outcome, Settings};
use fleet::message::{FoundPart, FromAgent, Hash, KeptPart, PROTOCOL, Part, Refusal, RunId, Terms, ToAgent};
use std::collections::BTreeMap;
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// The seconds that each agent measures, unless a test says otherwise.
const SECONDS: u64 = 10;
/// Wall time at the begin of the simulation.
const UNIX_MS: u64 = 1_795_000_000_000;
/// Time at which the simulation stops.
const END: u64 = 2000 * SECOND;

/// One simulated machine.
struct Machine {
    agent: Agent,
    /// Agent's clock minus true time, at the begin of the simulation.
    shift: i64,
    /// Drift of the agent's clock, in nanoseconds per second.
    drift: i64,
    /// Delays of a message to the agent, and of a message back.
    ways: (u64, u64),
    /// Delay between the ordered start and the actual start of the load.
    delay: u64,
    dead: bool,
    /// `true` if messages in both directions are lost.
    cut_off: bool,
    started: Option<u64>,
    stopped: Option<(u64, StopReason)>,
}

enum Step {
    ToAgent(usize, ToAgent),
    FromAgent(usize, FromAgent),
    Local(usize, Event),
    Wake(usize),
    Kill(usize),
    CutOff(usize),
    /// The bus goes away, or comes back.
    Bus {
        is_away: bool,
    },
    /// All ends look at the bus, as they do several times per second.
    Look,
}

struct Simulation {
    now: u64,
    /// Steps in the order of their times. Steps with the same time are in the order of their creation.
    steps: BTreeMap<(u64, u64), Step>,
    created: u64,
    coordinator: Coordinator,
    machines: Vec<Machine>,
    records: Vec<(usize, String)>,
    outcome: Option<Outcome>,
    ended: u64,
    /// The seconds that each agent measures.
    seconds: u64,
    is_away: bool,
    /// Messages that wait until the bus is back.
    waiting: Vec<Step>,
}

fn build() -> Hash {
    Hash::of(b"program")
}

fn run_id() -> RunId {
    RunId::try_from("run-1".to_owned()).expect("a good name")
}

fn settings() -> Settings {
    Settings {
        build: build(),
        run: run_id(),
        plan: "{}".to_owned(),
        spread_max: Duration::from_millis(5),
        silence_max: Duration::from_secs(10),
        prepare_max: Duration::from_secs(10),
        tolerate_lost: 0,
        parts: 3,
    }
}

/// Three machines with shifted clocks.
fn machines() -> Vec<Machine> {
    [5, -3, 1].map(|shift| machine(shift * 1_000_000_000, (MS, 2 * MS))).into()
}

fn machine(shift: i64, ways: (u64, u64)) -> Machine {
    let agent = Agent::new(build(), AgentTime(100 * SECOND));
    Machine { agent, shift, drift: 0, ways, delay: 0, dead: false, cut_off: false, started: None, stopped: None }
}

impl Machine {
    fn clock(&self, at: u64) -> AgentTime {
        let drifted = i64::try_from((at - 100 * SECOND) / MS).expect("in range") * self.drift / 1000;
        AgentTime(at.checked_add_signed(self.shift + drifted).expect("in range"))
    }
}

impl Simulation {
    fn new(settings: Settings, mut machines: Vec<Machine>) -> Self {
        let now = 100 * SECOND;
        for machine in &mut machines {
            machine.agent = Agent::new(build(), machine.clock(now));
        }
        let names = (0..machines.len()).map(|index| format!("host-{index}")).collect();
        let (coordinator, actions) = Coordinator::begin(settings, names, CoordinatorTime(now), UNIX_MS);
        let (steps, records) = (BTreeMap::new(), Vec::new());
        let mut new = Self {
            now,
            steps,
            created: 0,
            coordinator,
            machines,
            records,
            outcome: None,
            ended: 0,
            seconds: SECONDS,
            is_away: false,
            waiting: Vec::new(),
        };
        new.carry_out(actions);
        new
    }

    fn at(&mut self, time: u64, step: Step) {
        self.created += 1;
        self.steps.insert((time, self.created), step);
    }

    fn carry_out(&mut self, actions: Vec<coordinator::Action>) {
        for action in actions {
            match action {
                coordinator::Action::Send(to, message) => {
                    let arrival = self.now + self.machines[to].ways.0;
                    self.at(arrival, Step::ToAgent(to, message));
                }
                coordinator::Action::Record(from, record) => self.records.push((from, record)),
                coordinator::Action::Finish(outcome) => {
                    assert!(self.outcome.is_none(), "the run is over twice");
                    self.outcome = Some(outcome);
                    self.ended = self.now;
                }
            }
        }
    }

    fn carry_out_on(&mut self, index: usize, actions: Vec<agent::Action>) {
        for action in actions {
            match action {
                agent::Action::Send(message) => {
                    let arrival = self.now + self.machines[index].ways.1;
                    self.at(arrival, Step::FromAgent(index, message));
                }
                agent::Action::Prepare { plan, part, .. } => {
                    assert_eq!((plan.as_str(), part.index as usize), ("{}", index));
                    // Agents with higher numbers take longer, so the first ones must wait.
                    let ready = self.now + (1 + index as u64) * SECOND;
                    self.at(ready, Step::Local(index, Event::Prepared));
                }
                agent::Action::Find { .. } | agent::Action::Fetch { .. } => panic!("nobody collects a run"),
                agent::Action::Start { at, terms } => {
                    assert_eq!((terms.name, terms.started_unix_ms), (format!("host-{index}"), self.t0_unix_ms()));
                    let machine = &self.machines[index];
                    let at = at.0.checked_add_signed(-machine.shift).expect("in range");
                    let start = at.max(self.now) + machine.delay;
                    let clock = self.machines[index].clock(start);
                    self.at(start, Step::Local(index, Event::Started(clock)));
                    for second in 1..=self.seconds {
                        let record = format!("second {second} of {index}");
                        self.at(start + second * SECOND, Step::Local(index, Event::Record(record)));
                    }
                    self.at(start + self.seconds * SECOND, Step::Local(index, Event::Ended));
                }
                agent::Action::Finish => self.at(self.now, Step::Local(index, Event::Ended)),
                agent::Action::Stop(reason) => self.machines[index].stopped = Some((self.now, reason)),
            }
        }
        if let Some(deadline) = self.machines[index].agent.deadline() {
            let time = deadline.0.checked_add_signed(-self.machines[index].shift).expect("in range");
            self.at(time.max(self.now), Step::Wake(index));
        }
    }

    /// Runs until nothing happens any more.
    fn run(mut self) -> Self {
        loop {
            let step = self.steps.first_key_value().map(|(key, _)| key.0);
            let due = self.coordinator.deadline().map(|deadline| deadline.0);
            let Some(next) = [step, due].into_iter().flatten().min() else { return self };
            assert!(next < END, "the run does not end");
            self.now = self.now.max(next);
            if due.is_some_and(|due| due <= self.now) {
                let actions = self.coordinator.on_time(CoordinatorTime(self.now));
                self.carry_out(actions);
            } else if let Some((_, step)) = self.steps.pop_first() {
                self.take(step);
            }
        }
    }

    fn take(&mut self, step: Step) {
        let now = self.now;
        match step {
            Step::Kill(index) => {
                self.machines[index].dead = true;
                let actions = self.coordinator.on_closed(index, "killed".to_owned());
                self.carry_out(actions);
            }
            Step::CutOff(index) => self.machines[index].cut_off = true,
            Step::Bus { is_away } => {
                self.is_away = is_away;
                std::mem::take(&mut self.waiting).into_iter().for_each(|step| self.at(now, step));
            }
            Step::Look => {
                self.coordinator.on_bus(CoordinatorTime(now), self.is_away);
                for machine in &mut self.machines {
                    let clock = machine.clock(now);
                    machine.agent.on_bus(clock, self.is_away);
                }
                let is_running = self.machines.iter().any(|machine| !machine.agent.is_over());
                if !self.coordinator.is_over() || is_running {
                    self.at(now + 100 * MS, Step::Look);
                }
            }
            Step::FromAgent(..) | Step::ToAgent(..) if self.is_away => self.waiting.push(step),
            Step::FromAgent(index, message) => {
                if !self.machines[index].cut_off {
                    let actions = self.coordinator.on_message(CoordinatorTime(now), index, message);
                    self.carry_out(actions);
                }
            }
            Step::ToAgent(index, _) | Step::Local(index, _) | Step::Wake(index) if self.machines[index].dead => {}
            Step::ToAgent(index, _) if self.machines[index].cut_off => {}
            Step::ToAgent(index, message) => {
                let machine = &mut self.machines[index];
                let actions = machine.agent.on_message(machine.clock(now), message);
                self.carry_out_on(index, actions);
            }
            Step::Local(index, event) => {
                let machine = &mut self.machines[index];
                if matches!(event, Event::Started(_)) && !machine.agent.is_over() {
                    machine.started = Some(now);
                }
                let actions = self.machines[index].agent.on_event(event);
                self.carry_out_on(index, actions);
            }
            Step::Wake(index) => {
                let machine = &mut self.machines[index];
                let due = machine.agent.deadline().is_some_and(|deadline| deadline <= machine.clock(now));
                if due {
                    let actions = machine.agent.on_time(machine.clock(now));
                    self.carry_out_on(index, actions);
                }
            }
        }
    }

    fn t0_unix_ms(&self) -> u64 {
        let start = self.coordinator.start().expect("the start is ordered");
        UNIX_MS + (start.0 - 100 * SECOND) / MS
    }

    fn ended(&self) -> &Ended {
        match &self.outcome {
            Some(Outcome::Ended(ended)) => ended,
            other => panic!("the run did not end: {other:?}"),
        }
    }

    fn abort(&self) -> &Abort {
        match &self.outcome {
            Some(Outcome::Aborted(abort)) => abort,
            other => panic!("the run was not aborted: {other:?}"),
        }
    }

    fn assert_lost_before_start(&self, host: &str, how: &Loss) {
        assert_eq!(self.abort(), &Abort::Lost { agent: host.to_owned(), loss: how.clone() });
        assert!(self.machines.iter().all(|machine| machine.started.is_none()), "an agent made load");
        let mut alive = self.machines.iter().filter(|machine| !machine.dead && !machine.cut_off);
        assert!(alive.all(|machine| machine.stopped.is_some()), "an agent was left waiting");
    }
}

#[test]
fn all_agents_start_together_although_their_clocks_differ_by_seconds() {
    let fleet = Simulation::new(settings(), machines()).run();
    let starts: Vec<u64> = fleet.machines.iter().filter_map(|machine| machine.started).collect();
    let spread = starts.iter().max().expect("three") - starts.iter().min().expect("three");
    assert_eq!(starts.len(), 3);
    assert!(spread <= 3 * MS, "{spread} ns");
    let ended = fleet.ended();
    assert!(!ended.partial);
    for (agent, start) in ended.agents.iter().zip(starts) {
        assert!(agent.started_here.0.abs_diff(start) <= agent.uncertainty.as_nanos() as u64, "{agent:?}");
        assert_eq!((agent.records, &agent.loss), (SECONDS, &None));
    }
    assert_eq!(fleet.records.len() as u64, 3 * SECONDS);
    assert!(fleet.machines.iter().all(|machine| matches!(machine.stopped, Some((_, StopReason::Done)))));
}

#[test]
fn the_reported_spread_is_that_of_the_actual_starts() {
    // The delays of both directions are equal, so the offsets are exact.
    let mut late = machines();
    for (machine, delay) in late.iter_mut().zip([2 * MS, 9 * MS, 4 * MS]) {
        machine.ways = (MS, MS);
        machine.delay = delay;
    }
    let fleet = Simulation::new(settings(), late).run();
    assert_eq!(fleet.ended().spread(), Duration::from_millis(7));
}

#[test]
fn a_clock_that_drifts_during_the_run_is_measured_and_does_not_disturb_it() {
    let mut drifting = machines();
    // 100 ppm, five times as much as a quartz without corrections.
    drifting[1].drift = -100_000;
    let mut fleet = Simulation::new(settings(), drifting);
    fleet.seconds = 300;
    let fleet = fleet.run();
    let ended = fleet.ended();
    assert!(!ended.partial && ended.spread() <= Duration::from_millis(4), "{:?}", ended.spread());
    let drifts: Vec<Drift> = ended.agents.iter().map(|agent| agent.drift.expect("it was measured")).collect();
    // The last probe is up to 5 s older than the end of the run.
    let (true_drift, error) = (-29_750_000_i64, 500_000 + drifts[1].error.as_nanos() as u64);
    assert!(drifts[1].nanos.abs_diff(true_drift) <= error, "{drifts:?}");
    assert!(drifts[1].certain() > 25 * MS && drifts[0].certain() == 0 && drifts[2].certain() == 0, "{drifts:?}");
}

#[test]
fn clocks_that_are_too_uncertain_are_refused_before_the_start() {
    let mut slow = machines();
    slow[1].ways = (MS, 9 * MS);
    let fleet = Simulation::new(settings(), slow).run();
    let (spread, max) = (Duration::from_micros(6500), Duration::from_millis(5));
    assert_eq!(fleet.abort(), &Abort::Spread { spread, max, agent: "host-1".to_owned() });
    assert!(fleet.machines.iter().all(|machine| machine.started.is_none()));
    assert!(fleet.machines.iter().all(|machine| matches!(machine.stopped, Some((_, StopReason::Aborted)))));
}

#[test]
fn an_agent_that_dies_before_the_start_aborts_the_run_and_is_named() {
    // The agent dies while it prepares, while it waits for the others, or after the order to start.
    for offset in [500 * MS, 2500 * MS, 3900 * MS] {
        let mut fleet = Simulation::new(settings(), machines());
        fleet.at(100 * SECOND + offset, Step::Kill(1));
        fleet.run().assert_lost_before_start("host-1", &Loss::Closed("killed".to_owned()));
    }
}

#[test]
fn an_agent_that_is_cut_off_while_it_prepares_times_out() {
    let mut fleet = Simulation::new(settings(), machines());
    fleet.at(100 * SECOND + 500 * MS, Step::CutOff(2));
    let fleet = fleet.run();
    fleet.assert_lost_before_start("host-2", &Loss::Silent(Duration::from_secs(10)));
    assert!(matches!(fleet.machines[2].stopped, Some((_, StopReason::LeaseLost))));
}

#[test]
fn an_agent_that_dies_during_the_run_makes_it_partial_and_its_seconds_are_kept() {
    for (tolerate_lost, partial) in [(0, true), (1, false)] {
        let mut fleet = Simulation::new(Settings { tolerate_lost, ..settings() }, machines());
        fleet.at(109 * SECOND, Step::Kill(1));
        let fleet = fleet.run();
        let ended = fleet.ended();
        assert_eq!(ended.partial, partial);
        assert_eq!(ended.agents[1].loss, Some(Loss::Closed("killed".to_owned())));
        let seconds = fleet.records.iter().filter(|(from, _)| *from == 1).count() as u64;
        assert!(seconds > 2 && seconds < SECONDS, "{seconds}");
        assert_eq!(ended.agents[1].records, seconds);
        assert_eq!([ended.agents[0].records, ended.agents[2].records], [SECONDS, SECONDS], "the others finish");
    }
}

#[test]
fn an_interrupt_ends_the_load_of_all_agents_and_loses_nothing() {
    let now = CoordinatorTime(200 * SECOND);
    let mut coordinator = running_coordinator(now);
    coordinator.on_message(now, 0, FromAgent::Record { number: 0, record: String::new() });
    assert_eq!(coordinator.on_interrupt(), [coordinator::Action::Send(0, ToAgent::Stop)]);
    coordinator.on_message(now, 0, FromAgent::Record { number: 1, record: String::new() });
    let actions = coordinator.on_message(now, 0, FromAgent::Done { records: 2 });
    let Some(coordinator::Action::Finish(Outcome::Ended(ended))) = actions.last() else { panic!("{actions:?}") };
    assert!(!ended.partial && ended.agents[0].loss.is_none());
    let mut agent = started_agent();
    assert_eq!(agent.on_message(AgentTime(1), ToAgent::Stop), [agent::Action::Finish]);
    assert!(!agent.is_over(), "the rest must still be sent");
    let done = agent.on_event(Event::Ended);
    assert_eq!(done.last(), Some(&agent::Action::Stop(StopReason::Done)));
}

#[test]
fn an_order_to_stop_after_the_end_of_a_run_does_not_disturb_the_next_run() {
    let mut next = Agent::new(build(), AgentTime(0));
    assert_eq!(next.on_message(AgentTime(1), ToAgent::Stop), []);
    assert!(next.is_idle());
    assert_eq!(next.on_message(AgentTime(2), hello(PROTOCOL)), [agent::Action::Send(FromAgent::Joined)]);
    assert!(!next.is_idle());
    let now = CoordinatorTime(200 * SECOND);
    let mut coordinator = running_coordinator(now);
    assert_eq!(coordinator.end_early(), [coordinator::Action::Send(0, ToAgent::Stop)]);
    coordinator.on_message(now, 0, FromAgent::Done { records: 0 });
    assert_eq!(coordinator.end_early(), []);
}

#[test]
fn an_interrupt_before_the_start_aborts_the_run() {
    let (mut coordinator, _) = Coordinator::begin(settings(), vec!["host-0".to_owned()], CoordinatorTime(0), UNIX_MS);
    let actions = coordinator.on_interrupt();
    assert_eq!(actions.last(), Some(&coordinator::Action::Finish(Outcome::Aborted(Abort::Interrupted))));
    assert_eq!(actions.first(), Some(&coordinator::Action::Send(0, ToAgent::Abort)));
    let actions = ready_agent().on_message(AgentTime(0), ToAgent::Stop);
    assert_eq!(actions, [agent::Action::Stop(StopReason::Aborted)]);
}

#[test]
fn a_run_that_lost_all_agents_is_partial_whatever_is_tolerated() {
    let mut fleet = Simulation::new(Settings { tolerate_lost: 3, ..settings() }, machines());
    (0..3).for_each(|index| fleet.at(109 * SECOND, Step::Kill(index)));
    assert!(fleet.run().ended().partial);
}

/// Runs for 50 seconds. From the fifth second on, the bus is away for this long.
fn with_bus_away(away: Duration) -> Simulation {
    let mut fleet = Simulation::new(Settings { silence_max: Duration::from_secs(30), ..settings() }, machines());
    fleet.seconds = 50;
    let from = 109 * SECOND;
    fleet.at(100 * SECOND, Step::Look);
    fleet.at(from, Step::Bus { is_away: true });
    fleet.at(from + away.as_nanos() as u64, Step::Bus { is_away: false });
    fleet.run()
}

#[test]
fn a_bus_that_is_away_for_a_while_costs_nothing() {
    // The bus is away for less and for more than a lease, or even until after the end of the load.
    for seconds in [5, 29, 31, 40, 120, 290] {
        let fleet = with_bus_away(Duration::from_secs(seconds));
        let ended = fleet.ended();
        assert!(!ended.partial && ended.agents.iter().all(|agent| agent.loss.is_none()), "{seconds} s: {ended:?}");
        assert!(ended.agents.iter().all(|agent| agent.records == 50), "{seconds} s: {ended:?}");
        assert!(fleet.machines.iter().all(|machine| matches!(machine.stopped, Some((_, StopReason::Done)))));
    }
}

#[test]
fn agents_stop_and_count_as_lost_if_the_bus_stays_away() {
    let mut fleet = Simulation::new(Settings { silence_max: Duration::from_secs(30), ..settings() }, machines());
    fleet.seconds = 1000;
    let from = 109 * SECOND;
    fleet.at(100 * SECOND, Step::Look);
    fleet.at(from, Step::Bus { is_away: true });
    let fleet = fleet.run();
    let limit = (AWAY_MAX + LEASE).as_nanos() as u64;
    for machine in &fleet.machines {
        let Some((at, StopReason::LeaseLost)) = machine.stopped else { panic!("{:?}", machine.stopped) };
        assert!((at - from).abs_diff(limit) < SECOND, "{at}");
    }
    assert!(fleet.ended().agents.iter().all(|agent| matches!(agent.loss, Some(Loss::Silent(_)))));
    assert!((fleet.ended - from).abs_diff(limit) < SECOND, "{}", fleet.ended);
}

#[test]
fn a_bus_that_comes_back_does_not_bring_a_lost_lease_back() {
    let mut agent = started_agent();
    let late = AgentTime(0).after(LEASE);
    agent.on_bus(late, true);
    let actions = agent.on_time(late);
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::LeaseLost)));
}

#[test]
fn another_coordinator_collects_the_records_of_a_run() {
    let find = |protocol, build| ToAgent::Find { protocol, build, run: run_id() };
    let mut agent = Agent::new(build(), AgentTime(0));
    let now = AgentTime(SECOND);
    assert_eq!(agent.on_message(now, find(PROTOCOL, build())), [agent::Action::Find { run: run_id() }]);
    assert!(agent.is_collected());
    let kept = KeptPart { part: Part { index: 1, of: 3 }, late_nanos: -5, terms: terms() };
    let parts = vec![FoundPart { kept, is_over: true }];
    assert_eq!(agent.on_event(Event::Found(parts.clone())), [agent::Action::Send(FromAgent::Kept { parts })]);
    // A part can be fetched again, for example after a full disk.
    for _ in 0..2 {
        let fetch = agent::Action::Fetch { run: run_id(), index: 1 };
        assert_eq!(agent.on_message(now, ToAgent::Fetch { index: 1 }), [fetch]);
        for number in 0..2 {
            let record = number.to_string();
            let sent = agent::Action::Send(FromAgent::Record { number, record: record.clone() });
            assert_eq!(agent.on_event(Event::Record(record)), [sent]);
        }
        assert_eq!(agent.on_event(Event::Ended), [agent::Action::Send(FromAgent::Done { records: 2 })]);
    }
    assert!(!agent.is_over());
    for (message, refusal) in [
        (find(PROTOCOL + 1, build()), Refusal::Protocol),
        (find(PROTOCOL, Hash::of(b"another program")), Refusal::Build),
        (ToAgent::Fetch { index: 0 }, Refusal::OutOfOrder),
    ] {
        let actions = Agent::new(build(), AgentTime(0)).on_message(now, message);
        assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::Refused(refusal))));
    }
    // A running agent does not send other records.
    let actions = started_agent().on_message(now, find(PROTOCOL, build()));
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::Refused(Refusal::OutOfOrder))));
}

#[test]
fn an_agent_without_its_coordinator_stops_after_the_lease() {
    let mut agent = started_agent();
    let heard = SECOND;
    agent.on_message(AgentTime(heard), ToAgent::Lease);
    let end = AgentTime(heard).after(LEASE);
    assert_eq!(agent.deadline(), Some(end));
    assert_eq!(agent.on_time(AgentTime(end.0 - 1)), []);
    let actions = agent.on_time(end);
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::LeaseLost)));
    assert!(agent.is_over());
    assert_eq!(agent.on_message(end, ToAgent::Lease), [], "a late lease changes nothing");
}

#[test]
fn a_message_after_the_lease_does_not_renew_it() {
    let mut agent = started_agent();
    let actions = agent.on_message(AgentTime(0).after(LEASE), ToAgent::Lease);
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::LeaseLost)));
}

#[test]
fn another_build_or_protocol_is_refused_at_join() {
    let other = Settings { build: Hash::of(b"another program"), ..settings() };
    let fleet = Simulation::new(other, machines()).run();
    fleet.assert_lost_before_start("host-0", &Loss::Refused(Refusal::Build));
    let mut agent = Agent::new(build(), AgentTime(0));
    let actions = agent.on_message(AgentTime(0), hello(PROTOCOL + 1));
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::Refused(Refusal::Protocol))));
}

#[test]
fn a_plan_with_another_hash_is_refused() {
    let mut agent = Agent::new(build(), AgentTime(0));
    agent.on_message(AgentTime(0), hello(PROTOCOL));
    let forged = ToAgent::Prepare { hash: Hash::of(b"{}"), plan: "{ }".to_owned() };
    let refusal = Refusal::PlanHash;
    let expected =
        [agent::Action::Send(FromAgent::Refused { refusal }), agent::Action::Stop(StopReason::Refused(refusal))];
    assert_eq!(agent.on_message(AgentTime(0), forged), expected);
}

#[test]
fn a_second_coordinator_is_refused_and_does_not_renew_the_lease() {
    let mut agent = started_agent();
    let before = agent.deadline();
    let refused = agent.on_message(AgentTime(5), hello(PROTOCOL));
    assert_eq!(refused, [agent::Action::Send(FromAgent::Refused { refusal: Refusal::Busy })]);
    assert_eq!(agent.deadline(), before);
    assert!(!agent.is_over());
}

#[test]
fn an_order_to_start_that_comes_too_late_is_not_obeyed() {
    let mut agent = ready_agent();
    let actions = agent.on_message(AgentTime(10), ToAgent::StartAt { at: AgentTime(9), terms: terms() });
    assert_eq!(actions.last(), Some(&agent::Action::Stop(StopReason::StartMissed)));
    assert!(!actions.iter().any(|action| matches!(action, agent::Action::Start { .. })));
}

#[test]
fn a_repeated_interval_counts_once_and_a_missing_one_loses_the_agent() {
    let interval = |number| FromAgent::Record { number, record: number.to_string() };
    let now = CoordinatorTime(200 * SECOND);
    let mut coordinator = running_coordinator(now);
    let first = [coordinator::Action::Record(0, "0".to_owned())];
    assert_eq!(coordinator.on_message(now, 0, interval(0)), first);
    assert_eq!(coordinator.on_message(now, 0, interval(0)), []);
    assert!(loses(&coordinator.on_message(now, 0, interval(2)), &Loss::Gap(1)));
    let mut coordinator = running_coordinator(now);
    coordinator.on_message(now, 0, interval(0));
    assert!(loses(&coordinator.on_message(now, 0, FromAgent::Done { records: 2 }), &Loss::Gap(1)));
}

#[test]
fn messages_out_of_order_or_from_strangers_do_no_harm() {
    let now = CoordinatorTime(0);
    let (mut coordinator, _) = Coordinator::begin(settings(), vec!["host-0".to_owned()], now, UNIX_MS);
    assert_eq!(coordinator.on_message(now, 7, FromAgent::Joined), []);
    let actions = coordinator.on_message(now, 0, FromAgent::Done { records: 0 });
    let reason = Abort::Lost { agent: "host-0".to_owned(), loss: Loss::OutOfOrder };
    assert_eq!(actions.last(), Some(&coordinator::Action::Finish(Outcome::Aborted(reason))));
    assert_eq!(coordinator.on_message(now, 0, FromAgent::Joined), [], "the run is over");
}

fn loses(actions: &[coordinator::Action], how: &Loss) -> bool {
    let Some(coordinator::Action::Finish(Outcome::Ended(ended))) = actions.last() else { return false };
    ended.partial && ended.agents[0].loss.as_ref() == Some(how)
}

fn hello(protocol: u32) -> ToAgent {
    ToAgent::Hello { protocol, build: build(), run: run_id(), part: Part { index: 0, of: 1 } }
}

fn terms() -> Terms {
    let name = "host-0".to_owned();
    Terms { name, started_unix_ms: UNIX_MS, uncertainty_nanos: 1, spread_max_nanos: 2, tolerate_lost: 0 }
}

fn ready_agent() -> Agent {
    let mut agent = Agent::new(build(), AgentTime(0));
    agent.on_message(AgentTime(0), hello(PROTOCOL));
    agent.on_message(AgentTime(0), ToAgent::Prepare { hash: Hash::of(b"{}"), plan: "{}".to_owned() });
    assert_eq!(agent.on_event(Event::Prepared), [agent::Action::Send(FromAgent::Ready)]);
    agent
}

fn started_agent() -> Agent {
    let mut agent = ready_agent();
    let actions = agent.on_message(AgentTime(0), ToAgent::StartAt { at: AgentTime(0), terms: terms() });
    assert_eq!(actions, [agent::Action::Start { at: AgentTime(0), terms: terms() }]);
    agent.on_event(Event::Started(AgentTime(0)));
    agent
}

/// Returns a coordinator whose only agent is running. Both have the same clock.
fn running_coordinator(now: CoordinatorTime) -> Coordinator {
    let (mut coordinator, _) = Coordinator::begin(settings(), vec!["host-0".to_owned()], now, UNIX_MS);
    coordinator.on_message(now, 0, FromAgent::Joined);
    coordinator.on_message(now, 0, FromAgent::Ready);
    for number in 0..coordinator::PROBES {
        let (received, replied) = (AgentTime(now.0), AgentTime(now.0));
        coordinator.on_message(now, 0, FromAgent::Clock { number, received, replied });
    }
    coordinator.on_message(now, 0, FromAgent::Started { at: AgentTime(now.0) });
    coordinator
}
