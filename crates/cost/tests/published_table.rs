//! The published result table of the Sia study (April 2018), recomputed from the inputs in its reports.
//!
//! The study rounded most inputs before printing them. The test therefore computes each cell several times: from the
//! printed inputs, and from the lowest and the highest values that round to them. [`Relation`] lists the possible
//! results.

use std::iter;

use cost::study_table::{Cell, Missing, Quantity, Row, StudyInputs, StudyMoney};
use cost::{Currency, Exact, Hours, Money, Rate};

/// The size of files in the best case.
const CHUNK_BYTES: u64 = 41_942_760;
const TIB: u64 = 1 << 40;

/// Agreement of a published cell with the published inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The cell follows from the printed inputs.
    Follows,
    /// The cell can be computed only from other inputs that round to the printed ones.
    WithinRounding,
    /// An input was not published.
    NotPublished(&'static str),
    /// The cell cannot be computed from any inputs that round to the printed ones.
    Contradicted,
}
use Relation::{Contradicted, Follows, NotPublished, WithinRounding};

/// A test of the study, with its published inputs.
struct Published {
    /// File bytes, and the maximum rounding error of this number.
    file_bytes: (u64, u64),
    /// Bytes that the system stored, in TiB with one decimal.
    absolute_tib: &'static str,
    files: u64,
    contracts: u64,
    /// Money that left the wallet, in SC.
    left_wallet: &'static str,
    /// Money that remains in contracts, in SC. The amount is the first number minus the second, because some reports
    /// state only two such numbers.
    remaining: [&'static str; 2],
    /// Money spent on uploads, in SC; `None` if it was not published.
    upload: Option<&'static str>,
    /// Price of a siacoin in USD.
    price: &'static str,
    hours: &'static str,
}

/// 48,358 files of 1 B (report 1). The amounts of money are from the tables of the last report.
const WORST: Published = Published {
    file_bytes: (48_358, 0),
    absolute_tib: "9.8",
    files: 48_358,
    contracts: 60,
    left_wallet: "5000.0",
    remaining: ["2966.7", "1593.1"],
    upload: None,
    price: "0.014",
    hours: "596.8",
};

/// Real data (report 2): 4.77948797 TB.
const REAL: Published = Published {
    file_bytes: (4_779_487_970_000, 5_000),
    absolute_tib: "15.4",
    files: 2_626,
    contracts: 62,
    left_wallet: "5000.0",
    remaining: ["622.9", "0"],
    upload: Some("94.3"),
    price: "0.013951",
    hours: "231.7",
};

/// 40,552 files of one chunk each (report 3). The amounts of money are from the tables of the last report.
const BEST: Published = Published {
    file_bytes: (40_552 * CHUNK_BYTES, 0),
    absolute_tib: "7.2",
    files: 40_552,
    contracts: 68,
    left_wallet: "3200.0",
    remaining: ["2833.3", "1473.3"],
    upload: None,
    price: "0.01370",
    hours: "336.0",
};

/// A published cell: its numbers in the units of the row, and its relation to the inputs.
type PublishedCell = (&'static [&'static str], Relation);

/// The published table. Each row has three cells: the worst, the real and the best case.
#[rustfmt::skip]
const TABLE: [(Row, [PublishedCell; 3]); 11] = [
    (Row::FileBytes, [(&["47.2"], Follows), (&["4.3"], Follows), (&["1.5"], Follows)]),
    // The three cells of this row are inputs.
    (Row::AbsoluteBytes, [(&["9.8"], Follows), (&["15.4"], Follows), (&["7.2"], Follows)]),
    (Row::StorageEfficiency, [(&["0.0000004470"], WithinRounding), (&["28.3"], WithinRounding), (&["21.5"], Follows)]),
    (Row::Files, [(&["48358"], Follows), (&["2626"], Follows), (&["40552"], Follows)]),
    (Row::Contracts, [(&["60"], Follows), (&["62"], Follows), (&["68"], Follows)]),
    // Two published cells differ from their inputs. For the worst case, the tables of the last report give 3,626.4 SC.
    // For the real case, 4,377.1 SC × $0.013951/SC is $61.06.
    (Row::Spent, [(&["3625", "50.75"], Contradicted), (&["4377.1", "61.07"], WithinRounding), (&["1840", "25.21"], Follows)]),
    (Row::CostPerTbMonth, [
        (&["350"], NotPublished("final upload spending")),
        (&["4.51"], Follows),
        (&["5.13"], NotPublished("final upload spending")),
    ]),
    (Row::Time, [(&["596.8", "24.9"], Follows), (&["231.7", "9.7"], Follows), (&["336.0", "14.0"], Follows)]),
    (Row::FileBandwidth, [(&["0.00000018"], Follows), (&["45.8"], Follows), (&["11.2"], Follows)]),
    (Row::AbsoluteBandwidth, [(&["40.3"], WithinRounding), (&["162.1"], WithinRounding), (&["52.2"], WithinRounding)]),
    (Row::UnplannedRestarts, [(&["0"], Follows), (&["0"], Follows), (&["0"], Follows)]),
];

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}

