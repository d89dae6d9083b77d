//! The plan of a run on several hosts, as the text that the coordinator sends to all agents.
//!
//! The text contains the words of the command line. Each agent makes its own plan from these words, and takes its part.
//! Secrets are sent only as references (`@FILE`, `${ENV}`), which the agent resolves on its own host.

use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use crate::redact;
use engine::plan::Part;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of words.
const WORDS_MAX: usize = 10_000;

/// Returns the text of the plan for the words of a command line. The first word is the program.
///
/// # Errors
/// Refuses words that contain a secret as text.
pub fn write(words: &[String]) -> Result<String, Failure> {
    if let Some(shown) = redact::literal_secret(words) {
        return Err(Failure::usage(format!(
            "`{shown}` contains a secret, which is not sent to other hosts: write @FILE or ${{ENV}}, which each host reads itself"
        )));
    }
    Ok(json!({ "words": words }).to_string())
}

/// Returns the words of the command line in the text of a plan.
///
/// # Errors
/// Fails if the text is malformed. The message does not quote it.
pub fn read(text: &str) -> Result<Vec<String>, Failure> {
    let malformed = || Failure::could_not_run("the plan of the run is malformed");
    let plan: Value = serde_json::from_str(text).map_err(|_| malformed())?;
    let words = plan.get("words").and_then(Value::as_array).filter(|words| words.len() <= WORDS_MAX);
    let words = words.ok_or_else(malformed)?.iter().map(|word| word.as_str().map(str::to_owned));
    words.collect::<Option<_>>().ok_or_else(malformed)
}

/// Returns the command of an agent. With `--pair`, the command has only the URL of this agent.
pub fn command_of(words: &[String], index: u32, of: u32) -> Result<(LoadCommand, Part), Failure> {
    let mut command = LoadCommand::parse(words.iter().map(Into::into))?;
    refuse_standard_input(&command)?;
    let part = Part::new(index, of).ok_or_else(|| Failure::could_not_run("the number of this agent is too high"))?;
    if command.common().fleet.pair {
        pair(command.urls_mut()?, index as usize, of as usize)?;
    }
    Ok((command, part))
}

/// Refuses a list on standard input, which belongs to the coordinator and its messages.
pub fn refuse_standard_input(command: &LoadCommand) -> Result<(), Failure> {
    let LoadCommand::Get(args) = command else { return Ok(()) };
    let list = args.url_file.as_deref().and_then(Path::to_str);
    if matches!(list, Some("-" | "/dev/stdin")) {
        return Err(Failure::usage("each host reads the list itself, so it must be a file on each host"));
    }
    Ok(())
}

/// Removes the URLs of the other agents. Words that are not URLs are names of objects, which all agents share.
pub fn pair(urls: &mut Vec<String>, index: usize, of: usize) -> Result<(), Failure> {
    let count = urls.iter().filter(|word| word.contains("://")).count();
    if count != of {
        return Err(Failure::usage(format!(
            "--pair needs one URL per host: the command has {count} URLs and {of} hosts"
        )));
    }
    let mut number = 0;
    urls.retain(|word| {
        let is_url = word.contains("://");
        number += usize::from(is_url);
        !is_url || number == index + 1
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_plan_comes_back() {
        let words = words("plimsoll get http://a/ -u @secret -H Authorization:${TOKEN}");
        assert_eq!(read(&write(&words).unwrap()).unwrap(), words);
        for text in ["", "{}", "[]", r#"{"words":[1]}"#, r#"{"words":"a"}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_as_text_is_not_sent_and_not_shown() {
        for text in
            ["-u me:CANARY", "http://me:CANARY@host/", "--secret-key=CANARY", "http://h/?X-Amz-Signature=CANARY"]
        {
            let refused = write(&words(&format!("plimsoll get {text}"))).unwrap_err().into_message();
            assert!(refused.contains("contains a secret") && !refused.contains("CANARY"), "{refused}");
        }
        for text in ["-u @file", "--user=@file", "-u@file", "http://me:${PW}@host/", "-u me:${PW}"] {
            assert!(write(&words(&format!("plimsoll get {text}"))).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_paired_agent_has_one_url_and_all_names() {
        let of = |index| {
            let mut urls = words("http://a/ name http://b/");
            pair(&mut urls, index, 2).unwrap();
            urls.join(" ")
        };
        assert_eq!((of(0).as_str(), of(1).as_str()), ("http://a/ name", "name http://b/"));
        let refused = pair(&mut words("http://a/"), 0, 2).unwrap_err().into_message();
        assert!(refused.contains("1 URLs and 2 hosts"), "{refused}");
    }
}
