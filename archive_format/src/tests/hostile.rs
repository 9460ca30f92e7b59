//! Archives made wrong on purpose: without the ledger's keys, and with them.

use super::sample::PackedArchive;
use super::*;
use bitacora_formats::limits::{MAX_ARCHIVE_PART_BYTES, MAX_MANIFEST_BYTES};
use bitacora_formats::{Codec, Generation, LedgerId, TreeHash};

/// The problem that a change causes, and the change.
type Change<T> = (&'static str, fn(&mut T));

/// An archive taken apart, to be put together again otherwise.
struct ArchiveParts {
    header: Vec<u8>,
    entries: Vec<PartEntry>,
    stored: Vec<Vec<u8>>,
    manifest: Manifest,
}

impl ArchiveParts {
    fn of(bytes: &[u8]) -> Self {
        let layout = layout(bytes, None).unwrap();
        let entries = layout.table().entries().to_vec();
        Self {
            header: bytes[..ARCHIVE_HEADER_BYTES].to_vec(),
            stored: entries.iter().map(|entry| part(bytes, entry).to_vec()).collect(),
            entries,
            manifest: layout.manifest().manifest().clone(),
        }
    }

    /// The archive of these parts, its table and its manifest made again and signed with these keys.
    fn signed(mut self, keyring: &Keyring) -> Vec<u8> {
        for (entry, stored) in self.entries.iter_mut().zip(&self.stored) {
            entry.digest = *blake3::hash(stored).as_bytes();
        }
        let table = PartTable::new(self.entries.clone()).encode();
        self.manifest.table = TableDigest {
            parts: (table.len() / PART_ENTRY_BYTES) as u64,
            bytes: table.len() as u64,
            digest: *blake3::hash(&table).as_bytes(),
        };
        let manifest = self.manifest.sign(keyring).unwrap().note().to_string().into_bytes();
        self.with(&table, &manifest)
    }

    fn with(&self, table: &[u8], manifest: &[u8]) -> Vec<u8> {
        let mut bytes = self.header.clone();
        self.stored.iter().for_each(|stored| bytes.extend(stored));
        let [table_bytes, manifest_bytes] = [table, manifest].map(|part| u32::try_from(part.len()).unwrap());
        let trailer = ArchiveTrailer::new(bytes.len() as u64, table_bytes, manifest_bytes);
        bytes.extend([table, manifest, &trailer.encode()].concat());
        bytes
    }

    fn place_of(&self, kind: PartKind, count: Option<u32>) -> usize {
        let is_it = |entry: &PartEntry| entry.kind == kind && count.is_none_or(|count| entry.count == count);
        self.entries.iter().position(is_it).unwrap()
    }
}

fn sample() -> (Sample, PackedArchive) {
    let sample = Sample::new(1_024);
    let packed = sample.archive(257, 768);
    (sample, packed)
}

/// Returns the error of a reader with the keys after a change under the ledger's own signature.
fn forged(change: impl FnOnce(&mut ArchiveParts)) -> ArchiveError {
    let (sample, packed) = sample();
    let mut parts = ArchiveParts::of(&packed.bytes);
    change(&mut parts);
    verify_contents(&parts.signed(&sample.keyring), &sample.keyring).unwrap_err()
}

/// A keyring that has nothing to do with the sample's.
fn stranger() -> Keyring {
    let mut draw = 99_u8;
    Keyring::generate(&mut |bytes| {
        draw += 1;
        bytes.fill(draw);
    })
}

#[test]
fn parts_in_each_others_place_do_not_open() {
    let error = forged(|parts| {
        parts.entries.swap(0, 1);
        parts.stored.swap(0, 1);
    });
    assert!(matches!(error, ArchiveError::Part { number: 0, .. }), "{error:?}");
    // With the entries as they were only the seal can tell, and equal lengths.
    let error = forged(|parts| {
        let agent = parts.place_of(PartKind::Index, Some(4));
        let actor = parts.place_of(PartKind::Index, Some(3));
        let (one, other) = (parts.entries[agent], parts.entries[actor]);
        parts.entries[agent] = PartEntry { count: one.count, number: one.number, ..other };
        parts.stored[agent] = parts.stored[actor].clone();
    });
    assert!(matches!(error, ArchiveError::NotAuthentic { .. }), "{error:?}");
}

#[test]
fn the_index_of_another_archive_does_not_open() {
    let (sample, _) = sample();
    let other = ArchiveParts::of(&sample.archive(1, 256).bytes);
    let error = forged(|parts| {
        let (own, others) =
            (parts.place_of(PartKind::Index, Some(1)), other.place_of(PartKind::Index, Some(1)));
        let position = parts.entries[own].position;
        let number = parts.entries[own].number;
        parts.entries[own] = PartEntry { position, number, ..other.entries[others] };
        parts.stored[own].clone_from(&other.stored[others]);
    });
    assert!(matches!(error, ArchiveError::NotAuthentic { .. }), "{error:?}");
}

#[test]
fn an_edited_manifest_is_not_the_ledgers() {
    let (sample, packed) = sample();
    let parts = ArchiveParts::of(&packed.bytes);
    let own = parts.manifest.sign(&sample.keyring).unwrap().note().to_string();
    let table = PartTable::new(parts.entries.clone()).encode();
    assert!(verify(&parts.with(&table, own.as_bytes()), None).is_ok());
    for (from, to) in [("reactor 4", "reactor 5"), ("made 18", "made 17"), ("content ", "content 1")] {
        let edited = own.replacen(from, to, 1);
        assert_ne!(edited, own);
        let error = verify(&parts.with(&table, edited.as_bytes()), None).unwrap_err();
        assert!(
            matches!(
                error,
                ArchiveError::Manifest(ManifestError::Note(bitacora_formats::NoteError::BadSignature { .. }))
            ),
            "{from}: {error:?}"
        );
    }
    let without = own.replacen("reactor 4\n", "", 1);
    let error = verify(&parts.with(&table, without.as_bytes()), None).unwrap_err();
    assert!(matches!(error, ArchiveError::Manifest(ManifestError::Line { line: 6, .. })), "{error:?}");
}

#[test]
fn a_manifest_has_the_ledgers_signature_and_no_other() {
    let (sample, packed) = sample();
    let parts = ArchiveParts::of(&packed.bytes);
    let own = parts.manifest.sign(&sample.keyring).unwrap().note().to_string();
    let line = own.lines().last().unwrap().to_owned();
    let twice = format!("{own}{line}\n");
    assert_eq!(UnverifiedManifest::parse(twice.as_bytes()), Err(ManifestError::Signatures { found: 2 }));
    let long = vec![b'a'; MAX_MANIFEST_BYTES + 1];
    let bytes = long.len();
    assert_eq!(UnverifiedManifest::parse(&long), Err(ManifestError::TooLong { bytes }));
    assert_eq!(UnverifiedManifest::parse(b"\xff\n\n\n"), Err(ManifestError::NotText));
    let head = sample.facts(ArchiveRange::new(1, 256).unwrap(), Some(256)).tree_head.unwrap();
    assert_eq!(UnverifiedManifest::parse(head.note.as_bytes()), Err(ManifestError::FirstLine));
    assert!(bitacora_formats::UnverifiedTreeHead::parse(&own).is_err());
    let newer = own.replacen("archive v1", "archive v2", 1);
    assert_eq!(UnverifiedManifest::parse(newer.as_bytes()), Err(ManifestError::Version));
}

#[test]
fn another_signing_key_is_not_the_ledgers() {
    let (sample, packed) = sample();
    let mut parts = ArchiveParts::of(&packed.bytes);
    let other = stranger();
    parts.manifest.signing_keys = other.signing_chain().clone();
    parts.manifest.tree_head = None;
    let bytes = parts.signed(&other);
    assert!(verify(&bytes, None).is_ok(), "by itself it is whoever's keys are in it");
    let error = verify(&bytes, Some(sample.keyring.signing_chain())).unwrap_err();
    assert_eq!(error, ArchiveError::Manifest(ManifestError::OtherKeys));
    // Signed with a key that is not in it.
    let own = ArchiveParts::of(&packed.bytes).manifest;
    let origin = own.origin.to_string();
    let text = own.sign(&sample.keyring).unwrap().note().text().to_owned();
    let note = bitacora_formats::sign_note(&text, &origin, other.signing().key).unwrap();
    let error = UnverifiedManifest::parse(note.as_bytes()).unwrap().verify_alone().unwrap_err();
    assert_eq!(error, ManifestError::Note(bitacora_formats::NoteError::NoKnownSignature));
}

#[test]
fn another_keyring_opens_nothing() {
    let (_, packed) = sample();
    let layout = layout(&packed.bytes, None).unwrap();
    let manifest = layout.manifest().manifest();
    let id = manifest.key.kek;
    let unwrapped = ArchiveKey::unwrap(manifest, &stranger()).map(|_| ());
    assert_eq!(unwrapped, Err(ArchiveError::KeyMissing { id }));
    for change in [
        |manifest: &mut Manifest| manifest.key.salt[0] ^= 1,
        |manifest: &mut Manifest| manifest.key.sealed[47] ^= 1,
        |manifest: &mut Manifest| manifest.key.commitment[0] ^= 1,
        |manifest: &mut Manifest| manifest.origin.ledger = LedgerId([7; 16]),
        |manifest: &mut Manifest| manifest.origin.generation = Generation(2),
        |manifest: &mut Manifest| manifest.range = ArchiveRange::new(257, 1_024).unwrap(),
    ] {
        let mut changed = manifest.clone();
        change(&mut changed);
        let unwrapped = ArchiveKey::unwrap(&changed, &keyring()).map(|_| ());
        assert_eq!(unwrapped, Err(ArchiveError::WrongKey { id }));
    }
}

#[test]
fn a_part_that_grows_without_bounds_is_refused_before_it_is_opened() {
    let bomb = |kind, codec, plain_bytes| {
        forged(|parts| {
            let number = parts.place_of(kind, None);
            parts.entries[number] = PartEntry { codec, plain_bytes, ..parts.entries[number] };
        })
    };
    let most = u32::try_from(MAX_ARCHIVE_PART_BYTES).unwrap();
    for (kind, codec, bytes) in [
        (PartKind::Events, Codec::Stored, most + 1),
        (PartKind::Events, Codec::Zstd, 1 << 20),
        (PartKind::Index, Codec::Zstd, (16 << 20) + 1),
        (PartKind::State, Codec::Stored, 1 << 20),
        (PartKind::Roots, Codec::Zstd, 1 << 20),
    ] {
        let error = bomb(kind, codec, bytes);
        assert!(matches!(error, ArchiveError::Part { .. }), "{kind:?} {codec:?}: {error:?}");
    }
    // Within the limits it is found when it is opened: the length is part of what it is sealed under.
    let error = bomb(PartKind::Index, Codec::Zstd, 16 << 20);
    assert!(matches!(error, ArchiveError::NotAuthentic { .. }), "{error:?}");
}

#[test]
fn what_a_newer_version_wrote_is_refused_as_that() {
    let (_, packed) = sample();
    let changed = |at: usize, byte: u8| {
        let mut bytes = packed.bytes.clone();
        bytes[at] = byte;
        verify(&bytes, None).unwrap_err()
    };
    let end = packed.bytes.len();
    assert_eq!(changed(8, 2), ArchiveError::Format { found: 2 });
    assert_eq!(changed(end - 16, 2), ArchiveError::Format { found: 2 });
    assert_eq!(changed(10, 1), ArchiveError::Reserved { what: "header" });
    assert_eq!(changed(end - 12, 1), ArchiveError::Reserved { what: "trailer" });
    assert!(matches!(changed(0, 0), ArchiveError::Magic { what: "header", .. }));
    assert!(matches!(changed(end - 1, 0), ArchiveError::Magic { what: "trailer", .. }));
    let kind = forged(|parts| {
        let last = parts.entries.len() - 1;
        parts.entries[last].codec = Codec::ZstdDictionary1;
    });
    assert!(matches!(kind, ArchiveError::Part { .. }), "{kind:?}");
}

#[test]
fn a_header_of_another_archive_is_found() {
    let (_, packed) = sample();
    for header in [
        ArchiveHeader { ledger: LedgerId([7; 16]), ..ArchiveHeader::parse(&packed.bytes).unwrap() },
        ArchiveHeader { generation: Generation(2), ..ArchiveHeader::parse(&packed.bytes).unwrap() },
        ArchiveHeader { first: 1, ..ArchiveHeader::parse(&packed.bytes).unwrap() },
    ] {
        let mut bytes = packed.bytes.clone();
        bytes[..ARCHIVE_HEADER_BYTES].copy_from_slice(&header.encode());
        assert_eq!(verify(&bytes, None).unwrap_err(), ArchiveError::Contents { what: "the header" });
    }
}

#[test]
fn a_manifest_that_says_what_cannot_be_is_not_signed() {
    let (sample, packed) = sample();
    let manifest = ArchiveParts::of(&packed.bytes).manifest;
    let changes: [Change<Manifest>; 17] = [
        ("older", |manifest| manifest.times.0.0 += 1 << 40),
        ("type", |manifest| manifest.kinds[0].0.clear()),
        ("type", |manifest| manifest.kinds[0].1 = 0),
        ("type", |manifest| manifest.kinds[0].0 = "a\nb".to_owned()),
        ("sorted", |manifest| manifest.kinds.swap(0, 1)),
        ("add up", |manifest| manifest.kinds[0].1 += 1),
        ("add up", |manifest| manifest.kinds[0].1 = u64::MAX),
        ("links", |manifest| manifest.chain_before.position = manifest.chain_after.position.next().unwrap()),
        ("links", |manifest| manifest.chain_after.position = Position::new(770).unwrap()),
        ("two links", |manifest| manifest.chain_after.position = manifest.chain_before.position),
        ("segments", |manifest| manifest.segments[0].number = bitacora_formats::SegmentNumber(1)),
        ("segments", |manifest| manifest.segments.swap(0, 1)),
        ("segments", |manifest| manifest.segments[0].generation = Generation(2)),
        ("subtrees", |manifest| manifest.subtrees[0] = TreeHash([1; 32])),
        ("subtrees", |manifest| manifest.subtrees.truncate(1)),
        ("state", |manifest| manifest.state = Some(StateLine { position: Position::FIRST, bytes: 1 })),
        ("part table", |manifest| manifest.table.bytes += 1),
    ];
    for (what, change) in changes {
        let mut changed = manifest.clone();
        change(&mut changed);
        let error = changed.sign(&sample.keyring).unwrap_err();
        let ArchiveError::Manifest(ManifestError::Contradiction { problem }) = &error else {
            panic!("{what}: {error:?}")
        };
        assert!(problem.contains(what), "{what}: {problem}");
    }
}

#[test]
fn a_tree_head_of_another_history_is_not_taken() {
    let (sample, packed) = sample();
    let parts = ArchiveParts::of(&packed.bytes);
    let with = |head: TreeHeadProof| {
        Manifest { tree_head: Some(head), ..parts.manifest.clone() }.sign(&sample.keyring)
    };
    let range = parts.manifest.range;
    let later = sample.facts(range, Some(1_024)).tree_head.unwrap();
    assert!(with(later.clone()).is_ok(), "a later head, with its proof");
    let mut cut = later.clone();
    cut.consistency.pop();
    assert!(matches!(with(cut), Err(ArchiveError::Manifest(ManifestError::Consistency(_)))));
    let earlier = sample.facts(ArchiveRange::new(257, 512).unwrap(), Some(512)).tree_head.unwrap();
    assert!(matches!(with(earlier), Err(ArchiveError::Manifest(ManifestError::Consistency(_)))));
    let mut other = later.clone();
    other.consistency[0].0[0] ^= 1;
    assert!(matches!(with(other), Err(ArchiveError::Manifest(ManifestError::Consistency(_)))));
    let forged = TreeHeadProof { note: later.note.replacen("1024", "1025", 1), ..later };
    assert!(matches!(with(forged), Err(ArchiveError::Manifest(ManifestError::TreeHead(_)))));
}

#[test]
fn with_keys_what_the_manifest_says_of_the_events_is_compared() {
    let changes: [Change<ArchiveParts>; 5] = [
        ("the counts by type", |parts| {
            parts.manifest.kinds[0].1 -= 1;
            parts.manifest.kinds[1].1 += 1;
        }),
        ("the bytes or times", |parts| parts.manifest.content_bytes += 1),
        ("the bytes or times", |parts| parts.manifest.times.1.0 += 1),
        ("the link of the chain", |parts| parts.manifest.chain_before.position = Position::new(257).unwrap()),
        ("the link of the chain", |parts| parts.manifest.chain_after.position = Position::new(700).unwrap()),
    ];
    for (what, change) in changes {
        assert_eq!(forged(change), ArchiveError::Contents { what });
    }
}

#[test]
fn an_index_that_leaves_something_out_is_found_with_keys() {
    let (sample, packed) = sample();
    let mut parts = ArchiveParts::of(&packed.bytes);
    let layout = layout(&packed.bytes, None).unwrap();
    let key = ArchiveKey::unwrap(layout.manifest().manifest(), &sample.keyring).unwrap();
    let number = parts.place_of(PartKind::Index, Some(ArchiveLabel::Call.number().into()));
    let entry = parts.entries[number];
    let mut decompressor = Decompressor::new().unwrap();
    let mut plain = open_part(&key, &entry, &parts.stored[number], &mut decompressor).unwrap().to_vec();
    // Another group for one of the calls.
    plain[20] ^= 0x10;
    let sealed = group::seal_contents(&key, PartEntry { codec: Codec::Stored, ..entry }, &plain, plain.len());
    let (entry, stored) = sealed.unwrap();
    parts.entries[number] = entry;
    parts.stored[number] = stored;
    let error = verify_contents(&parts.signed(&sample.keyring), &sample.keyring).unwrap_err();
    assert_eq!(error, ArchiveError::Contents { what: "the index" });
}

#[test]
fn roots_that_are_not_those_of_the_events_are_found() {
    let (sample, packed) = sample();
    let error = forged(|parts| {
        let number = parts.place_of(PartKind::Roots, None);
        parts.stored[number][5] ^= 1;
    });
    assert_eq!(error, ArchiveError::Tree { what: "a subtree" });
    // Roots and subtrees of other events, which only the keys can tell.
    let mut parts = ArchiveParts::of(&packed.bytes);
    let number = parts.place_of(PartKind::Roots, None);
    parts.stored[number][5] ^= 1;
    let roots = check_roots_of(&parts.stored[number]);
    parts.manifest.subtrees = tree::subtree_roots(parts.manifest.range, &roots).unwrap();
    parts.manifest.root_after = parts.manifest.tree_after().unwrap().root();
    parts.manifest.tree_head = None;
    let bytes = parts.signed(&sample.keyring);
    assert!(verify(&bytes, None).is_ok());
    let error = verify_contents(&bytes, &sample.keyring).unwrap_err();
    assert_eq!(error, ArchiveError::Tree { what: "a group of events" });
}

fn check_roots_of(stored: &[u8]) -> Vec<TreeHash> {
    bitacora_formats::LevelsHeader::hashes(stored).collect()
}

#[test]
fn neighbours_that_do_not_meet_are_told() {
    let sample = Sample::new(1_024);
    let [before, after] = [sample.archive(1, 512), sample.archive(513, 1_024)]
        .map(|packed| ArchiveParts::of(&packed.bytes).manifest);
    assert_eq!(after.follows(&before), Ok(()));
    let changes: [Change<Manifest>; 8] = [
        ("the ledger", |manifest| manifest.origin.ledger = LedgerId([7; 16])),
        ("the ledger", |manifest| manifest.origin.name = "other".parse().unwrap()),
        ("the link of the chain", |manifest| manifest.chain_before.hash.0[0] ^= 1),
        ("the tree", |manifest| {
            let mut peaks = manifest.tree_before.peaks().to_vec();
            peaks[0].0[0] ^= 1;
            manifest.tree_before = bitacora_formats::Frontier::from_parts(512, &peaks).unwrap();
        }),
        ("the time, which does not go back,", |manifest| manifest.times.0 = Micros(0)),
        ("the number of the segment", |manifest| {
            manifest.segments[0].number = bitacora_formats::SegmentNumber(9);
        }),
        ("the position", |manifest| manifest.range = ArchiveRange::new(257, 1_024).unwrap()),
        ("a signing key", |manifest| manifest.signing_keys = stranger().signing_chain().clone()),
    ];
    for (what, change) in changes {
        let mut changed = after.clone();
        change(&mut changed);
        let (earlier, later) = (before.range, changed.range);
        assert_eq!(changed.follows(&before), Err(ArchiveError::Neighbour { earlier, later, what }));
    }
    let mut newer = before.clone();
    newer.origin.generation = Generation(2);
    assert!(matches!(after.follows(&newer), Err(ArchiveError::Neighbour { .. })));
}
