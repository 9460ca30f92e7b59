//! Limits of the waiting for an object store, and of the bytes taken from it.

use std::time::Duration;

use bitacora_formats::TILE_WIDTH;
use bitacora_formats::limits::MAX_NOTE_BYTES;

/// Time for a connection to a store.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for one request to a store, its answer included.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// Retries of a request that the store failed to answer.
pub(crate) const MAX_RETRIES: usize = 2;

/// The longest pause before a request is repeated.
pub(crate) const MAX_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// After this time no request is repeated any more.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(4);

/// Time that an anchor in a store is waited for, whatever happens on the way: the end of a service waits that long for its last head.
pub(crate) const ANCHOR_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes taken of any answer of a store: a head, or the text of an error.
pub(crate) const MAX_ANSWER_BYTES: usize = 2 * MAX_NOTE_BYTES;

/// Characters of a store's own words that are passed on.
pub(crate) const MAX_SAID_CHARS: usize = 400;

/// Time for one request about an archive, its answer included: a piece of [`TRANSFER_BYTES`] at 300 KB a second.
pub(crate) const TRANSFER_TIMEOUT: Duration = Duration::from_secs(30);

/// After this time no request about an archive is repeated any more.
pub(crate) const TRANSFER_RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for one step with an archive, its retries included.
pub(crate) const TRANSFER_PATIENCE: Duration = Duration::from_secs(90);

/// Bytes of an archive that are read or written at once. Of the pieces of one upload stores ask for at least 5 MiB.
pub(crate) const TRANSFER_BYTES: usize = 8 * 1024 * 1024;

/// Bytes taken of an answer about archives: a piece, or a thousand names.
pub(crate) const MAX_STORE_ANSWER_BYTES: usize = TRANSFER_BYTES + 64 * 1024;

/// An archive up to this size is written by one request; a larger one in pieces under another name, and then copied.
pub(crate) const MAX_SINGLE_WRITE_BYTES: u64 = TRANSFER_BYTES as u64;

/// Names that are taken of one list.
pub(crate) const MAX_LISTED: usize = 100_000;

/// Comparisons of two archives, whether one goes on from the other, while a chain of them is looked for. Most often one for each.
pub(crate) const MAX_CHAIN_JOINS: usize = 4 * MAX_LISTED;

/// Events of one archive.
pub(crate) const MAX_ARCHIVE_EVENTS: u64 = 1 << 24;

/// The zstd level of what archives hold.
pub(crate) const ARCHIVE_LEVEL: i32 = 19;

/// Rest of background archiving after a group, as a multiple of the time that the group took: so it takes a fifth of one core.
pub(crate) const REST_FACTOR: u32 = 4;

/// The longest it rests at once; a group takes less than a quarter of that.
pub(crate) const MAX_REST: Duration = Duration::from_secs(10);

/// Threads that open groups of archived events for one reader.
pub(crate) const GROUP_OPENERS: usize = 2;

/// Bytes of groups of archived events that readers of one process keep, open.
pub const READ_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of what readers of one process keep of the archives' indexes: which groups may match what was asked for.
pub(crate) const NARROWED_CACHE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that each of these counts beside a byte for every group, so that there are some thousands at most.
pub(crate) const NARROWED_OVERHEAD_BYTES: usize = 1024;

/// Archives of one plan.
pub(crate) const MAX_PLANNED: usize = 10_000;

const _: () = assert!(MAX_ARCHIVE_EVENTS.is_multiple_of(TILE_WIDTH as u64));
const _: () = assert!(TRANSFER_TIMEOUT.as_millis() < TRANSFER_PATIENCE.as_millis());
const _: () = assert!(TRANSFER_BYTES >= 5 * 1024 * 1024);
const _: () = assert!(REQUEST_TIMEOUT.as_millis() < ANCHOR_PATIENCE.as_millis());
const _: () = assert!(CONNECT_TIMEOUT.as_millis() < REQUEST_TIMEOUT.as_millis());
const _: () = assert!(MAX_NOTE_BYTES < MAX_ANSWER_BYTES);
