//! The room of truth: it admits events to a ledger, orders them, and keeps them.
//!
//! One [`Ledger`] is one hash-chained log with one sequencer. [`Ledger::append`] encodes on the caller's thread; the
//! sequencer's thread gives places and seals frames; the committer's thread writes, syncs, publishes and acknowledges.
//!
//! What this crate may not know: HTTP, key-value stores, archives. It is the only one that adds to history.

mod admission;
mod anchor;
mod archived_state;
mod archiving;
mod asking;
mod batch;
mod blinding_key;
mod clock;
mod clock_watch;
mod cold;
mod commitments;
mod committer;
mod content;
mod control_files;
mod cosigned;
mod courier;
mod creation;
mod declaration;
mod declared_loss;
mod derived_key;
mod disk;
mod entropy;
mod environment;
mod error;
mod event_types;
mod fault;
mod fold;
mod found_damage;
mod heads;
mod hot;
mod id_table;
mod id_tables;
mod ids;
mod inbox;
mod index_folder;
mod inquiry;
mod keeper;
mod kept_replay;
mod key_map;
mod known_segments;
mod leaves;
mod ledger;
pub mod limits;
mod live_segment;
mod lost_end;
mod notary;
mod on_loss;
mod openers;
mod opening;
mod options;
mod outline;
mod packer;
mod page;
mod pending;
mod prepare;
mod proofs;
mod prover;
mod put_aside;
mod put_back;
mod quarantine;
mod query;
mod read_back;
mod reader;
mod reading;
mod recall;
mod receipt;
mod recent;
mod recollection;
mod recover;
mod redaction;
mod release;
mod released_files;
mod remembered;
mod replacement;
mod replay;
mod request;
mod restoration;
mod rollback;
mod segment_list;
mod segments;
mod sequencer;
mod service_events;
mod shared;
mod signing_keys;
mod snapshots;
mod staged;
mod status;
mod subjects;
mod supply;
mod tiers;
mod tip_tables;
mod tree;
mod unproven;
mod visit;
mod whole_behind;
mod witness;

pub use anchor::{Anchor, AnchorError, FolderAnchor};
pub use archived_state::SavedStateError;
pub use archiving::{ChainLink, PlainFrame, SealedArchive, SegmentStart};
pub use bitacora_formats::LostHead;
pub use clock::{Clock, SystemClock};
pub use cold::{
    ColdAccess, ColdArchives, ColdError, ColdErrorKind, ColdEvent, ColdFrame, ColdState, ColdStretch,
    ColdTier, NoArchives,
};
pub use courier::{WitnessStatus, WitnessedStatus};
pub use declared_loss::DeclaredLoss;
pub use disk::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode, RealDisk};
pub use entropy::{Entropy, SystemEntropy};
pub use environment::Environment;
pub use error::{
    AppendError, CloseError, CreateError, ErrorKind, OpenError, OptionsError, ReadError, SideEffects,
};
pub use fault::Fault;
pub use fold::Fold;
pub use kept_replay::{KeptReplay, KeptReplayError};
pub use known_segments::{KnownSegment, KnownSegments};
pub use ledger::Ledger;
pub use notary::{HeadStatus, PublishedHead};
pub use options::{Governing, HeadOptions, IDLE_HEADS_EVERY, Options};
pub use page::{PageBuilder, TakeEvent};
pub use pending::PendingAppend;
pub use proofs::{ConsistencyProof, InclusionProof};
pub use query::{Filter, From, Page, PageEnd, ReadQuery, StoredEvent};

pub use receipt::{Appended, DerivedReceipt, EventReceipt, Head, ReceiptStatus};
pub use release::{ReleaseError, Released};
pub use request::{AppendCondition, AppendRequest, ExpectedVersion};
pub use restoration::{Restoration, RestoreError};
pub use rollback::Rollback;
pub use status::{Counters, ReadOnlyReason, Status, WriterState};
pub use visit::{FrameMark, VisitedRecord};
pub use witness::{Witness, WitnessError, Witnesses};
