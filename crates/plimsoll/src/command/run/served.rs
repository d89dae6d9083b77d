//! Servers that a study starts for its targets, and stops at its end.
//!
//! In the settings of such a target, the word `served` stands for the address of its server. The address is known only
//! once the server runs, so plans contain a placeholder until then.

use super::Planned;
use crate::command::serve::{ACCESS_KEY, PASSWORD, SECRET_KEY};
use crate::failure::Failure;
use report::escape::escape;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use study::matrix::{TrialCommand, flags};
use study::scenario::Scenario;

/// Address of every server in a plan. The domain `invalid` never has an address (RFC 6761).
const PLACEHOLDER: &str = "http://served.invalid";
/// Word in settings for the address of the target's server.
const WORD: &str = "served";
/// Maximum length of a message of a server that does not start, in bytes.
const MESSAGE_MAX: u64 = 4096;

/// Replaces the word `served` in the settings of a trial by the placeholder.
pub fn with_placeholder(command: TrialCommand) -> TrialCommand {
    let value = |value: &str| match value.strip_prefix(WORD) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{PLACEHOLDER}{rest}"),
        _ => value.to_owned(),
    };
    let argument = |word: &String| match word.split_once('=') {
        Some((flag, given)) if flag.starts_with("--") => format!("{flag}={}", value(given)),
        _ => value(word),
    };
    let mut arguments: Vec<String> = command.arguments.iter().map(argument).collect();
    arguments.extend(credentials(&arguments));
    TrialCommand { arguments, ..command }
}

/// Returns flags with the keys of an S3 server, or with the password of a renter, that the study starts. These are the
/// public defaults of `serve`. Returns no flags if the settings already choose keys or a password, or if the target is
/// not such a server.
fn credentials(arguments: &[String]) -> Vec<String> {
    let is_given = |flag: &&str| arguments.iter().any(|word| word == flag || word.starts_with(&format!("{flag}=")));
    let has = |word: &str| arguments.iter().any(|given| given == word);
    let is_s3 = has(&format!("--endpoint={PLACEHOLDER}"));
    if is_s3 && !["--access-key", "--profile", "--credentials", "--anonymous"].iter().any(is_given) {
        return vec![format!("--access-key={ACCESS_KEY}"), format!("--secret-key={SECRET_KEY}")];
    }
    let is_renter = has("--as=renterd") || has("--as=siad");
    if is_renter && arguments.iter().any(|word| word.starts_with(PLACEHOLDER)) && !is_given(&"--user") {
        return vec![format!("--user=:{PASSWORD}")];
    }
    Vec::new()
}

fn is_served(trial: &Planned) -> bool {
    trial.command.arguments.iter().any(|word| word.contains(PLACEHOLDER))
}

/// The servers of a study. The servers end with the study.
#[derive(Default)]
pub struct Servers {
    running: Vec<Served>,
}

/// A server for the trials of one target.
struct Served {
    target: String,
    process: Child,
    address: String,
}

impl Servers {
    /// Starts the servers that these trials need.
    pub fn start(scenario: &Scenario, planned: &[&Planned]) -> Result<Self, Failure> {
        let mut servers = Self::default();
        for target in &scenario.targets {
            let is_needed = planned.iter().any(|trial| trial.target == target.name && is_served(trial));
            if let Some(settings) = target.serve.as_ref().filter(|_| is_needed) {
                servers.running.push(Served::start(&target.name, &flags(settings))?);
            }
        }
        Ok(servers)
    }

    /// Returns a trial with the address of its server. Hooks find this address in PLIMSOLL_SERVED.
    pub fn resolved(&self, trial: &Planned) -> Planned {
        let server = self.running.iter().find(|server| server.target == trial.target);
        let address = server.map_or(PLACEHOLDER, |server| server.address.as_str());
        let arguments = trial.command.arguments.iter().map(|word| word.replace(PLACEHOLDER, address));
        let named = server.map(|server| ("PLIMSOLL_SERVED".to_owned(), server.address.clone()));
        Planned {
            command: TrialCommand { arguments: arguments.collect(), ..trial.command.clone() },
            hook_environment: trial.hook_environment.iter().cloned().chain(named).collect(),
            ..trial.clone()
        }
    }
}

impl Served {
    /// Starts the server, and waits until it listens.
    fn start(target: &str, flags: &[String]) -> Result<Self, Failure> {
        let failed = |why: &str| {
            Failure::could_not_run(format!("the server of target `{}` could not start: {why}", escape(target)))
        };
        let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
        let mut command = Command::new(program);
        command.arg("serve").args(flags).args(["--listen=127.0.0.1:0", "--until-stdin-closes"]);
        // Interrupts from the terminal must reach only this program, because it stops the servers after the last trial.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut process = command.spawn().map_err(|error| failed(&error.to_string()))?;
        let mut output = process.stdout.take().map(BufReader::new);
        match output.as_mut().and_then(address) {
            Some(address) => {
                discard(output);
                Ok(Self { target: target.to_owned(), process, address })
            }
            None => {
                let mut told = String::new();
                if let Some(errors) = process.stderr.take() {
                    let _ = errors.take(MESSAGE_MAX).read_to_string(&mut told);
                }
                let _ = process.wait();
                Err(failed(&escape(told.trim().trim_start_matches("plimsoll: "))))
            }
        }
    }
}

/// Reads the address of a server, such as `http://127.0.0.1:40123`, from the server's output. Returns `None` if the
/// server ends first.
fn address(output: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    while output.read_line(&mut line).ok()? > 0 {
        let url = line.split_whitespace().find(|word| word.contains("://"));
        if let Some((scheme, rest)) = url.and_then(|url| url.split_once("://")) {
            let host = rest.split('/').next().unwrap_or(rest);
            return Some(format!("{scheme}://{host}"));
        }
        line.clear();
    }
    None
}

/// Reads the rest of the output, so that the server never waits for a reader.
fn discard(output: Option<BufReader<ChildStdout>>) {
    if let Some(mut output) = output {
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::scenario::Hooks;

    #[test]
    fn only_the_word_itself_is_replaced() {
        let words = ["served/a", "served", "servedx", "--endpoint=served", "--header=X: served", "http://h/served"];
        let arguments = words.map(str::to_owned).to_vec();
        let command = TrialCommand { name: "get".into(), arguments, positions: Vec::new(), hooks: Hooks::default() };
        let found = with_placeholder(command).arguments;
        let at = |rest: &str| format!("{PLACEHOLDER}{rest}");
        assert_eq!(found[..2], [at("/a"), at("")]);
        assert_eq!(found[3], format!("--endpoint={PLACEHOLDER}"));
        assert_eq!([&found[2], &found[4], &found[5]], ["servedx", "--header=X: served", "http://h/served"]);
        // The endpoint is an S3 server of the study, so its keys follow.
        assert_eq!(found[6..], ["--access-key=plimsoll", "--secret-key=plimsoll-secret"]);
    }

    #[test]
    fn only_a_renter_of_the_study_gets_its_default_password() {
        let url = format!("{PLACEHOLDER}/a");
        let flags = |words: &[&str]| credentials(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(flags(&[&url, "--as=renterd"]), ["--user=:plimsoll"]);
        assert!(flags(&["http://h/a", "--as=renterd"]).is_empty());
        assert!(flags(&[&url, "--as=filestash"]).is_empty());
        assert!(flags(&[&url, "--as=siad", "--user=:own"]).is_empty());
    }
}
