//! The prices of a study's fills, from the settings of each cell.

use crate::console;
use crate::prices;
use cost::Months;
use report::escape::escape;
use report::fill::Costs;
use study::matrix;
use study::scenario::{Scenario, Target};

/// Returns the prices for the fills of a cell on a target. `cell` and `target` are escaped names. There are no prices
/// if the scenario or a price sheet can no longer be read.
pub fn of(scenario: Option<&Scenario>, cell: &str, target: &str) -> Costs {
    let named = |known: &&Target| escape(&known.name) == target;
    let Some((scenario, target)) = scenario.and_then(|it| Some((it, it.targets.iter().find(named)?))) else {
        return Costs::none();
    };
    let cells = matrix::cells(scenario).unwrap_or_default();
    let Some(cell) = cells.iter().find(|known| escape(&known.label(scenario)) == cell) else { return Costs::none() };
    let values = |name: &str| cell.values_of(name, scenario, target);
    let names: Vec<String> =
        values("prices").iter().flat_map(|sheets| sheets.split(',')).map(|name| name.trim().to_owned()).collect();
    let keep = values("keep").pop().unwrap_or_else(|| prices::KEEP.to_owned());
    let Ok(keep) = keep.parse::<Months>() else { return Costs::none() };
    prices::costs(&names, keep).unwrap_or_else(|failure| {
        console::eprintln(&format!("the report has no costs: {}", failure.into_message()));
        Costs::none()
    })
}
