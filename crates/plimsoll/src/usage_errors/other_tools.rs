//! Flags of ab, wrk, hey, oha, curl, k6, warp and vegeta, and their replacements.
//!
//! If Plimsoll has a short flag of one of these tools, the flag has the same meaning. Other short flags of these tools
//! are refused, with a hint that names the replacement. docs/flags.md shows these tables.

/// A short flag and its meaning in each tool. The meaning is an empty text for a tool without the flag.
pub struct Letter {
    /// The letter.
    pub letter: char,
    /// The meaning in Plimsoll, or `None` if Plimsoll does not have the flag.
    pub ours: Option<&'static str>,
    /// The replacement in Plimsoll, or an empty text if Plimsoll has the flag.
    pub instead: &'static str,
    /// The meanings in ab, wrk (and wrk2), hey, oha and curl, in this order.
    pub theirs: [&'static str; 5],
}

const fn ours(letter: char, meaning: &'static str, theirs: [&'static str; 5]) -> Letter {
    Letter { letter, ours: Some(meaning), instead: "", theirs }
}

const fn refused(letter: char, instead: &'static str, theirs: [&'static str; 5]) -> Letter {
    Letter { letter, ours: None, instead, theirs }
}

/// All letters that are flags of at least one of these tools.
pub const LETTERS: [Letter; 41] = [
    ours('c', "concurrency", ["concurrency", "connections", "concurrency", "connections", "cookie jar"]),
    ours('n', "operations", ["requests", "", "requests", "requests", "netrc"]),
    ours('d', "duration", ["no percentiles", "duration", "body", "body", "body"]),
    ours('R', "rate (open model)", ["ramp delay", "rate (wrk2)", "", "", "remote time"]),
    ours('H', "header", ["header", "header", "header", "header", "header"]),
    ours('C', "cookie", ["cookie", "", "", "", "resume at"]),
    ours('k', "keep-alive (always on)", ["keep-alive", "", "", "", "insecure"]),
    ours('m', "method", ["method", "", "method", "method", "total timeout"]),
    ours('u', "user:password", ["PUT file", "", "", "", "user:password"]),
    ours('I', "HEAD requests", ["no server name in TLS", "", "", "", "HEAD"]),
    refused(
        'o',
        "--out DIR for the run directory, --json or --print ab for other outputs",
        ["", "", "output format", "output file", "output file"],
    ),
    refused(
        'q',
        "-R 1000 for a rate, --view none for no progress",
        ["quiet", "", "rate per slot", "rate", "no .curlrc"],
    ),
    ours('h', "help", ["help", "", "", "help", "help"]),
    ours('V', "version", ["version", "", "", "version", "version"]),
    refused(
        't',
        "-d 10s for the duration, --threads 2 for threads, --timeout-head 30s for a timeout",
        ["time limit", "threads", "timeout", "timeout", ""],
    ),
    refused('z', "-d 10s", ["HTML attributes", "", "duration", "duration", "only if newer"]),
    refused(
        'r',
        "leave it out, because errors never end a run; a range is --range 1MiB",
        ["go on after errors", "", "", "redirects", "range"],
    ),
    refused('s', "--timeout-head 30s (ab's timeout); there are no scripts", ["timeout", "script", "", "", "silent"]),
    refused(
        'l',
        "leave it out, because bodies may differ in length; --expect-size checks the length",
        ["variable length", "", "", "", "list only"],
    ),
    refused(
        'L',
        "leave it out, because redirects are followed (--no-follow stops that) and percentiles are always printed",
        ["", "percentiles", "", "", "follow"],
    ),
    refused('i', "-I for HEAD requests", ["HEAD", "", "", "", "show headers"]),
    refused('X', "--method METHOD, or --proxy URL", ["proxy", "", "", "", "method"]),
    refused('x', "--proxy http://host:port", ["HTML attributes", "", "proxy", "proxy", "proxy"]),
    refused('P', "--proxy http://user:password@host:port", ["proxy user", "", "", "", "FTP port"]),
    refused('A', "-u user:password, or -H 'Accept: …'", ["user:password", "", "Accept", "Accept", "user agent"]),
    refused('a', "-u user:password", ["", "", "user:password", "user:password", "append"]),
    refused('T', "-H 'Content-Type: …'", ["content type", "", "content type", "content type", "upload file"]),
    refused(
        'p',
        "--body-file FILE, which is sent by POST",
        ["POST file", "", "", "latency percentiles", "proxy tunnel"],
    ),
    refused('D', "--body-file FILE", ["", "", "body file", "body file", "dump headers"]),
    refused('b', "-C name=value for a cookie", ["TCP window", "", "", "", "cookie"]),
    refused('B', "--local-address ADDRESS", ["local address", "", "", "", "ASCII"]),
    refused('e', "--out DIR, then `plimsoll export DIR --as ab-e`", ["CSV file", "", "", "", "referer"]),
    refused(
        'g',
        "--log-ops and --out DIR, then `plimsoll export DIR --as ab-g`",
        ["gnuplot file", "", "", "", "no globbing"],
    ),
    refused('w', "--json for machines, or leave it out for text", ["HTML", "", "", "", "write-out"]),
    refused('S', "leave it out, because both are always printed", ["no median", "", "", "", "show errors"]),
    refused(
        'v',
        "leave it out, because each failure class is shown with an example; -V prints the version",
        ["verbosity", "version", "", "", "verbose"],
    ),
    refused(
        'f',
        "leave it out, because every status of 400 and above is a failure",
        ["TLS protocol", "", "", "", "fail"],
    ),
    refused('E', "--cert FILE, with --key FILE", ["client certificate", "", "", "", "client certificate"]),
    refused(
        'Z',
        "leave it out, because version and cipher are negotiated with the server and reported",
        ["ciphers", "", "", "", "parallel"],
    ),
    refused('G', "-m GET, the default method", ["", "", "", "", "data as query"]),
    refused('O', "--out DIR for the run directory; bodies are discarded", ["", "", "", "", "remote name"]),
];

