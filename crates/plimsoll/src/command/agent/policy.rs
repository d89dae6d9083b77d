//! The policy of an agent: the loads that its host may make. The policy takes precedence over the plan of a
//! coordinator. It is checked against the command and its plan before the first request.

use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use crate::input_file;
use crate::load::dataset_location::DatasetLocation;
use crate::load::{count, span};
use engine::plan::{Follow, LoadModel, Plan, RedirectHosts, RedirectRules};
use measure::units::Rate;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;
use study::scenario::yaml::{self, Diagnostic, Entry, Node, Value};
use wire::Origin;

/// Maximum size of a policy, in bytes.
const BYTES_MAX: u64 = 64 << 10;
/// The commands that agents can run.
const VERBS: [&str; 4] = ["get", "put", "mix", "fill"];

/// The loads that a host may make. A field that is `None` limits nothing.
#[derive(Debug, Default)]
pub struct Policy {
    targets: Option<Vec<Allowed>>,
    rate: Option<Rate>,
    concurrency: Option<NonZeroU64>,
    duration: Option<Duration>,
    verbs: Option<Vec<String>>,
}

/// A host that may get load, and its port; `None` means all ports.
#[derive(Debug, PartialEq, Eq)]
struct Allowed {
    host: String,
    port: Option<u16>,
}

