//! The identities of one segment, while they are in memory.

use std::collections::hash_map::Entry;

use bitacora_formats::{Commitment, EventKey, Position};

use crate::host::key_map::KeyMap;

/// Maps that a segment's identities are spread over, so that none is large when it grows: growing one of a million at once
/// would stop the sequencer for a tenth of a second.
const SHARDS: usize = 64;

/// An identity that was accepted, and enough of its commitment to tell other content from the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownIdentity {
    pub(crate) position: Position,
    pub(crate) content: [u8; 8],
}

impl KnownIdentity {
    pub(crate) fn new(position: Position, commitment: &Commitment) -> Self {
        Self { position, content: content_of(commitment) }
    }

    pub(crate) fn is_same_content(&self, commitment: &Commitment) -> bool {
        self.content == content_of(commitment)
    }
}

fn content_of(commitment: &Commitment) -> [u8; 8] {
    let mut content = [0; 8];
    content.copy_from_slice(commitment.0.split_at(8).0);
    content
}

/// The positions of a segment's identities.
pub(crate) struct SegmentIds {
    shards: Vec<KeyMap<EventKey, KnownIdentity>>,
    count: usize,
}

impl SegmentIds {
    pub(crate) fn get(&self, key: &EventKey) -> Option<&KnownIdentity> {
        self.shards.get(shard_of(key))?.get(key)
    }

    pub(crate) fn insert(&mut self, key: EventKey, known: KnownIdentity) {
        if let Some(shard) = self.shards.get_mut(shard_of(&key)) {
            self.count += usize::from(shard.insert(key, known).is_none());
        }
    }

    /// Adds an identity unless it is there; whether it was added.
    pub(crate) fn insert_new(&mut self, key: EventKey, known: KnownIdentity) -> bool {
        let shard = self.shards.get_mut(shard_of(&key));
        let Some(Entry::Vacant(place)) = shard.map(|shard| shard.entry(key)) else { return false };
        place.insert(known);
        self.count += 1;
        true
    }

    pub(crate) fn remove(&mut self, key: &EventKey) -> Option<KnownIdentity> {
        let removed = self.shards.get_mut(shard_of(key))?.remove(key);
        self.count -= usize::from(removed.is_some());
        removed
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&EventKey, &KnownIdentity)> {
        self.shards.iter().flatten()
    }
}

impl Default for SegmentIds {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| KeyMap::default()).collect(), count: 0 }
    }
}

impl FromIterator<(EventKey, KnownIdentity)> for SegmentIds {
    fn from_iter<I: IntoIterator<Item = (EventKey, KnownIdentity)>>(ids: I) -> Self {
        let mut segment = Self::default();
        ids.into_iter().for_each(|(key, known)| segment.insert(key, known));
        segment
    }
}

/// By the last byte: the first ones place an identity within its shard.
fn shard_of(key: &EventKey) -> usize {
    let [.., last] = key.0;
    usize::from(last) % SHARDS
}
