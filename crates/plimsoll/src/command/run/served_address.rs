//! The address of a server that a study starts. In the settings of its target, the word `served` stands for this address.
//! The address is known only once the server runs, so plans contain a placeholder until then.

use super::Planned;
use crate::command::serve::{self, ACCESS_KEY, PASSWORD, SECRET_KEY};
use study::matrix::{TrialCommand, flags};
use study::scenario::TargetServer;

/// Address of every server in a plan. The domain `invalid` never has an address (RFC 6761).
const PLACEHOLDER: &str = "http://served.invalid";
/// Part of the addresses of all servers of a cluster in a plan.
const DOMAIN: &str = "served.invalid";
/// Word in settings for the address of the target's server.
const WORD: &str = "served";

/// Objects from the list of the target's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    /// All objects, at the first server.
    All,
    /// The objects that the first server of a cluster owns.
    Own,
    /// One object of each server of a cluster, at its owner.
    Each,
}

/// Values of `url-file` that select objects from the list of the target's server.
const LISTS: [(&str, Listed); 3] = [
    ("--url-file=served/all", Listed::All),
    ("--url-file=served/own", Listed::Own),
    ("--url-file=served/each", Listed::Each),
];
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
    let Some((_, listed)) = LISTS.into_iter().find(|(list, _)| *list == word) else { return vec![word] };
    let TargetServer::Serve(settings) = server else { return vec![word] };
    // If the flags of the server are faulty, this is reported, and the list is not known.
    let Ok(serve) = serve::Args::parse(flags(settings)) else { return vec![WORD.to_owned()] };
    let set = &serve.stand_in;
    let urls: Vec<String> = match listed {
        Listed::All => set.listed_paths(LISTED_MAX).map(|path| format!("{WORD}{path}")).collect(),
        Listed::Own => set
            .listed_paths(LISTED_MAX)
            .filter(|path| set.owner(path) == 0)
            .map(|path| format!("{WORD}{path}"))
            .collect(),
        Listed::Each => {
            let first_of = |index: usize| set.listed_paths(LISTED_MAX).find(|path| set.owner(path) == index);
            let url = |index: usize| first_of(index).map(|path| format!("{}{path}", placeholder(index)));
            (0..set.servers().get()).filter_map(url).collect()
        }
    };
    if urls.is_empty() { vec![word] } else { urls }
}

/// Returns the address of a server of a cluster in a plan.
fn placeholder(index: usize) -> String {
    if index == 0 { PLACEHOLDER.to_owned() } else { format!("http://{index}.{DOMAIN}") }
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
    trial.command.arguments.iter().any(|word| word.contains(DOMAIN))
}

/// Returns a trial with the addresses of its servers, and with the number of its link. A target that the study does not
/// start has no addresses.
pub fn with_addresses(trial: &Planned, addresses: &[String], link: Option<u32>) -> Planned {
    let with_all = |word: &String| {
        let all = addresses.iter().enumerate();
        all.fold(word.clone(), |word, (index, address)| word.replace(&placeholder(index), address))
    };
    let arguments = trial.command.arguments.iter().map(with_all);
    let link = link.map(|number| format!("--link={number}"));
    let named = addresses.first().map(|address| ("PLIMSOLL_SERVED".to_owned(), address.clone()));
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
        let command = TrialCommand {
            name: "get".into(),
            arguments,
            positions: Vec::new(),
            link: None,
            agents: None,
            hooks: Hooks::default(),
        };
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
            let command =
                TrialCommand { name: "get".into(), arguments, positions: Vec::new(), link: None, agents: None, hooks };
            with_placeholder(command, &server).arguments[1..].to_vec()
        };
        let all = urls("--url-file=served/all");
        assert_eq!((all.len(), all[0].as_str()), (30, "http://served.invalid/bucket/1KiB-000000"));
        let own = urls("--url-file=served/own");
        assert!(own.len() > 3 && own.len() < 20 && own.iter().all(|url| all.contains(url)), "{own:?}");
        let each = urls("--url-file=served/each");
        let hosts: Vec<&str> = each.iter().map(|url| url.split('/').nth(2).unwrap()).collect();
        assert_eq!(hosts, ["served.invalid", "1.served.invalid", "2.served.invalid"]);
        let paths =
            |urls: &[String]| urls.iter().map(|url| url.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>();
        assert!(paths(&each).iter().all(|path| paths(&all).contains(path)) && own.contains(&each[0]), "{each:?}");
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
