//! The writer of an archive, piece by piece: groups of events as they come, then all the rest.

use std::collections::BTreeMap;

use zeroize::Zeroize;

use super::error::ArchiveError;
use super::group::{GroupSummary, SealedGroup, seal_contents};
use super::header::{ARCHIVE_HEADER_BYTES, ArchiveHeader};
use super::index::IndexBuilder;
use super::key::ArchiveKey;
use super::manifest::{
    ChainLink, ExpiryLine, Manifest, SegmentLink, SignedManifest, StateLine, TableDigest, TreeHeadProof,
    WrappedKey,
};
use super::range::{ArchiveRange, Revision};
use super::table::{PART_ENTRY_BYTES, PartEntry, PartKind, PartTable, STATE_PART_BYTES, TIMES_LABEL};
use super::term::ArchiveLabel;
use super::trailer::{ARCHIVE_TRAILER_BYTES, ArchiveTrailer};
use super::tree::{grown, subtree_roots};
use bitacora_formats::Frontier;
use bitacora_formats::LedgerOrigin;
use bitacora_formats::limits::{
    MAX_ARCHIVE_GROUP_BYTES, MAX_ARCHIVE_GROUPS, MAX_ARCHIVE_PARTS, MAX_ARCHIVE_TERMS,
};
use bitacora_formats::{Codec, Compressor, Keyring, MAX_STATE_BYTES, Micros, Position, Secret, TreeHash};

/// The events that an archive is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivePlan {
    /// The ledger, in the generation that it is in.
    pub origin: LedgerOrigin,
    /// The positions.
    pub range: ArchiveRange,
    /// The revision: behind the first one if an archive is packed again.
    pub revision: Revision,
}

/// The unpredictable values of an archive, never the same twice.
pub struct ArchiveSecrets {
    data_key: Secret,
    wrap_salt: [u8; 16],
}

impl ArchiveSecrets {
    /// Asks `random` for the data key (32 bytes), then for the wrap salt (16).
    pub fn generate(random: &mut dyn FnMut(&mut [u8])) -> Self {
        let (mut key, mut wrap_salt) = ([0; 32], [0; 16]);
        random(&mut key);
        random(&mut wrap_salt);
        let data_key = Secret::take(&mut key);
        key.zeroize();
        Self { data_key, wrap_salt }
    }

    /// The keys that an archive of this plan is sealed under.
    #[must_use]
    pub fn key(&self, plan: &ArchivePlan) -> ArchiveKey {
        ArchiveKey::new(&self.data_key, plan.header())
    }
}

impl ArchivePlan {
    fn header(&self) -> ArchiveHeader {
        let LedgerOrigin { ledger, generation, .. } = self.origin;
        ArchiveHeader { ledger, generation, first: self.range.first().get() }
    }
}

/// The facts around the events of an archive, which only the ledger knows.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The time at which the archive was made.
    pub made: Micros,
    /// The version of the reactor.
    pub reactor: u32,
    /// The chain where the archive begins.
    pub chain_before: ChainLink,
    /// The chain where it ends.
    pub chain_after: ChainLink,
    /// The segments that begin in it, in order.
    pub segments: Vec<SegmentLink>,
    /// The tree before its first event.
    pub tree_before: Frontier,
    /// The roots of all its groups of 256 leaves, in order.
    pub group_roots: Vec<TreeHash>,
    /// A tree head that covers it.
    pub tree_head: Option<TreeHeadProof>,
    /// The state that decides, as it stood at an event of it.
    pub state: Option<ArchivedState>,
}

/// The state that decides, as a reactor writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedState {
    /// The last event that is folded.
    pub position: Position,
    /// The bytes that the reactor wrote.
    pub bytes: Vec<u8>,
}

/// The rest of an archive behind its groups.
#[derive(Debug)]
pub struct FinishedArchive {
    /// The pieces to append, in order.
    pub pieces: Vec<Vec<u8>>,
    /// The ledger's statement about the archive, under its signature.
    pub manifest: SignedManifest,
    /// Bytes of the whole archive.
    pub archive_bytes: u64,
    /// Those of them that are the index.
    pub index_bytes: u64,
}

/// The limits of one archive beyond that on parts.
struct ArchiveLimits {
    group_bytes: u64,
    terms: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { group_bytes: MAX_ARCHIVE_GROUP_BYTES, terms: MAX_ARCHIVE_TERMS }
    }
}

/// Makes one archive. The bytes it gives are appended in the order in which it gives them.
pub struct ArchiveWriter {
    plan: ArchivePlan,
    secrets: ArchiveSecrets,
    key: ArchiveKey,
    entries: Vec<PartEntry>,
    contents: Contents,
    room: ArchiveLimits,
}

/// Sums over the events of an archive, counted as its groups come.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) index: IndexBuilder,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) bytes: u64,
    pub(super) times: Option<(Micros, Micros)>,
    pub(super) expired: u64,
}