/// A long flag of another tool that does not exist here.
pub struct Long {
    /// The flag as users type it. The long flags of hey and vegeta have a single dash.
    pub flag: &'static str,
    /// The tools that have the flag.
    pub tools: &'static str,
    /// The replacement flags.
    pub instead: &'static str,
}

const fn long(flag: &'static str, tools: &'static str, instead: &'static str) -> Long {
    Long { flag, tools, instead }
}

const IDENTITY: &str = "leave it out, because compression is only requested with -H 'Accept-Encoding: gzip'";

/// Long flags of the other tools.
pub const LONGS: [Long; 81] = [
    long("--script", "wrk", "--url-file FILE for many URLs; there are no scripts"),
    long("--latency", "wrk", "leave it out, because percentiles are always printed"),
    long("--u_latency", "wrk2", "--full; the service time is wrk2's uncorrected latency"),
    long("--timeout", "wrk, oha", "--timeout-head 30s, or --timeout-total 30s for whole requests"),
    long("-cpus", "hey, vegeta", "--threads N"),
    long("-h2", "hey", "--http2"),
    long("-host", "hey", "-H 'Host: NAME'"),
    long("-disable-keepalive", "hey", "--no-keepalive"),
    long("-disable-compression", "hey", IDENTITY),
    long("-disable-redirects", "hey", "--no-follow"),
    long("--disable-keepalive", "oha", "--no-keepalive"),
    long("--disable-compression", "oha", IDENTITY),
    long("--redirect", "oha", "--redirects-max N, or --no-follow"),
    long("--no-tui", "oha", "--view none for no progress"),
    long("--urls-from-file", "oha", "--url-file FILE"),
    long("--output", "oha, curl", "--out DIR for the run directory, --json or --print ab for other outputs"),
    long("--output-format", "oha", "--json, or --print ab"),
    long("--latency-correction", "oha", "leave it out, because with -R, response time begins at the scheduled start"),
    long("--burst-rate", "oha", "-R 1000, or --stages"),
    long("--burst-delay", "oha", "-R 1000, or --stages"),
    long("--http-version", "oha", "--http2, --http1.0, or leave it out for HTTP/1.1"),
    long("--body", "oha", "--body-file FILE"),
    long("--data", "curl", "--body-file FILE"),
    long("--request", "curl", "-m METHOD"),
    long("--location", "curl", "leave it out, because redirects are followed (--no-follow stops that)"),
    long("--max-redirs", "curl", "--redirects-max N"),
    long("--max-time", "curl", "--timeout-total 30s"),
    long("--connect-timeout", "curl, oha", "--timeout-connect 10s"),
    long("--resolve", "curl", "--connect-to HOST:PORT:ADDRESS:PORT"),
    long("--interface", "curl", "--local-address ADDRESS"),
    long("--user-agent", "curl", "-H 'User-Agent: …'"),
    long("--referer", "curl", "-H 'Referer: …'"),
    long("--compressed", "curl", "-H 'Accept-Encoding: gzip'"),
    long("--silent", "curl", "--view none for no progress"),
    long("--http1.1", "curl", "leave it out, because HTTP/1.1 is the default"),
    long("--vus", "k6", "-c N"),
    long("--iterations", "k6", "-n N"),
    long("--rps", "k6", "-R N"),
    long("--stage", "k6", "--stages 10s:100,30s:0"),
    long("--summary-export", "k6", "--json, or --out DIR"),
    long("--host", "warp", "the URL of the server: http://host:port/, or s3://BUCKET with --endpoint"),
    long("--obj.size", "warp", "--size SIZE, with `put` or `prepare`"),
    long("--objects", "warp", "--count N, with `put` or `prepare`"),
    long("--concurrent", "warp", "-c N"),
    long("--bucket", "warp", "s3://BUCKET/PREFIX as the target"),
    long("--warp-client", "warp", "--hosts HOST,HOST, or --fleet URL with --agents N"),
    long("--no-color", "k6, warp", "set the environment variable NO_COLOR=1"),
    long("--workers", "vegeta", "-c N"),
    long("-workers", "vegeta", "-c N"),
    long("--max-workers", "vegeta", "-c N"),
    long("-max-workers", "vegeta", "-c N"),
    long("-connections", "vegeta", "-c N"),
    long("-max-connections", "vegeta", "-c N"),
    long("--targets", "vegeta", "--url-file FILE"),
    long("-targets", "vegeta", "--url-file FILE"),
    long("-rate", "vegeta", "-R 50"),
    long("-duration", "vegeta", "-d 10s"),
    long("-timeout", "vegeta", "--timeout-total 30s"),
    long("-redirects", "vegeta", "--redirects-max N, or --no-follow"),
    long("-header", "vegeta", "-H 'Name: value'"),
    long("-body", "vegeta", "--body-file FILE"),
    long("-max-body", "vegeta", "leave it out, because bodies are read to their end and not kept"),
    long("-format", "vegeta", "--url-file FILE with one URL per line"),
    long("-lazy", "vegeta", "leave it out, because --url-file is read before the load begins"),
    long("-http2", "vegeta", "--http2"),
    long("-h2c", "vegeta", "--http2 with an http:// URL"),
    long("-keepalive", "vegeta", "leave it out, because connections are kept alive (--no-keepalive stops that)"),
    long("-insecure", "vegeta", "--insecure"),
    long("-root-certs", "vegeta", "--cacert FILE"),
    long("-cert", "vegeta", "--cert FILE"),
    long("-key", "vegeta", "--key FILE"),
    long("-session-tickets", "vegeta", "leave it out, because sessions are resumed (--no-tls-resumption stops that)"),
    long("-connect-to", "vegeta", "--connect-to HOST:PORT:ADDRESS:PORT"),
    long("-laddr", "vegeta", "--local-address ADDRESS"),
    long("-unix-socket", "vegeta", "--unix-socket PATH"),
    long("-prometheus-addr", "vegeta", "--metrics IP:PORT"),
    long("-output", "vegeta", "--out DIR"),
    long("-name", "vegeta", "--out DIR to name the run"),
    long("-type", "vegeta", "--json, --print FORM, or --html for charts"),
    long("-title", "vegeta", "--html for charts"),
    long("-every", "vegeta", "leave it out, because progress is shown during the run"),
];

