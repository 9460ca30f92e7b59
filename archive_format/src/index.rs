//! The index of an archive: the groups that have events with a label, and each group's range of times.

use std::ops::Range;

use super::bits::{BitReader, BitWriter};
use super::error::ArchiveError;
use super::term::{ArchiveLabel, ArchiveTerm, TERM_BITS};
use bitacora_formats::Micros;
use bitacora_formats::limits::MAX_ARCHIVE_GROUPS;

/// Pieces of one label's index at most.
pub(super) const MAX_INDEX_SHARDS: usize = 1_024;

/// Terms of one piece, about: each is counted once for each group that has it.
const SHARD_TERMS: usize = 1 << 20;
/// Bits of a term in the index beyond those that tell the values apart: one of 2^8 absent values is taken for one that is there.
const SPARE_BITS: u32 = 8;
/// Bits of a builder's pair that name the group.
const GROUP_BITS: u32 = u64::BITS - TERM_BITS;
/// Bytes of a piece before the bits: the number of values, the bits of a value, and the bits of a gap that are written plainly.
const SHARD_HEADER_BYTES: usize = 6;

const _: () = assert!(MAX_ARCHIVE_GROUPS <= 1 << GROUP_BITS, "a pair names any group");

/// Collects which groups have which terms.
#[derive(Default)]
pub(super) struct IndexBuilder {
    /// For each label the terms, each with its group: the group in the lowest bits.
    pairs: [Vec<u64>; ArchiveLabel::ALL.len()],
    times: Vec<(Micros, Micros)>,
}

impl IndexBuilder {
    /// Adds the next group: its terms in any order, and the times of its first and last event.
    pub(super) fn add(&mut self, terms: &[ArchiveTerm], times: (Micros, Micros)) {
        let group = self.times.len() as u64;
        for term in terms {
            if let Some(pairs) = self.pairs.get_mut(term.label.index()) {
                pairs.push(term.hash << GROUP_BITS | group);
            }
        }
        self.times.push(times);
    }

    /// Returns the number of terms that were added.
    pub(super) fn terms(&self) -> usize {
        self.pairs.iter().map(Vec::len).sum()
    }

    /// The times of all groups, as they are sealed.
    pub(super) fn times(&self) -> Vec<u8> {
        let groups = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        let mut bytes = groups.to_le_bytes().to_vec();
        let mut before = 0;
        for (first, last) in &self.times {
            push_varint(first.0.saturating_sub(before), &mut bytes);
            push_varint(last.0.saturating_sub(first.0), &mut bytes);
            before = last.0;
        }
        bytes
    }

    /// Returns the pieces of one label, as they are sealed, one after another; takes the pairs collected for it.
    pub(super) fn take_shards(&mut self, label: ArchiveLabel) -> Vec<Vec<u8>> {
        let groups = self.times.len();
        let mut pairs = self.pairs.get_mut(label.index()).map(std::mem::take).unwrap_or_default();
        if pairs.is_empty() {
            return Vec::new();
        }
        pairs.sort_unstable();
        pairs.dedup();
        let shards = pairs.len().div_ceil(SHARD_TERMS).next_power_of_two().min(MAX_INDEX_SHARDS);
        let shard_bits = shards.ilog2();
        let mut rest = pairs.as_slice();
        (1..=shards as u128)
            .map(|number| {
                let end = number << (u64::BITS - shard_bits);
                let (shard, after) = rest.split_at(rest.partition_point(|pair| u128::from(*pair) < end));
                rest = after;
                encode_shard(shard, shard_bits, groups)
            })
            .collect()
    }
}

/// The pairs of one piece, all of which begin with the same `shard_bits`.
fn encode_shard(pairs: &[u64], shard_bits: u32, groups: usize) -> Vec<u8> {
    let distinct = pairs.chunk_by(|one, other| one >> GROUP_BITS == other >> GROUP_BITS).count();
    let width = value_bits(distinct as u64, shard_bits);
    let value = |pair: &u64| if width == 0 { 0 } else { pair << shard_bits >> (u64::BITS - width) };
    let group_bits = group_bits(groups);
    // The bits of a gap above these are written in unary.
    let rice = width.saturating_sub(bits_of(distinct as u64));
    let mut writer = BitWriter::default();
    let (mut values, mut due) = (0_u32, 0);
    for chunk in pairs.chunk_by(|one, other| value(one) == value(other)) {
        let Some(first) = chunk.first() else { continue };
        let gap = value(first).saturating_sub(due);
        due = value(first).saturating_add(1);
        values += 1;
        writer.put_unary(gap >> rice);
        writer.put(gap, rice);
        let mut of_value: Vec<u64> = chunk.iter().map(|pair| pair & ((1 << GROUP_BITS) - 1)).collect();
        of_value.sort_unstable();
        of_value.dedup();
        writer.put_gamma(of_value.len() as u64);
        let mut before = None;
        for group in of_value {
            match before {
                None => writer.put(group, group_bits),
                Some(before) => writer.put_gamma(group - before),
            }
            before = Some(group);
        }
    }
    let mut bytes = values.to_le_bytes().to_vec();
    bytes.extend([width, rice].map(|bits| u8::try_from(bits).unwrap_or(u8::MAX)));
    bytes.extend(writer.finish());
    bytes
}

/// Bits of a value in a piece with so many of them.
fn value_bits(values: u64, shard_bits: u32) -> u32 {
    (bits_of(values) + SPARE_BITS).min(TERM_BITS - shard_bits)
}

/// Bits that name any of the groups.
fn group_bits(groups: usize) -> u32 {
    bits_of((groups as u64).saturating_sub(1))
}

fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// A piece of the index of one label.
#[derive(Debug)]
pub struct IndexShard {
    bits: Vec<u8>,
    values: u32,
    width: u32,
    rice: u32,
    shard_bits: u32,
    groups: usize,
}

impl IndexShard {
    /// Returns the number of the piece that has a term, if its label's index has `shards` pieces.
    #[must_use]
    pub fn number_of(term: ArchiveTerm, shards: usize) -> usize {
        let bits = shards.max(1).ilog2();
        usize::try_from(term.hash >> (TERM_BITS - bits)).unwrap_or(usize::MAX)
    }

    /// Reads a piece that was opened, one of `shards`, of an archive with so many groups.
    ///
    /// # Errors
    /// [`ArchiveError::Index`]; its bits are looked at when it is asked.
    pub fn parse(bytes: &[u8], shards: usize, groups: usize) -> Result<Self, ArchiveError> {
        let malformed = |problem| ArchiveError::Index { problem };
        let (header, bits) =
            bytes.split_first_chunk::<SHARD_HEADER_BYTES>().ok_or(malformed("a piece is cut short"))?;
        let [values @ .., width, rice] = *header;
        let shard_bits = shards.max(1).ilog2();
        let (values, width, rice) = (u32::from_le_bytes(values), u32::from(width), u32::from(rice));
        if width + shard_bits > TERM_BITS || rice > width || u64::from(values) > bits.len() as u64 * 8 {
            return Err(malformed("a piece with more values than its bits can hold"));
        }
        Ok(Self { bits: bits.to_vec(), values, width, rice, shard_bits, groups })
    }

    /// The groups that may have events with the term, in order. It must be of this piece's label and hash.
    ///
    /// # Errors
    /// [`ArchiveError::Index`] for bits that no index has.
    pub fn groups_with(&self, term: ArchiveTerm) -> Result<Vec<usize>, ArchiveError> {
        let malformed = ArchiveError::Index { problem: "a piece's bits are none of an index" };
        let wanted = if self.width == 0 {
            0
        } else {
            term.hash << (u64::BITS - TERM_BITS + self.shard_bits) >> (u64::BITS - self.width)
        };
        let mut reader = BitReader::new(&self.bits);
        let mut due = 0_u64;
        for _ in 0..self.values {
            let value = self.next_value(&mut reader, due).ok_or(malformed.clone())?;
            let keep = value == wanted;
            let groups = self.next_groups(&mut reader, keep).ok_or(malformed.clone())?;
            if value >= wanted {
                return Ok(if keep { groups } else { Vec::new() });
            }
            due = value + 1;
        }
        if reader.at_end() { Ok(Vec::new()) } else { Err(malformed) }
    }

    fn next_value(&self, reader: &mut BitReader<'_>, due: u64) -> Option<u64> {
        let above = reader.take_unary()?;
        let gap = above.checked_mul(1 << self.rice)?.checked_add(reader.take(self.rice)?)?;
        due.checked_add(gap).filter(|value| value >> self.width == 0)
    }

    fn next_groups(&self, reader: &mut BitReader<'_>, keep: bool) -> Option<Vec<usize>> {
        let count = reader.take_gamma().filter(|count| *count <= self.groups as u64)?;
        let mut groups = Vec::with_capacity(if keep { usize::try_from(count).ok()? } else { 0 });
        let mut group = reader.take(group_bits(self.groups))?;
        for number in 0..count {
            if number > 0 {
                group = group.checked_add(reader.take_gamma()?)?;
            }
            let index = usize::try_from(group).ok().filter(|index| *index < self.groups)?;
            if keep {
                groups.push(index);
            }
        }
        Some(groups)
    }
}

/// From when to when the events of each group are.
#[derive(Debug)]
pub struct GroupTimes {
    times: Vec<(Micros, Micros)>,
}

impl GroupTimes {
    /// Reads the times that were opened, of an archive with so many groups.
    ///
    /// # Errors
    /// [`ArchiveError::Index`].
    pub fn parse(bytes: &[u8], groups: usize) -> Result<Self, ArchiveError> {
        let malformed = ArchiveError::Index { problem: "the times are not those of its groups" };
        let Some((count, mut rest)) = bytes.split_first_chunk::<4>() else { return Err(malformed) };
        if u32::from_le_bytes(*count) as usize != groups {
            return Err(malformed);
        }
        // A time takes a byte at least.
        let mut times = Vec::with_capacity(groups.min(rest.len()));
        let mut before = 0_u64;
        for _ in 0..groups {
            let mut next = || {
                let added = take_varint(&mut rest)?;
                before = before.checked_add(added)?;
                Some(Micros(before))
            };
            let pair = next().and_then(|first| Some((first, next()?)));
            times.push(pair.ok_or(malformed.clone())?);
        }
        if rest.is_empty() { Ok(Self { times }) } else { Err(malformed) }
    }

    /// The groups that may have events from `first` to `last`, both included.
    #[must_use]
    pub fn groups_between(&self, first: Micros, last: Micros) -> Range<usize> {
        let from = self.times.partition_point(|(_, end)| *end < first);
        let to = self.times.partition_point(|(begin, _)| *begin <= last);
        from..to.max(from)
    }

    /// The times of each group's first and last event.
    #[must_use]
    pub fn all(&self) -> &[(Micros, Micros)] {
        &self.times
    }
}

/// A number in 7 bits a byte, the lowest first; the upper bit says that more follow.
fn push_varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        let [lowest, ..] = number.to_le_bytes();
        bytes.push(lowest | 0x80);
        number >>= 7;
    }
    let [lowest, ..] = number.to_le_bytes();
    bytes.push(lowest);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        number |= part.checked_shl(shift).filter(|shifted| shifted >> shift == part)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
