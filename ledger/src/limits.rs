//! The limits of the ledger's work in memory; those of stored bytes are in `bitacora_formats::limits`.

use std::time::Duration;

use bitacora_formats::MAX_SEGMENT_HEADER_BYTES;
use bitacora_formats::limits::{MAX_FRAME_BODY_BYTES, MAX_REQUEST_BYTES, MAX_SEGMENT_BYTES};

/// Bytes of prepared requests that may wait for the sequencer; past it an append is refused as `queue-full`.
pub const MAX_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of prepared requests that may wait in the reserved lane, whatever waits beside it: a few thousand decisions.
pub const RESERVED_QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes that each waiting request counts on top of its own, for the memory that carries it.
pub const QUEUED_REQUEST_BYTES: usize = 256;

/// A frame is sealed once its body has grown to this many bytes, even while the disk is busy.
pub const FRAME_TARGET_BYTES: usize = 512 * 1024;

/// A body of at least this many bytes is compressed by a thread of its own; for a smaller one the hand-over costs more
/// than it saves.
pub const COMPRESS_AHEAD_BYTES: usize = 128 * 1024;

/// Bodies that the compressor may have: one that it compresses, and one that waits, so that the sequencer goes on staging.
pub const MAX_BODIES_AHEAD: usize = 2;

/// A body of at least this many bytes goes to the compressor as soon as that has nothing to do, even while a frame syncs: what
/// waits for the sync would be compressed after it otherwise, with nothing left to stage meanwhile.
pub const EARLY_COMPRESSION_BYTES: usize = 192 * 1024;

/// Frames that the committer may have: one that it syncs, and one that waits.
pub const MAX_COMMITS_AHEAD: usize = 2;

/// Difference between the wall clock and the time that has passed above which calls are denied, until somebody accepts the clock.
pub const MAX_CLOCK_JUMP: Duration = Duration::from_secs(10 * 60);

/// Runs without an end that are known by their names when events expire. Where there are more, events of all runs stay.
pub const MAX_OPEN_RUNS: usize = 1 << 16;

/// Time without events before an opening above which the clock is doubted: events do not expire by it at once.
pub const MAX_COUNTED_STANDSTILL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Time that a ledger has to run after such an opening, over restarts, before ages of events are counted past the last event before it.
pub const STANDSTILL_DOUBT: Duration = Duration::from_secs(24 * 60 * 60);

/// Kept free at the end of every segment, so that the footer and the service's own last words always fit.
pub const RESERVED_TAIL_BYTES: u64 = 16 * 1024;

/// The zero-filling of the next segment syncs after each slice of this size, so that live syncs stay short.
pub const FILL_SLICE_BYTES: usize = 1024 * 1024;

/// The smallest segment that can be configured.
pub const MIN_SEGMENT_BYTES: u64 = 64 * 1024;

/// A segment is ended after this many events, so that the identities of one that are held in memory (about 40 bytes each)
/// stay few.
pub const MAX_SEGMENT_EVENTS: u64 = 1 << 19;

/// Identities of ended segments that no table holds yet; past it the writer waits for the tables, and takes nothing while
/// the disk refuses them.
pub const MAX_UNWRITTEN_IDS: usize = 3 << 19;

/// Events that clients can bring a ledger to. Filters over the identity of each are held in memory: about 13 bits each, 1.7 GiB in all.
pub const MAX_LEDGER_EVENTS: u64 = 1 << 30;

/// Streams a ledger can have, since the tip of each is held in memory (about 64 bytes each).
pub const MAX_STREAMS: usize = 1 << 22;

/// Streams whose tips may be held twice, ahead of the disk, before those that are durable by now are let go.
pub const MAX_STAGED_STREAMS: usize = 4_096;

/// Record bytes that a reactor may derive from one request.
pub const MAX_DERIVED_BYTES: usize = 256 * 1024;

/// Bytes of an entry in a frame's body on top of its record and part.
pub const ENTRY_BYTES: usize = bitacora_formats::ENTRY_HEADER_BYTES;

/// Bytes of a request in a frame's body on top of its entries.
pub const REQUEST_ENTRY_BYTES: usize = bitacora_formats::REQUEST_HEADER_BYTES;

/// Bytes of segments that are kept in memory until they were read back from the disk. Past it the oldest are let go, and could not be put
/// back.
pub const MAX_UNPROVEN_BYTES: usize = 32 * 1024 * 1024;

/// Bytes of the newest frames' bodies that are kept open for those who follow.
pub const RECENT_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Frames that were read last and stay open for the next page.
pub const MAX_REVISITED_FRAMES: usize = 8;

/// The largest body of a frame that stays open after it was read, in bytes.
pub const MAX_REVISITED_BODY_BYTES: usize = 2 * 1024 * 1024;

/// A page of at least this many events takes their commitments from the tree.
pub const TREE_READ_EVENTS: u64 = 256;

/// Frames of a filtered read that the disk is asked for before the first of them is looked at. As many of them are opened ahead as
/// [`PICKED_BYTES_AHEAD`] allows.
pub const PICKED_FRAMES_AHEAD: usize = 16;

/// Archived events of a filtered read that are asked for at once, as far as [`PICKED_BYTES_AHEAD`] allows.
pub const PICKED_EVENTS_AHEAD: usize = MAX_PAGE_EVENTS;

