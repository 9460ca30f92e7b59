//! Tests of the choice of archives for a restoration, with stores that have more or less than join.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_archive_format::{ArchiveRange, Revision};
use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveProgress, ArchiveRun, ArchiveStore, Archiver, Objects, Release,
    RestoreReport, RestoreScope, RestoringError, Rules, StoreSettings, UnusedReason, restore,
};
use bitacora_formats::{Generation, LedgerId};
use bitacora_ledger::Ledger;

use super::fixture::{ArchiveFixture, copy_folder, options, wait_until};
use super::packed::packed_again;

/// Events that are archived, in whole groups.
const ARCHIVED: u64 = 2_560;

/// A ledger, and stores beside it with archives of different lengths of the same events.
struct Stores {
    fixture: ArchiveFixture,
    ledger: LedgerId,
}

impl Stores {
    fn new() -> Self {
        let fixture = ArchiveFixture::new();
        let ledger = fixture.open();
        fixture.fill(&ledger, 1, 2_650);
        ledger.close().unwrap();
        Self { ledger: ledger.id(), fixture }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.fixture.folder.path().join(name)
    }

    fn objects(&self, name: &str) -> Arc<dyn Objects> {
        let place = ArchiveLocation::Folder(self.folder(name));
        Arc::new(ArchiveStore::at(place, StoreSettings::default()))
    }

    /// A store of that name, with archives of so many events each.
    fn archive(&self, name: &str, events: u64) {
        let folder = self.folder(&format!("ledger-{name}"));
        copy_folder(&self.fixture.ledger(), &folder);
        let (environment, keyring) = (&self.fixture.environment, &self.fixture.keyring);
        let ledger = Ledger::open(environment, &folder, Arc::clone(keyring), options()).unwrap();
        wait_until(|| ledger.status().heads.size >= ARCHIVED);
        let store = self.objects(name);
        let archiver = Archiver::new(ledger.clone(), &folder, environment, keyring, store, name.to_owned());
        let rules = Rules { is_forced: true, archive_events: events, ..Rules::default() };
        archiver
            .run(&ArchiveRun { rules, pace: ArchivePace::Full { threads: 2 }, release: Release::Never })
            .unwrap();
        ledger.close().unwrap();
    }

    fn path(&self, store: &str, first: u64, last: u64) -> PathBuf {
        let range = ArchiveRange::new(first, last).unwrap();
        self.folder(store).join(range.object_name(self.ledger, Generation::FIRST, Revision::FIRST))
    }

    /// Puts an archive of one store into another.
    fn put(&self, from: &str, first: u64, last: u64, into: &str) -> PathBuf {
        let to = self.path(into, first, last);
        fs::copy(self.path(from, first, last), &to).unwrap();
        to
    }

    /// Puts the same archive beside it once more, as if a later generation had made it.
    fn pack_again(&self, store: &str, first: u64, last: u64) {
        let objects = self.objects(store);
        let range = ArchiveRange::new(first, last).unwrap();
        let name = range.object_name(self.ledger, Generation::FIRST, Revision::FIRST);
        let (packed, name) = packed_again(&self.fixture, &objects, (&name, Generation(2)), |_| ());
        fs::create_dir_all(self.folder(store).join(&name).parent().unwrap()).unwrap();
        fs::write(self.folder(store).join(name), packed).unwrap();
    }

    fn restore(&self, store: &str, reach: RestoreScope) -> Result<RestoreReport, RestoringError> {
        let folder = self.folder("again");
        let _cleared = fs::remove_dir_all(&folder).is_ok();
        fs::create_dir(&folder).unwrap();
        let (objects, progress) = (self.objects(store), ArchiveProgress::default());
        let ArchiveFixture { environment, keyring, .. } = &self.fixture;
        restore(environment, &objects, (self.ledger, reach), keyring, &folder.join("main"), &progress)
    }
}

fn ranges(restored: &RestoreReport) -> Vec<(u64, u64, &'static str)> {
    let told = |one: &bitacora_archiver::UnusedArchive| {
        (one.range.first().get(), one.range.last().get(), one.why.code())
    };
    restored.unused.iter().map(told).collect()
}

/// All that is archived was restored, but for what a frame at the end has more.
fn assert_whole(restored: &RestoreReport) {
    assert_eq!(restored.events + restored.left_out, ARCHIVED, "{restored:?}");
    assert!(restored.left_out < 256);
}

#[test]
fn an_archive_that_leads_nowhere_does_not_end_the_chain() {
    let stores = Stores::new();
    stores.archive("long", 1_024);
    stores.archive("short", 512);
    // It begins as another does, and the next of its length is not there.
    stores.put("short", 1, 512, "long");
    stores.put("short", 1_537, 2_048, "long");
    let restored = stores.restore("long", RestoreScope::Whole).unwrap();
    assert_whole(&restored);
    assert_eq!(restored.archives, 3);
    assert_eq!(ranges(&restored), [(1, 512, "replaced"), (1_537, 2_048, "replaced")]);
    // Nor does one that is longer, where the shorter ones go on.
    stores.put("long", 1, 1_024, "short");
    fs::remove_file(stores.path("short", 1, 512)).unwrap();
    stores.put("long", 1_025, 2_048, "short");
    fs::remove_file(stores.path("short", 2_049, 2_560)).unwrap();
    let restored = stores.restore("short", RestoreScope::Whole).unwrap();
    assert_eq!(restored.events + restored.left_out, 2_048);
}

