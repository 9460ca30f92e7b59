//! The entries of the index: the keyed hash of a label, and an offset in the block.

use std::ops::RangeInclusive;

use siphasher::sip::SipHasher24;

use crate::Secret;
use crate::kdf::{KeyUse, derive};

/// Bits of an entry that say where in the block the event stands.
pub const INDEX_OFFSET_BITS: u32 = 18;
/// The offset's bits.
const OFFSET_MASK: u64 = (1 << INDEX_OFFSET_BITS) - 1;

/// A label of events that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexField {
    /// The event's `type`.
    Kind,
    /// Its `subject`.
    Stream,
    /// Its `actor`.
    Actor,
    /// Its `agent`.
    Agent,
    /// Its `session`.
    Session,
    /// Its `run`.
    Run,
    /// Its `call`.
    Call,
    /// One of its tags.
    Tag,
}

impl IndexField {
    /// Every label, in the order of their numbers from 1.
    pub const ALL: [Self; 8] =
        [Self::Kind, Self::Stream, Self::Actor, Self::Agent, Self::Session, Self::Run, Self::Call, Self::Tag];
}

/// The keyed hash of a label and its value: the upper bits of the entries of all events that carry it.
///
/// Two values may share one hash, which costs a look at an event that does not match. A reader that finds an event by
/// its term still compares the label itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexTerm(u64);

impl IndexTerm {
    /// The entry that says: the event at `offset` from the block's first carries this label. Offsets past
    /// [`INDEX_OFFSET_BITS`] bits lose what is above.
    #[must_use]
    pub const fn entry(self, offset: u64) -> u64 {
        self.0 | offset & OFFSET_MASK
    }

    /// The entries of this term whose offsets lie between two, both included.
    #[must_use]
    pub const fn entries(self, first: u64, last: u64) -> RangeInclusive<u64> {
        self.entry(first)..=self.entry(last)
    }

    /// The offset in an entry.
    #[must_use]
    pub const fn offset_of(entry: u64) -> u64 {
        entry & OFFSET_MASK
    }
}

/// Makes the terms of one ledger: SipHash-2-4 under a key for each label.
///
/// An index asks for millions of hashes a second, and encryption hides them. A short keyed hash is therefore enough.
/// Names that stand in clear are BLAKE3.
pub struct IndexTerms {
    hashers: [SipHasher24; IndexField::ALL.len()],
}

impl IndexTerms {
    /// The terms of the ledger whose derived-state key this is.
    #[must_use]
    pub fn new(derived_state_key: &Secret) -> Self {
        let mut number = 0_u8;
        let hashers = IndexField::ALL.map(|_| {
            number += 1;
            let key = derive(KeyUse::IndexTerm, derived_state_key.expose(), &[&[number]]);
            let (half, _) = key.expose().split_first_chunk().unwrap_or((&[0; 16], &[]));
            SipHasher24::new_with_key(half)
        });
        Self { hashers }
    }

    /// The term of a label's value.
    #[must_use]
    pub fn term(&self, field: IndexField, value: &str) -> IndexTerm {
        let hash = self.hashers.get(field as usize).map_or(0, |hasher| hasher.hash(value.as_bytes()));
        IndexTerm(hash & !OFFSET_MASK)
    }
}
