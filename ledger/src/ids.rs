//! Which identities were accepted, for the ledger's life: those of ended segments, beside the sequencer's own.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bitacora_formats::{ChainHash, EventKey, SegmentNumber};

use crate::error::ReadError;
use crate::staged::Known;

/// The identities of one segment.
pub(crate) type SegmentIds = HashMap<EventKey, Known>;

/// The identities of ended segments.
#[derive(Default)]
pub(crate) struct IdMemory {
    ended: RwLock<Vec<(SegmentNumber, Arc<SegmentIds>)>>,
}

impl IdMemory {
    /// A segment ended; these identities stand in it.
    pub(crate) fn add_ended(&self, segment: SegmentNumber, _hash: ChainHash, ids: HashMap<EventKey, Known>) {
        let mut ended = self.ended.write().unwrap_or_else(PoisonError::into_inner);
        ended.push((segment, Arc::new(ids)));
    }

    /// Where the identity stands among segments after `checked_through`.
    pub(crate) fn known(
        &self,
        key: &EventKey,
        checked_through: Option<SegmentNumber>,
    ) -> Result<Option<Known>, ReadError> {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        let newer = ended.iter().rev().take_while(|(segment, _)| Some(*segment) > checked_through);
        Ok(newer.into_iter().find_map(|(_, ids)| ids.get(key).copied()))
    }
}
