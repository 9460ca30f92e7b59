//! The groups of an archive that may match a filter, by the archive's own index.

use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError};

use bitacora_archive_format::{ArchiveError, ArchiveLabel, IndexShard, open_part};
use bitacora_formats::{Decompressor, Position};
use bitacora_ledger::{ArchiveTierError, Filter};
use sha2::{Digest, Sha256};

use crate::archives::{LedgerArchives, tier_error};
use crate::byte_cache::ByteCache;
use crate::catalogue::{ArchiveIdentity, OpenArchive};
use crate::error::StoredError;
use crate::limits::NARROWED_OVERHEAD_BYTES;

/// A cache of the last results, by archive and question: a scan asks for one archive again and again, and several scans go on side by
/// side.
pub(crate) type PruningCache = ByteCache<(ArchiveIdentity, QuestionDigest), GroupPruning>;

/// SHA-256 of the labels and values that are asked for.
type QuestionDigest = [u8; 32];

/// For each group of an archive whether it may hold what is asked for.
#[derive(Debug)]
pub(crate) struct GroupPruning {
    may_match: Vec<bool>,
}

impl LedgerArchives {
    /// The positions around one, up to which the index says the same of the filter's labels: whether any may match.
    pub(crate) fn alike_around(
        &self,
        filter: &Filter,
        position: Position,
    ) -> Result<(RangeInclusive<Position>, bool), ArchiveTierError> {
        let place = self.place_of(position)?;
        let (range, archive) = (place.range, &place.archive);
        let pruning = self.pruning(archive, filter).map_err(|error| tier_error(range, &error))?;
        let number = place.entry.number as usize;
        let here = pruning.may_match.get(number).copied().unwrap_or(true);
        let is_alike = |other: &&bool| **other == here;
        let (before, behind) = pruning.may_match.split_at(number.min(pruning.may_match.len()));
        let first = number - before.iter().rev().take_while(is_alike).count();
        let after = number + behind.iter().take_while(is_alike).count();
        let groups = archive.stored.outline().table().groups();
        let begins = |group: usize| groups.get(group).and_then(|entry| Position::new(entry.position));
        let last = begins(after).and_then(|next| Position::new(next.get() - 1));
        Ok((begins(first).unwrap_or(range.first())..=last.unwrap_or(range.last()), here))
    }

    fn pruning(&self, archive: &OpenArchive, filter: &Filter) -> Result<Arc<GroupPruning>, StoredError> {
        let labels = labels_of(filter);
        let key = (archive.identity, digest_of(&labels));
        if let Some(pruning) = self.pruning.get(&key) {
            return Ok(pruning);
        }
        // Callers with the same question wait for it, and those with another question about this archive; nobody else does.
        let _alone = archive.narrowing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pruning) = self.pruning.get(&key) {
            return Ok(pruning);
        }
        let mut may_match = vec![true; archive.stored.outline().table().groups().len()];
        for (label, values) in labels {
            let with = groups_with(archive, label, &values)?;
            may_match.iter_mut().zip(with).for_each(|(may, with)| *may &= with);
        }
        let pruning = Arc::new(GroupPruning { may_match });
        let bytes = NARROWED_OVERHEAD_BYTES + pruning.may_match.len();
        self.pruning.put(key, Arc::clone(&pruning), bytes);
        Ok(pruning)
    }
}

/// Returns the digest of a question, which tells it from every other.
fn digest_of(labels: &[(ArchiveLabel, Vec<&str>)]) -> QuestionDigest {
    let mut digest = Sha256::new();
    for (label, values) in labels {
        digest.update([label.number()]);
        digest.update((values.len() as u64).to_le_bytes());
        for value in values {
            digest.update((value.len() as u64).to_le_bytes());
            digest.update(value.as_bytes());
        }
    }
    digest.finalize().into()
}

/// The labels that a filter asks for, each with the values of which an event has to have one.
fn labels_of(filter: &Filter) -> Vec<(ArchiveLabel, Vec<&str>)> {
    use ArchiveLabel::{Actor, Agent, Call, Kind, Run, Session, Stream, Tag};
    let Filter { kinds, stream, actor, agent, session, run, call, tag, since: _, before: _ } = filter;
    let single = [
        (Stream, stream),
        (Actor, actor),
        (Agent, agent),
        (Session, session),
        (Run, run),
        (Call, call),
        (Tag, tag),
    ];
    let single = single.into_iter().filter_map(|(label, value)| Some((label, vec![value.as_deref()?])));
    let kinds = (!kinds.is_empty()).then(|| (Kind, kinds.iter().map(String::as_str).collect()));
    single.chain(kinds).collect()
}

/// For each group whether it may have an event with one of the values.
fn groups_with(
    archive: &OpenArchive,
    label: ArchiveLabel,
    values: &[&str],
) -> Result<Vec<bool>, StoredError> {
    let wrong = |error: ArchiveError| archive.stored.wrong(error);
    let table = archive.stored.outline().table();
    let (shards, groups) = (table.shards(label), table.groups().len());
    let mut with = vec![false; groups];
    let mut zstd = Decompressor::new().map_err(|error| wrong(ArchiveError::Zstd(error)))?;
    for value in values {
        let term = archive.key.terms().term(label, value);
        let Some(entry) = shards.get(IndexShard::number_of(term, shards.len())) else { continue };
        let stored = archive.stored.part(entry)?;
        let plain = open_part(&archive.key, entry, &stored, &mut zstd).map_err(wrong)?;
        let shard = IndexShard::parse(&plain, shards.len(), groups).map_err(wrong)?;
        for group in shard.groups_with(term).map_err(wrong)? {
            if let Some(place) = with.get_mut(group) {
                *place = true;
            }
        }
    }
    Ok(with)
}
