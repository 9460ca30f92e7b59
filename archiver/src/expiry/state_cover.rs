//! The state behind expired content. Content that the deciding state rests on goes only where a kept archive holds a state behind it that was
//! read back and opened: openings, replays and restorations begin there then.

use std::fmt;

use bitacora_archive_format::{ArchiveRange, Manifest, SignedManifest};
use bitacora_formats::Position;
use bitacora_ledger::{
    ArchiveTierErrorKind, Ledger, READABLE_STATES, ReadError, check_state, state_rests_on,
};

use super::{RetainedEvent, Retention};

/// The state behind the events of one archive, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateCover {
    /// It stands after this event, at the archive's last one or behind it.
    After(Position),
    /// There is none: content that the state rests on stays.
    None(NoStateBehind),
}

/// The reasons for which content that the deciding state rests on stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoStateBehind {
    /// No kept archive holds a state at this position or behind it that this program reads.
    NotArchived(Position),
    /// One does, and does not give it.
    Unreadable {
        /// The range of the archive.
        range: ArchiveRange,
        /// The fault, in words.
        what: String,
    },
}

impl fmt::Display for NoStateBehind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotArchived(position) => write!(
                formatter,
                "no archive keeps a readable state after position {position} or a later one; the next archive may"
            ),
            Self::Unreadable { range, what } => {
                write!(formatter, "the state in the archive of positions {range} cannot be read: {what}")
            }
        }
    }
}

impl StateCover {
    /// Returns `true` if the deciding state does not rest on the event, or stands behind it.
    pub(crate) fn allows(&self, event: &RetainedEvent<'_>) -> bool {
        !state_rests_on(&event.record.kind)
            || matches!(self, Self::After(position) if event.position <= *position)
    }

    /// Looks for the first state at the end of `archive` or behind it, among the kept archives in their order, and opens it.
    pub(crate) fn find(ledger: &Ledger, kept: &[SignedManifest], archive: &Manifest) -> Self {
        let last = archive.range.last();
        let mut first_fault = None;
        let readable = |manifest: &&Manifest| READABLE_STATES.contains(&manifest.reactor);
        for manifest in kept.iter().map(SignedManifest::manifest).filter(readable) {
            let Some(state) = manifest.state.filter(|state| state.position >= last) else { continue };
            match open(ledger, state.position) {
                Ok(()) => return Self::After(state.position),
                Err(what) => {
                    first_fault.get_or_insert(NoStateBehind::Unreadable { range: manifest.range, what });
                }
            }
        }
        Self::None(first_fault.unwrap_or(NoStateBehind::NotArchived(last)))
    }
}

/// Reads the archived state after this event back, and opens it.
fn open(ledger: &Ledger, position: Position) -> Result<(), String> {
    let state = ledger.archived_state(position, &READABLE_STATES).map_err(|error| match error {
        ReadError::Archive(error) if error.kind == ArchiveTierErrorKind::Unavailable => error.what,
        error => error.to_string(),
    })?;
    let state = state.filter(|state| state.position == position);
    check_state(&state.ok_or("the manifest that names it is not kept any more")?)
}

/// The retention policy in force, as far as states are kept behind what it lets expire.
pub(crate) struct CoveredRetention<'a> {
    pub(crate) retention: &'a dyn Retention,
    pub(crate) cover: StateCover,
}

impl Retention for CoveredRetention<'_> {
    fn policy(&self) -> Position {
        self.retention.policy()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        self.retention.concerns(manifest)
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        self.retention.expires(event) && self.cover.allows(event)
    }
}
