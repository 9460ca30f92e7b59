//! Contents that are stored once: cut into pieces by content, each known by a keyed digest.
//!
//! A content may be named any number of times. Layout: `docs/formats/content.md`.

use std::ops::Range;

use crate::{KeyUse, LedgerId, Secret, derive};

/// Bytes of one content: the sum of its pieces.
pub const MAX_CONTENT_BYTES: usize = 64 << 20;
/// Pieces of one content.
pub const MAX_CONTENT_PIECES: usize = 4_096;
/// Contents up to this size are cut finely, so that a small change stores little.
const FINELY_CUT_BYTES: usize = 1 << 20;
/// The widths of pieces of such a content.
const FINE: PieceWidths = PieceWidths { least: 2 << 10, most: 32 << 10, bits: 13 };
/// The widths of pieces of a larger one, of which there would be too many.
const COARSE: PieceWidths = PieceWidths { least: 32 << 10, most: 512 << 10, bits: 17 };

/// The limits on the widths of a content's pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PieceWidths {
    /// Bytes of all but the last piece, at least.
    least: usize,
    /// Bytes of any piece, at most.
    most: usize,
    /// Past the least, a piece ends at one place in 2^bits, on average.
    bits: u32,
}

const _: () = {
    assert!(FINELY_CUT_BYTES / FINE.least <= MAX_CONTENT_PIECES);
    assert!(
        MAX_CONTENT_BYTES / COARSE.least + MAX_CONTENT_BYTES / crate::limits::MAX_REQUEST_BYTES
            <= MAX_CONTENT_PIECES,
        "a content of any size is named by its pieces, also where it came in several requests"
    );
    assert!(COARSE.most <= crate::limits::MAX_DATA_BYTES, "a piece fits an event");
};

/// The numbers that each byte adds to the rolling hash. Any numbers without a pattern will do, but they must never change.
static ADDENDS: [u64; 256] = addends();

/// The ranges of a content's pieces, in order, without gaps; none of a content without bytes.
///
/// Where a piece ends is said by the 64 bytes before it, so that a change moves the ends near it and no others.
#[must_use]
pub fn pieces(content: &[u8]) -> Vec<Range<usize>> {
    let widths = if content.len() <= FINELY_CUT_BYTES { FINE } else { COARSE };
    let mut ranges = Vec::with_capacity(content.len() / (widths.least << 1) + 1);
    let mut start = 0;
    while let Some(rest) = content.get(start..).filter(|rest| !rest.is_empty()) {
        let end = start + first_piece(rest, widths);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// Bytes of the first piece: all, where nothing ends it.
fn first_piece(content: &[u8], widths: PieceWidths) -> usize {
    let mut hash = 0_u64;
    // The bits that a byte has moved furthest, and that therefore all of the last 64 bytes had a part in.
    let mask = u64::MAX << (u64::BITS - widths.bits);
    // Bytes further back than 64 are shifted out.
    let from = widths.least.saturating_sub(u64::BITS as usize);
    for (at, byte) in content.iter().enumerate().take(widths.most).skip(from) {
        hash = (hash << 1).wrapping_add(ADDENDS.get(usize::from(*byte)).copied().unwrap_or_default());
        if at + 1 >= widths.least && hash & mask == 0 {
            return at + 1;
        }
    }
    content.len().min(widths.most)
}

/// The digest of a piece, by the ledger's `DerivedState` key.
#[must_use]
pub fn content_digest(derived_state_key: &Secret, piece: &[u8]) -> [u8; 32] {
    let key = derive(KeyUse::ContentDigest, derived_state_key.expose(), &[]);
    *blake3::keyed_hash(key.expose(), piece).as_bytes()
}

/// The digest of a piece that is sealed under a data subject's key: it is nobody else's, and says nothing once the key is gone.
#[must_use]
pub fn subject_content_digest(subject_key: &Secret, ledger: LedgerId, piece: &[u8]) -> [u8; 32] {
    let key = derive(KeyUse::SubjectContent, subject_key.expose(), &[&ledger.0]);
    *blake3::keyed_hash(key.expose(), piece).as_bytes()
}

/// SplitMix64 from 0.
const fn addends() -> [u64; 256] {
    let mut table = [0; 256];
    let (mut state, mut at) = (0_u64, 0);
    while at < table.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::indexing_slicing, reason = "the loop ends at the table's length")]
        {
            table[at] = mixed ^ (mixed >> 31);
        }
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    const DOCUMENT: &str = include_str!("../../docs/formats/content.md");

    /// Bytes without pattern, as the document makes them.
    fn noise(bytes: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u8::try_from(state >> 56).unwrap()
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn contents(content: &[u8]) -> Vec<&[u8]> {
        pieces(content).into_iter().map(|range| &content[range]).collect()
    }

    #[test]
    fn pieces_are_all_of_the_content_in_order_within_their_widths() {
        for (bytes, widths) in [(0, FINE), (1, FINE), (FINE.least, FINE), (300_000, FINE), (5 << 20, COARSE)]
        {
            for content in [noise(bytes, 7), vec![0; bytes]] {
                let pieces = contents(&content);
                assert_eq!(pieces.concat(), content);
                let (last, others) = pieces.split_last().map_or((0, &[][..]), |(l, o)| (l.len(), o));
                assert!(last <= widths.most && (last > 0 || bytes == 0));
                assert!(others.iter().all(|piece| (widths.least..=widths.most).contains(&piece.len())));
            }
        }
    }

    #[test]
    fn a_change_makes_few_pieces_new() {
        let content = noise(400_000, 3);
        let mut grown = content.clone();
        grown.splice(200_000..200_000, noise(50, 9));
        grown.extend(noise(700, 11));
        let before: std::collections::HashSet<_> = contents(&content).into_iter().collect();
        let new = contents(&grown).into_iter().filter(|piece| !before.contains(piece)).count();
        assert!(before.len() > 20 && (1..=5).contains(&new), "{new} of {}", before.len());
    }

    #[test]
    fn the_document_shows_where_this_content_is_cut_and_what_its_pieces_are_called() {
        let content = noise(20_000, 1);
        let ends: Vec<u8> = pieces(&content)
            .iter()
            .flat_map(|range| u32::try_from(range.end).unwrap().to_be_bytes())
            .collect();
        let derived = Secret::take(&mut [5; 32]);
        let subject = Secret::take(&mut [6; 32]);
        let ledger = LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()));
        let shown = [
            ends,
            content_digest(&derived, b"content").to_vec(),
            subject_content_digest(&subject, ledger, b"content").to_vec(),
        ];
        assert_eq!(hex::encode(shown.concat()), hex::encode(hex_block(DOCUMENT, 0)));
    }
}
