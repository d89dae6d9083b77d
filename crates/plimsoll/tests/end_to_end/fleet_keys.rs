//! A message bus with TLS and keys: `fleet init` with a real nats-server, and JWTs of an operator.

use crate::fleet::{ok_of_agents, serve};
use crate::support::{Act, Agent, Client, Ended, Nats, Report, TestDir, expect_refusal, free_address, shared_cores};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const SECRETS: [&str; 3] = ["server-key.pem", "agent.nk", "command.nk"];

/// A server that `fleet init` set up in the directory `bus`.
struct Bus {
    _nats: Nats,
    url: String,
}

impl Bus {
    /// Returns `None` to skip the test.
    fn start(place: &TestDir) -> Option<Self> {
        let address = free_address();
        place.run(["fleet", "init", "bus", "--listen", &address.to_string(), "--host", "localhost"]).expect(0);
        let nats = Nats::with(place.path("bus/nats-server.conf"), address)?;
        let url = nats.tls_url();
        Some(Self { _nats: nats, url })
    }

    /// Returns the flags for the way to this server with a file of credentials.
    fn flags<'a>(&'a self, credentials: &'a str) -> Vec<&'a str> {
        vec!["--fleet", &self.url, "--fleet-ca", "bus/ca.pem", "--fleet-creds", credentials]
    }
}

/// Makes a short run on agents.
fn get(place: &TestDir, url: &str, agents: &str, flags: &[&str]) -> Ended {
    let command = ["get", url, "-n", "20", "-c", "2", "--start-spread", "1m", "--agents-wait", "5s"];
    let output = ["--agents", agents, "--json", "--out", "out"];
    place.run([&command[..], &output, flags].concat())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn fleet_init_writes_keys_that_only_their_owner_can_read_and_never_overwrites_them() {
    let place = TestDir::new();
    let ended =
        place.run(["fleet", "init", "my bus", "--host", "nats.example", "--host", "::1", "--listen", "[::]:4000"]);
    ended.expect(0);
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
    for step in [
        "(cd 'my bus' && nats-server -c nats-server.conf)",
        "plimsoll agent --fleet tls://nats.example:4000 --fleet-creds 'my bus/agent.nk' --fleet-ca 'my bus/ca.pem'",
        "--agents 1 --fleet tls://nats.example:4000 --fleet-creds 'my bus/command.nk' --fleet-ca 'my bus/ca.pem'",
    ] {
        assert!(ended.stdout.contains(step), "no `{step}` in {}", ended.stdout);
    }
    let directory = place.path("my bus");
    assert_eq!(mode(&directory), 0o700);
    let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["agent.nk", "ca.pem", "command.nk", "nats-server.conf", "server-key.pem", "server.pem"]);
    for name in SECRETS {
        let path = directory.join(name);
        assert_eq!(mode(&path), 0o600, "{name}");
        let secret = fs::read_to_string(path).unwrap();
        assert!(secret.lines().all(|line| !ended.stdout.contains(line)), "{name} is shown");
    }
    let before = fs::read(directory.join("agent.nk")).unwrap();
    expect_refusal("second", &place.run(["fleet", "init", "my bus"]), 4, &["my bus is not empty", "a new directory"]);
    assert_eq!(fs::read(directory.join("agent.nk")).unwrap(), before);
    for (words, code, message) in [
        (vec!["fleet", "init", "a", "--host", "a:1"], 2, "--host a:1: use a DNS name or an IP address, without a port"),
        (vec!["fleet", "init", "a", "--host", "*.a"], 2, "use a DNS name or an IP address"),
        (vec!["fleet", "init", "a", "--listen", "127.0.0.1:0"], 2, "name the port"),
        (vec!["fleet", "init", "a", "--listen", "4222"], 2, "`4222` is not an address to listen on"),
        (vec!["fleet", "init", "/proc/no"], 4, "cannot write /proc/no"),
        (vec!["fleet", "init"], 2, "missing argument"),
    ] {
        expect_refusal(&words.join(" "), &place.run(&words), code, &[message]);
    }
    assert!(!place.path("a").exists());
    place.run(["fleet", "init", "default"]).expect(0);
}

