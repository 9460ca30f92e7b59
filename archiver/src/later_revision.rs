//! The later revisions of an archive in the store. Where it has no other, the folder's manifest is from an older copy.

use std::sync::Arc;

use bitacora_archive_format::{ArchiveRange, Manifest};
use bitacora_formats::SigningChain;

use crate::archive_store::Objects;
use crate::stored_archive::StoredArchive;

/// Returns the latest revision of an archive in the store, if it is later than this one and the ledger signed it.
pub(crate) fn later_revision(
    objects: &Arc<dyn Objects>,
    kept: &Manifest,
    signers: &SigningChain,
) -> Option<StoredArchive> {
    later_revisions(objects, kept, signers).next()
}

/// Returns the revisions of an archive in the store that are later than this one and that the ledger signed, the latest one first. Each is
/// opened once it is asked for.
pub(crate) fn later_revisions<'a>(
    objects: &'a Arc<dyn Objects>,
    kept: &'a Manifest,
    signers: &'a SigningChain,
) -> impl Iterator<Item = StoredArchive> + 'a {
    let Manifest { range, origin, .. } = kept;
    let name = kept.object_name();
    let listed = name.rsplit_once('/').and_then(|(folder, _)| objects.list(folder).ok());
    let listed = listed.map(|listed| listed.objects).unwrap_or_default();
    let found = listed.iter().filter_map(|(object, _)| ArchiveRange::of_object(object));
    let mut later: Vec<_> = found
        .filter(|(found, revision)| found == range && *revision > kept.revision())
        .map(|(_, revision)| revision)
        .collect();
    later.sort_unstable();
    later.into_iter().rev().filter_map(move |revision| {
        let name = range.object_name(origin.ledger, origin.generation, revision);
        let stored = StoredArchive::open(objects, &name, Some(signers)).ok()?;
        is_same_but_for_expiry(kept, stored.outline().manifest().manifest()).then_some(stored)
    })
}

/// Compares all that two revisions have in common, by their manifests.
pub(crate) fn is_same_but_for_expiry(earlier: &Manifest, later: &Manifest) -> bool {
    let of_later = Manifest {
        made: later.made,
        content_bytes: later.content_bytes,
        expiry: later.expiry,
        key: later.key,
        signing_keys: later.signing_keys.clone(),
        table: later.table,
        ..earlier.clone()
    };
    of_later == *later && later.revision() > earlier.revision()
}