/// Returns a hint for a word that starts with a long flag of another tool, if that flag has a single dash.
pub fn single_dash_hint(word: &str) -> Option<String> {
    long_hint(word).filter(|_| !word.starts_with("--"))
}

/// Returns a hint for a word that starts with a long flag of another tool.
pub fn long_hint(word: &str) -> Option<String> {
    let typed = word.split('=').next().unwrap_or(word);
    let row = LONGS.iter().find(|row| row.flag == typed)?;
    Some(format!(
        "{} (a flag of {}) is not a flag of plimsoll; {}{}",
        row.flag,
        row.tools,
        verb(row.instead),
        row.instead
    ))
}

fn verb(instead: &str) -> &'static str {
    if ["leave ", "set "].iter().any(|verb| instead.starts_with(verb)) { "" } else { "write " }
}

/// Returns a hint for a short flag that Plimsoll does not have.
pub fn hint(flag: &str) -> Option<String> {
    let letter = flag.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?.chars().next()?;
    let row = LETTERS.iter().find(|row| row.letter == letter && row.ours.is_none())?;
    let names = ["ab", "wrk", "hey", "oha", "curl"];
    let meanings = names.iter().zip(row.theirs).filter(|(_, meaning)| !meaning.is_empty());
    let meanings: Vec<String> = meanings.map(|(tool, meaning)| format!("{meaning} in {tool}")).collect();
    Some(format!("-{letter} ({}) is not a flag of plimsoll; {}{}", meanings.join(", "), verb(row.instead), row.instead))
}

