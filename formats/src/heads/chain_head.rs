//! `ledger.headed`: the event that puts the chain hash of the stored bytes into the tree.
//!
//! It is recorded before a head is made of the tree.

use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::HeadEntry;
use crate::ids::{ChainHash, Commitment, LedgerId, Position};
use crate::keys::commitment;
use crate::record::{Record, RecordData, RecordError, decode_record};

/// The event's type.
pub const HEADED_KIND: &str = "ledger.headed";
/// The stream of the service's own events.
pub const HEADED_STREAM: &str = "ledger";

/// An error because of which an entry's event does not name the stored bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadedError {
    /// The record and blind are not those of the event in the tree.
    #[error(
        "commitment {expected} of the event at position {position} expected, blind and record give {found}"
    )]
    Commitment {
        /// The position of the event.
        position: Position,
        /// The commitment in the tree at that position.
        expected: Commitment,
        /// The commitment that the entry gives.
        found: Commitment,
    },
    /// The record cannot be read.
    #[error("the record of the event at position {position}: {source}")]
    Record {
        /// The position of the event.
        position: Position,
        /// The error of the record.
        source: RecordError,
    },
    /// The event is another one.
    #[error(
        "the event at position {position} is no '{HEADED_KIND}' of this ledger; it says nothing of a head"
    )]
    OtherEvent {
        /// The position of the event.
        position: Position,
    },
    /// The event's data does not have the members of such an event.
    #[error("the event at position {position} does not say a size before it and a chain hash")]
    Data {
        /// The position of the event.
        position: Position,
    },
}

/// The data of an event `ledger.headed`: the chain hash of the frame that ends at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The last position of that frame, before the event's own.
    pub size: Position,
    /// The chain hash after that frame: it stands for every stored byte up to there.
    pub hash: ChainHash,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadedData<'a> {
    size: &'a str,
    hash: &'a str,
}

impl ChainHead {
    /// The data of the event: JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!(r#"{{"size":"{}","hash":"{}"}}"#, self.size, self.hash)
    }

    fn parse(json: &[u8], position: Position) -> Option<Self> {
        let data: HeadedData<'_> = serde_json::from_slice(json).ok()?;
        let headed = Self { size: data.size.parse().ok()?, hash: data.hash.parse().ok()? };
        (headed.size < position).then_some(headed)
    }
}

/// The `source` of the events that the service of a ledger writes itself.
#[must_use]
pub fn service_source(ledger: LedgerId) -> String {
    format!("urn:bitacora:ledger:{ledger}")
}

impl HeadEntry {
    /// Checks the entry's event against the commitment in the leaf at its position, and returns its data.
    ///
    /// The caller must compare the chain hash with that of the frame that ends there.
    ///
    /// # Errors
    /// A [`HeadedError`]: the record is not the one in the tree, or no `ledger.headed` of this ledger.
    pub fn headed(&self, ledger: LedgerId, in_tree: &Commitment) -> Result<ChainHead, HeadedError> {
        let position = self.position;
        let found = commitment(&self.blind, &self.record);
        if !bool::from(found.0.ct_eq(&in_tree.0)) {
            return Err(HeadedError::Commitment { position, expected: *in_tree, found });
        }
        let record =
            decode_record(&self.record).map_err(|source| HeadedError::Record { position, source })?;
        if !is_headed(&record, ledger) {
            return Err(HeadedError::OtherEvent { position });
        }
        match &record.data {
            RecordData::Json(json) => {
                ChainHead::parse(json.as_bytes(), position).ok_or(HeadedError::Data { position })
            }
            _ => Err(HeadedError::Data { position }),
        }
    }
}

fn is_headed(record: &Record<'_>, ledger: LedgerId) -> bool {
    record.kind == HEADED_KIND && record.stream == HEADED_STREAM && record.source == service_source(ledger)
}