/// Returns the number of decimals in a printed number.
fn decimals(text: &str) -> u32 {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len() as u32)
}

/// Returns the lowest number that rounds to the printed number (direction -1), the printed number itself (0), or the
/// highest number that rounds to it (1).
fn rounded(text: &str, direction: i8) -> Exact {
    let half = Exact::from(5_u64).shifted_right(decimals(text) + 1);
    match direction {
        -1 => &exact(text) - &half,
        0 => exact(text),
        _ => &exact(text) + &half,
    }
}

fn siacoins(amount: Exact) -> Money {
    Money::new(amount, Currency::SIACOIN)
}

impl Published {
    /// Returns the inputs. Each argument is the direction (-1, 0 or 1) in which [`rounded`] changes an input: file
    /// bytes, absolute bytes, wallet, contracts, price, hours.
    fn inputs(&self, [files, absolute, wallet, contracts, price, hours]: [i8; 6]) -> StudyInputs {
        let (file_bytes, half) = self.file_bytes;
        let [total, spent] = self.remaining;
        // The second amount is subtracted, so it is moved in the opposite direction. "0" means that there is no second
        // amount.
        let spent = if spent == "0" { Exact::zero() } else { rounded(spent, -contracts) };
        let date = "2018-03-11".parse().unwrap();
        let rate = Rate::new(Currency::SIACOIN, Currency::US_DOLLAR, rounded(self.price, price), date).unwrap();
        let absolute = &rounded(self.absolute_tib, absolute) * &Exact::from(TIB);
        StudyInputs {
            file_bytes: file_bytes.checked_add_signed(i64::from(files) * half as i64).unwrap(),
            absolute_bytes: Some(absolute.to_decimal(0).parse().unwrap()),
            files: self.files,
            contracts: Some(self.contracts),
            money: Some(StudyMoney {
                left_wallet: siacoins(rounded(self.left_wallet, wallet)),
                remaining: siacoins(&rounded(total, contracts) - &spent),
                upload: self.upload.map(|upload| siacoins(exact(upload))),
                fees: None,
                reported: None,
                rate: Some(rate),
                contract: "2.77 months".parse().unwrap(),
            }),
            wall_time: Hours(rounded(self.hours, hours)),
            active_time: None,
            unplanned_restarts: Some(0),
            files_above_target: None,
            download: None,
        }
    }

    /// Returns the printed inputs, and then all combinations of their lowest and highest unrounded values.
    fn corners(&self) -> impl Iterator<Item = StudyInputs> {
        let corners = (0..64_u8).map(|bits| [0, 1, 2, 3, 4, 5].map(|bit| if (bits >> bit) & 1 == 0 { -1 } else { 1 }));
        iter::once([0; 6]).chain(corners).map(|directions| self.inputs(directions))
    }
}

/// Returns the numbers of a cell in the units of the published table.
fn numbers(row: Row, cell: Cell) -> Result<Vec<Exact>, Missing> {
    let quantities = match cell {
        Cell::Known(quantities) => quantities,
        Cell::Missing(missing) => return Err(missing),
    };
    let number = |quantity: Quantity| match quantity {
        Quantity::Bytes(bytes) if bytes < TIB => vec![Exact::from(bytes).checked_div(&Exact::from(1024_u64)).unwrap()],
        Quantity::Bytes(bytes) => vec![Exact::from(bytes).checked_div(&Exact::from(TIB)).unwrap()],
        Quantity::Count(count) => vec![Exact::from(count)],
        Quantity::Percent(percent) => vec![percent],
        Quantity::Money(money) if row == Row::CostPerTbMonth && money.amount > exact("1000000") => {
            vec![money.amount.shifted_right(6)]
        }
        Quantity::Money(money) => vec![money.amount],
        Quantity::Time(Hours(hours)) => {
            let days = hours.checked_div(&Exact::from(24_u64)).unwrap();
            vec![hours, days]
        }
        Quantity::BitsPerSecond(bits) => vec![bits.shifted_right(6)],
    };
    Ok(quantities.into_iter().flat_map(number).collect())
}

/// Returns the relation of a published cell to the inputs.
fn relation(published: &Published, row: Row, cell: &[&str]) -> Relation {
    let mut values = Vec::new();
    for inputs in published.corners() {
        match numbers(row, inputs.cell(row)) {
            Ok(numbers) => values.push(numbers),
            Err(Missing::Input(name)) => return NotPublished(name),
            Err(other) => panic!("{row:?}: {other}"),
        }
    }
    assert!(values.iter().all(|numbers| numbers.len() == cell.len()), "{row:?}");
    let relations = cell.iter().enumerate().map(|(index, text)| {
        if values[0][index].to_decimal(decimals(text)) == *text {
            return Follows;
        }
        let column = || values.iter().map(|numbers| &numbers[index]);
        let print = |value: Option<&Exact>| exact(&value.unwrap().to_decimal(decimals(text)));
        let (low, high) = (print(column().min()), print(column().max()));
        if (low..=high).contains(&exact(text)) { WithinRounding } else { Contradicted }
    });
    let severity = |relation: &Relation| match relation {
        Follows => 0,
        WithinRounding => 1,
        NotPublished(_) => 2,
        Contradicted => 3,
    };
    relations.max_by_key(severity).unwrap()
}

