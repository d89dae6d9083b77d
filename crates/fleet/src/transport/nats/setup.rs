//! The files of a new bus: the configuration of nats-server, certificates for TLS, and the keys of agents and commands.
//!
//! The configuration has one account with two users. Each may use only the subjects that its side of the protocol needs
//! (see the table of [`super`]). The configuration names the other files without a directory, so the directory can be
//! moved, and nats-server must be started in it.

use super::bus::BODY_MAX;
use super::frame::HEAD_MAX;
use super::{AGENTS, CALL, RUNS};
use nkeys::KeyPair;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;

/// Name of the configuration file.
pub const CONFIGURATION: &str = "nats-server.conf";
/// Name of the file with the CA certificate.
pub const CA: &str = "ca.pem";
/// Name of the file with the seed of agents.
pub const AGENT_SEED: &str = "agent.nk";
/// Name of the file with the seed of commands.
pub const COMMAND_SEED: &str = "command.nk";
/// Name of the file with the certificate of the server.
const CERTIFICATE: &str = "server.pem";
/// Name of the file with the private key of the server.
const KEY: &str = "server-key.pem";

/// Name or IP address of a server, as certificates contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name as URLs contain it.
    #[must_use]
    pub fn in_url(&self) -> String {
        if self.0.contains(':') { format!("[{}]", self.0) } else { self.0.clone() }
    }
}

/// A text that is not the name of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use a DNS name or an IP address, without a port")]
pub struct BadHostName;

impl std::str::FromStr for HostName {
    type Err = BadHostName;

    fn from_str(text: &str) -> Result<Self, BadHostName> {
        ServerName::try_from(text).map(|_| Self(text.to_ascii_lowercase())).map_err(|_| BadHostName)
    }
}

/// A file of a new bus.
pub struct SetupFile {
    /// Name of the file.
    pub name: &'static str,
    /// Content of the file.
    pub content: String,
    /// `true` if nobody else may read the file.
    pub is_secret: bool,
}

/// The certificate of the server, in PEM.
pub struct Certificate {
    /// The certificate of the CA.
    pub ca: String,
    /// The certificate of the server, signed by the CA.
    pub server: String,
    /// The private key of the server.
    pub key: String,
}

/// A defect of a library. New keys are always valid.
#[derive(Debug, thiserror::Error)]
#[error("cannot make keys: {0}")]
pub struct SetupError(String);

/// Returns the files of a new bus that listens on an address, with the certificate of its server.
///
/// # Errors
/// Fails only if a library has a defect.
pub fn new_bus(listen: SocketAddr, tls: Certificate) -> Result<Vec<SetupFile>, SetupError> {
    let (agent, command) = (KeyPair::new_user(), KeyPair::new_user());
    let seed = |pair: &KeyPair| match pair.seed() {
        Ok(seed) => Ok(seed + "\n"),
        Err(error) => Err(SetupError(error.to_string())),
    };
    let file = |name, content, is_secret| SetupFile { name, content, is_secret };
    Ok(vec![
        file(CONFIGURATION, configuration(listen, &agent.public_key(), &command.public_key()), false),
        file(CA, tls.ca, false),
        file(CERTIFICATE, tls.server, false),
        file(KEY, tls.key, true),
        file(AGENT_SEED, seed(&agent)?, true),
        file(COMMAND_SEED, seed(&command)?, true),
    ])
}

/// Returns the configuration of nats-server for users with these public keys.
fn configuration(listen: SocketAddr, agent: &str, command: &str) -> String {
    let payload_max = HEAD_MAX + BODY_MAX;
    format!(
        r#"# Configuration of nats-server for plimsoll. Start nats-server in this directory: nats-server -c {CONFIGURATION}
listen: "{listen}"
# The longest message of plimsoll.
max_payload: {payload_max}

tls {{
  cert_file: "{CERTIFICATE}"
  key_file: "{KEY}"
  timeout: 5
}}

# The account is for plimsoll only. Its users prove that they have the seeds in {AGENT_SEED} and {COMMAND_SEED}.
accounts {{
  PLIMSOLL {{
    users: [
      # Agents.
      {{
        nkey: {agent}
        permissions {{
          publish: ["{RUNS}"]
          subscribe: ["{CALL}", "{AGENTS}"]
        }}
      }}
      # Commands that make loads with agents.
      {{
        nkey: {command}
        permissions {{
          publish: ["{CALL}", "{AGENTS}"]
          subscribe: ["{RUNS}"]
        }}
      }}
    ]
  }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::GeneratedCertificate;

    #[test]
    fn host_names_are_dns_names_and_addresses() {
        for text in ["localhost", "nats.plimsoll.svc", "127.0.0.1", "::1", "a_b", "1a"] {
            assert_eq!(text.parse::<HostName>().expect(text).as_str(), text);
        }
        assert_eq!("NATS.Example".parse::<HostName>().expect("good").as_str(), "nats.example");
        assert_eq!("::1".parse::<HostName>().expect("good").in_url(), "[::1]");
        for text in ["", "a:4222", "[::1]", "*.example", "a b", "ä", "a/b", "nats://a", &"a".repeat(300)] {
            assert_eq!(text.parse::<HostName>(), Err(BadHostName), "{text}");
        }
    }

    #[test]
    fn only_the_keys_are_secret_and_no_other_file_contains_them() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 4222));
        let made = GeneratedCertificate::new(vec!["localhost".to_owned()], "CA", "server").expect("a good name");
        let (ca, server, key) = (made.ca_pem().to_owned(), made.certificate_pem(), made.key_pem());
        let files = new_bus(listen, Certificate { ca, server, key }).expect("no defect");
        let secret: Vec<_> = files.iter().filter(|file| file.is_secret).map(|file| file.name).collect();
        assert_eq!(secret, [KEY, AGENT_SEED, COMMAND_SEED]);
        for name in [AGENT_SEED, COMMAND_SEED] {
            let file = files.iter().find(|file| file.name == name).expect("it exists");
            let pair = KeyPair::from_seed(file.content.trim()).expect("a seed");
            let others = || files.iter().filter(|other| other.name != name);
            assert!(others().all(|other| !other.content.contains(file.content.trim())));
            assert_eq!(others().filter(|other| other.content.contains(&pair.public_key())).count(), 1);
        }
        let private = files.iter().filter(|file| file.content.contains("PRIVATE KEY")).count();
        assert_eq!(private, 1, "the private key of the CA must not be kept");
    }
}