#[test]
fn agents_and_a_command_make_a_run_with_the_keys_of_fleet_init() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(bus) = Bus::start(&place) else { return };
    let once = [&bus.flags("bus/agent.nk")[..], &["--once"]].concat();
    let agents: Vec<Agent> = (0..2).map(|number| Agent::start(&place, number, &once)).collect();
    let ended = get(&place, &url, "2", &bus.flags("bus/command.nk"));
    let report = Report::read(ended.expect(0));
    assert_eq!(ok_of_agents(&report), [10, 10]);
    assert_eq!(server.ledger().complete.count, 20);
    for agent in agents {
        agent.process.end().expect(0);
    }
    let written = fs::read(place.path("out/records.jsonl.zst")).expect("a run was saved");
    let text = String::from_utf8_lossy(&zstd::decode_all(&written[..]).expect("zstd")).into_owned() + &ended.stderr;
    for name in SECRETS {
        let secret = fs::read_to_string(place.path("bus").join(name)).unwrap();
        assert!(!text.contains(secret.lines().last().unwrap()), "{name} is in the run");
    }
}

#[test]
fn whoever_has_no_key_or_the_wrong_one_is_refused_in_one_line() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(bus) = Bus::start(&place) else { return };
    place.write("foreign.nk", KeyPair::new_user().seed().unwrap());
    place.write("account.nk", KeyPair::new_account().seed().unwrap());
    place.write("text.nk", "not a key\n");
    let way = ["--fleet", bus.url.as_str()];
    let ca = ["--fleet-ca", "bus/ca.pem"];
    let with = |flags: &[&'static str]| flags.to_vec();
    for (flags, code, messages) in [
        (with(&[]), 4, ["with TLS: ", "--fleet-ca"]),
        (with(&ca), 4, ["requires credentials", "--fleet-creds"]),
        (with(&[ca[0], ca[1], "--fleet-creds", "foreign.nk"]), 4, ["refuses the credentials", "--fleet-creds"]),
        (with(&[ca[0], ca[1], "--fleet-creds", "account.nk"]), 2, ["account.nk", "neither a JWT with its seed"]),
        (with(&[ca[0], ca[1], "--fleet-creds", "text.nk"]), 2, ["text.nk", "neither a JWT with its seed"]),
    ] {
        let flags = [&way[..], &flags].concat();
        expect_refusal(&flags.join(" "), &get(&place, "http://h/", "1", &flags), code, &messages);
        expect_refusal(&flags.join(" "), &place.run([&["agent"], &flags[..]].concat()), code, &messages);
    }
    let plain = bus.url.replace("tls://", "nats://");
    let flags = ["--fleet", plain.as_str(), "--fleet-creds", "bus/command.nk"];
    expect_refusal("without TLS", &get(&place, "http://h/", "1", &flags), 4, &["cannot connect to nats://localhost"]);
    let swapped = ["the credentials do not permit", "agents and commands need different credentials"];
    let ended = get(&place, "http://h/", "1", &bus.flags("bus/agent.nk"));
    expect_refusal("a command with the key of agents", &ended, 4, &swapped);
    let ended = place.run([&["agent"], &bus.flags("bus/command.nk")[..]].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(swapped.iter().all(|word| ended.stderr.contains(word)), "{}", ended.stderr);
}

#[test]
fn each_key_permits_exactly_the_subjects_of_its_side() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(bus) = Bus::start(&place) else { return };
    let of_agents = ["plimsoll.run.r.a", "plimsoll.run.*.*"];
    let of_commands = ["plimsoll.call", "plimsoll.agent.a"];
    // nats-server also permits subscriptions to `plimsoll.agent.>`, but nobody may publish on more subjects of that kind.
    let of_nobody = [
        ">",
        "*",
        "plimsoll.>",
        "plimsoll.run.>",
        "plimsoll.run.r",
        "plimsoll.run.r.a.b",
        "plimsoll.agent.a.b",
        "plimsoll.other",
        "_INBOX.a",
        "$SYS.>",
    ];
    for (name, publish, subscribe) in [("agent.nk", of_agents, of_commands), ("command.nk", of_commands, of_agents)] {
        let seed = fs::read_to_string(place.path("bus").join(name)).unwrap().trim().to_owned();
        let client = Client { url: bus.url.clone(), ca: place.path("bus/ca.pem"), seed };
        for (act, permitted, others) in [(Act::Publish, publish, subscribe), (Act::Subscribe, subscribe, publish)] {
            // Nothing can be published on a subject with a wildcard.
            let is_possible = |subject: &&str| matches!(act, Act::Subscribe) || !subject.contains(['*', '>']);
            for subject in permitted.into_iter().filter(is_possible) {
                assert!(client.may(act, subject), "{name}: {act:?} {subject}");
            }
            for subject in others.into_iter().chain(of_nobody).filter(is_possible) {
                assert!(!client.may(act, subject), "{name}: {act:?} {subject}");
            }
        }
    }
}

