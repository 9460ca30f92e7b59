//! The room of truth: it admits events to a ledger, orders them, and keeps them.
//!
//! One [`Ledger`] is one hash-chained log with one sequencer. [`Ledger::append`] encodes on the caller's thread; the
//! sequencer's thread gives places and seals frames; the committer's thread writes, syncs, publishes and acknowledges.
//!
//! What this crate may not know: HTTP, key-value stores, archives. It is the only one that adds to history.

mod append;
mod archive;
mod archive_records;
mod archive_tier;
mod blinding_key;
mod dedup;
mod derived_key;
mod erasure;
mod heads;
mod holds;
mod host;
mod ledger;
pub mod limits;
mod log_fault;
mod loss;
mod missing_state;
mod open_error;
mod opening;
mod options;
mod query;
mod read;
mod read_error;
mod receipt;
mod replay;
mod retention;
mod segment_index;
mod segment_list;
mod segment_preallocator;
mod segments;
mod shared_state;
mod signing;
mod stream_tips;
mod subjects;
mod submission;
mod tables;
mod tree;
mod unproven_writes;
mod warm_cuts;
mod writer_state;

pub use append::pending::PendingAppend;
pub use archive::archived_state::{READABLE_STATES, SavedStateError, check_state, state_rests_on};
pub use archive::archiving::{ChainLink, PlainFrame, SegmentStart};
pub use archive::known_segments::{KnownSegment, KnownSegments};
pub use archive_records::SealedArchive;
pub use archive_tier::{
    ArchiveAccess, ArchiveSource, ArchiveTier, ArchiveTierError, ArchiveTierErrorKind, ArchivedEvent,
    ArchivedFrame, ArchivedReactorState, ArchivedSpan, NoArchives,
};
pub use bitacora_formats::LostHead;
pub use erasure::{EraseError, ErasedSubject, Erasure, ErasureMemory, ErasureRequest};
pub use heads::anchor::{Anchor, AnchorError, FolderAnchor};
pub use heads::signer_handle::{HeadStatus, PublishedHead};
pub use heads::witness::handle::{WitnessStatus, WitnessedStatus};
pub use holds::{HoldError, HoldRequest};
pub use host::clock::{Clock, SystemClock};
pub use host::disk::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode, RealDisk};
pub use host::entropy::{Entropy, SystemEntropy};
pub use host::environment::Environment;
pub use ledger::Ledger;
pub use ledger::replay_progress::{ReplayProgress, ReplayProgressError};
pub use log_fault::LogFault;
pub use loss::DeclaredLoss;
pub use missing_state::{MissingState, MissingStateReason};
pub use open_error::OpenError;
pub use opening::creation::CreateError;
pub use opening::open_ledger::CloseError;
pub use options::{HeadOptions, IDLE_HEADS_EVERY, Options, OptionsError, ReactorChoice};
pub use query::TakeEvent;
pub use query::{EventPage, Filter, PageEnd, ReadFrom, ReadQuery, ReadTiers, StoredEvent};
pub use read::page::PageBuilder;
pub use read::proofs::{ConsistencyProof, InclusionProof};
pub use read_error::ReadError;
pub use retention::{
    ExpiryRules, ExpiryRulesError, HoldsInForce, RecordExpiryError, RecordedArchives, RetentionHistory,
};
pub use submission::append_error::{AppendError, ErrorKind, SideEffects};
pub use tables::fold::Fold;

pub use archive::release::ReleaseError;
pub use archive::restoration::{Restoration, RestoreError};
pub use archive_records::ReleaseExtent;
pub use heads::rollback::Rollback;
pub use heads::witness::{Witness, WitnessError, Witnesses};
pub use host::scrub_progress::{ScrubOptions, ScrubStatus};
pub use ledger::status::Status;
pub use ledger::visit::{FrameMark, VisitedRecord};
pub use receipt::{AppendReceipt, DerivedReceipt, EventReceipt, Head, ReceiptStatus};
pub use segments::census::SegmentCensus;
pub use submission::request::{AppendCondition, AppendRequest, ExpectedVersion};
pub use writer_state::{Counters, ReadOnlyReason, WriterState};