impl Policy {
    /// Reads a policy.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = input_file::read_whole(path, BYTES_MAX, "a policy")?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::usage(format!("{} is not UTF-8 text: name another file", path.display())))?;
        Self::parse(&text).map_err(|mistake| Failure::usage(format!("{}:{mistake}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, Diagnostic> {
        let root = yaml::parse(text)?;
        let Value::Map(entries) = root.value else {
            return Err(Diagnostic::new(root.at, "a policy is a map, for example `duration: 10m`"));
        };
        let mut policy = Self::default();
        for Entry { key, at, node } in entries {
            match key.as_str() {
                "targets" => policy.targets = Some(list(&node)?.into_iter().map(target).collect::<Result<_, _>>()?),
                "rate" => {
                    policy.rate = Some(value(&node, |text| text.parse::<Rate>().map_err(|error| error.to_string()))?);
                }
                "concurrency" => policy.concurrency = Some(value(&node, count)?),
                "duration" => policy.duration = Some(value(&node, span)?),
                "verbs" => policy.verbs = Some(list(&node)?.into_iter().map(verb).collect::<Result<_, _>>()?),
                _ => {
                    let message = "this key is unknown: use targets, rate, concurrency, duration or verbs";
                    return Err(Diagnostic::new(at, message));
                }
            }
        }
        Ok(policy)
    }

    /// Checks a command before it sends its first request.
    pub fn check_command(&self, command: &LoadCommand) -> Result<(), Failure> {
        let verb = match command {
            LoadCommand::Get(_) => "get",
            LoadCommand::Put(_) => "put",
            LoadCommand::Mix(_) => "mix",
            LoadCommand::Line(_) => "line",
            LoadCommand::Fill(_) => "fill",
        };
        if let Some(verbs) = &self.verbs
            && !verbs.iter().any(|allowed| allowed == verb)
        {
            return Err(refused(&format!("`{verb}`"), &verbs.join(", ")));
        }
        // A fill has neither -R nor -d.
        if let (LoadCommand::Fill(_), Some(max)) = (command, self.rate) {
            return Err(refused("a fill, whose requests have no fixed rate", &format!("up to {max}")));
        }
        if let (LoadCommand::Fill(_), Some(max)) = (command, self.duration) {
            return Err(refused("a fill, whose duration has no limit", &format!("up to {max:?}")));
        }
        if self.targets.is_none() {
            return Ok(());
        }
        let connections = &command.common().connections;
        let detours = [
            ("--proxy", connections.proxy.is_some()),
            ("--connect-to", !connections.connect_to.is_empty()),
            ("--unix-socket", connections.unix_socket.is_some()),
        ];
        if let Some((flag, _)) = detours.into_iter().find(|(_, given)| *given) {
            return Err(refused(flag, "direct connections to its targets"));
        }
        // The plans of these commands depend on what their targets contain.
        let place = match command {
            LoadCommand::Mix(args) => Some(DatasetLocation::of(&args.urls, &args.s3)?),
            LoadCommand::Get(args) if args.list => Some(DatasetLocation::with_query(&args.urls, &args.s3)?),
            _ => None,
        };
        place.map_or(Ok(()), |place| self.check_targets(&place.origins))
    }

    /// Checks the part of a load that this agent would make, before its first request. Removes the right to follow
    /// redirects to hosts that the plan does not name.
    pub fn check_plan(&self, plan: &mut Plan) -> Result<(), Failure> {
        if let Some(max) = self.concurrency
            && plan.load.in_flight_max() > max.get()
        {
            return Err(refused(
                &format!("{} operations in flight", plan.load.in_flight_max()),
                &format!("up to {max}"),
            ));
        }
        if let Some(max) = self.rate {
            match &plan.load {
                LoadModel::Open { rate, .. } if rate.peak() <= max.as_f64() => {}
                LoadModel::Open { rate, .. } => {
                    return Err(refused(&format!("{:.0} operations per second", rate.peak()), &format!("up to {max}")));
                }
                LoadModel::Closed { .. } => {
                    return Err(refused("a load without a rate", &format!("up to {max}; add -R")));
                }
            }
        }
        if let Some(max) = self.duration {
            match plan.stop.time.map(|time| time.saturating_add(plan.warmup)) {
                Some(time) if time <= max => {}
                Some(time) => return Err(refused(&format!("a duration of {time:?}"), &format!("up to {max:?}"))),
                None => return Err(refused("a load without a duration", &format!("up to {max:?}; add -d"))),
            }
        }
        if self.targets.is_some() {
            self.check_targets(plan.targets.origins())?;
            if let Follow::UpTo(hops, rules) = plan.follow {
                plan.follow = Follow::UpTo(hops, RedirectRules { hosts: RedirectHosts::Named, ..rules });
            }
        }
        Ok(())
    }

    fn check_targets(&self, origins: &[Origin]) -> Result<(), Failure> {
        let Some(targets) = &self.targets else { return Ok(()) };
        let allows = |origin: &Origin| {
            let port = |allowed: &Allowed| allowed.port.is_none_or(|port| port == origin.port);
            targets.iter().any(|allowed| allowed.host.eq_ignore_ascii_case(&origin.host) && port(allowed))
        };
        match origins.iter().find(|origin| !allows(origin)) {
            None => Ok(()),
            Some(origin) => {
                let shown: Vec<String> = targets.iter().take(5).map(Allowed::to_string).collect();
                let more = if targets.len() > shown.len() { ", …" } else { "" };
                Err(refused(
                    &format!("the target {}:{}", origin.host, origin.port),
                    &format!("{}{more}", shown.join(", ")),
                ))
            }
        }
    }
}

impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

fn refused(what: &str, allowed: &str) -> Failure {
    Failure::could_not_run(format!("the policy of this agent does not allow {what} (allowed: {allowed})"))
}

/// Parses a scalar.
fn value<T>(node: &Node, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Diagnostic> {
    match &node.value {
        Value::Text(text) => parse(text).map_err(|why| Diagnostic::new(node.at, why)),
        Value::Null | Value::List(_) | Value::Map(_) => Err(Diagnostic::new(node.at, "write a single value here")),
    }
}

fn list(node: &Node) -> Result<Vec<&Node>, Diagnostic> {
    match &node.value {
        Value::List(nodes) => Ok(nodes.iter().collect()),
        Value::Null | Value::Text(_) | Value::Map(_) => {
            Err(Diagnostic::new(node.at, "write a list here, for example [a, b]"))
        }
    }
}

fn verb(node: &Node) -> Result<String, Diagnostic> {
    let known = |text: &str| VERBS.contains(&text).then(|| text.to_owned());
    value(node, |text| known(text).ok_or_else(|| format!("`{text}` is not one of get, put, mix and fill")))
}

fn target(node: &Node) -> Result<Allowed, Diagnostic> {
    let parse = |text: &str| {
        let (host, port) = match text.rsplit_once(':') {
            // An IPv6 address without brackets has no port.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.map(str::parse::<u16>).transpose().ok()?;
        let is_host =
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte));
        is_host.then(|| Allowed { host: host.to_owned(), port })
    };
    value(node, |text| parse(text).ok_or_else(|| format!("`{text}` is not HOST or HOST:PORT")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(text).expect("a good policy")
    }

    fn check(policy: &Policy, words: &str) -> Result<(), String> {
        let words = format!("plimsoll {words}");
        let command = LoadCommand::parse(words.split(' ').map(Into::into)).expect("a good command");
        let checked = policy.check_command(&command).and_then(|()| {
            let (mut plan, _) = command.plan()?;
            policy.check_plan(&mut plan)
        });
        checked.map_err(Failure::into_message)
    }

    #[test]
    fn the_policies_in_deploy_allow_only_their_target() {
        for text in [
            include_str!("../../../../../deploy/kubernetes/policy.yaml"),
            include_str!("../../../../../deploy/systemd/policy.yaml"),
        ] {
            let deployed = policy(text);
            assert_eq!(check(&deployed, "get -R 1k -c 96 -d 60s http://target.example:8080/file"), Ok(()));
            assert!(check(&deployed, "get -R 1k -c 96 -d 60s http://other.example:8080/file").is_err());
        }
    }

    #[test]
    fn a_load_within_the_policy_is_allowed() {
        let strict = policy(
            "targets: [cache:8080, '10.0.0.1', '[::1]:80']\nrate: 2k\nconcurrency: 100\nduration: 10m\nverbs: [get]\n",
        );
        for words in [
            "get http://cache:8080/a -R 2k -c 100 -d 9m --warmup 1m",
            "get http://10.0.0.1/a http://10.0.0.1:81/a http://[::1]/a -R 1 -c 1 -d 1s",
        ] {
            assert_eq!(check(&strict, words), Ok(()), "{words}");
        }
        assert_eq!(check(&Policy::default(), "get http://any/ -c 5000 -n 9999"), Ok(()));
    }

    #[test]
    fn each_limit_is_enforced() {
        for (text, words, message) in [
            ("targets: [cache:8080]", "get http://cache/a", "the target cache:80 (allowed: cache:8080)"),
            ("targets: [cache]", "get http://cache/a http://other/a", "the target other:80"),
            ("targets: [cache]", "get http://cache/a --proxy http://p:1", "--proxy"),
            ("targets: [cache]", "get http://cache/a --connect-to ::other:80", "--connect-to"),
            ("targets: [cache]", "get http://cache/a --unix-socket /s", "--unix-socket"),
            ("targets: [cache]", "mix http://other/set", "the target other:80"),
            ("targets: []", "get http://cache/a", "the target cache:80"),
            ("rate: 100", "get http://cache/a -R 101", "101 operations per second (allowed: up to 100"),
            ("rate: 100", "get http://cache/a -c 1", "a load without a rate"),
            ("concurrency: 8", "get http://cache/a -c 9", "9 operations in flight (allowed: up to 8)"),
            ("duration: 1m", "get http://cache/a -d 50s --warmup 11s", "a duration of 61s (allowed: up to 60s)"),
            ("duration: 1m", "get http://cache/a -n 5", "a load without a duration"),
            ("rate: 100", "fill http://cache/a --count 1 --size 1KiB", "a fill, whose requests have no fixed rate"),
            ("duration: 1m", "fill http://cache/a --count 1 --size 1KiB", "a fill, whose duration has no limit"),
            ("targets: [cache]", "fill http://cache/a --count 1 --size 1KiB --proxy http://p:1", "--proxy"),
            ("verbs: [put]", "fill http://cache/a --count 1 --size 1KiB", "`fill` (allowed: put)"),
            ("verbs: [get, mix]", "put s3://b/a --total 1MiB --size 1KiB", "`put` (allowed: get, mix)"),
        ] {
            let refused = check(&policy(text), words).expect_err(words);
            assert!(
                refused.starts_with("the policy of this agent does not allow ") && refused.contains(message),
                "{refused}"
            );
        }
    }

    #[test]
    fn redirects_lead_only_to_named_hosts() {
        let words = "plimsoll get http://cache/a";
        let command = LoadCommand::parse(words.split(' ').map(Into::into)).expect("a good command");
        let (mut plan, _) = command.plan().expect("a plan");
        policy("targets: [cache]").check_plan(&mut plan).expect("it is allowed");
        assert!(matches!(plan.follow, Follow::UpTo(_, RedirectRules { hosts: RedirectHosts::Named, .. })));
    }

    #[test]
    fn mistakes_in_a_policy_have_a_position() {
        for (text, message) in [
            ("rate: fast", "1:7: `fast` is not a rate"),
            ("duration: 1m\nmax_rate: 5", "2:1: this key is unknown"),
            ("targets: cache", "1:10: write a list here"),
            ("targets: ['http://cache/']", "is not HOST or HOST:PORT"),
            ("verbs: [line]", "`line` is not one of get, put, mix and fill"),
            ("concurrency: 0", "not a whole number above 0"),
            ("rate: [1]", "write a single value"),
            ("[]", "a policy is a map"),
        ] {
            let mistake = Policy::parse(text).expect_err(text).to_string();
            assert!(mistake.contains(message), "{mistake}");
        }
    }
}
