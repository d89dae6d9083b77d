//! The sections of the text report, and the settings of a run.

use super::script_data::{Block, Section};
use crate::escape::bounded;
use crate::text;
use store::SavedRun;

/// Maximum length of a setting, in characters. A setting may be long, because the user typed it.
const TYPED_MAX: usize = 4096;

/// Returns the blocks of the text report as sections.
pub fn of(blocks: Vec<text::Block>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for block in blocks {
        match (block, sections.last_mut()) {
            (text::Block::Heading(title), _) => sections.push(Section { title, blocks: Vec::new() }),
            (block, Some(section)) => add(&mut section.blocks, block),
            (_, None) => debug_assert!(false, "a block comes before the first heading"),
        }
    }
    sections
}

fn add(blocks: &mut Vec<Block>, block: text::Block) {
    match block {
        text::Block::Item(label, text) => match blocks.last_mut() {
            Some(Block::Item { texts, .. }) if label.is_empty() => texts.push(text),
            _ => blocks.push(Block::Item { label, texts: vec![text] }),
        },
        text::Block::Line(text) => blocks.push(Block::Line { text }),
        text::Block::Table(table) => {
            let (heads, rows) = table.parts();
            let columns = table.widths().len();
            // Join the lines of a title, which may have several.
            let title = |column: usize| {
                let words: Vec<&str> = heads.iter().filter_map(|head| head.get(column)).map(String::as_str).collect();
                words.join(" ").trim().to_owned()
            };
            let head = if heads.is_empty() { Vec::new() } else { (0..columns).map(title).collect() };
            let left = (0..columns).map(|column| table.is_left(column)).collect();
            blocks.push(Block::Table { head, left, rows: rows.to_vec() });
        }
        text::Block::FirstLine(..) | text::Block::Heading(_) | text::Block::Gap => {}
    }
}

/// Returns a section with all settings of a run, including the defaults.
pub fn settings(run: &SavedRun, title: &str) -> Option<Section> {
    let typed = |text: &String| bounded(text, TYPED_MAX);
    let item = |(name, value): &(String, String)| Block::Item { label: typed(name), texts: vec![typed(value)] };
    let blocks: Vec<Block> = run.begin.settings.iter().map(item).collect();
    (!blocks.is_empty()).then(|| Section { title: title.into(), blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_without_a_label_belong_to_the_one_before() {
        let mut blocks = Vec::new();
        add(&mut blocks, text::Block::Item("status".into(), "1".into()));
        add(&mut blocks, text::Block::Item(String::new(), "2".into()));
        let [Block::Item { label, texts }] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!((label.as_str(), texts.as_slice()), ("status", &["1".to_owned(), "2".to_owned()][..]));
    }
}