/// Returns a JWT of NATS: claims about `subject`, signed by `issuer`.
fn jwt(issuer: &KeyPair, subject: &KeyPair, nats: &Value) -> String {
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let claims = json!({
        "jti": "test", "iat": 1_700_000_000, "iss": issuer.public_key(), "name": "test",
        "sub": subject.public_key(), "nats": nats,
    });
    let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature = issuer.sign(signed.as_bytes()).expect("it has a private key");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Returns the text of a `.creds` file for a new user of an account.
fn creds(account: &KeyPair, publish: &[&str], subscribe: &[&str]) -> String {
    let user = KeyPair::new_user();
    let claims = json!({
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
        "pub": {"allow": publish}, "sub": {"allow": subscribe},
    });
    format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         ************************* IMPORTANT *************************\n\
         NKEY Seed printed below can be used to sign and prove identity.\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        jwt(account, &user, &claims),
        user.seed().expect("it has a private key")
    )
}

#[test]
fn agents_and_a_command_make_a_run_with_the_jwts_of_an_operator() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let operator_jwt = jwt(&operator, &operator, &json!({"type": "operator", "version": 2}));
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    let account_jwt = jwt(&operator, &account, &json!({"type": "account", "version": 2, "limits": limits}));
    let configuration = format!(
        "operator: {operator_jwt}\nresolver: MEMORY\nresolver_preload: {{ {}: {account_jwt} }}",
        account.public_key()
    );
    let Some(nats) = Nats::start(&place, &configuration) else { return };
    let (of_agents, of_commands) = (["plimsoll.run.*.*"], ["plimsoll.call", "plimsoll.agent.*"]);
    place.write("agent.creds", creds(&account, &of_agents, &of_commands));
    place.write("command.creds", creds(&account, &of_commands, &of_agents));
    place.write("foreign.creds", creds(&KeyPair::new_account(), &of_commands, &of_agents));
    let bus = nats.url();
    let refused = get(&place, &url, "1", &["--fleet", &bus, "--fleet-creds", "foreign.creds"]);
    expect_refusal("another account", &refused, 4, &["refuses the credentials"]);
    let agent = Agent::start(&place, 0, &["--fleet", &bus, "--fleet-creds", "agent.creds", "--once"]);
    let ended = get(&place, &url, "1", &["--fleet", &bus, "--fleet-creds", "command.creds"]);
    assert_eq!(Report::read(ended.expect(0)).number("/operations/ok"), 20);
    agent.process.end().expect(0);
    assert_eq!(server.ledger().complete.count, 20);
}
