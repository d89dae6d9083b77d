//! The replay of a journal.

use super::read::{Entry, Extent, Tip, read};
use super::source::{Source, segment_path, sort, sources_in};
use super::state::FillState;
use crate::error::{StoreError, StoreErrorKind};
use crate::fill_directory::FillError;
use std::path::Path;

/// A replayed journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// The state of the fill.
    pub state: FillState,
    /// The sizes of the journal and of its invalid parts.
    pub extent: Extent,
}

/// Replays the journal in these directories, even while a session writes it. `identity` is the hash of the fill's
/// identity, if known.
///
/// # Errors
/// Fails with [`FillError::Damaged`] for damage that a crash does not explain, with [`StoreErrorKind::Format`] or
/// [`FillError::UnknownRecord`] for journals of other versions, or with an error of the system.
pub fn replay(directories: &[&Path], identity: Option<&[u8; 32]>) -> Result<Replay, StoreError> {
    replay_directories(directories, identity, |_| {}).map(|(replay, _)| replay)
}

/// Replays segments in memory, numbered from 1.
///
/// # Errors
/// Fails like [`replay`].
pub fn replay_bytes(segments: &[&[u8]], identity: Option<&[u8; 32]>) -> Result<Replay, StoreError> {
    let numbered = (1..).zip(segments);
    let sources =
        numbered.map(|(number, bytes)| Source::from_bytes(&segment_path(Path::new(""), number), number, bytes));
    replay_sources(&sort(sources.collect())?, identity).map(|(replay, _)| replay)
}

/// Calls `visit` for each record of the journal in these directories.
///
/// # Errors
/// Fails like [`replay`].
pub fn for_each_entry(
    directories: &[&Path],
    identity: Option<&[u8; 32]>,
    visit: impl FnMut(Entry),
) -> Result<Extent, StoreError> {
    read_directories(directories, identity, visit).map(|(extent, _)| extent)
}

pub(crate) fn replay_directories(
    directories: &[&Path],
    identity: Option<&[u8; 32]>,
    mut visit: impl FnMut(&Entry),
) -> Result<(Replay, Tip), StoreError> {
    let mut state = FillState::default();
    let read = read_directories(directories, identity, |entry| {
        visit(&entry);
        state.apply(&entry.record, entry.unix_ms);
    });
    read.map(|(extent, tip)| (Replay { state, extent }, tip))
}

fn read_directories(
    directories: &[&Path],
    identity: Option<&[u8; 32]>,
    mut visit: impl FnMut(Entry),
) -> Result<(Extent, Tip), StoreError> {
    match read(&sources_in(directories)?, identity, &mut visit) {
        // If two files are created during the listing of a directory, the list may have only one of them. `visit` was
        // not called in this case, so try again.
        Err(StoreError { kind: StoreErrorKind::Fill(FillError::MissingSegment), .. }) => {
            read(&sources_in(directories)?, identity, visit)
        }
        read => read,
    }
}

pub(crate) fn replay_sources(sources: &[Source<'_>], identity: Option<&[u8; 32]>) -> Result<(Replay, Tip), StoreError> {
    let mut state = FillState::default();
    let (extent, tip) = read(sources, identity, |entry| state.apply(&entry.record, entry.unix_ms))?;
    Ok((Replay { state, extent }, tip))
}
