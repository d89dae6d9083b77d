//! The list of hosts that a user names: `a,b,user@c`, and ranges such as `client-{1...6}` or `client-{01...12}`.

/// Maximum number of hosts. Each of them needs a process of ssh and several threads.
pub const HOSTS_MAX: usize = 256;
/// Maximum number of agents of a run on a message bus.
pub const AGENTS_MAX: usize = 1024;

/// Reason why a text is not a list of hosts.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// A name is empty.
    #[error("a host name is empty: separate names with single commas")]
    Empty,
    /// A name starts with a hyphen, so ssh would take it for an option, or contains other characters than host names
    /// have.
    #[error("{0:?} is not a host name: use only letters, digits and . - _ : @, and do not begin with a hyphen")]
    Name(String),
    /// A range is malformed.
    #[error("{0:?} has no valid range: write one range per name, as in client-{{1...6}}")]
    Range(String),
    /// There are too many hosts.
    #[error("too many hosts: the maximum is {HOSTS_MAX}")]
    TooMany,
    /// A host is named twice, so it would run two agents.
    #[error("{0:?} is named twice: name each host once")]
    Twice(String),
}

/// Returns the named hosts in their order.
pub fn parse_hosts(text: &str) -> Result<Vec<String>, HostsError> {
    let mut hosts: Vec<String> = Vec::new();
    for word in text.split(',') {
        for host in expand(word)? {
            check(&host)?;
            if hosts.contains(&host) {
                return Err(HostsError::Twice(host));
            }
            if hosts.len() == HOSTS_MAX {
                return Err(HostsError::TooMany);
            }
            hosts.push(host);
        }
    }
    Ok(hosts)
}

/// Expands the range in a word, if there is one.
fn expand(word: &str) -> Result<Vec<String>, HostsError> {
    let Some((head, rest)) = word.split_once('{') else { return Ok(vec![word.to_owned()]) };
    let wrong = || HostsError::Range(word.to_owned());
    let (range, tail) = rest.split_once('}').ok_or_else(wrong)?;
    let (first, last) = range.split_once("...").ok_or_else(wrong)?;
    let number = |digits: &str| {
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if all_digits { digits.parse::<u32>().ok() } else { None }
    };
    let (from, to) = (number(first).ok_or_else(wrong)?, number(last).ok_or_else(wrong)?);
    if from > to {
        return Err(wrong());
    }
    if (to - from) as usize >= HOSTS_MAX {
        return Err(HostsError::TooMany);
    }
    // If the first number has a leading zero, all numbers get its width.
    let width = if first.starts_with('0') { first.len().min(10) } else { 0 };
    Ok((from..=to).map(|number| format!("{head}{number:0width$}{tail}")).collect())
}

/// Checks that ssh takes the name for a destination, and not for an option.
fn check(host: &str) -> Result<(), HostsError> {
    if host.is_empty() {
        return Err(HostsError::Empty);
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:@".contains(&byte);
    if host.starts_with('-') || !host.bytes().all(allowed) {
        return Err(HostsError::Name(host.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_expanded_in_order() {
        let hosts = |text| parse_hosts(text).map(|hosts| hosts.join(" "));
        assert_eq!(hosts("a,user@b,::1"), Ok("a user@b ::1".to_owned()));
        assert_eq!(hosts("client-{1...3},x"), Ok("client-1 client-2 client-3 x".to_owned()));
        assert_eq!(hosts("c{08...11}.lan"), Ok("c08.lan c09.lan c10.lan c11.lan".to_owned()));
        assert_eq!(hosts("c{7...7}"), Ok("c7".to_owned()));
    }

    #[test]
    fn an_option_of_ssh_is_no_host() {
        for name in ["-oProxyCommand=touch", "-l", "a b", "a;b", "$(a)", "a\n"] {
            assert_eq!(parse_hosts(name), Err(HostsError::Name(name.to_owned())));
        }
    }

    #[test]
    fn malformed_lists_are_refused() {
        for name in ["c{1..3}", "c{3...1}", "c{1...3", "c{...3}", "c{a...b}", "c{+1...3}", "c{1...99999999999}"] {
            assert_eq!(parse_hosts(name), Err(HostsError::Range(name.to_owned())));
        }
        assert_eq!(parse_hosts(""), Err(HostsError::Empty));
        assert_eq!(parse_hosts("a,,b"), Err(HostsError::Empty));
        assert_eq!(parse_hosts("a{1...2}{1...2}"), Err(HostsError::Name("a1{1...2}".to_owned())));
        assert_eq!(parse_hosts("c2,c{1...2}"), Err(HostsError::Twice("c2".to_owned())));
    }

    #[test]
    fn the_number_of_hosts_is_limited() {
        assert_eq!(parse_hosts("c{1...256}").map(|hosts| hosts.len()), Ok(HOSTS_MAX));
        assert_eq!(parse_hosts("c{1...257}"), Err(HostsError::TooMany));
        assert_eq!(parse_hosts("c{1...256},d"), Err(HostsError::TooMany));
        assert_eq!(parse_hosts("c{0...4294967295}"), Err(HostsError::TooMany));
    }
}
