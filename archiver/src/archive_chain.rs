//! The chain of a ledger's archives in a store, joined by their signed manifests, not their names.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use bitacora_archive_format::{ArchiveError, ArchiveRange, Manifest, Revision};
use bitacora_formats::{Generation, LedgerId, SigningChain};

use crate::archive_store::{ArchiveStoreError, Objects};
use crate::error::StoredError;
use crate::later_revision::is_same_but_for_expiry;
use crate::limits::{MAX_CHAIN_JOINS, MAX_LISTED};
use crate::stored_archive::StoredArchive;

/// An archive by its name in the store, and what was found under it.
#[derive(Debug)]
pub(crate) struct FoundArchive {
    pub(crate) range: ArchiveRange,
    pub(crate) generation: Generation,
    pub(crate) revision: Revision,
    /// Its name in the store.
    pub(crate) name: String,
    /// The archive, or its fault, which every later question about it gets too.
    pub(crate) opened: Result<StoredArchive, StoredError>,
    /// Set where an earlier revision lies beside it, and no event is known that records the removal between them: that was under way, and the
    /// earlier one counts.
    pub(crate) is_unfinished: bool,
}

/// The order in which revisions of one archive are taken.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RevisionOrder {
    /// The latest one first.
    Finished(Reverse<Revision>),
    /// The one that holds most first.
    Unfinished(Revision),
}

impl FoundArchive {
    /// Returns its manifest, if the archive can be used.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.opened.as_ref().ok().map(|stored| stored.outline().manifest().manifest())
    }

    fn order(&self) -> RevisionOrder {
        match self.is_unfinished {
            true => RevisionOrder::Unfinished(self.revision),
            false => RevisionOrder::Finished(Reverse(self.revision)),
        }
    }
}

/// The archives of a ledger under names of ranges that are wanted, sorted by these, each opened: up to [`MAX_LISTED`] of them. Nothing is
/// known yet of what the log records, so each revision beside an earlier one is unfinished.
///
/// # Errors
/// What the store says, unless it says it of one archive and would again; [`ArchiveStoreError::TooMany`].
pub(crate) fn find(
    objects: &Arc<dyn Objects>,
    ledger: LedgerId,
    signers: &SigningChain,
    is_wanted: impl Fn(ArchiveRange) -> bool,
) -> Result<Vec<FoundArchive>, StoredError> {
    let mut names: Vec<(ArchiveRange, Generation, Revision)> = Vec::new();
    for folder in objects.list(&ledger.to_string())?.folders {
        let number = folder.strip_prefix('g').and_then(|number| number.parse().ok());
        let Some(generation) = number.map(Generation) else { continue };
        // A folder that only looks like such a name is no archive's.
        if folder != format!("g{generation}") {
            continue;
        }
        let listed = objects.list(&format!("{ledger}/{folder}"))?;
        let archives = listed.objects.iter().filter_map(|(name, _)| ArchiveRange::of_object(name));
        let wanted = archives.filter(|(range, _)| is_wanted(*range));
        names.extend(wanted.map(|(range, revision)| (range, generation, revision)));
        if names.len() > MAX_LISTED {
            return Err(ArchiveStoreError::TooMany { object: objects.shown(&ledger.to_string()) }.into());
        }
    }
    names.sort_unstable();
    let open = |(range, generation, revision): (ArchiveRange, Generation, Revision)| {
        let name = range.object_name(ledger, generation, revision);
        let opened = match open(objects, (ledger, range), &name, signers) {
            Err(error) if !error.is_of_one_archive() => return Err(error),
            opened => opened,
        };
        Ok(FoundArchive { range, generation, revision, name, opened, is_unfinished: false })
    };
    let mut found = names.into_iter().map(open).collect::<Result<Vec<FoundArchive>, StoredError>>()?;
    mark_unfinished(&mut found);
    Ok(found)
}

/// Marks each revision beside an earlier one of the same archive. They follow one another.
fn mark_unfinished(found: &mut [FoundArchive]) {
    let mut earliest: Option<&Manifest> = None;
    for one in found {
        let Ok(stored) = &one.opened else { continue };
        let manifest = stored.outline().manifest().manifest();
        match earliest {
            Some(earlier) if is_same_but_for_expiry(earlier, manifest) => one.is_unfinished = true,
            _ => earliest = Some(manifest),
        }
    }
}

