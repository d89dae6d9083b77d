//! `${NAME}` in the values of a scenario.
//!
//! A name stands for a variable of the command line, of the file, or of the environment. Settings that may hold a secret keep
//! what is of the environment unfilled: the program fills it in where it is sent, so that no plan or report holds it.

/// Settings whose references to the environment the program resolves itself.
const RESOLVED_LATER: [&str; 4] = ["header", "cookie", "user", "connection"];

/// What names stand for.
pub struct Variables<'a> {
    set: &'a [(String, String)],
    own: Vec<(String, String)>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Variables<'a> {
    /// Those that are `set` come before those of the file, and these before those of the environment.
    pub fn new(set: &'a [(String, String)], environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { set, own: Vec::new(), environment }
    }

    /// A variable of the file.
    pub fn add(&mut self, name: &str, value: String) {
        self.own.push((name.to_owned(), value));
    }

    /// All that the command line and the file set, each name once.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut all = self.own.clone();
        for (name, value) in self.set {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }

    fn known(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known == name;
        let found = self.set.iter().find(named).or_else(|| self.own.iter().find(named));
        found.map(|(_, value)| value.as_str())
    }

    /// Fills in the names of a value of the setting `key`. `$${` stands for `${` itself.
    ///
    /// # Errors
    /// The name that stands for nothing.
    pub fn fill(&self, text: &str, key: &str) -> Result<String, String> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("${") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            let Some(end) = after.find('}') else { break };
            if let Some(escaped) = before.strip_suffix('$') {
                filled.push_str(escaped);
                filled.push_str("${");
                rest = after;
                continue;
            }
            filled.push_str(before);
            let name = &after[..end];
            match self.known(name) {
                Some(value) => filled.push_str(value),
                None if RESOLVED_LATER.contains(&key) => filled.push_str(&rest[at..=at + 2 + end]),
                None => filled.push_str(&(self.environment)(name).ok_or_else(|| name.to_owned())?),
            }
            rest = &after[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_secrets_are_not() {
        let environment = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        let set = [("host".to_owned(), "set".to_owned())];
        let mut variables = Variables::new(&set, &environment);
        variables.add("host", "file".to_owned());
        variables.add("size", "1MiB".to_owned());
        let fill = |text: &str, key: &str| variables.fill(text, key);
        assert_eq!(fill("http://${host}/${size}${HOME}", "url").unwrap(), "http://set/1MiB/home/me");
        assert_eq!(fill("X: ${HOME} ${size}", "header").unwrap(), "X: ${HOME} 1MiB");
        assert_eq!(fill("$${host} ${", "url").unwrap(), "${host} ${");
        assert_eq!(fill("${nobody}", "url").unwrap_err(), "nobody");
    }
}
