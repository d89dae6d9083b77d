//! Which cells of a study are subtracted from which: each target from the first one of its cell, or what the user names.

use crate::html::{SavedStudy, StudyCell};
use crate::study::{Row, rows};
use crate::subtraction::Subtraction;

/// Cells as they were named.
enum Selector<'a> {
    /// By what the cell is called, on any target.
    Cell(&'a str),
    /// By values of axes, or of `target` and `part`.
    Values(Vec<(&'a str, &'a str)>),
}

/// Where a row lies in the matrix: values of `target`, `part` and all axes.
type Place<'s> = Vec<(&'s str, &'s str)>;

const TARGET: &str = "target";
const PART: &str = "part";
/// Names of cells that are listed in a message.
const LISTED_MAX: usize = 10;

impl SavedStudy {
    /// Each target minus the first one of its cell, repeat by repeat.
    #[must_use]
    pub fn beside_first(&self) -> Vec<Subtraction> {
        let rows = rows(&self.measured.trials, &self.order());
        rows.iter().filter_map(|row| Subtraction::between(row, rows.get(row.first?)?)).collect()
    }

    /// The cells that `of` names minus those that `minus` names: the name of a cell, or values like `connection=sftp` or
    /// `target=mine,concurrency=8`. Where they name several, those are subtracted that agree in everything that is not named by both.
    ///
    /// # Errors
    /// When a name is unknown, or nothing remains to be subtracted.
    pub fn subtract(&self, of: &str, minus: &str) -> Result<Vec<Subtraction>, String> {
        let rows = rows(&self.measured.trials, &self.order());
        let places: Vec<Place> = rows.iter().map(|row| self.place(row)).collect();
        let (one, other) = (self.selector(of, &rows, &places)?, self.selector(minus, &rows, &places)?);
        let matching = |selector: &Selector| -> Vec<usize> {
            (0..rows.len()).filter(|index| selector.holds(&rows[*index], &places[*index])).collect()
        };
        let (of_rows, minus_rows) = (matching(&one), matching(&other));
        let mut found = Vec::new();
        for index in of_rows {
            let agrees = |candidate: &&usize| {
                **candidate != index && agree(&places[index], &places[**candidate], [&one, &other])
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
                "no cell of `{of}` has a counterpart in `{minus}` that agrees in everything else; there are {}",
                self.selectable(&rows, &places)
            ));
        }
        Ok(found)
    }

    fn place<'s>(&'s self, row: &Row<'s>) -> Place<'s> {
        let known = |cell: &&StudyCell| cell.label == row.cell;
        let mut place = vec![(TARGET, row.target)];
        if let Some(cell) = self.cells.iter().find(known) {
            place.push((PART, cell.part.as_str()));
            place.extend(cell.values.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        place
    }

    fn selector<'a>(&self, text: &'a str, rows: &[Row<'_>], places: &[Place<'_>]) -> Result<Selector<'a>, String> {
        if rows.iter().any(|row| row.cell == text) {
            return Ok(Selector::Cell(text));
        }
        // A value may hold commas itself.
        let whole = text.split_once('=').filter(|pair| places.iter().any(|place| place.contains(pair)));
        let pairs = match whole {
            Some(pair) => Some(vec![pair]),
            None => text.split(',').map(|one| one.trim().split_once('=')).collect(),
        };
        let selector = pairs.map(Selector::Values);
        selector.filter(|one| rows.iter().zip(places).any(|(row, place)| one.holds(row, place))).ok_or_else(|| {
            format!("`{text}` names no cell that was measured: there are {}", self.selectable(rows, places))
        })
    }

    /// What can be named.
    fn selectable(&self, rows: &[Row<'_>], places: &[Place<'_>]) -> String {
        let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, value) in places.iter().flatten().filter(|(name, value)| *name != PART || !value.is_empty()) {
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
    fn holds(&self, row: &Row<'_>, place: &Place<'_>) -> bool {
        match self {
            Self::Cell(name) => row.cell == *name,
            Self::Values(values) => values.iter().all(|value| place.contains(value)),
        }
    }

    fn names(&self, axis: &str) -> bool {
        match self {
            Self::Cell(_) => axis != TARGET,
            Self::Values(values) => values.iter().any(|(name, _)| *name == axis),
        }
    }
}

/// Whether two rows agree in everything that is not named by both selectors.
fn agree(one: &Place<'_>, other: &Place<'_>, selectors: [&Selector<'_>; 2]) -> bool {
    let value = |place: &Place<'_>, axis: &str| {
        place.iter().find(|(name, _)| *name == axis).map(|(_, value)| (*value).to_owned())
    };
    let axes = one.iter().chain(other).map(|(name, _)| *name);
    let mut free = axes.filter(|axis| !selectors.iter().all(|selector| selector.names(axis)));
    free.all(|axis| value(one, axis) == value(other, axis))
}
