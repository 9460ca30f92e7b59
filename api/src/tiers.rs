//! The tiers of a ledger: what decides from memory, what answers from this disk, and what lies in archives.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tiers of a ledger.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TiersAnswer {
    /// The deciding state, in memory.
    pub hot: StateTier,
    /// Segments, index and read models, on this disk.
    pub warm: DiskTier,
    /// Archives, in an object store.
    pub cold: ArchiveTierAnswer,
}

/// The deciding state. Decisions read nothing else.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateTier {
    /// The last event that is folded in it; `0` before the first.
    #[schema(example = "17")]
    pub position: String,
    /// Dimensions with trust of their own.
    pub dimensions: u64,
    /// Circuit breakers that have seen anything.
    pub breakers: u64,
    /// Calls without an outcome.
    pub open_calls: u64,
    /// Approvals that wait, or ended a short time ago.
    pub approvals: u64,
    /// Tools that may be called.
    pub tools: u64,
    /// Bytes of its text, which the digest covers. The memory that it takes is not measured.
    pub bytes: u64,
    /// The position at which the bytes were measured, at most a minute ago.
    #[schema(example = "17")]
    pub bytes_position: String,
}

/// Data on this disk.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DiskTier {
    /// The segments that were not released.
    pub segments: SegmentTier,
    /// The index of labels.
    pub index: IndexTier,
    /// The read models, by name; none where the service keeps none.
    pub models: Vec<ModelTier>,
}

/// The segments on this disk.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SegmentTier {
    /// Their number.
    pub files: u64,
    /// Bytes in use in them; the files may be longer.
    pub bytes: u64,
    /// The first position in them; absent of an empty ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "1")]
    pub first: Option<String>,
    /// The last position in them: the ledger's head.
    #[schema(example = "17")]
    pub last: String,
    /// The time of the first of these events; absent where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// `true` if every byte that the last opening found was checked since.
    pub proven: bool,
    /// The time at which the scrub last ended a round, which found every frame on this disk whole; absent before the first one since the
    /// opening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrubbed: Option<String>,
}

/// The index on this disk.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct IndexTier {
    /// `ok`, `rebuilding`, `degraded` or `stopped`.
    #[schema(example = "ok")]
    pub state: String,
    /// The last position up to which it knows every event; `0` before the first.
    #[schema(example = "17")]
    pub position: String,
    /// Blocks on the disk. The newest events are in memory.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
}

/// A read model on this disk. It covers the history from the first event on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTier {
    /// Its name.
    #[schema(example = "calls")]
    pub name: String,
    /// `ok`, `rebuilding`, `degraded` or `stopped`.
    #[schema(example = "ok")]
    pub state: String,
    /// The last event that is folded; `0` before the first.
    #[schema(example = "17")]
    pub position: String,
    /// Rows that were stored last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The position of its last cut: rows that no event behind it wrote have left this disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "902113")]
    pub cut: Option<String>,
    /// Rows that have left. They are folded again when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_rows: Option<u64>,
    /// Events that change rows which have left. The model stands before the first of them until it is folded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_events: Option<u64>,
    /// Bytes of its tables. Rows that only the store's journal holds are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Archives in an object store, by the events that record them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveTierAnswer {
    /// Archives up to this position are counted; `0` before the first event.
    #[schema(example = "918275")]
    pub position: String,
    /// Their number.
    pub archives: u64,
    /// Events in them. Segments on this disk may hold the same events.
    pub events: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Positions that follow one another in one store, the oldest first.
    pub ranges: Vec<ArchivedRange>,
    /// The number of further ranges, which are not listed.
    pub more_ranges: u64,
    /// The time at which the newest archive was sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sealed: Option<String>,
    /// The time at which the scrub last ended a round, which found every archive whole; absent before the first one since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrubbed: Option<String>,
    /// The archives that the scrub found damaged or missing when it read them last, at most 16, each with what is wrong.
    #[serde(default)]
    pub faulty: Vec<String>,
}

/// Archives whose positions follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArchivedRange {
    /// The first event.
    #[schema(example = "1")]
    pub first: String,
    /// The last one.
    #[schema(example = "65536")]
    pub last: String,
    /// Archives.
    pub archives: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// The store that holds them, in the words of the configuration; absent where it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The oldest of the times at which each of them was last read back whole, as far as the service knows: when it was sealed, or
    /// when the scrub's last whole round began. Checks by `bitacora archive verify` are not recorded.
    pub verified: String,
}
