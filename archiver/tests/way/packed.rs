//! Archives that the ledger signed, and never made.

use std::sync::Arc;

use bitacora_archiver::{Objects, Pace, RestoringError, StoredArchive, Tally, Verification};
use bitacora_formats::archive::{
    ArchiveSecrets, Facts, GroupCollector, Packer, Plan, TreeHeadProof, check_roots, seal_group,
};
use bitacora_formats::{Compressor, Generation, Origin};
use bitacora_ledger::{Entropy, SystemEntropy};

use super::place::Place;

/// The bytes of an archive with the same events, as if this generation had made it, and its name; `change` has it say other things.
pub(crate) fn packed_again(
    place: &Place,
    objects: &Arc<dyn Objects>,
    (name, generation): (&str, Generation),
    change: impl FnOnce(&mut Facts),
) -> (Vec<u8>, String) {
    let stored = StoredArchive::open(objects, name, Some(place.keyring.signing_chain())).unwrap();
    let manifest = stored.outline().manifest().manifest();
    let secrets = ArchiveSecrets::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap());
    let origin = Origin { generation, ..manifest.origin.clone() };
    let plan = Plan { origin, range: manifest.range };
    let key = secrets.key(&plan);
    let (mut packer, header) = Packer::new(plan, secrets);
    let mut bytes = header.to_vec();
    let mut collector = GroupCollector::new(manifest.range.first());
    let tally = Tally::default();
    let verification = Verification::new(&stored, Pace::Full { threads: 1 }, &tally);
    let mut groups = Vec::new();
    let taken = verification.each_group(&place.keyring, |_, rows| {
        groups.extend(rows.iter().filter_map(|row| collector.push(row)));
        Ok::<(), RestoringError>(())
    });
    taken.unwrap();
    groups.extend(collector.take());
    for group in groups {
        bytes.extend(packer.add(seal_group(&key, &group, 3).unwrap()).unwrap());
    }
    let roots = stored.part(stored.outline().table().roots().unwrap()).unwrap();
    let mut facts = Facts {
        made: manifest.made,
        reactor: manifest.reactor,
        chain_before: manifest.chain_before,
        chain_after: manifest.chain_after,
        segments: manifest.segments.clone(),
        tree_before: manifest.tree_before.clone(),
        group_roots: check_roots(manifest, &roots).unwrap(),
        tree_head: None::<TreeHeadProof>,
        state: None,
    };
    change(&mut facts);
    let finished = packer.finish(facts, &place.keyring, &mut Compressor::new(3).unwrap()).unwrap();
    bytes.extend(finished.pieces.into_iter().flatten());
    (bytes, manifest.range.object_name(manifest.origin.ledger, generation))
}
