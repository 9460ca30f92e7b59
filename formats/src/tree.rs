//! The Merkle tree over all events (RFC 6962, SHA-256), kept as the few hashes that appending needs.

use std::mem;

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::ids::{Commitment, Micros, Position, TreeHash};

/// RFC 6962 section 2.1: the prefixes that keep a leaf from passing for a node.
const LEAF_PREFIX: u8 = 0x00;
const NODE_PREFIX: u8 = 0x01;

/// Leaves of a group, and hashes of a tile in the C2SP tlog-tiles layout.
pub const TILE_WIDTH: usize = 1 << TILE_HEIGHT;
/// The number of levels of the tree that one tile spans.
pub const TILE_HEIGHT: u32 = 8;

/// The roots of the complete subtrees that make up a tree of some size.
///
/// Enough to append and to name the root; leaf number `n` (from 0) is the event at position `n + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<TreeHash>,
}

impl Frontier {
    /// The most peaks a tree can have: one for each bit of its size.
    pub const MAX_PEAKS: usize = u64::BITS as usize;

    /// The empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self { size: 0, peaks: Vec::with_capacity(Self::MAX_PEAKS) }
    }

    /// A frontier as it was stored, the largest subtree first; `None` if a tree of that size has another number
    /// of peaks.
    #[must_use]
    pub fn from_parts(size: u64, peaks: &[TreeHash]) -> Option<Self> {
        (peaks.len() == Self::peak_count(size)).then(|| {
            let mut frontier = Self::new();
            frontier.size = size;
            frontier.peaks.extend_from_slice(peaks);
            frontier
        })
    }

    /// Returns the number of peaks of a tree of this size.
    #[must_use]
    pub fn peak_count(size: u64) -> usize {
        size.count_ones() as usize
    }

    /// Appends one leaf.
    pub fn push(&mut self, leaf: TreeHash) {
        self.push_grouping(leaf);
    }

    /// Appends one leaf; gives the root of the group of [`TILE_WIDTH`] leaves that it completes, if it completes one.
    pub fn push_grouping(&mut self, leaf: TreeHash) -> Option<TreeHash> {
        let mut merged = leaf;
        let mut group = None;
        // Each trailing one of the size is a complete subtree that this leaf completes into one twice as large.
        for height in 1..=self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                merged = node_hash(&left, &merged);
            }
            if height == TILE_HEIGHT {
                group = Some(merged);
            }
        }
        self.peaks.push(merged);
        self.size = self.size.saturating_add(1);
        group
    }

    /// Returns the number of leaves of the tree.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, the largest first.
    #[must_use]
    pub fn peaks(&self) -> &[TreeHash] {
        &self.peaks
    }

    /// The root of the whole tree; of the empty tree the SHA-256 of nothing.
    #[must_use]
    pub fn root(&self) -> TreeHash {
        let folded = self.peaks.iter().rev().copied().reduce(|right, left| node_hash(&left, &right));
        folded.unwrap_or_else(|| TreeHash(Sha256::digest([]).into()))
    }
}

impl Default for Frontier {
    fn default() -> Self {
        Self::new()
    }
}

/// The leaf of one event: SHA-256 of 0x00, the position and the frame's time (both big-endian), and the commitment.
#[must_use]
pub fn leaf_hash(position: Position, time: Micros, commitment: &Commitment) -> TreeHash {
    sha256::<1>(&[&[LEAF_PREFIX], &position.get().to_be_bytes(), &time.0.to_be_bytes(), &commitment.0])
}

/// The root of a complete subtree, from the roots of its parts in order; `None` unless their number is a power of two.
#[must_use]
pub fn fold_complete(parts: &[TreeHash]) -> Option<TreeHash> {
    if !parts.len().is_power_of_two() {
        return None;
    }
    let mut row = parts.to_vec();
    while row.len() > 1 {
        let (pairs, _) = row.as_chunks::<2>();
        row = pairs.iter().map(|[left, right]| node_hash(left, right)).collect();
    }
    row.first().copied()
}

/// The node over two subtrees: SHA-256 of 0x01 and both.
#[must_use]
pub fn node_hash(left: &TreeHash, right: &TreeHash) -> TreeHash {
    sha256::<2>(&[&[NODE_PREFIX], &left.0, &right.0])
}

/// The state that SHA-256 starts with: FIPS 180-4, section 5.3.3.
const SHA256_START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;
/// Bytes of the padding that there is always room for: its first byte and the length.
const MIN_PADDING_BYTES: usize = 1 + 8;

