//! Events that a ledger writes about itself.
//!
//! Only the service writes them. Their names are older than the others and written as HTTP has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, EventData, EventPosition, FreeText, Name, PathText, Sha256Text};
use bitacora_formats::HEADED_KIND;
use bitacora_formats::limits::MAX_NOTE_BYTES;

/// `ledger.created`: position 1 of every ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCreated {
    /// Its id.
    pub ledger: BoundedText<32>,
    /// Its name.
    pub name: BoundedText<64>,
    /// The generation: the number of its life between declared losses.
    pub generation: Count,
    /// Its first signing key.
    pub signing_key: Sha256Text,
    /// The limits on its input.
    pub limits: LedgerLimits,
    /// The rules by which events follow from events.
    pub reactor_version: Count,
}

/// Limits of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLimits {
    /// Bytes of a segment.
    pub segment_bytes: Count,
    /// Bytes of a request.
    pub request_bytes: Count,
}

/// `ledger.opened`: it was opened for writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerOpened {
    /// The number of the opening.
    pub epoch: Count,
    /// The rules by which events follow from events.
    pub reactor_version: Count,
    /// The version of the program.
    pub service_version: Name,
}

/// `ledger.headed`: a tree head is about to be signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerHeaded {
    /// The number of durable events.
    pub size: EventPosition,
    /// The chain hash of the frame that ends there.
    pub hash: Sha256Text,
}

/// `ledger.tail-cut`: an opening cut torn bytes off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerTailCut {
    /// The segment.
    pub segment: Name,
    /// The offset of the first of them in the segment, in bytes.
    pub offset: Count,
    /// The number of bytes.
    pub bytes: Count,
    /// The file they are kept in.
    pub quarantine: PathText,
    /// BLAKE3 over them; events before this member came have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Sha256Text>,
}

/// `ledger.frames-put-back`: frames that the disk turned out not to have are back in their places, from quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerFramesPutBack {
    /// The segment.
    pub segment: Name,
    /// The offset of the first of them in the segment, in bytes.
    pub offset: Count,
    /// The number of bytes.
    pub bytes: Count,
    /// The file they were kept in.
    pub quarantine: PathText,
    /// BLAKE3 over them.
    pub hash: Sha256Text,
}

/// `ledger.read-only`: appends are not taken any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerReadOnly {
    /// The reason.
    pub reason: FreeText,
}

/// `ledger.writable`: they are taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerWritable {}

/// `ledger.recovered`: begins a generation, after a loss that was declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerRecovered {
    /// The generation that begins.
    pub generation: Count,
    /// The last tree head that is not reached any more, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_head: Option<LostHead>,
    /// The note that the anchor remembered, from which it is moved on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchored: Option<BoundedText<MAX_NOTE_BYTES>>,
    /// The head from which the ledger goes on.
    pub retained: RetainedHead,
}

/// A tree head that is not reached any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostHead {
    /// The number of events.
    pub size: EventPosition,
    /// Their root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Sha256Text>,
    /// The signed note that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<BoundedText<MAX_NOTE_BYTES>>,
}

/// The head from which a ledger goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetainedHead {
    /// The number of events that are left.
    pub size: EventPosition,
    /// Their root.
    pub root: Sha256Text,
    /// The chain hash of the last frame.
    pub hash: Sha256Text,
}

impl EventData for LedgerCreated {
    const KIND: &'static str = "ledger.created";
    const VERSION: u32 = 1;
}

impl EventData for LedgerOpened {
    const KIND: &'static str = "ledger.opened";
    const VERSION: u32 = 1;
}

impl EventData for LedgerHeaded {
    const KIND: &'static str = HEADED_KIND;
    const VERSION: u32 = 1;
}

impl EventData for LedgerTailCut {
    const KIND: &'static str = "ledger.tail-cut";
    const VERSION: u32 = 1;
}

impl EventData for LedgerFramesPutBack {
    const KIND: &'static str = "ledger.frames-put-back";
    const VERSION: u32 = 1;
}

impl EventData for LedgerReadOnly {
    const KIND: &'static str = "ledger.read-only";
    const VERSION: u32 = 1;
}

impl EventData for LedgerWritable {
    const KIND: &'static str = "ledger.writable";
    const VERSION: u32 = 1;
}

impl EventData for LedgerRecovered {
    const KIND: &'static str = "ledger.recovered";
    const VERSION: u32 = 1;
}
