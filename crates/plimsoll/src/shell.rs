//! Commands that users may paste into a shell.

/// Quotes a word for the shell if necessary.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,%+@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_stay_one_word() {
        assert_eq!(
            ["a/b-c.d", "", "a b", "a'b", "$(a)"].map(quoted),
            ["a/b-c.d", "''", "'a b'", r"'a'\''b'", "'$(a)'"]
        );
    }
}
