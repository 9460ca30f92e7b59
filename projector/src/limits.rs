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

/// How long the follower lets news gather: waking for every frame would cost the writer more than it brings.
pub const FOLLOW_PAUSE: Duration = Duration::from_millis(5);

/// After a failure of the disk, blocks are written again this often.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Behind the head by more than this many events, the index is said to be catching up.
pub const LAG_EVENTS: u64 = 1 << 19;

/// Files in the folder of blocks that are looked at; more are not the index's own.
pub const MAX_BLOCKS: usize = 1 << 14;

const _: () = assert!(BLOCK_ENTRIES + MAX_EVENT_ENTRIES <= MAX_INDEX_BLOCK_ENTRIES);
