//! The room of object stores: anchors lie in them, and the cold archives of a follower of the ledger.
//!
//! What this crate may not know: HTTP, and the projector beside it.

mod archive_chain;
mod archive_location;
mod archive_scrub_status;
mod archive_store;
mod archived_events;
mod archived_state;
mod archived_times;
mod archives;
mod bounded_client;
mod byte_cache;
mod catalogue;
mod error;
mod expired_positions;
mod expiry;
mod frame_rows;
mod index_pruning;
mod later_revision;
mod limits;
mod low_priority;
mod manifest_folder;
mod manifest_recovery;
mod object_anchor;
mod ordered_pool;
mod packing_file;
mod packing_job;
mod plan;
mod read_back;
mod restore_plan;
mod restoring;
mod same_history;
mod state_at_end;
mod store;
mod store_thread;
mod store_url;
mod stored_archive;
mod throttle;
mod upload;
mod verification;
mod worker;

pub use archive_location::{ArchiveLocation, ArchiveLocationError};
pub use archive_scrub_status::{ArchiveFault, ArchiveScrubStatus};
pub use archive_store::{ArchiveStore, ArchiveStoreError, ObjectListing, ObjectVersion, Objects, ReadPiece};
pub use archives::StoredArchives;
pub use error::{ArchiverError, ManifestFolderError, StoredError};
pub use expiry::{
    ExpiryMode, ExpiryReport, ExpiryResult, NoStateBehind, RestingEvents, RetainedEvent, Retention,
};
pub use frame_rows::FrameRowsError;
pub use limits::READ_CACHE_BYTES;
pub use manifest_recovery::{KnownArchive, KnownArchives, ManifestHome, known_archives};
pub use object_anchor::ObjectAnchor;
pub use plan::{ARCHIVE_UNIT_EVENTS, DEFAULT_COLD_AFTER, DueRange, Period, PlanInputs, Rules, Times, plan};
pub use restore_plan::{RestoreScope, UnusedArchive, UnusedReason};
pub use restoring::{
    RestoreReport, RestoringError, archived_ledgers, archived_reach, restore, restore_history,
};
pub use store::{StoreError, StoreSettings};
pub use store_url::{Scheme, StoreUrl, StoreUrlError};
pub use stored_archive::StoredArchive;
pub use throttle::{ArchivePace, ArchiveProgress, ProgressCounts};
pub use verification::Verification;
pub use worker::{AcceptedArchive, ArchiveRun, ArchiveScrub, Archiver, Outcome, Release};