/// The archive of this name, if it is what the name says.
fn open(
    objects: &Arc<dyn Objects>,
    (ledger, range): (LedgerId, ArchiveRange),
    name: &str,
    signers: &SigningChain,
) -> Result<StoredArchive, StoredError> {
    let archive = StoredArchive::open(objects, name, Some(signers))?;
    let manifest = archive.outline().manifest().manifest();
    let is_of_its_name =
        manifest.origin.ledger == ledger && manifest.range == range && manifest.object_name() == name;
    if is_of_its_name {
        return Ok(archive);
    }
    let found = format!("{}, {}", manifest.origin, manifest.range);
    Err(archive.wrong(ArchiveError::Other { expected: name.to_owned(), found }))
}

/// The archives that a chain has to join at its two ends.
#[derive(Clone, Copy)]
pub(crate) struct ChainEnds<'a> {
    /// The archive that the first one goes on from; `None`: the first one begins with the ledger's first event.
    pub(crate) before: Option<&'a Manifest>,
    /// The archive that has to go on from the last one, if there is one.
    pub(crate) after: Option<&'a Manifest>,
}

/// Of the archives that join, each to the next, between these ends, those that go furthest, by their places among the ones found. Of
/// chains that go as far, the one whose last archive is of the later generation, then the larger one, then the later revision, an unfinished
/// one last; and so for those before it.
/// None where nothing joins both ends.
///
/// # Errors
/// [`ArchiveStoreError::TooMany`] after [`MAX_CHAIN_JOINS`] comparisons.
pub(crate) fn furthest(found: &[FoundArchive], ends: ChainEnds<'_>) -> Result<Vec<usize>, ArchiveStoreError> {
    let start = ends.before.map_or(0, |before| before.range.last().get());
    let mut joins = 0;
    // For each that is reached, the one before it; and by where they end, the best first.
    let mut reached: Vec<Option<Option<usize>>> = vec![None; found.len()];
    let mut by_end: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let rank =
        |index: usize| found.get(index).map(|one| (Reverse(one.generation), one.range.first(), one.order()));
    let mut sorted: Vec<usize> = (0..found.len()).collect();
    sorted.sort_by_key(|index| found.get(*index).map(|one| (one.range, one.generation)));
    for index in sorted {
        let Some((one, manifest)) = found.get(index).and_then(|one| Some((one, one.manifest()?))) else {
            continue;
        };
        let mut follows = |before: &Manifest| {
            joins += 1;
            if joins > MAX_CHAIN_JOINS {
                return Err(ArchiveStoreError::TooMany { object: one.name.clone() });
            }
            Ok(manifest.follows(before).is_ok())
        };
        let place = if one.range.tree_before() == start {
            ends.before.map_or(Ok(true), &mut follows)?.then_some(None)
        } else {
            let mut joined = None;
            for earlier in by_end.get(&one.range.tree_before()).into_iter().flatten() {
                let before = found.get(*earlier).and_then(FoundArchive::manifest);
                if before.map_or(Ok(false), &mut follows)? {
                    joined = Some(Some(*earlier));
                    break;
                }
            }
            joined
        };
        let Some((place, reached)) = place.zip(reached.get_mut(index)) else { continue };
        *reached = Some(place);
        let with_this_end = by_end.entry(one.range.last().get()).or_default();
        let at = with_this_end.partition_point(|other| rank(*other) < rank(index));
        with_this_end.insert(at, index);
    }
    let is_last = |index: &usize| {
        let manifest = found.get(*index).and_then(FoundArchive::manifest);
        ends.after.is_none_or(|after| manifest.is_some_and(|last| after.follows(last).is_ok()))
    };
    let mut next = by_end.values().rev().flatten().copied().find(is_last);
    let mut chain = Vec::new();
    while let Some(index) = next {
        chain.push(index);
        next = reached.get(index).copied().flatten().flatten();
    }
    chain.reverse();
    Ok(chain)
}
