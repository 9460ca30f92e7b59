mod hostile;

use super::sample::{PackedArchive, Sample, keyring, origin};
use super::*;
use bitacora_formats::{
    Compressor, Decompressor, Generation, Keyring, LedgerKeys, Micros, Position, SigningChain,
};
use bitacora_vocabulary::Dimension;

/// All that a keyless reader checks, over the bytes of an archive.
fn verify(bytes: &[u8], chain: Option<&SigningChain>) -> Result<ArchiveLayout, ArchiveError> {
    let layout = layout(bytes, chain)?;
    for entry in layout.table().entries() {
        let part = part(bytes, entry);
        entry.check(part)?;
        if entry.kind == PartKind::Roots {
            check_roots(layout.manifest().manifest(), part)?;
        }
    }
    Ok(layout)
}

fn layout(bytes: &[u8], chain: Option<&SigningChain>) -> Result<ArchiveLayout, ArchiveError> {
    let trailer = &bytes[bytes.len().saturating_sub(ARCHIVE_TRAILER_BYTES)..];
    let trailer = ArchiveTrailer::parse(trailer, bytes.len() as u64)?;
    let tail = &bytes[usize::try_from(trailer.table().start).unwrap()..];
    ArchiveLayout::parse(bytes, tail, bytes.len() as u64, chain)
}

fn part<'a>(bytes: &'a [u8], entry: &PartEntry) -> &'a [u8] {
    let range = entry.range();
    &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
}

/// All that a reader with the keys checks.
fn verify_contents(bytes: &[u8], keyring: &Keyring) -> Result<(), ArchiveError> {
    let layout = verify(bytes, Some(keyring.signing_chain()))?;
    let manifest = layout.manifest().manifest();
    let key = ArchiveKey::unwrap(manifest, keyring)?;
    let keys = LedgerKeys::new(keyring, manifest.origin.ledger);
    let mut decompressor = Decompressor::new().unwrap();
    let roots = check_roots(manifest, part(bytes, layout.table().roots().unwrap()))?;
    let mut check = ContentCheck::new(&layout, roots, &key, &keys);
    for entry in layout.table().groups() {
        check.take(&open_group(&key, entry, part(bytes, entry), &mut decompressor)?)?;
    }
    check.finish(|entry| {
        open_part(&key, entry, part(bytes, entry), &mut decompressor).map(|plain| plain.to_vec())
    })
}

#[test]
fn archives_join_and_hold_with_and_without_keys() {
    let sample = Sample::new(256 * 7);
    let archives = [sample.archive(1, 512), sample.archive(513, 768), sample.archive(769, 1_792)];
    let layouts: Vec<ArchiveLayout> =
        archives.iter().map(|archive| verify(&archive.bytes, None).unwrap()).collect();
    for PackedArchive { bytes, .. } in &archives {
        verify_contents(bytes, &sample.keyring).unwrap();
    }
    for pair in layouts.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|layout| layout.manifest().manifest());
        assert_eq!(after.follows(before), Ok(()));
        assert!(before.follows(after).is_err());
    }
    let apart = layouts[2].manifest().manifest().follows(layouts[0].manifest().manifest());
    assert!(matches!(apart, Err(ArchiveError::Neighbour { what: "the position", .. })), "{apart:?}");
}

