//! The HTML file around a report. The file contains data, script, style, and a content security policy that forbids
//! everything else.

use super::script_data::Document;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

/// The script, built from `ui/src`.
const SCRIPT: &str = include_str!("../../../../ui/dist/report.js");
/// The style sheet, built from `ui/src`.
const STYLE: &str = include_str!("../../../../ui/dist/report.css");

/// Returns a report as an HTML file.
pub fn file(document: &Document) -> String {
    // Serialization cannot fail, because a document contains only strings and numbers.
    let data = serde_json::to_string(document).unwrap_or_default();
    debug_assert!(!data.is_empty(), "the document could not be serialized");
    let policy = policy();
    let data = in_script(&data);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>Plimsoll report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>A script draws this report, and this browser does not run scripts. `plimsoll report DIR` prints the same \
         numbers as text.</noscript>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Returns the content security policy. The policy forbids all requests, and allows only the script and the style of
/// this file.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(SCRIPT),
        digest(STYLE)
    )
}

fn digest(text: &str) -> String {
    BASE64.encode(Sha256::digest(text.as_bytes()))
}

/// Escapes JSON for use inside a script element. Even inside a string, `</script` would end the element, and `<!--`
/// would change the parser's state. In JSON, `<` occurs only inside strings, where it can be escaped.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_contain_no_tag() {
        let hostile = ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u{2028}", "\\u003c"];
        let written = in_script(&serde_json::to_string(&hostile).unwrap());
        assert!(!written.contains('<'), "{written}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&written).unwrap(), hostile);
    }

    /// Returns the part of the file between two texts.
    fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
        let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before}"));
        rest.split_once(after).unwrap_or_else(|| panic!("no {after}")).0
    }

    #[test]
    fn the_policy_has_the_hashes_of_script_and_style() {
        let begin = crate::html::run::tests::begin();
        let page = crate::html(&store::SavedRun::of(begin, &[], None));
        let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        for (directive, content) in [
            ("script-src", between(&page, "<script>", "</script>")),
            ("style-src", between(&page, "<style>", "</style>")),
        ] {
            let hash = BASE64.encode(Sha256::digest(content.as_bytes()));
            assert!(policy.contains(&format!("{directive} 'sha256-{hash}'")), "{directive}: {policy}");
            // A browser converts CR LF to LF before it computes the hash, so a CR would make the hash wrong.
            assert!(!content.contains('\r'));
        }
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.matches("</script>").count(), 2, "the script contains `</script>`, which ends its element");
    }
}