#[test]
fn all_33_cells_are_accounted_for() {
    let mut found = Vec::new();
    for (row, cells) in TABLE {
        for ((cell, expected), (name, published)) in
            cells.into_iter().zip([("worst", &WORST), ("real", &REAL), ("best", &BEST)])
        {
            let relation = relation(published, row, cell);
            assert_eq!(relation, expected, "{row:?} of the {name} case");
            found.push(relation);
        }
    }
    let count = |wanted: fn(&Relation) -> bool| found.iter().filter(|relation| wanted(relation)).count();
    assert_eq!(TABLE.map(|(row, _)| row), Row::PUBLISHED);
    assert_eq!(found.len(), 33);
    assert_eq!(count(|relation| *relation == Follows), 24);
    assert_eq!(count(|relation| *relation == WithinRounding), 6);
    assert_eq!(count(|relation| matches!(relation, NotPublished(_))), 2);
    assert_eq!(count(|relation| *relation == Contradicted), 1);
}

/// The documentation page about the study must show the cells exactly as the code prints them.
#[test]
fn the_page_about_the_study_has_our_table() {
    let page = include_str!("../../../docs/studies/sia.md");
    for row in Row::PUBLISHED {
        let cells = [&WORST, &REAL, &BEST].map(|published| published.inputs([0; 6]).cell(row).to_string());
        let line = format!("| {} | {} |", row.name(), cells.join(" | "));
        assert!(page.contains(&line), "docs/studies/sia.md lacks {line}");
    }
}

/// The study computed the table from unrounded absolute bytes. In each column, a single unrounded number explains three
/// cells.
#[test]
fn one_number_of_absolute_bytes_explains_size_efficiency_and_bandwidth() {
    let rows = [Row::AbsoluteBytes, Row::StorageEfficiency, Row::AbsoluteBandwidth];
    for (published, absolute_bytes, column) in [
        (&WORST, 10_818_000_000_000, ["9.8 TiB", "0.0000004470 %", "40.3 Mbit/s"]),
        (&REAL, 16_900_000_000_000, ["15.4 TiB", "28.3 %", "162.1 Mbit/s"]),
        (&BEST, 7_896_000_000_000, ["7.2 TiB", "21.5 %", "52.2 Mbit/s"]),
    ] {
        let inputs = StudyInputs { absolute_bytes: Some(absolute_bytes), ..published.inputs([0; 6]) };
        assert_eq!(rows.map(|row| inputs.cell(row).to_string()), column);
    }
}

/// The efficiencies computed from the printed cells differ from the printed efficiencies. The differences come from
/// rounding, so the printed values do not contradict each other.
#[test]
fn printed_cells_alone_give_other_efficiencies() {
    let percent =
        |file: &str, absolute: &str| &exact(file).checked_div(&exact(absolute)).unwrap() * &Exact::from(100_u64);
    assert_eq!(percent("4.3", "15.4").to_decimal(1), "27.9");
    assert_eq!(WORST.inputs([0; 6]).cell(Row::StorageEfficiency).to_string(), "0.0000004488 %");
    assert_eq!(REAL.inputs([0; 6]).cell(Row::StorageEfficiency).to_string(), "28.2 %");
}

/// The published costs of two cases imply the unpublished spending on uploads, but only as a range. For the worst case,
/// the range is wide, because its cost has only two significant digits.
#[test]
fn unpublished_inputs_have_a_range() {
    let cost = |published: &Published, upload: &str| {
        let mut inputs = published.inputs([0; 6]);
        inputs.money.as_mut().unwrap().upload = Some(siacoins(exact(upload)));
        numbers(Row::CostPerTbMonth, inputs.cell(Row::CostPerTbMonth)).unwrap().remove(0)
    };
    assert_eq!((cost(&BEST, "74.2").to_decimal(2), cost(&BEST, "77.4").to_decimal(2)), ("5.13".into(), "5.13".into()));
    assert_eq!((cost(&BEST, "74.0").to_decimal(2), cost(&BEST, "77.6").to_decimal(2)), ("5.14".into(), "5.12".into()));
    let tens = |upload: &str| cost(&WORST, upload).shifted_right(1).to_decimal(0);
    assert_eq!((tens("231"), tens("324")), ("35".to_owned(), "35".to_owned()));
    assert_eq!((tens("229"), tens("327")), ("36".to_owned(), "34".to_owned()));
}

/// Spending in the worst case. The published amounts in the wallet and in contracts give 1.4 SC more than the table.
#[test]
fn the_contradicted_cell() {
    let spent = WORST.inputs([0; 6]).cell(Row::Spent).to_string();
    assert_eq!(spent, "3,626.40 SC (50.77 USD)");
    // The published dollars follow from the published siacoins.
    assert_eq!((&exact("3625") * &exact("0.014")).to_decimal(2), "50.75");
}
