//! All mistakes in the flags of one command. A command reports only its first mistake, so this module checks the flags
//! one by one, and then checks the command again without the flags that are known to be wrong.

use crate::redact;

/// The arguments of a command, and two ways to check them.
pub struct Checks<'c> {
    /// Flags as `--name` or `--name=value`, and other words.
    pub arguments: &'c [String],
    /// Returns the mistake in a single flag, regardless of other flags.
    pub one: &'c dyn Fn(&str) -> Option<String>,
    /// Returns the first mistake in a list of arguments.
    pub all: &'c dyn Fn(&[String]) -> Option<String>,
}

/// A mistake in the flags of a command.
pub struct FlagMistake {
    /// Names of the flags in the message, without dashes. A URL has the name `url`.
    pub names: Vec<String>,
    /// Number of earlier flags with the same name, if the value of a single flag is wrong.
    pub earlier: usize,
    /// The message.
    pub message: String,
}

impl Checks<'_> {
    /// Returns all mistakes. `missing` has the names of flags that should be among the arguments, but whose values are
    /// not known.
    pub fn mistakes(&self, missing: &[String]) -> Vec<FlagMistake> {
        let Some(first) = (self.all)(self.arguments) else { return Vec::new() };
        let mut found = self.one_by_one();
        let mut left_out: Vec<String> = found.iter().flat_map(|mistake| mistake.names.clone()).collect();
        let mut rest = without(self.arguments, &left_out);
        let mut next = if left_out.is_empty() { Some(first) } else { (self.all)(&rest) };
        left_out.extend(missing.iter().cloned());
        while let Some(message) = next {
            let names = named(&message, &rest);
            // The reason for a message about a missing flag may be that the flag was left out here.
            let is_certain =
                left_out.is_empty() || !names.is_empty() && !left_out.iter().any(|name| is_named(&message, name));
            if !is_certain {
                break;
            }
            left_out.extend(names.iter().cloned());
            rest = without(&rest, &names);
            next = if names.is_empty() { None } else { (self.all)(&rest) };
            found.push(FlagMistake { names, earlier: 0, message });
        }
        found
    }

    /// Returns the mistakes in single flags.
    fn one_by_one(&self) -> Vec<FlagMistake> {
        let (mut seen, mut found): (Vec<&str>, Vec<FlagMistake>) = (Vec::new(), Vec::new());
        for (word, name) in self.arguments.iter().filter_map(|word| Some((word, flag_name(word)?))) {
            let earlier = seen.iter().filter(|known| **known == name).count();
            seen.push(name);
            // Without the other arguments, required ones are missing.
            if let Some(message) = (self.one)(word).filter(|message| !message.starts_with("missing argument")) {
                found.push(FlagMistake { names: vec![name.to_owned()], earlier, message });
            }
        }
        found
    }
}

/// Returns the name of a flag, or `None` for another word.
pub fn flag_name(word: &str) -> Option<&str> {
    let flag = word.strip_prefix("--")?;
    Some(flag.split('=').next().unwrap_or(flag))
}

/// Returns whether a word that is not a flag is a URL. Other such words, such as the name of the command, stay.
pub fn is_url(word: &str) -> bool {
    word.contains("://")
}

/// Returns the arguments without some flags.
fn without(arguments: &[String], names: &[String]) -> Vec<String> {
    let is_left_out = |word: &String| match flag_name(word) {
        Some(name) => names.iter().any(|left_out| left_out == name),
        None => is_url(word) && names.iter().any(|name| name == "url"),
    };
    arguments.iter().filter(|word| !is_left_out(word)).cloned().collect()
}

/// Returns the names of the arguments that a message mentions.
fn named(message: &str, arguments: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in arguments {
        let name = match flag_name(word) {
            Some(name) if is_named(message, name) => name,
            None if is_url(word) && (message.contains(word.as_str()) || message.contains(&redact::url_text(word))) => {
                "url"
            }
            Some(_) | None => continue,
        };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns whether a message mentions a flag, as `--name`, as `` `name` ``, or by its letter.
pub fn is_named(message: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_word = |flag: &str| {
        message
            .match_indices(flag)
            .any(|(at, _)| !message[..at].ends_with(is_part) && !message[at + flag.len()..].starts_with(is_part))
    };
    is_word(&format!("--{name}")) || message.contains(&format!("`{name}`")) || letter(name).is_some_and(is_word)
}

/// Returns the short form of a flag.
fn letter(name: &str) -> Option<&'static str> {
    match name {
        "concurrency" => Some("-c"),
        "requests" => Some("-n"),
        "duration" => Some("-d"),
        "rate" => Some("-R"),
        "header" => Some("-H"),
        "cookie" => Some("-C"),
        "method" => Some("-m"),
        "user" => Some("-u"),
        "head" => Some("-I"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks of a command that wants a digit as the value of every flag, and with the rules `rules`: if all flags of a
    /// rule are given, its message is the mistake.
    fn mistakes(arguments: &[&str], missing: &[&str], rules: &[(&[&str], &str)]) -> Vec<String> {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let missing: Vec<String> = missing.iter().map(|&word| word.to_owned()).collect();
        let one = |word: &str| {
            let (name, value) = word.split_once('=')?;
            value.parse::<u8>().is_err().then(|| format!("{name}: `{value}` is not a digit"))
        };
        let all = |arguments: &[String]| {
            let has = |flag: &&str| arguments.iter().any(|word| flag_name(word) == Some(*flag));
            arguments.iter().find_map(|word| one(word)).or_else(|| {
                let broken = rules.iter().find(|(flags, _)| {
                    flags.iter().all(|flag| match flag.strip_prefix('!') {
                        Some(flag) => !has(&flag),
                        None => has(flag),
                    })
                });
                broken.map(|(_, message)| (*message).to_owned())
            })
        };
        let checks = Checks { arguments: &arguments, one: &one, all: &all };
        checks.mistakes(&missing).into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn wrong_values_do_not_hide_wrong_combinations() {
        let rules: [(&[&str], &str); 3] = [
            (&["rate", "think"], "-R and --think exclude each other"),
            (&["a", "b"], "--a and --b exclude each other"),
            (&["poisson", "!rate"], "--poisson requires -R"),
        ];
        let given = ["--a=1", "--b=2", "--c=x", "--rate=1", "--think=1", "--poisson"];
        let wanted = ["--c: `x` is not a digit", "-R and --think exclude each other", "--a and --b exclude each other"];
        assert_eq!(mistakes(&given, &[], &rules), wanted);
        // Because the rate is left out as a mistake, its absence is none.
        assert_eq!(mistakes(&["--rate=x", "--poisson"], &[], &rules), ["--rate: `x` is not a digit"]);
        assert_eq!(mistakes(&["--poisson"], &["rate"], &rules), [""; 0]);
        assert_eq!(mistakes(&["--poisson"], &[], &rules), ["--poisson requires -R"]);
        assert_eq!(mistakes(&["--a=1", "--b=1"], &["rate"], &rules), ["--a and --b exclude each other"]);
    }

    #[test]
    fn a_name_in_a_message_is_a_whole_word() {
        assert!(is_named("--range-at requires --range", "range") && !is_named("--range-at: x", "range"));
        assert!(is_named("-c cannot be used", "concurrency") && !is_named("x-c cannot", "concurrency"));
        let arguments = ["--http=1", "--http2", "http://h/"].map(str::to_owned);
        assert_eq!(named("--http2: http://h/ is bad", &arguments), ["http2", "url"]);
    }
}