#[test]
fn every_row_comes_back_as_it_was() {
    let sample = Sample::new(768);
    let packed = sample.archive(257, 768);
    let layout = verify(&packed.bytes, None).unwrap();
    let key = ArchiveKey::unwrap(layout.manifest().manifest(), &sample.keyring).unwrap();
    let mut decompressor = Decompressor::new().unwrap();
    let mut position = 257;
    for entry in layout.table().groups() {
        assert_eq!(entry.position, position);
        let rows = open_group(&key, entry, part(&packed.bytes, entry), &mut decompressor).unwrap();
        for row in rows.iter() {
            assert_eq!(row, sample.row(position));
            let group = layout.table().group_of(Position::new(position).unwrap()).unwrap();
            assert_eq!(layout.table().groups()[group], *entry);
            position += 1;
        }
    }
    assert_eq!(position, 769);
    assert_eq!(layout.table().group_of(Position::new(256).unwrap()), None);
    assert_eq!(layout.table().group_of(Position::new(769).unwrap()), None);
    let state: Vec<u8> = layout
        .table()
        .state()
        .flat_map(|entry| {
            open_part(&key, entry, part(&packed.bytes, entry), &mut decompressor).unwrap().to_vec()
        })
        .collect();
    assert_eq!(state, br#"{"example":true}"#);
}

#[test]
fn the_index_finds_the_groups_of_a_label_and_of_a_time() {
    let sample = Sample::new(1_024);
    let packed = sample.archive(1, 1_024);
    let layout = verify(&packed.bytes, None).unwrap();
    let table = layout.table();
    let key = ArchiveKey::unwrap(layout.manifest().manifest(), &sample.keyring).unwrap();
    let mut decompressor = Decompressor::new().unwrap();
    let mut open = |entry: &PartEntry| {
        open_part(&key, entry, part(&packed.bytes, entry), &mut decompressor).unwrap().to_vec()
    };
    let groups = table.groups().len();
    let mut find = |term: ArchiveTerm| {
        let shards = table.shards(term.label());
        let entry = &shards[IndexShard::number_of(term, shards.len())];
        IndexShard::parse(&open(entry), shards.len(), groups).unwrap().groups_with(term).unwrap()
    };
    let group_of = |position: u64| table.group_of(Position::new(position).unwrap()).unwrap();
    for position in 1..=1_024 {
        let term = key.terms().term(ArchiveLabel::Call, &format!("c-{position}"));
        assert!(find(term).contains(&group_of(position)), "{position}");
    }
    assert_eq!(find(key.terms().term(ArchiveLabel::Tag, "rare")), [group_of(77)]);
    let all: Vec<usize> = (0..groups).collect();
    assert_eq!(find(key.terms().term(ArchiveLabel::Agent, "coder")), all);
    let dimension = Dimension::new("shell", "dir/3", "-", "-").unwrap();
    assert_eq!(find(key.terms().dimension(&dimension)), all);
    let absent = (0..1_000).map(|n| key.terms().term(ArchiveLabel::Call, &format!("absent-{n}")));
    let wrong = absent.filter(|term| !find(*term).is_empty()).count();
    assert!(wrong < 30, "{wrong} of 1,000 absent ones are found");

    let times = GroupTimes::parse(&open(table.times().unwrap()), groups).unwrap();
    for position in [1, 100, 101, 200, 201, 777, 1_024] {
        let time = sample::time_of(position);
        assert!(times.groups_between(time, time).contains(&group_of(position)), "{position}");
    }
    assert_eq!(times.groups_between(Micros(0), Micros(5)), 0..0);
    assert_eq!(times.groups_between(Micros(u64::MAX), Micros(u64::MAX)), groups..groups);
    assert_eq!(times.groups_between(Micros(0), Micros(u64::MAX)), 0..groups);
}

#[test]
fn one_flipped_bit_anywhere_is_found_without_keys() {
    let sample = Sample::new(512);
    let packed = sample.archive(1, 256);
    let chain = keyring().signing_chain().clone();
    for at in 0..packed.bytes.len() {
        let mut bytes = packed.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(verify(&bytes, Some(&chain)).is_err(), "byte {at} of {}", bytes.len());
    }
}

#[test]
fn cut_anywhere_it_is_no_archive() {
    let packed = Sample::new(256).archive(1, 256);
    for length in 0..packed.bytes.len() {
        assert!(verify(&packed.bytes[..length], None).is_err(), "{length}");
        assert!(verify(&packed.bytes[length + 1..], None).is_err(), "{length}");
    }
    let longer = [&packed.bytes[..], b"\0"].concat();
    assert!(verify(&longer, None).is_err());
}

#[test]
fn a_ledger_of_one_group_and_an_empty_state_is_an_archive() {
    let sample = Sample::new(256);
    let range = ArchiveRange::new(1, 256).unwrap();
    let mut facts = sample.facts(range, None);
    facts.state = Some(ArchivedState { position: range.last(), bytes: Vec::new() });
    verify_contents(&sample.pack(range, facts).bytes, &sample.keyring).unwrap();
    let without = Facts { state: None, ..sample.facts(range, None) };
    verify_contents(&sample.pack(range, without).bytes, &sample.keyring).unwrap();
}

#[test]
fn an_archive_of_which_events_expired_holds_the_same_tree() {
    let mut sample = Sample::new(1_024);
    let before = sample.archive(257, 768);
    let (next, tree) = (sample.archive(769, 1_024), sample.groups.clone());
    let whole = layout(&before.bytes, None).unwrap();
    let whole = whole.manifest().manifest();
    assert_eq!((whole.revision(), whole.expiry), (Revision::FIRST, None));
    sample.expire((300..=500).step_by(2));
    let after = sample.archive(257, 768);
    verify_contents(&after.bytes, &sample.keyring).unwrap();
    let left = layout(&after.bytes, None).unwrap();
    let left = left.manifest().manifest();
    assert_eq!(left.expiry.map(|expiry| (expiry.revision.get(), expiry.events)), Some((1, 101)));
    assert_eq!((&left.kinds, left.times), (&whole.kinds, whole.times));
    assert_eq!((&left.subtrees, left.root_after), (&whole.subtrees, whole.root_after));
    assert!(left.content_bytes < whole.content_bytes);
    assert_eq!(left.object_name(), whole.object_name().replace(".bca", ".r1.bca"));
    let next = layout(&next.bytes, None).unwrap();
    next.manifest().manifest().follows(left).unwrap();
    assert_eq!(tree, sample.groups);
    for events in [0, 513] {
        let expiry = left.expiry.map(|expiry| ExpiryLine { events, ..expiry });
        let refused = Manifest { expiry, ..left.clone() }.sign(&sample.keyring).unwrap_err();
        assert!(matches!(refused, ArchiveError::Manifest(ManifestError::Contradiction { .. })), "{refused}");
    }
    let expiry = left.expiry.map(|expiry| ExpiryLine { events: 100, ..expiry });
    assert!(Manifest { expiry, ..left.clone() }.sign(&sample.keyring).is_ok());
}

#[test]
fn only_whole_groups_make_a_range() {
    for (first, last) in
        [(1, 0), (1, 255), (1, 257), (2, 257), (0, 256), (257, 256), (256, 512), (1, u64::MAX), (0, 0)]
    {
        assert_eq!(ArchiveRange::new(first, last), Err(ArchiveError::Range { first, last }));
    }
    let range = ArchiveRange::new(257, 1_024).unwrap();
    assert_eq!(range.file_stem(), "00000000000000000257-00000000000000001024");
    assert_eq!(ArchiveRange::of_file_stem(&range.file_stem()), Some(range));
    assert_eq!(ArchiveRange::of_file_stem("257-1024"), None);
    let sample = origin();
    for (revision, ending) in [(Revision::FIRST, ""), (Revision::later(12).unwrap(), ".r12")] {
        let name = range.object_name(sample.ledger, Generation(1), revision);
        let (folder, object) = name.rsplit_once('/').unwrap();
        assert_eq!(folder, format!("{}/g1", sample.ledger));
        assert_eq!(object, format!("00000000000000000257-00000000000000001024{ending}.bca"));
        assert_eq!(ArchiveRange::of_object(object), Some((range, revision)));
    }
    for ending in [".r0", ".r01", ".r", ".rx", ".r1.r2", ".r4294967296", ".x"] {
        let name = format!("{}{ending}.bca", range.file_stem());
        assert_eq!(ArchiveRange::of_object(&name), None, "{name}");
    }
}

#[test]
fn a_writer_takes_groups_in_turn_and_all_of_them() {
    let sample = Sample::new(512);
    let range = ArchiveRange::new(1, 512).unwrap();
    let plan = ArchivePlan { origin: sample.origin.clone(), range, revision: Revision::FIRST };
    let secrets = || ArchiveSecrets::generate(&mut |bytes| bytes.fill(9));
    let mut collector = GroupCollector::new(range.first());
    (1..=100).for_each(|position| assert!(collector.push(sample.row(position)).is_none()));
    let first = collector.take().unwrap();
    (101..=200).for_each(|position| assert!(collector.push(sample.row(position)).is_none()));
    let second = collector.take().unwrap();
    let (mut writer, _) = ArchiveWriter::new(plan, secrets());
    let out_of_turn = seal_group(writer.key(), &second, 3).unwrap();
    assert_eq!(writer.add(out_of_turn).unwrap_err(), ArchiveError::OutOfTurn { expected: 1, found: 101 });
    let sealed = seal_group(writer.key(), &first, 3).unwrap();
    writer.add(sealed).unwrap();
    let mut compressor = Compressor::new(3).unwrap();
    let unfinished = writer.finish(sample.facts(range, None), &sample.keyring, &mut compressor);
    assert_eq!(unfinished.unwrap_err(), ArchiveError::OutOfTurn { expected: 101, found: 513 });
}

#[test]
fn a_first_revision_holds_expired_events_of_a_restored_ledger() {
    let mut sample = Sample::new(512);
    sample.expire(300..=310);
    sample.revision = Revision::FIRST;
    let packed = sample.archive(257, 512);
    verify_contents(&packed.bytes, &sample.keyring).unwrap();
    let outline = layout(&packed.bytes, None).unwrap();
    let manifest = outline.manifest().manifest();
    assert_eq!(manifest.expiry, Some(ExpiryLine { revision: Revision::FIRST, events: 11 }));
    assert!(manifest.object_name().ends_with("-00000000000000000512.bca"), "{}", manifest.object_name());
}
