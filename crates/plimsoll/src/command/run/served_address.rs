//! The address of a server that a study starts. In the settings of its target, the word `served` stands for this address.
//! The address is known only once the server runs, so plans contain a placeholder until then.

use super::Planned;
use crate::command::serve::{self, ACCESS_KEY, PASSWORD, SECRET_KEY};
use study::matrix::{TrialCommand, flags};
use study::scenario::TargetServer;

/// Address of every server in a plan. The domain `invalid` never has an address (RFC 6761).
const PLACEHOLDER: &str = "http://served.invalid";
/// Word in settings for the address of the target's server.
const WORD: &str = "served";

/// Values of `url-file` that select objects from the list of the target's server: all objects, or only the objects that
/// the first server of a cluster owns.
const LISTS: [(&str, bool); 2] = [("--url-file=served/all", false), ("--url-file=served/own", true)];
/// Maximum number of objects that such a value selects. Each object becomes a word of the command line.
const LISTED_MAX: u64 = 1000;

/// Replaces the word `served` in the settings of a trial by the placeholder.
pub fn with_placeholder(mut command: TrialCommand, server: &TargetServer) -> TrialCommand {
    command.arguments = command.arguments.into_iter().flat_map(|word| with_list(word, server)).collect();
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

/// Replaces a value of [`LISTS`] by the URLs of the objects of the target's server. Returns other words unchanged. If
/// the target has another kind of server, returns every word unchanged.
fn with_list(word: String, server: &TargetServer) -> Vec<String> {
    let Some((_, own)) = LISTS.into_iter().find(|(list, _)| *list == word) else { return vec![word] };
    let TargetServer::Serve(settings) = server else { return vec![word] };
    // If the flags of the server are faulty, this is reported, and the list is not known.
    let Ok(serve) = serve::Args::parse(flags(settings)) else { return vec![WORD.to_owned()] };
    let paths = serve.stand_in.listed_paths(LISTED_MAX).filter(|path| !own || serve.stand_in.is_own(path));
    let urls: Vec<String> = paths.map(|path| format!("{WORD}{path}")).collect();
    if urls.is_empty() { vec![word] } else { urls }
}

/// If the study starts an S3 server or a renter, returns flags with its keys or its password. The keys and the password
/// are the public defaults of `serve`. Returns no flags if the settings already contain keys or a password, or if the
/// target is not such a server.
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

/// Returns whether a trial needs a server that the study starts.
pub fn is_served(trial: &Planned) -> bool {
    trial.command.arguments.iter().any(|word| word.contains(PLACEHOLDER))
}

/// Returns a trial with the address of its server, and with the number of its link.
pub fn with_address(trial: &Planned, address: Option<&str>, link: Option<u32>) -> Planned {
    let shown = address.unwrap_or(PLACEHOLDER);
    let arguments = trial.command.arguments.iter().map(|word| word.replace(PLACEHOLDER, shown));
    let link = link.map(|number| format!("--link={number}"));
    let named = address.map(|address| ("PLIMSOLL_SERVED".to_owned(), address.to_owned()));
    Planned {
        command: TrialCommand { arguments: arguments.chain(link).collect(), ..trial.command.clone() },
        hook_environment: trial.hook_environment.iter().cloned().chain(named).collect(),
        ..trial.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::scenario::{Hooks, Position, Setting};

    #[test]
    fn only_the_word_itself_is_replaced() {
        let words = ["served/a", "served", "servedx", "--endpoint=served", "--header=X: served", "http://h/served"];
        let arguments = words.map(str::to_owned).to_vec();
        let command =
            TrialCommand { name: "get".into(), arguments, positions: Vec::new(), link: None, hooks: Hooks::default() };
        let found = with_placeholder(command, &TargetServer::Start(String::new())).arguments;
        let at = |rest: &str| format!("{PLACEHOLDER}{rest}");
        assert_eq!(found[..2], [at("/a"), at("")]);
        assert_eq!(found[3], format!("--endpoint={PLACEHOLDER}"));
        assert_eq!([&found[2], &found[4], &found[5]], ["servedx", "--header=X: served", "http://h/served"]);
        // The endpoint is an S3 server of the study, so its keys follow.
        assert_eq!(found[6..], ["--access-key=plimsoll", "--secret-key=plimsoll-secret"]);
    }

    #[test]
    fn lists_are_the_objects_of_the_server() {
        let setting = |name: &str, value: &str| Setting {
            name: name.to_owned(),
            at: Position::START,
            values: vec![(value.to_owned(), Position::START)],
        };
        let settings = [("as", "alluxio"), ("cluster", "3"), ("list", "30"), ("list-size", "1KiB")];
        let server = TargetServer::Serve(settings.map(|(name, value)| setting(name, value)).to_vec());
        let urls = |word: &str| {
            let arguments = vec!["--concurrency=1".to_owned(), word.to_owned()];
            let hooks = Hooks::default();
            let command = TrialCommand { name: "get".into(), arguments, positions: Vec::new(), link: None, hooks };
            with_placeholder(command, &server).arguments[1..].to_vec()
        };
        let all = urls("--url-file=served/all");
        assert_eq!((all.len(), all[0].as_str()), (30, "http://served.invalid/bucket/1KiB-000000"));
        let own = urls("--url-file=served/own");
        assert!(own.len() > 3 && own.len() < 20 && own.iter().all(|url| all.contains(url)), "{own:?}");
        assert_eq!(urls("--url-file=served/else"), ["--url-file=http://served.invalid/else"]);
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
