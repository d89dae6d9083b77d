//! Commands whose names are similar to a mistyped word.

/// Returns the commands with the smallest distance to a word. Candidates are the commands that clap proposes, and those
/// that differ by a few edits. Clap gives no preference to transposed letters, and proposes nothing for short words.
pub fn nearest(word: &str, proposed: &[String], parser: &clap::Command) -> Vec<String> {
    let edits_max = (word.chars().count() / 3).max(1);
    let names = parser.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let distances = names.map(|name| (distance(word, name), name));
    let candidates: Vec<(usize, &str)> = distances
        .filter(|(edits, name)| *edits <= edits_max || proposed.iter().any(|proposed| proposed == name))
        .collect();
    let least = candidates.iter().map(|(edits, _)| *edits).min();
    let nearest = candidates.iter().filter(|(edits, _)| Some(*edits) == least);
    nearest.map(|(_, name)| (*name).to_owned()).collect()
}

/// Returns the number of edits between two words: insertions, deletions, substitutions, and transpositions of
/// neighboring letters (Damerau-Levenshtein distance, optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    // `rows[i][j]` is the distance between the first i letters of `from` and the first j letters of `to`.
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let substituted = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            rows[i][j] = substituted.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposition_is_one_edit() {
        for (from, to, edits) in [
            ("", "get", 3),
            ("get", "get", 0),
            ("gte", "get", 1),
            ("pt", "put", 1),
            ("reprot", "report", 1),
            ("cmp", "compare", 4),
            ("mux", "mix", 1),
        ] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }

    #[test]
    fn the_nearest_proposal_is_preferred() {
        let parser =
            clap::Command::new("program").subcommands(["completions", "compare", "put"].map(clap::Command::new));
        let proposed = ["completions", "compare"].map(str::to_owned);
        assert_eq!(nearest("cmp", &proposed, &parser), ["compare"]);
        assert_eq!(nearest("pt", &[], &parser), ["put"]);
        assert!(nearest("nonsense", &[], &parser).is_empty());
    }
}