/// Returns the tables as Markdown, for docs/flags.md.
#[cfg(test)]
fn markdown() -> String {
    let mut text = String::from("| flag | here | ab | wrk, wrk2 | hey | oha | curl |\n|---|---|---|---|---|---|---|\n");
    for row in &LETTERS {
        let here = row.ours.map_or_else(|| format!("*refused:* {}", row.instead), str::to_owned);
        text.push_str(&format!("| `-{}` | {here} | {} |\n", row.letter, row.theirs.join(" | ")));
    }
    text.push_str(
        "\nThe following long flags of other tools are refused in the same way:\n\n| flag | here | of |\n|---|---|---|\n",
    );
    for row in &LONGS {
        text.push_str(&format!("| `{}` | *refused:* {} | {} |\n", row.flag, row.instead, row.tools));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_table_agrees_with_the_flags_of_get() {
        let command = crate::cli::Cli::command();
        let get = command.find_subcommand("get").expect("there is a get command");
        let shorts: Vec<char> = get.get_arguments().filter_map(clap::Arg::get_short).collect();
        for row in &LETTERS {
            let known = shorts.contains(&row.letter) || row.letter == 'V' || row.letter == 'h';
            assert_eq!(known, row.ours.is_some(), "-{}", row.letter);
        }
        for short in shorts {
            assert!(LETTERS.iter().any(|row| row.letter == short), "-{short} is not in the table");
        }
    }

    #[test]
    fn the_documentation_contains_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flags.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let start = page.find("| flag |").unwrap_or(page.len());
            std::fs::write(path, format!("{}{}", &page[..start], markdown())).expect("docs/flags.md can be written");
        } else {
            assert!(page.ends_with(&markdown()), "docs/flags.md is stale: run the tests with UPDATE_GOLDEN=1");
        }
    }

    #[test]
    fn no_long_flag_of_get_is_refused() {
        let get = crate::cli::Cli::command().find_subcommand("get").cloned().expect("there is a get command");
        for argument in get.get_arguments() {
            for name in argument.get_long_and_visible_aliases().into_iter().flatten() {
                assert!(long_hint(&format!("--{name}")).is_none(), "--{name} is ours");
            }
        }
    }

    #[test]
    fn no_long_flag_with_one_dash_is_valid_as_short_flags() {
        for row in LONGS.iter().filter(|row| !row.flag.starts_with("--")) {
            let parsed = crate::cli::Cli::try_parse_from(["plimsoll", "get", "http://127.0.0.1:9/", row.flag]);
            // The parser does not check the values of some flags, such as the method in `-max-workers`.
            let is_valid = parsed.is_ok_and(|cli| match cli.command {
                crate::cli::Command::Load(load) => load.check().is_ok(),
                _ => true,
            });
            assert!(!is_valid, "{} is valid", row.flag);
        }
    }

    #[test]
    fn hints_name_our_flag() {
        assert!(long_hint("--max-time=5").is_some_and(|hint| hint.contains("write --timeout-total")));
        assert!(long_hint("--u_latency").is_some_and(|hint| hint.contains("write --full")));
        assert!(long_hint("--warp-client").is_some_and(|hint| hint.contains("write --hosts")));
        assert!(
            long_hint("--no-color").is_some_and(|hint| hint.ends_with("; set the environment variable NO_COLOR=1"))
        );
        assert!(long_hint("--bucket=b").is_some_and(|hint| hint.contains("write s3://BUCKET/PREFIX as the target")));
        assert!(hint("-e").is_some_and(|hint| hint.contains("`plimsoll export DIR --as ab-e`")));
        assert!(hint("-g").is_some_and(|hint| hint.contains("`plimsoll export DIR --as ab-g`")));
        assert!(hint("-z").is_some_and(|hint| hint.contains("write -d 10s")));
        assert!(hint("-t2").is_some_and(|hint| hint.contains("--threads")));
        assert!(hint("--nonsense").is_none() && hint("-c").is_none());
    }
}