impl Contents {
    pub(super) fn add(&mut self, summary: GroupSummary) {
        self.index.add(&summary.terms, summary.times);
        for (kind, count) in summary.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.bytes += summary.bytes;
        self.expired += summary.expired;
        let first = self.times.map_or(summary.times.0, |(first, _)| first);
        self.times = Some((first, summary.times.1));
    }
}

impl ArchiveWriter {
    /// Begins an archive; the second is the first bytes of its file.
    #[must_use]
    pub fn new(plan: ArchivePlan, secrets: ArchiveSecrets) -> (Self, [u8; ARCHIVE_HEADER_BYTES]) {
        let (key, header) = (secrets.key(&plan), plan.header().encode());
        let (entries, contents, room) = (Vec::new(), Contents::default(), ArchiveLimits::default());
        let writer = Self { plan, secrets, key, entries, contents, room };
        (writer, header)
    }

    /// The keys that groups are sealed under.
    #[must_use]
    pub fn key(&self) -> &ArchiveKey {
        &self.key
    }

    /// Takes the next group; gives its bytes, to be appended.
    ///
    /// # Errors
    /// [`ArchiveError::OutOfTurn`] for a group that is not the next one, [`ArchiveError::TooManyParts`] and
    /// [`ArchiveError::TooMuch`] where the archive takes no more; nothing is added then.
    pub fn add(&mut self, group: SealedGroup) -> Result<Vec<u8>, ArchiveError> {
        let range = self.plan.range;
        let due =
            self.entries.last().map_or(range.first().get(), |entry| entry.position + u64::from(entry.count));
        let end = group.entry.position.saturating_add(group.entry.count.into());
        if group.entry.position != due || end > range.last().get() + 1 {
            return Err(ArchiveError::OutOfTurn { expected: due, found: group.entry.position });
        }
        if self.entries.len() >= MAX_ARCHIVE_GROUPS || group.entry.number as usize != self.entries.len() {
            return Err(ArchiveError::TooManyParts);
        }
        if self.end() + u64::from(group.entry.stored_bytes) > self.room.group_bytes {
            return Err(ArchiveError::TooMuch { what: "bytes of events" });
        }
        if self.contents.index.terms() + group.summary.terms.len() > self.room.terms {
            return Err(ArchiveError::TooMuch { what: "terms of the index" });
        }
        self.contents.add(group.summary);
        self.place(group.entry);
        Ok(group.stored)
    }

    /// Ends the archive. The keyring signs it and wraps its key.
    ///
    /// # Errors
    /// An [`ArchiveError`] where events are missing, or where the facts are not those of the events.
    pub fn finish(
        mut self,
        facts: Facts,
        keyring: &Keyring,
        compressor: &mut Compressor,
    ) -> Result<FinishedArchive, ArchiveError> {
        let (origin, range) = (self.plan.origin.clone(), self.plan.range);
        let due =
            self.entries.last().map_or(range.first().get(), |entry| entry.position + u64::from(entry.count));
        if due != range.last().get() + 1 {
            return Err(ArchiveError::OutOfTurn { expected: due, found: range.last().get() + 1 });
        }
        let subtrees = subtree_roots(range, &facts.group_roots)?;
        let tree_after = grown(&facts.tree_before, range, &subtrees);
        let tree_after = tree_after.ok_or(ArchiveError::Tree { what: "the size before the archive" })?;

        let mut pieces = vec![self.roots(&facts.group_roots)?];
        let index_from = self.end();
        self.index(compressor, &mut pieces)?;
        let index_bytes = self.end() - index_from;
        let state = facts.state.map(|state| self.state(&state, compressor, &mut pieces)).transpose()?;
        if self.entries.len() > MAX_ARCHIVE_PARTS {
            return Err(ArchiveError::TooManyParts);
        }

        let (revision, events) = (self.plan.revision, self.contents.expired);
        let expiry = (revision > Revision::FIRST || events > 0).then_some(ExpiryLine { revision, events });
        let table_offset = self.end();
        let table = PartTable::new(self.entries).encode();
        let place = (origin.ledger, origin.generation, range);
        let manifest = Manifest {
            key: WrappedKey::wrap(&self.secrets.data_key, self.secrets.wrap_salt, place, keyring)?,
            origin,
            range,
            times: self.contents.times.unwrap_or((Micros(0), Micros(0))),
            made: facts.made,
            reactor: facts.reactor,
            content_bytes: self.contents.bytes,
            expiry,
            kinds: self.contents.kinds.into_iter().collect(),
            chain_before: facts.chain_before,
            chain_after: facts.chain_after,
            segments: facts.segments,
            tree_before: facts.tree_before,
            subtrees,
            root_after: tree_after.root(),
            tree_head: facts.tree_head,
            state,
            signing_keys: keyring.signing_chain().clone(),
            table: TableDigest {
                parts: (table.len() / PART_ENTRY_BYTES) as u64,
                bytes: table.len() as u64,
                digest: *blake3::hash(&table).as_bytes(),
            },
        };
        let manifest = manifest.sign(keyring)?;
        let text = manifest.note().to_string().into_bytes();
        let too_large = |_| ArchiveError::TooLarge { what: "table or manifest" };
        let (table_bytes, manifest_bytes) = (u32::try_from(table.len()), u32::try_from(text.len()));
        let trailer = ArchiveTrailer::new(
            table_offset,
            table_bytes.map_err(too_large)?,
            manifest_bytes.map_err(too_large)?,
        );
        let archive_bytes = trailer.manifest().end + ARCHIVE_TRAILER_BYTES as u64;
        pieces.extend([table, text, trailer.encode().to_vec()]);
        Ok(FinishedArchive { pieces, manifest, archive_bytes, index_bytes })
    }

