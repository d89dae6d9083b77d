//! Commands whose names are similar to a mistyped word.

/// Returns the commands with the smallest distance to a word. Candidates are the commands that clap proposes, and those
/// that differ by a few edits. Clap gives no preference to transposed letters, and proposes nothing for short words.
pub fn nearest(word: &str, proposed: &[String], parser: &clap::Command) -> Vec<String> {
    let edits_max = (word.chars().count() / 3).max(1);
    let names = parser.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    // Counts a transposition of neighboring letters as one edit.
    let distances = names.map(|name| (strsim::osa_distance(word, name), name));
    let candidates: Vec<(usize, &str)> = distances
        .filter(|(edits, name)| *edits <= edits_max || proposed.iter().any(|proposed| proposed == name))
        .collect();
    let least = candidates.iter().map(|(edits, _)| *edits).min();
    let nearest = candidates.iter().filter(|(edits, _)| Some(*edits) == least);
    nearest.map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