#[test]
fn what_is_missing_before_later_archives_is_named() {
    let stores = Stores::new();
    stores.archive("cold", 512);
    fs::remove_file(stores.path("cold", 513, 1_024)).unwrap();
    fs::remove_file(stores.path("cold", 1_025, 1_536)).unwrap();
    let refused = stores.restore("cold", RestoreScope::Whole).unwrap_err();
    assert!(matches!(refused, RestoringError::Gap { first: 513, last: 1_536, .. }), "{refused}");
    assert!(!stores.folder("again/main").exists());
    let restored = stores.restore("cold", RestoreScope::AsFarAsPossible).unwrap();
    assert_eq!((restored.archives, restored.events + restored.left_out), (1, 512));
    assert_eq!(ranges(&restored), [(1_537, 2_048, "apart"), (2_049, 2_560, "apart")]);
    fs::remove_file(stores.path("cold", 1, 512)).unwrap();
    let refused = stores.restore("cold", RestoreScope::Whole).unwrap_err();
    assert!(matches!(refused, RestoringError::Gap { first: 1, last: 1_536, .. }), "{refused}");
    let refused = stores.restore("cold", RestoreScope::AsFarAsPossible).unwrap_err();
    assert!(matches!(refused, RestoringError::None { .. }), "{refused}");
}

#[test]
fn an_archive_that_meets_no_other_is_named() {
    let stores = Stores::new();
    stores.archive("cold", 512);
    stores.archive("other", 768);
    fs::remove_file(stores.path("cold", 2_049, 2_560)).unwrap();
    fs::remove_file(stores.path("cold", 1_537, 2_048)).unwrap();
    // The archives that go on from there begin within the present ones, where nothing ends.
    let apart = stores.put("other", 769, 1_536, "cold");
    assert_eq!(stores.restore("cold", RestoreScope::Whole).unwrap().unused[0].why, UnusedReason::Replaced);
    fs::remove_file(apart).unwrap();
    stores.put("other", 1_537, 2_304, "cold");
    assert_eq!(stores.restore("cold", RestoreScope::Whole).unwrap().archives, 4);
    fs::remove_file(stores.path("cold", 1_025, 1_536)).unwrap();
    fs::remove_file(stores.path("cold", 1_537, 2_304)).unwrap();
    stores.put("other", 769, 1_536, "cold");
    let refused = stores.restore("cold", RestoreScope::Whole).unwrap_err();
    assert!(matches!(refused, RestoringError::Apart { end: 1_024, .. }), "{refused}");
    assert_eq!(stores.restore("cold", RestoreScope::AsFarAsPossible).unwrap().archives, 2);
}

#[test]
fn damage_stops_nothing_that_can_be_had_without_it() {
    let stores = Stores::new();
    stores.archive("cold", 1_024);
    stores.archive("short", 512);
    // One that is not needed: without an end.
    let orphan = stores.put("short", 1, 512, "cold");
    let bytes = fs::read(&orphan).unwrap();
    fs::write(&orphan, &bytes[..bytes.len() - 7]).unwrap();
    let restored = stores.restore("cold", RestoreScope::Whole).unwrap();
    assert_whole(&restored);
    assert_eq!(ranges(&restored), [(1, 512, "unusable")]);
    // One whose contents are damaged, and whose positions others hold too.
    let path = stores.path("cold", 1_025, 2_048);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 1;
    fs::write(&path, &damaged).unwrap();
    for (first, last) in [(1_025, 1_536), (1_537, 2_048)] {
        stores.put("short", first, last, "cold");
    }
    let restored = stores.restore("cold", RestoreScope::Whole).unwrap();
    assert_whole(&restored);
    assert_eq!(ranges(&restored), [(1, 512, "unusable"), (1_025, 2_048, "unusable")]);
    // One that is needed, damaged in its contents, and then at its end.
    fs::remove_file(stores.path("cold", 1_025, 1_536)).unwrap();
    fs::remove_file(stores.path("cold", 1_537, 2_048)).unwrap();
    let range = ArchiveRange::new(1_025, 2_048).unwrap();
    for bytes in [&damaged[..], &whole[..whole.len() - 1]] {
        fs::write(&path, bytes).unwrap();
        match stores.restore("cold", RestoreScope::Whole).unwrap_err() {
            RestoringError::Unusable { range: named, source } => {
                assert!(named == range && source.is_damage(), "{source}");
            }
            other => panic!("{other}"),
        }
        let restored = stores.restore("cold", RestoreScope::AsFarAsPossible).unwrap();
        assert_eq!(restored.events + restored.left_out, 1_024);
        assert_eq!(ranges(&restored)[1..], [(1_025, 2_048, "unusable"), (2_049, 2_560, "apart")]);
    }
}

#[test]
fn a_later_generation_is_taken_where_it_goes_as_far() {
    let stores = Stores::new();
    stores.archive("cold", 1_024);
    // Alone it leads nowhere: nothing of an earlier generation goes on from it.
    stores.pack_again("cold", 1, 1_024);
    let restored = stores.restore("cold", RestoreScope::Whole).unwrap();
    assert_whole(&restored);
    assert!(restored.unused.len() == 1 && restored.unused[0].name.contains("/g2/"), "{restored:?}");
    stores.pack_again("cold", 1_025, 2_048);
    stores.pack_again("cold", 2_049, 2_560);
    let restored = stores.restore("cold", RestoreScope::Whole).unwrap();
    assert_whole(&restored);
    assert!(restored.unused.iter().all(|one| one.name.contains("/g1/")), "{restored:?}");
    assert_eq!((restored.archives, restored.unused.len()), (3, 3));
}
