//! A Bloom filter over the row keys that a rebuild has stored, which spares lookups of absent rows.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::row_key::RowKey;
use crate::limits::SEEN_BYTES;

/// Bits of each key.
const PROBES: u32 = 3;
/// Words of a line of the processor's cache.
const LINE_WORDS: usize = 8;
/// Bits that tell a bit of a line.
const PLACE_BITS: u32 = 9;

/// A Bloom filter over the keys of stored rows. With more rows than it is made for it says of more of them that they may be there.
#[derive(Default)]
pub(crate) struct RowBloom {
    /// Empty until a row is stored.
    words: Vec<u64>,
}

impl RowBloom {
    /// A row is stored under this key.
    pub(crate) fn add(&mut self, key: &RowKey) {
        self.words.resize(SEEN_BYTES / size_of::<u64>(), 0);
        for (word, bit) in places(key) {
            if let Some(word) = self.words.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Returns `true` if a row may ever have been stored under this key. `false` is certain.
    pub(crate) fn may_hold(&self, key: &RowKey) -> bool {
        places(key).all(|(word, bit)| self.words.get(word).is_some_and(|word| word & bit != 0))
    }
}

/// The word and the bit in it of each probe, all in one line of the processor's cache. Keys are keyed hashes, so that nobody chooses which
/// of them fall together.
fn places(key: &RowKey) -> impl Iterator<Item = (usize, u64)> {
    let hash = FixedState::default().hash_one(key);
    let lines = SEEN_BYTES / (LINE_WORDS * size_of::<u64>());
    let line = usize::try_from(hash >> 32).unwrap_or_default() % lines * LINE_WORDS;
    (0..PROBES).map(move |probe| {
        let place = hash >> (probe * PLACE_BITS);
        (line + usize::try_from(place / 64).unwrap_or_default() % LINE_WORDS, 1 << (place % 64))
    })
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{RowKeys, Secret};

    use super::*;

    #[test]
    fn what_was_added_is_there_and_hardly_anything_else() {
        let keys = RowKeys::new(&Secret::take(&mut [7; 32]), "words", 1);
        let key = |number: u64| RowKey::new(&keys, 1, &[&number.to_le_bytes()]);
        let mut seen = RowBloom::default();
        assert!(!seen.may_hold(&key(0)));
        (0..100_000).for_each(|number| seen.add(&key(number)));
        assert!((0..100_000).all(|number| seen.may_hold(&key(number))));
        let wrong = (100_000..200_000).filter(|number| seen.may_hold(&key(*number))).count();
        assert!(wrong < 100, "{wrong} of 100,000 that were never added");
    }
}
