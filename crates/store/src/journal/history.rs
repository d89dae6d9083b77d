//! The objects and bytes that a fill stored over time, in a limited number of columns that cover equal times.

/// Maximum number of columns. A screen can show about this many columns.
pub const COLUMNS_MAX: usize = 1200;
/// Time that each column covers at first, in milliseconds. Shorter columns are useless, because the journal is synced
/// once per second.
const FIRST_COLUMN_MS: u64 = 1000;

/// The objects and bytes that a fill stored over time. If there are too many columns, neighboring columns are merged in
/// pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Wall time of the start of the first column, in milliseconds since 1970.
    start_unix_ms: Option<u64>,
    column_ms: u64,
    columns: Vec<Column>,
}

/// Sums over the time of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Objects that the target confirmed.
    pub objects: u64,
    /// Bytes of these objects.
    pub file_bytes: u64,
    /// Bytes of objects that were found at the target when the fill was resumed. `file_bytes` does not include them.
    pub found_bytes: u64,
    /// Uploads that failed in all attempts.
    pub failed_uploads: u64,
}

impl Column {
    fn add(&mut self, other: &Self) {
        let Self { objects, file_bytes, found_bytes, failed_uploads } = other;
        let sums = [
            (&mut self.objects, objects),
            (&mut self.file_bytes, file_bytes),
            (&mut self.found_bytes, found_bytes),
            (&mut self.failed_uploads, failed_uploads),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }
}

impl Default for History {
    fn default() -> Self {
        Self { start_unix_ms: None, column_ms: FIRST_COLUMN_MS, columns: Vec::new() }
    }
}

impl History {
    /// Returns the wall time of the start of the first column, in milliseconds since 1970. `None` without any column.
    #[must_use]
    pub fn start_unix_ms(&self) -> Option<u64> {
        self.start_unix_ms
    }

    /// Returns the length of each column in milliseconds.
    #[must_use]
    pub fn column_ms(&self) -> u64 {
        self.column_ms
    }

    /// Returns the columns, oldest first.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Extends the columns up to this wall time, and returns the column of this time. If the wall clock was set back,
    /// this is an earlier column.
    pub(super) fn reach(&mut self, unix_ms: u64) -> &mut Column {
        let start = *self.start_unix_ms.get_or_insert(unix_ms);
        let past = unix_ms.saturating_sub(start);
        while past / self.column_ms >= COLUMNS_MAX as u64 {
            self.halve();
        }
        let index = (past / self.column_ms) as usize;
        if self.columns.len() <= index {
            self.columns.resize(index + 1, Column::default());
        }
        &mut self.columns[index]
    }

    /// Adds the sums of the objects that were stored at this wall time.
    pub(super) fn add(&mut self, unix_ms: u64, stored: &Column) {
        self.reach(unix_ms).add(stored);
    }

    fn halve(&mut self) {
        let merged = self.columns.chunks(2).map(|pair| {
            let mut sum = Column::default();
            pair.iter().for_each(|column| sum.add(column));
            sum
        });
        self.columns = merged.collect();
        self.column_ms *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_795_228_200_000;

    fn stored(objects: u64) -> Column {
        Column { objects, file_bytes: objects * 10, ..Column::default() }
    }

    #[test]
    fn two_weeks_have_a_limited_number_of_columns() {
        let mut history = History::default();
        let minutes = 14 * 24 * 60;
        for minute in 0..minutes {
            history.add(START + minute * 60_000, &stored(1));
        }
        assert_eq!((history.start_unix_ms(), history.column_ms()), (Some(START), 1_024_000));
        assert!(history.columns().len() <= COLUMNS_MAX, "{}", history.columns().len());
        assert_eq!(history.columns().iter().map(|column| column.objects).sum::<u64>(), minutes);
        let inner = &history.columns()[1..history.columns().len() - 1];
        assert!(inner.iter().all(|column| (17..=18).contains(&column.objects)), "{inner:?}");
    }

    #[test]
    fn clocks_may_be_set() {
        let mut history = History::default();
        history.add(START, &stored(1));
        history.add(0, &stored(2));
        assert_eq!(history.columns(), [stored(3)]);
        history.add(u64::MAX, &stored(4));
        assert!(history.columns().len() <= COLUMNS_MAX);
        assert_eq!(history.columns().iter().map(|column| column.objects).sum::<u64>(), 7);
    }
}