/// SHA-256 of parts that fill so many blocks with their padding.
///
/// Leaves and nodes have fixed lengths and are made three times an event: they are put into blocks here, and not through
/// a hasher that takes bytes of any number.
fn sha256<const BLOCKS: usize>(parts: &[&[u8]]) -> TreeHash {
    let mut blocks = [[0; BLOCK_BYTES]; BLOCKS];
    let mut room = blocks.as_flattened_mut();
    let mut bits = 0_u64;
    for part in parts {
        let Some((place, rest)) = mem::take(&mut room).split_at_mut_checked(part.len()) else { break };
        place.copy_from_slice(part);
        bits += 8 * part.len() as u64;
        room = rest;
    }
    debug_assert!(
        (MIN_PADDING_BYTES..MIN_PADDING_BYTES + BLOCK_BYTES).contains(&room.len()),
        "another number of blocks"
    );
    if let Some(first) = room.first_mut() {
        *first = 0x80;
    }
    if let Some(length) = room.last_chunk_mut() {
        *length = bits.to_be_bytes();
    }
    let mut state = SHA256_START;
    compress256(&mut state, &blocks);
    let mut hash = [0; 32];
    for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    TreeHash(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    /// Leaves and the roots of the trees of the first 0, 1 … 8 of them, as the transparency community tests with:
    /// github.com/transparency-dev/merkle, testonly/constants.go (`LeafInputs`, `RootHashes`).
    const LEAVES: [&str; 8] =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    /// The peaks of the tree of seven (`CompactTrees`).
    const PEAKS_OF_SEVEN: [&str; 3] = [
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
    ];

    fn leaf_of(input: &[u8]) -> TreeHash {
        TreeHash(Sha256::new().chain_update([LEAF_PREFIX]).chain_update(input).finalize().into())
    }

    /// RFC 6962 section 2.1 as it is written, splitting from the top.
    fn root_by_definition(leaves: &[TreeHash]) -> TreeHash {
        match leaves {
            [] => TreeHash(Sha256::digest([]).into()),
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                node_hash(&root_by_definition(left), &root_by_definition(right))
            }
        }
    }

    #[test]
    fn leaves_and_nodes_are_plain_sha_256() {
        for byte in [0_u8, 1, 0x7f, 0x80, 0xff] {
            let [left, right] = [[byte; 32], [!byte; 32]];
            let node = Sha256::new().chain_update([NODE_PREFIX]).chain_update(left).chain_update(right);
            assert_eq!(node_hash(&TreeHash(left), &TreeHash(right)).0[..], node.finalize()[..]);
            let (position, time) = (u64::from(byte) + 1, u64::from(byte) << 40);
            let leaf = [&position.to_be_bytes()[..], &time.to_be_bytes(), &left].concat();
            let hashed = leaf_hash(Position::new(position).unwrap(), Micros(time), &Commitment(left));
            assert_eq!(hashed, leaf_of(&leaf));
        }
    }

    #[test]
    fn roots_and_peaks_are_those_of_the_transparency_community() {
        let mut frontier = Frontier::new();
        assert_eq!(frontier.root().to_string(), ROOTS[0]);
        for (leaf, root) in LEAVES.iter().zip(&ROOTS[1..]) {
            frontier.push(leaf_of(&hex::decode(leaf).unwrap()));
            assert_eq!(frontier.root().to_string(), *root, "of {} leaves", frontier.size());
            if frontier.size() == 7 {
                let peaks: Vec<String> = frontier.peaks().iter().map(ToString::to_string).collect();
                assert_eq!(peaks, PEAKS_OF_SEVEN);
            }
        }
        assert_eq!(frontier.size(), 8);
    }

    #[test]
    fn every_root_is_the_one_of_the_definition() {
        let leaves: Vec<TreeHash> = (0u32..600).map(|n| leaf_of(&n.to_be_bytes())).collect();
        let mut frontier = Frontier::new();
        for (size, leaf) in leaves.iter().enumerate() {
            assert_eq!(frontier.root(), root_by_definition(&leaves[..size]), "of {size} leaves");
            assert_eq!(frontier.peaks().len(), Frontier::peak_count(frontier.size()));
            let restored = Frontier::from_parts(frontier.size(), frontier.peaks());
            assert_eq!(restored.as_ref(), Some(&frontier));
            let group = frontier.push_grouping(*leaf);
            let completed = (size + 1) % TILE_WIDTH == 0;
            let expected = completed.then(|| root_by_definition(&leaves[size + 1 - TILE_WIDTH..=size]));
            assert_eq!(group, expected, "after {} leaves", size + 1);
        }
    }

    #[test]
    fn a_complete_subtree_is_folded_from_a_power_of_two_alone() {
        let leaves: Vec<TreeHash> = (0u32..300).map(|n| leaf_of(&n.to_be_bytes())).collect();
        for count in 0..=leaves.len() {
            let expected = count.is_power_of_two().then(|| root_by_definition(&leaves[..count]));
            assert_eq!(fold_complete(&leaves[..count]), expected, "of {count}");
        }
    }

    #[test]
    fn a_stored_frontier_with_a_peak_too_many_or_too_few_is_none() {
        let peak = leaf_of(b"");
        for (size, peaks) in [(0, 1), (1, 0), (1, 2), (3, 1), (u64::MAX, 63)] {
            assert_eq!(Frontier::from_parts(size, &vec![peak; peaks]), None, "size {size}, {peaks} peaks");
        }
    }

    #[test]
    fn the_worked_example_of_the_document_holds() {
        let document = include_str!("../../docs/formats/tree.md");
        let (hashed, results) = (hex_block(document, 0), hex_block(document, 1));
        let mut frontier = Frontier::new();
        for (bytes, expected) in hashed.chunks(49).zip(results.chunks(32)) {
            let number = |range: std::ops::Range<usize>| u64::from_be_bytes(bytes[range].try_into().unwrap());
            let commitment = Commitment(bytes[17..].try_into().unwrap());
            let leaf = leaf_hash(Position::new(number(1..9)).unwrap(), Micros(number(9..17)), &commitment);
            assert_eq!(leaf.0, expected);
            frontier.push(leaf);
        }
        assert_eq!((frontier.size(), &frontier.root().0[..]), (2, &results[64..]));
    }
}
