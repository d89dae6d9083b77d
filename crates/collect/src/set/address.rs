//! URLs of the endpoints of a set, derived from the user's URL.

/// The address of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The URL, with the credentials of the user's URL.
    pub url: String,
    /// Header fields that the endpoint needs.
    pub headers: Vec<String>,
}

/// The user's URL, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// Scheme, credentials, host and port.
    origin: String,
    /// Path, without a slash at the end.
    path: String,
    /// Query, without its question mark.
    query: String,
}

impl Base {
    /// Splits a URL without checking it. Mistakes in the URL are reported later, when the endpoint is connected.
    pub fn of(url: &str) -> Self {
        let begin = url.find("://").map_or(0, |scheme| scheme + 3);
        let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |end| begin + end);
        let (origin, rest) = url.split_at(end);
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self { origin: origin.to_owned(), path: path.trim_end_matches('/').to_owned(), query: query.to_owned() }
    }

    /// Returns the URL of a path below the path of the user's URL.
    pub fn below(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.path)
    }

    /// Returns the URL of a request with this path. If the set has only this request, a path in the user's URL replaces
    /// `path`.
    pub fn url(&self, path: &str, only: bool, with_query: bool) -> String {
        let url =
            if only && !self.path.is_empty() { format!("{}{}", self.origin, self.path) } else { self.below(path) };
        if with_query && !self.query.is_empty() { format!("{url}?{}", self.query) } else { url }
    }

    /// Replaces each `{name}` in a body with the query parameter of that name in the user's URL. If a parameter is
    /// missing, the text of the error is an example of a URL with this parameter.
    pub fn filled(&self, body: &str) -> Result<String, String> {
        let mut filled = body.to_owned();
        for name in ["miner"] {
            let place = format!("{{{name}}}");
            if !filled.contains(&place) {
                continue;
            }
            let allowed = |value: &&str| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).find(allowed);
            let value = value.ok_or_else(|| "http://localhost:1234/?miner=f01234".to_owned())?;
            filled = filled.replace(&place, value);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_keep_credentials_and_paths() {
        let base = Base::of("http://me:pw@host:9980/prefix/?a=1");
        assert_eq!(base.below("/wallet"), "http://me:pw@host:9980/prefix/wallet");
        assert_eq!(base.url("/metrics", true, true), "http://me:pw@host:9980/prefix?a=1");
        assert_eq!(base.url("/metrics", false, false), "http://me:pw@host:9980/prefix/metrics");
        for url in ["http://host", "http://host/"] {
            assert_eq!(Base::of(url).url("/metrics", true, true), "http://host/metrics");
        }
        assert_eq!(Base::of("http://host?x=1").url("/m", true, true), "http://host/m?x=1");
        let _ = (Base::of(""), Base::of("host/path"), Base::of("é?#"));
    }

    #[test]
    fn parameters_fill_a_body_and_nothing_else_can() {
        let base = Base::of("http://host/?miner=f01234");
        assert_eq!(base.filled("[\"{miner}\",{}]"), Ok("[\"f01234\",{}]".to_owned()));
        assert_eq!(base.filled("no place"), Ok("no place".to_owned()));
        for query in ["", "?miner=", "?miner=\"]", "?other=1"] {
            assert!(Base::of(&format!("http://host/{query}")).filled("{miner}").is_err(), "{query}");
        }
    }
}
