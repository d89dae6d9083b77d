//! Price sheets that come with the program.

/// Names and texts of the shipped price sheets.
pub const SHIPPED: [(&str, &str); 2] = [
    ("s3-standard", include_str!("../../../../scenarios/prices/s3-standard.yaml")),
    ("sia-2018", include_str!("../../../../scenarios/prices/sia-2018.yaml")),
];

/// Returns the text of a shipped price sheet by its name.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
