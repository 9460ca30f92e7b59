//! The room of truth: it admits events to a ledger, orders them, and keeps them.
//!
//! One [`Ledger`] is one hash-chained log with one sequencer. [`Ledger::append`] encodes on the caller's thread; the
//! sequencer's thread gives places and seals frames; the committer's thread writes, syncs, publishes and acknowledges.
//!
//! What this crate may not know: HTTP, key-value stores, archives. It is the only one that adds to history.

mod anchor;
mod append;
mod archive;
mod archive_records;
mod archive_tier;
mod background_scrub;
mod blinding_key;
mod content;
mod control_files;
mod cosigned;
mod damage_reports;
mod decompressors;
mod dedup;
mod derived_key;
mod heads;
mod history_check;
mod host;
mod kept_replay;
mod key_map;
mod known_heads;
mod leaves;
mod ledger;
pub mod limits;
mod log_fault;
mod loss;
mod lost_end;
mod open_error;
mod opening;
mod options;
mod quarantine;
mod query;
mod read;
mod read_error;
mod receipt;
mod recent;
mod replay;
mod rollback;
mod segment_file;
mod segment_index;
mod segment_list;
mod segment_preallocator;
mod segments;
mod service_events;
mod shared_state;
mod signer_handle;
mod signing;
mod signing_keys;
mod staged_state;
mod status;
mod stream_tips;
mod subjects;
mod submission;
mod tables;
mod tree;
mod unproven_writes;
mod visit;
mod witness;
mod writer_state;

pub use anchor::{Anchor, AnchorError, FolderAnchor};
pub use append::pending::PendingAppend;
pub use archive::archived_state::SavedStateError;
pub use archive::archiving::{ChainLink, PlainFrame, SegmentStart};
pub use archive::known_segments::{KnownSegment, KnownSegments};
pub use archive_records::SealedArchive;
pub use archive_tier::{
    ColdAccess, ColdArchives, ColdError, ColdErrorKind, ColdEvent, ColdFrame, ColdState, ColdStretch,
    ColdTier, NoArchives,
};
pub use bitacora_formats::LostHead;
pub use host::clock::{Clock, SystemClock};
pub use host::disk::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode, RealDisk};
pub use host::entropy::{Entropy, SystemEntropy};
pub use host::environment::Environment;
pub use kept_replay::{KeptReplay, KeptReplayError};
pub use ledger::Ledger;
pub use log_fault::LogFault;
pub use loss::DeclaredLoss;
pub use open_error::OpenError;
pub use opening::creation::CreateError;
pub use opening::open_ledger::CloseError;
pub use options::{HeadOptions, IDLE_HEADS_EVERY, Options, OptionsError, ReactorChoice};
pub use query::TakeEvent;
pub use query::{EventPage, Filter, PageEnd, ReadFrom, ReadQuery, StoredEvent};
pub use read::page::PageBuilder;
pub use read::proofs::{ConsistencyProof, InclusionProof};
pub use read_error::ReadError;
pub use signer_handle::{HeadStatus, PublishedHead};
pub use submission::append_error::{AppendError, ErrorKind, SideEffects};
pub use tables::fold::Fold;
pub use witness::handle::{WitnessStatus, WitnessedStatus};

pub use archive::release::ReleaseError;
pub use archive::restoration::{Restoration, RestoreError};
pub use archive_records::ReleaseExtent;
pub use receipt::{AppendReceipt, DerivedReceipt, EventReceipt, Head, ReceiptStatus};
pub use rollback::Rollback;
pub use status::Status;
pub use submission::request::{AppendCondition, AppendRequest, ExpectedVersion};
pub use visit::{FrameMark, VisitedRecord};
pub use witness::{Witness, WitnessError, Witnesses};
pub use writer_state::{Counters, ReadOnlyReason, WriterState};
