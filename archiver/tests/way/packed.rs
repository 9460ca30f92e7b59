//! Archives that the ledger signed, and never made.

use std::sync::Arc;

use bitacora_archive_format::{
    ArchivePlan, ArchiveSecrets, ArchiveWriter, ArchivedState, Facts, GroupCollector, TreeHeadProof,
    check_roots, seal_group,
};
use bitacora_archiver::{
    ArchivePace, ArchiveProgress, ArchiverError, Objects, Release, RestoringError, StoredArchive,
    Verification,
};
use bitacora_formats::{Compressor, Generation, LedgerOrigin, Position};
use bitacora_ledger::{Entropy, SystemEntropy};

use super::fixture::ArchiveFixture;

/// The bytes of an archive with the same events, as if this generation had made it, and its name; `change` has it say other things.
pub(crate) fn packed_again(
    fixture: &ArchiveFixture,
    objects: &Arc<dyn Objects>,
    (name, generation): (&str, Generation),
    change: impl FnOnce(&mut Facts),
) -> (Vec<u8>, String) {
    let stored = StoredArchive::open(objects, name, Some(fixture.keyring.signing_chain())).unwrap();
    let manifest = stored.outline().manifest().manifest();
    let secrets = ArchiveSecrets::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap());
    let origin = LedgerOrigin { generation, ..manifest.origin.clone() };
    let plan = ArchivePlan { origin, range: manifest.range, revision: manifest.revision() };
    let key = secrets.key(&plan);
    let (mut writer, header) = ArchiveWriter::new(plan, secrets);
    let mut bytes = header.to_vec();
    let mut collector = GroupCollector::new(manifest.range.first());
    let progress = ArchiveProgress::default();
    let verification = Verification::new(&stored, ArchivePace::Full { threads: 1 }, &progress);
    let mut groups = Vec::new();
    let taken = verification.each_group(&fixture.keyring, |_, rows| {
        groups.extend(rows.iter().filter_map(|row| collector.push(row)));
        Ok::<(), RestoringError>(())
    });
    taken.unwrap();
    groups.extend(collector.take());
    for group in groups {
        bytes.extend(writer.add(seal_group(&key, &group, 3).unwrap()).unwrap());
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
    let finished = writer.finish(facts, &fixture.keyring, &mut Compressor::new(3).unwrap()).unwrap();
    bytes.extend(finished.pieces.into_iter().flatten());
    (bytes, manifest.range.object_name(manifest.origin.ledger, generation, manifest.revision()))
}

/// A state is of an event that ends a frame, whatever its bytes are.
#[test]
fn a_state_within_a_frame_is_refused() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 700);
    let archived = fixture.run(&ledger, Release::Never).unwrap().archived.remove(0);
    let frame = |position: u64| ledger.frame_of(Position::new(position).unwrap()).unwrap();
    let range = archived.range;
    // Of several events, well within, and the last one that ends there.
    let many = (100..).map(frame).find(|frame| frame.last.get() > frame.first.get() + 2).unwrap();
    let progress = ArchiveProgress::default();
    for (position, is_right) in [
        (many.last, true),
        (many.first, false),
        (Position::new(many.last.get() - 1).unwrap(), false),
        (Position::new(frame(range.last().get() + 1).first.get() - 1).unwrap(), true),
        (range.last(), frame(range.last().get()).last == range.last()),
    ] {
        let generation = Generation(2);
        let (bytes, name) = packed_again(&fixture, &fixture.objects, (&archived.name, generation), |facts| {
            facts.state = Some(ArchivedState { position, bytes: b"a state".to_vec() });
        });
        let path = fixture.folder.path().join("cold").join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        let stored = StoredArchive::open(&fixture.objects, &name, None).unwrap();
        let verification = Verification::new(&stored, ArchivePace::Full { threads: 1 }, &progress);
        verification.without_keys().unwrap();
        let held = verification.contents(&fixture.keyring, |_, _| Ok::<(), ArchiverError>(()));
        match held {
            Ok(held) => assert!(is_right && held.unwrap().bytes == b"a state", "{position}"),
            Err(error) => {
                assert!(!is_right && error.to_string().contains("position of the state"), "{error}");
            }
        }
    }
}
