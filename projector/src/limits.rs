//! Every limit of derived state in memory; those of its stored bytes stand in `bitacora_formats`.

use std::time::Duration;

use bitacora_formats::limits::MAX_TAGS;
use bitacora_formats::{IndexField, MAX_INDEX_BLOCK_ENTRIES};

/// Entries after which a block ends, even where it does not cover as many positions as it might (8 bytes each: 32 MiB).
pub const BLOCK_ENTRIES: usize = 1 << 22;

/// Entries that one event can have.
pub const MAX_EVENT_ENTRIES: usize = IndexField::ALL.len() - 1 + MAX_TAGS;

/// Entries of the open block that are looked at one by one before they are sorted.
pub const UNSORTED_ENTRIES: usize = 1 << 16;

/// Events that are followed before readers see them in the index.
pub const PUBLISH_EVENTS: u64 = 1 << 12;

/// Events the follower reads before it looks whether it should end.
pub const FOLLOW_EVENTS: u64 = 1 << 16;

/// Time that the follower lets news gather: waking for every frame would cost the writer more than it brings.
pub const FOLLOW_PAUSE: Duration = Duration::from_millis(5);

/// After a failure of the disk, blocks are written again this often.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause before the log is read again for read models that do not answer yet; the pause doubles up to there.
pub const MAX_RETRY_PAUSE: Duration = Duration::from_secs(64);

/// Behind the head by more than this many events, the index is said to be catching up.
pub const LAG_EVENTS: u64 = 1 << 19;

/// Files in the folder of blocks that are looked at; more are not the index's own.
pub const MAX_BLOCKS: usize = 1 << 14;

const _: () = assert!(BLOCK_ENTRIES + MAX_EVENT_ENTRIES <= MAX_INDEX_BLOCK_ENTRIES);

/// Threads that fold read models, side by side, of one ledger.
pub const FOLD_THREADS: usize = 2;

/// Events that a thread folds into its read models before it stores what became of them; few where the engine is tested.
pub const FOLD_EVENTS: u64 = if cfg!(test) { 1 << 7 } else { 1 << 16 };

/// Bytes of changed rows of one read model after which they are stored, however few events that were.
pub const COMMIT_BYTES: usize = 32 << 20;

/// Rows that one piece of a cut looks at; few where the engine is tested.
pub const CUT_ROWS: usize = if cfg!(test) { 1 << 4 } else { 1 << 13 };

/// Read models that a service folds again at once, for questions about rows that left. Each takes the disk that it took before the cut.
pub const RECALLS: usize = 8;

/// Those of one ledger.
pub const LEDGER_RECALLS: usize = 4;

/// The time after which one goes that nobody asks any more.
pub const RECALL_UNUSED: Duration = Duration::from_secs(10 * 60);

/// Read models that a service begins to fold again in an hour, for such questions: each fold reads the whole log.
pub const RECALLS_PER_HOUR: usize = 24;

/// Those of one ledger: as many as there are models whose rows leave.
pub const LEDGER_RECALLS_PER_HOUR: usize = 8;

/// The time for which one stays once it answers, although another ledger waits for its place.
pub const RECALL_HELD: Duration = Duration::from_secs(2 * 60);

/// Bytes of the disk that stay free for events: with fewer, nothing goes on that is folded beside the models that answer. With twice as
/// many it may begin.
pub const RECALL_FREE_BYTES: u64 = 1 << 30;

/// The pause before it begins again after the disk had fewer.
pub const RECALL_DISK_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The longest pause between two looks whether one has to go.
pub const MAX_RECALL_PAUSE: Duration = Duration::from_secs(10);

/// Events that change nothing in a read model before its cursor is stored all the same.
pub const IDLE_COMMIT_EVENTS: u64 = 1 << 16;

/// Bytes of the filter by which a read model that is folded from the first event on knows rows that never were. They are enough for some
/// four million rows; beyond that the filter is of less use.
pub const SEEN_BYTES: usize = 4 << 20;

/// Bytes that the store of a ledger's read models keeps of its files in memory.
pub const STORE_CACHE_BYTES: u64 = 32 << 20;

/// Bytes of each read model in memory before the store writes them to a file. There are more than a dozen of them: with twice as much
/// a service grew by 220 MiB before the first one was full.
pub const STORE_MEMORY_BYTES: u64 = 8 << 20;

/// The size of the store's journal at most, about.
pub const STORE_JOURNAL_BYTES: u64 = 128 << 20;

/// Bytes of rows that are in the store's journal alone from which on a close has them written into tables.
pub const SETTLED_JOURNAL_BYTES: u64 = 64 << 10;

/// Time that a close waits for that. Rows that are not written then stay in the journal.
pub const SETTLE_PATIENCE: Duration = Duration::from_secs(2);

/// The pause before it looks again.
pub const SETTLE_PAUSE: Duration = Duration::from_millis(2);

/// Bytes of a store's file that are read at once where all of it is hashed.
pub const HASHED_PIECE_BYTES: usize = 1 << 20;

/// Folders within one another in a store.
pub const MAX_STORE_DEPTH: usize = 8;

/// Calls that one page looks at, at most, for those that are asked for.
pub const LOOKED_AT_CALLS: usize = 20_000;

/// Bytes of events' data that answers keep in memory, for a ledger.
pub const KEPT_DATA_BYTES: usize = 32 << 20;

/// Bytes of the data of one event that is kept so; larger ones are read from the log each time.
pub const KEPT_DATUM_BYTES: usize = 1 << 20;

/// Checkpoints and tasks with writes that one thread holds. Saves past that are recorded, and not found until some are deleted and they
/// are saved again.
pub const MAX_THREAD_ENTRIES: u64 = 1 << 16;

/// Bytes of the rows of one thread, about, but for its contents: what a copy or a deletion has in memory at once.
pub const MAX_THREAD_BYTES: u64 = 64 << 20;

/// Entries of a page of the order that a thread's checkpoints stand in.
pub const ORDER_PAGE_ENTRIES: usize = 32;

/// Checkpoints that one page looks at, at most, for those that are asked for; of each its event is read.
pub const LOOKED_AT_CHECKPOINTS: usize = 4_000;

/// Positions that are remembered of a dimension's first outcomes, for those that went well and for the others.
pub const EVIDENCE_FIRST: usize = 8;

/// Positions that are remembered of its last ones, likewise.
pub const EVIDENCE_LAST: usize = 24;

/// Tags that a dimension has; of more those stay that were used last.
pub const MAX_DIMENSION_TAGS: usize = 64;

/// Sessions that one page looks at, at most, for those that are asked for.
pub const LOOKED_AT_SESSIONS: usize = 20_000;

/// Runs that one page looks at, at most, for those that are asked for.
pub const LOOKED_AT_RUNS: usize = 20_000;

/// Runs that are named of one session, the newest; the others are counted.
pub const SHOWN_RUNS: usize = 100;

/// Definitions that are shown of one contract, the newest; the others are counted.
pub const SHOWN_DEFINITIONS: usize = 100;

/// Rollbacks that one page looks at, at most, for those that are asked for.
pub const LOOKED_AT_ROLLBACKS: usize = 20_000;

/// Events of a dimension of which one has the whole record kept behind it; so many less one are read for a record of any position.
pub const KEPT_EVERY: u64 = 16;
