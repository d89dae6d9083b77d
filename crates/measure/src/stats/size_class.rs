//! Classes of body sizes, by which results are broken down.

/// Upper bounds of the classes in bytes, inclusive, with their labels.
pub(crate) const SIZE_CLASSES: [(u64, &str); 10] = [
    (0, "empty"),
    (1 << 10, "to 1 KiB"),
    (10 << 10, "to 10 KiB"),
    (100 << 10, "to 100 KiB"),
    (1 << 20, "to 1 MiB"),
    (10 << 20, "to 10 MiB"),
    (100 << 20, "to 100 MiB"),
    (1 << 30, "to 1 GiB"),
    (10 << 30, "to 10 GiB"),
    (u64::MAX, "over 10 GiB"),
];

/// Returns the index of the class to which a size belongs.
pub(crate) fn size_class(bytes: u64) -> u8 {
    SIZE_CLASSES.iter().position(|(bound, _)| bytes <= *bound).unwrap_or(0) as u8
}

/// Returns the label of a class; `None` if there is no such class.
pub(crate) fn size_label(class: u8) -> Option<&'static str> {
    SIZE_CLASSES.get(usize::from(class)).map(|(_, label)| *label)
}
