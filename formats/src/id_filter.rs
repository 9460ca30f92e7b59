//! The Bloom filter of an id table, which tells identities that the table certainly lacks.
//!
//! Layout: `docs/formats/id_table.md`.
//!
//! It is a blocked filter: each identity sets a few bits of one block, so that a look-up costs one cache line.
//! Identities are keyed hashes. Their own bits therefore serve as the hashes, and only a holder of the key can choose
//! which collide.

use crate::EventKey;

/// Bytes of a block: one cache line.
pub const ID_FILTER_BLOCK_BYTES: usize = 64;

/// Identities for each block: about 12 bits each, which lets about 1 of 200 absent ones through.
const IDS_PER_BLOCK: u64 = 42;
/// Bits that an identity sets.
const BITS_PER_ID: u32 = 7;
/// Bits of a key that choose one bit of a block.
const BIT_CHOICE: u32 = (ID_FILTER_BLOCK_BYTES * 8).trailing_zeros();

const _: () = assert!(BITS_PER_ID * BIT_CHOICE <= u64::BITS, "half a key chooses all bits");

type Block = [u8; ID_FILTER_BLOCK_BYTES];

/// A Bloom filter over the identities of a table. A false positive costs one look-up; there are no false negatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdFilter {
    blocks: Vec<Block>,
}

impl IdFilter {
    /// Blocks of the filter of a table with so many identities; at least one.
    #[must_use]
    pub const fn blocks(identities: u64) -> u64 {
        let blocks = identities.div_ceil(IDS_PER_BLOCK);
        if blocks == 0 { 1 } else { blocks }
    }

    /// An empty filter for so many identities.
    #[must_use]
    pub fn for_identities(identities: u64) -> Self {
        let blocks = usize::try_from(Self::blocks(identities)).unwrap_or(usize::MAX);
        Self { blocks: vec![[0; ID_FILTER_BLOCK_BYTES]; blocks] }
    }

    /// Adds an identity.
    pub fn insert(&mut self, key: &EventKey) {
        let (index, bits) = self.place(key);
        if let Some(block) = self.blocks.get_mut(index) {
            for bit in chosen_bits(bits) {
                if let Some(byte) = block.get_mut(bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
        }
    }

    /// Returns `true` if the identity may have been added; `false` is certain.
    #[must_use]
    pub fn may_contain(&self, key: &EventKey) -> bool {
        let (index, bits) = self.place(key);
        let is_set =
            |block: &Block, bit: usize| block.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0);
        self.blocks.get(index).is_some_and(|block| chosen_bits(bits).all(|bit| is_set(block, bit)))
    }

    /// The blocks as they are stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.blocks.as_flattened()
    }

    /// A place for the stored blocks to be read into.
    #[must_use]
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        self.blocks.as_flattened_mut()
    }

    /// Bytes it takes in memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Never: a filter has at least one block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block of a key and the bits that choose within it: the first half of the key in proportion to the number of
    /// blocks, and the second half.
    fn place(&self, key: &EventKey) -> (usize, u64) {
        let EventKey([a, b, c, d, e, f, g, h, rest @ ..]) = key;
        let share = u128::from(u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]));
        let index = (share * self.blocks.len() as u128) >> u64::BITS;
        (usize::try_from(index).unwrap_or(usize::MAX), u64::from_le_bytes(*rest))
    }
}

/// The bits of a block, from the low end of `bits` up.
fn chosen_bits(bits: u64) -> impl Iterator<Item = usize> {
    let mask = (1 << BIT_CHOICE) - 1;
    (0..BITS_PER_ID)
        .map(move |number| usize::try_from((bits >> (number * BIT_CHOICE)) & mask).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The `number`th identity: spread as keyed hashes are.
    fn key(number: u64) -> EventKey {
        let hash = blake3::hash(&number.to_le_bytes());
        EventKey(*hash.as_bytes().first_chunk().unwrap())
    }

    #[test]
    fn what_was_added_is_always_found_and_little_else() {
        for count in [0, 1, 42, 43, 10_000] {
            let mut filter = IdFilter::for_identities(count);
            (0..count).for_each(|number| filter.insert(&key(number)));
            assert!((0..count).all(|number| filter.may_contain(&key(number))), "{count}");
            let passed = (0..20_000).filter(|number| filter.may_contain(&key(1 << 40 | number))).count();
            assert!(passed <= 20_000 / 100, "{passed} of 20,000 absent ones pass a filter of {count}");
        }
    }

    #[test]
    fn it_takes_about_twelve_bits_each() {
        let filter = IdFilter::for_identities(100_000);
        let bits = filter.len() * 8;
        assert!((1_215_000..1_225_000).contains(&bits), "{bits}");
        assert_eq!(filter.len() as u64, IdFilter::blocks(100_000) * 64);
    }

    #[test]
    fn the_ends_of_the_key_range_have_a_block() {
        let mut filter = IdFilter::for_identities(1_000);
        for key in [EventKey([0; 16]), EventKey([0xff; 16])] {
            assert!(!filter.may_contain(&key));
            filter.insert(&key);
            assert!(filter.may_contain(&key));
        }
        let set: Vec<_> = filter.as_bytes().iter().enumerate().filter(|(_, byte)| **byte != 0).collect();
        assert_eq!((set.first(), set.last()), (Some(&(0, &1)), Some(&(filter.len() - 1, &0x80))));
    }
}