/// Bytes of the bodies of such frames, or of such events; one more may begin below it.
pub const PICKED_BYTES_AHEAD: usize = 4 * 1024 * 1024;

/// Bytes between two places where frames are known to stand that the disk is asked for before they are searched; where more
/// lies between them, the search reads less.
pub const MAX_EXPECTED_BYTES: u64 = 512 * 1024;

/// Threads that open the frames of one filtered read, its own among them.
pub const FRAME_OPENERS: usize = 2;

/// Decompressors kept for later readers.
pub const MAX_IDLE_DECOMPRESSORS: usize = 16;

/// Identities of several ended segments that are put into one new id table; one segment is always taken whole.
pub const MAX_ID_TABLE_WRITE_ENTRIES: usize = 1 << 20;

/// Rest of background work after each slice of [`FILL_SLICE_BYTES`]: about twice as long as the slice takes.
pub const BACKGROUND_REST: Duration = Duration::from_millis(2);

/// Bytes that the scrub's rounds read in a second where nothing else is said: a gigabyte takes 17 minutes.
pub const SCRUB_BYTES_PER_S: u64 = 1024 * 1024;
/// The pause between two rounds of the scrub.
pub const SCRUB_ROUND_PAUSE: Duration = Duration::from_hours(1);

/// Keys of data subjects held in memory, by name and again by id (about 150 bytes each).
pub const MAX_CACHED_SUBJECT_KEYS: usize = 1 << 16;
/// Erased keys up to which the list of them is written at each erasure; with more, at openings and closes.
pub const MAX_ERASED_KEYS_KEPT_WRITTEN: usize = 10_000;
/// Events that an erasure reads at once, of those that legal holds cover; the first that is held ends it.
pub const HELD_EVENTS_READ_AT_ONCE: u64 = 8_192;

/// Events of one page.
pub const MAX_PAGE_EVENTS: usize = 1_000;

/// Factor by which a piece of the log may exceed the number of events asked for, so that it ends with a frame.
pub const MAX_PIECE_STRETCH: u64 = 4;

/// Stored event bytes of one page; a page holds at least one event.
pub const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Frames a filtered read opens before it returns a page, full or not.
pub const MAX_PAGE_FRAMES: usize = 4_096;

/// The last events whose types and tags are held in memory for append conditions.
pub const CONDITION_WINDOW_EVENTS: usize = 1 << 16;

/// Events an append condition may reach back over when its `after` lies before that window.
pub const MAX_CONDITION_SCAN_EVENTS: u64 = 1 << 20;

/// A reader notes where a frame stands at least this many bytes after the last noted one.
pub const FRAME_MARK_BYTES: u64 = 64 * 1024;

/// Bytes of candidates that are opened in vain while what is whole behind damage is looked for in a segment.
pub const SURVEY_TRIAL_BYTES: usize = 4 * MAX_SEGMENT_BYTES;

/// Frames of a segment of which is remembered that their headers are authentic.
pub const MAX_KNOWN_FRAMES: usize = 64;

/// Time between two tries to make the next segment, or to write tables, after the disk refused it, in milliseconds.
pub const FILE_RETRY_MS: u64 = 500;

/// Interval at which witnesses are shown the last tree head.
pub const WITNESS_EVERY: Duration = Duration::from_secs(10);

/// Time to wait for the answers of witnesses before those that came are kept; only the next tree heads wait for it.
pub const WITNESS_PATIENCE: Duration = Duration::from_secs(15);

/// Time that an opening waits for the memories of witnesses; those silent by then count as unreachable.
pub const WITNESS_OPENING_PATIENCE: Duration = Duration::from_secs(5);

/// Time that a close waits for cosignatures of the last tree head.
pub const WITNESS_CLOSING_PATIENCE: Duration = Duration::from_secs(5);

/// Questions to one witness about the same tree head, each from the size that it named before.
pub const WITNESS_CATCH_UPS: usize = 3;

/// Time to wait before a retry after a refusal for a full queue, in seconds.
pub const QUEUE_RETRY_AFTER_S: u64 = 1;

const _: () = assert!(MAX_REQUEST_BYTES < MAX_QUEUE_BYTES);
const _: () = assert!(MAX_SEGMENT_EVENTS < MAX_UNWRITTEN_IDS as u64);
const _: () = assert!(FRAME_TARGET_BYTES + 2 * MAX_REQUEST_BYTES <= MAX_FRAME_BODY_BYTES);
const _: () = assert!(RESERVED_TAIL_BYTES * 2 <= MIN_SEGMENT_BYTES);

// The tail kept free leaves room for the segment's header, whose size the room of a frame does not count.
const _: () = assert!(2 * MAX_SEGMENT_HEADER_BYTES as u64 <= RESERVED_TAIL_BYTES);

/// Events between two cuts of warm data at least: each has every read model look at all rows that may leave.
pub const MIN_WARM_CUT_EVENTS: u64 = 1 << 12;

/// Bytes of a snapshot of the state that are written for each event since the one before, while the ledger runs: less than an
/// event takes in the log itself.
pub const SNAPSHOT_BYTES_AN_EVENT: u64 = 16;

/// The same when the ledger closes: an opening folds 10,000 events in the time in which it reads a snapshot of a megabyte.
pub const LAST_SNAPSHOT_BYTES_AN_EVENT: u64 = 128;
