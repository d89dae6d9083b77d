//! Selection of the cells to subtract from each other. By default, the first target of each cell is subtracted from the
//! cell's other targets. The user can select other cells.

use super::rows::{Row, rows};
use super::saved::{SavedStudy, StudyCell};
use super::subtraction::Subtraction;

/// Cells, as the user selects them.
enum Selector<'a> {
    /// The cell with this name, on any target.
    Cell(&'a str),
    /// The cells with these values. Each value has the name of an axis, or the name `target` or `part`.
    Values(Vec<(&'a str, &'a str)>),
}

/// The position of a row in the matrix, which consists of its values of `target`, `part` and all axes.
type Position<'s> = Vec<(&'s str, &'s str)>;

const TARGET: &str = "target";
const PART: &str = "part";
/// Maximum number of cells to list in a message.
const LISTED_MAX: usize = 10;

impl SavedStudy {
    /// Returns the difference between each target and the first target of the same cell, computed repeat by repeat.
    #[must_use]
    pub fn compared_with_first(&self) -> Vec<Subtraction> {
        let rows = rows(&self.study.trials, &self.order());
        rows.iter().filter_map(|row| Subtraction::between(row, rows.get(row.first?)?)).collect()
    }

    /// Returns the differences between the cells that `of` selects and the cells that `minus` selects. A selector is
    /// the name of a cell, or values such as `connection=sftp` or `target=mine,concurrency=8`. If the selectors match
    /// several cells, the cells are compared in pairs. The two cells of a pair may differ only on axes that both
    /// selectors name. For example, `connection=sftp` and `connection=blackhole` select pairs of cells that differ only
    /// in `connection`.
    ///
    /// # Errors
    /// If a selector has an unknown name, or no two cells form a pair.
    pub fn subtract(&self, of: &str, minus: &str) -> Result<Vec<Subtraction>, String> {
        let rows = rows(&self.study.trials, &self.order());
        let positions: Vec<Position> = rows.iter().map(|row| self.position(row)).collect();
        let (one, other) = (self.selector(of, &rows, &positions)?, self.selector(minus, &rows, &positions)?);
        let matching = |selector: &Selector| -> Vec<usize> {
            (0..rows.len()).filter(|index| selector.matches(&rows[*index], &positions[*index])).collect()
        };
        let (of_rows, minus_rows) = (matching(&one), matching(&other));
        let mut found = Vec::new();
        for index in of_rows {
            let agrees = |candidate: &&usize| {
                **candidate != index && agree(&positions[index], &positions[**candidate], [&one, &other])
            };
            let partners: Vec<&usize> = minus_rows.iter().filter(agrees).collect();
            match partners.as_slice() {
                [] => {}
                [partner] => found.extend(Subtraction::between(&rows[index], &rows[**partner])),
                [first, second, ..] => {
                    let named = |row: &Row| format!("`{}, {}`", row.cell, row.target);
                    return Err(format!(
                        "`{minus}` names several cells for {}: {} and {}; name values of more axes",
                        named(&rows[index]),
                        named(&rows[**first]),
                        named(&rows[**second])
                    ));
                }
            }
        }
        if found.is_empty() {
            return Err(format!(
                "no cell of `{of}` forms a pair with a cell of `{minus}`; choose from {}",
                self.selectable(&rows, &positions)
            ));
        }
        Ok(found)
    }

    fn position<'s>(&'s self, row: &Row<'s>) -> Position<'s> {
        let known = |cell: &&StudyCell| cell.label == row.cell;
        let mut position = vec![(TARGET, row.target)];
        if let Some(cell) = self.cells.iter().find(known) {
            position.push((PART, cell.part.as_str()));
            position.extend(cell.values.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        position
    }

    fn selector<'a>(
        &self,
        text: &'a str,
        rows: &[Row<'_>],
        positions: &[Position<'_>],
    ) -> Result<Selector<'a>, String> {
        if rows.iter().any(|row| row.cell == text) {
            return Ok(Selector::Cell(text));
        }
        // A value may contain commas, so first try to parse the whole text as one name and value.
        let whole = text.split_once('=').filter(|pair| positions.iter().any(|position| position.contains(pair)));
        let pairs = match whole {
            Some(pair) => Some(vec![pair]),
            None => text.split(',').map(|one| one.trim().split_once('=')).collect(),
        };
        let selector = pairs.map(Selector::Values);
        selector
            .filter(|one| rows.iter().zip(positions).any(|(row, position)| one.matches(row, position)))
            .ok_or_else(|| format!("`{text}` names no measured cell; choose from {}", self.selectable(rows, positions)))
    }

    /// Returns the names that can be used in a selector.
    fn selectable(&self, rows: &[Row<'_>], positions: &[Position<'_>]) -> String {
        let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, value) in positions.iter().flatten().filter(|(name, value)| *name != PART || !value.is_empty()) {
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) if values.contains(value) => {}
                Some((_, values)) => values.push(*value),
                None => names.push((*name, vec![*value])),
            }
        }
        let mut cells: Vec<&str> = Vec::new();
        rows.iter().for_each(|row| {
            if !cells.contains(&row.cell) {
                cells.push(row.cell);
            }
        });
        cells.truncate(LISTED_MAX);
        let cells: Vec<String> = cells.into_iter().map(|cell| format!("`{cell}`")).collect();
        let names: Vec<String> = names.iter().map(|(name, values)| format!("{name} ({})", values.join(", "))).collect();
        format!("{}; cells {}", names.join(", "), cells.join(", "))
    }
}

impl Selector<'_> {
    fn matches(&self, row: &Row<'_>, position: &Position<'_>) -> bool {
        match self {
            Self::Cell(name) => row.cell == *name,
            Self::Values(values) => values.iter().all(|value| position.contains(value)),
        }
    }

    fn names(&self, axis: &str) -> bool {
        match self {
            Self::Cell(_) => axis != TARGET,
            Self::Values(values) => values.iter().any(|(name, _)| *name == axis),
        }
    }
}

/// Returns whether two rows have the same value on every axis, except the axes that both selectors name.
fn agree(one: &Position<'_>, other: &Position<'_>, selectors: [&Selector<'_>; 2]) -> bool {
    let value = |position: &Position<'_>, axis: &str| {
        position.iter().find(|(name, _)| *name == axis).map(|(_, value)| (*value).to_owned())
    };
    let axes = one.iter().chain(other).map(|(name, _)| *name);
    let mut free = axes.filter(|axis| !selectors.iter().all(|selector| selector.names(axis)));
    free.all(|axis| value(one, axis) == value(other, axis))
}