    /// Returns the offset of the next part in the file.
    fn end(&self) -> u64 {
        self.entries.last().map_or(ARCHIVE_HEADER_BYTES as u64, |entry| entry.range().end)
    }

    fn place(&mut self, entry: PartEntry) {
        let offset = self.end();
        self.entries.push(PartEntry { offset, ..entry });
    }

    fn next_entry(&self, kind: PartKind, codec: Codec, count: u32) -> PartEntry {
        PartEntry {
            number: u32::try_from(self.entries.len()).unwrap_or(u32::MAX),
            kind,
            codec,
            count,
            position: self.plan.range.first().get(),
            offset: 0,
            stored_bytes: 0,
            plain_bytes: 0,
            digest: [0; 32],
        }
    }

    fn roots(&mut self, groups: &[TreeHash]) -> Result<Vec<u8>, ArchiveError> {
        let too_large = |_| ArchiveError::TooLarge { what: "a part" };
        let bytes: Vec<u8> = groups.iter().flat_map(|root| root.0).collect();
        let length = u32::try_from(bytes.len()).map_err(too_large)?;
        let count = u32::try_from(groups.len()).map_err(too_large)?;
        let entry = PartEntry {
            stored_bytes: length,
            plain_bytes: length,
            digest: *blake3::hash(&bytes).as_bytes(),
            ..self.next_entry(PartKind::Roots, Codec::Stored, count)
        };
        self.place(entry);
        Ok(bytes)
    }

    fn index(&mut self, compressor: &mut Compressor, pieces: &mut Vec<Vec<u8>>) -> Result<(), ArchiveError> {
        let times = self.contents.index.times();
        pieces.push(self.seal(PartKind::Index, TIMES_LABEL, None, &times, compressor)?);
        for label in ArchiveLabel::ALL {
            for shard in self.contents.index.take_shards(label) {
                let number = label.number().into();
                pieces.push(self.seal(PartKind::Index, number, None, &shard, compressor)?);
            }
        }
        Ok(())
    }

    fn state(
        &mut self,
        state: &ArchivedState,
        compressor: &mut Compressor,
        pieces: &mut Vec<Vec<u8>>,
    ) -> Result<StateLine, ArchiveError> {
        if state.bytes.len() > MAX_STATE_BYTES {
            return Err(ArchiveError::TooLarge { what: "the state" });
        }
        let none = state.bytes.is_empty().then_some(state.bytes.as_slice());
        for (number, piece) in (0..).zip(state.bytes.chunks(STATE_PART_BYTES).chain(none)) {
            pieces.push(self.seal(PartKind::State, number, Some(state.position), piece, compressor)?);
        }
        Ok(StateLine { position: state.position, bytes: state.bytes.len() as u64 })
    }

    fn seal(
        &mut self,
        kind: PartKind,
        count: u32,
        position: Option<Position>,
        plain: &[u8],
        compressor: &mut Compressor,
    ) -> Result<Vec<u8>, ArchiveError> {
        let (codec, packed) = compressor.compress(plain);
        let entry = self.next_entry(kind, codec, count);
        let entry = match position {
            Some(position) => PartEntry { position: position.get(), ..entry },
            None => entry,
        };
        let (entry, stored) = seal_contents(&self.key, entry, packed, plain.len())?;
        self.place(entry);
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn an_archive_takes_so_many_bytes_and_terms_and_the_next_group_is_refused_as_it_is() {
        let sample = Sample::new(256);
        let full = [
            (ArchiveLimits { group_bytes: 100, ..ArchiveLimits::default() }, "bytes of events"),
            (ArchiveLimits { terms: 3, ..ArchiveLimits::default() }, "terms of the index"),
        ];
        for (room, what) in full {
            let (mut writer, group) = sample.begun();
            writer.room = room;
            let refused = writer.add(group).unwrap_err();
            assert_eq!(refused, ArchiveError::TooMuch { what });
            assert!(refused.is_too_much());
            assert_eq!((writer.entries.len(), writer.contents.bytes), (0, 0));
        }
        let (mut writer, group) = sample.begun();
        writer.add(group).unwrap();
    }
}
