//! May these figures be used? The verdict, what limited the run, and what a reader must know beside them.

use crate::number::{count, seconds};
use measure::books::Violation;
use measure::{LimitedBy, Verdict};
use store::{EndReason, SavedRun};

/// What the figures of a run are worth.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// The run did what was asked, and the books balance.
    Valid,
    /// The user ended it early, in good order; the books balance.
    Interrupted,
    /// It was cut off; what was recorded until then is all there is.
    Partial,
    /// The books do not balance.
    Invalid(Vec<Violation>),
}

impl Standing {
    /// Judges a saved run.
    #[must_use]
    pub fn of(run: &SavedRun) -> Self {
        let interrupted = matches!(run.end.as_ref().map(|end| &end.reason), Some(EndReason::Interrupted { .. }));
        match run.summary().verdict(run.is_whole()) {
            Verdict::Valid if interrupted => Self::Interrupted,
            Verdict::Valid => Self::Valid,
            Verdict::Partial => Self::Partial,
            Verdict::Invalid(violations) => Self::Invalid(violations),
        }
    }

    /// The word in reports.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Interrupted => "INTERRUPTED",
            Self::Partial => "PARTIAL",
            Self::Invalid(_) => "INVALID",
        }
    }
}

/// What limited the run.
#[must_use]
pub fn limited_by(run: &SavedRun) -> LimitedBy {
    run.summary().limited_by(&run.begin.model)
}

/// Whether the target could have carried more than the rates say: a closed run that the client's side limited.
#[must_use]
pub fn is_at_least(run: &SavedRun) -> bool {
    !run.begin.model.is_open() && limited_by(run).is_client()
}

/// Seconds of the window from which steadiness can be judged.
const STEADY_SECONDS_MIN: f64 = 60.0;

/// Something a reader must know beside the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// Client and target share one host.
    Loopback,
    /// Certificates were not checked.
    Insecure,
    /// The program was built without optimisation.
    DebugBuild,
    /// The window is too short to judge whether the run was steady.
    Short {
        /// Its length.
        seconds: f64,
    },
    /// The measured window was never reached.
    NoWindow,
    /// A last record was still being written.
    Torn {
        /// Bytes of it.
        bytes: u64,
    },
    /// Records could not be read.
    Damaged(store::Damage),
}

impl Note {
    /// The name in records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Insecure => "insecure",
            Self::DebugBuild => "debug_build",
            Self::Short { .. } => "short",
            Self::NoWindow => "no_window",
            Self::Torn { .. } => "torn",
            Self::Damaged(_) => "damaged",
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loopback => {
                f.write_str("client and target share one host, and compete for its cores; no network is in between")
            }
            Self::Insecure => f.write_str("the server's certificate was not checked"),
            Self::DebugBuild => {
                f.write_str("made by a debug build: the client costs several times more than it should")
            }
            Self::Short { seconds: length } => {
                write!(f, "{} is too short to judge whether the run was steady (60 s)", seconds(*length))
            }
            Self::NoWindow => f.write_str("the measured window was never reached"),
            Self::Torn { bytes } => {
                write!(f, "{} bytes of a record that was still being written are left out", count(*bytes))
            }
            Self::Damaged(damage) => write!(
                f,
                "records damaged at byte {}: {}; {} bytes from there on are not used",
                count(damage.at_byte),
                damage.kind.about(),
                count(damage.unread_bytes)
            ),
        }
    }
}

/// All notes that apply to a run.
#[must_use]
pub fn notes(run: &SavedRun) -> Vec<Note> {
    let mut notes = Vec::new();
    let seconds = run.summary().measured.seconds;
    let when = |applies: bool, note: Note| applies.then_some(note);
    notes.extend(run.damage.map(Note::Damaged));
    notes.extend(when(run.torn_bytes > 0, Note::Torn { bytes: run.torn_bytes }));
    notes.extend(when(run.begin.debug_build, Note::DebugBuild));
    notes.extend(when(run.begin.insecure, Note::Insecure));
    notes.extend(when(run.begin.loopback, Note::Loopback));
    notes.extend(when(seconds <= 0.0, Note::NoWindow));
    notes.extend(when(seconds > 0.0 && seconds < STEADY_SECONDS_MIN, Note::Short { seconds }));
    notes
}
