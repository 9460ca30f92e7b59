//! The removal of expired events from archives.
//!
//! An archive of which events expired is packed again, as its next revision: of the expired ones it keeps id, source, type, stream, and the
//! commitment that their leaves are made of. So the tree, every proof and every refusal of a retry stay as they were. The new revision
//! is compared with the old one, recorded and kept, and then the old one goes.

mod comparison;
pub(crate) mod expired_rows;
mod other_copies;
pub(crate) mod recorded_revisions;
mod repacking;
mod revisions;
mod run;
mod standing;
mod state_cover;

use std::collections::BTreeMap;

use bitacora_archive_format::{ArchiveRange, Manifest};
use bitacora_formats::{Micros, Position, Record};

use self::comparison::{ExpiryGrounds, RevisionComparison};
use self::repacking::Repacking;
pub use self::run::ExpiryMode;
pub use self::state_cover::NoStateBehind;
use self::state_cover::{CoveredRetention, StateCover};

/// The retention policy in force, with everything that keeps events longer than it says.
pub trait Retention: Sync {
    /// The event that set the policy.
    fn policy(&self) -> Position;

    /// Returns `false` if no event of the archive with this manifest can have expired. Spares reading it.
    fn concerns(&self, manifest: &Manifest) -> bool;

    /// Returns `true` if the content of this event is to be removed.
    fn expires(&self, event: &RetainedEvent<'_>) -> bool;
}

/// An archived event, as a retention policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct RetainedEvent<'a> {
    /// Its position.
    pub position: Position,
    /// The time of its frame.
    pub time: Micros,
    /// Its record.
    pub record: &'a Record<'a>,
}

/// An archive that holds expired events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiryReport {
    /// Its range.
    pub range: ArchiveRange,
    /// Its name in the store: that of the new revision, once there is one.
    pub name: String,
    /// The number of events that expired, by type.
    pub kinds: BTreeMap<String, u64>,
    /// Expired events that stay because the deciding state rests on them.
    pub resting: Option<RestingEvents>,
    /// Bytes of the archive before.
    pub bytes: u64,
    /// The result.
    pub result: ExpiryResult,
}

/// The result of looking at an archive that holds expired events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryResult {
    /// They are due; nothing was asked to be removed.
    Due,
    /// They are removed, and the archive has so many bytes now.
    Removed {
        /// Bytes of the new revision.
        bytes: u64,
    },
    /// They stay for now: segments on this disk hold them too.
    WaitsForRelease,
    /// All of them stay for now: the deciding state rests on them.
    WaitsForState,
}

/// Expired events that the deciding state rests on, without a state behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestingEvents {
    /// The number of events, by type.
    pub kinds: BTreeMap<String, u64>,
    /// The reason for which they stay.
    pub why: NoStateBehind,
}

impl ExpiryReport {
    /// Returns the number of events that expired.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.kinds.values().sum()
    }
}
