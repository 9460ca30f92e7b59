//! Copies of expired content in the store: archives from before the ledger was restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archiver::{
    ArchiveProgress, ArchiveRun, ExpiryMode, Release, RestoreReport, RestoreScope, Rules, StoredArchive,
    Verification, restore,
};
use bitacora_formats::{Data, decode_record};
use bitacora_ledger::{Ledger, StoredEvent};

use super::expiring_ledger::{ExpiringLedger, Multiples, PACE, events};
use super::fixture::{copy_folder, forced, options, wait_until};

/// The position up to which the first archive of the restored ledger goes: of it events expire.
const FIRST_ARCHIVE: u64 = 768;

/// A ledger that was restored, and archived again in shorter archives; and the store as it was before.
struct RestoredLedger {
    expiring: ExpiringLedger,
    before: PathBuf,
}

impl RestoredLedger {
    fn new() -> Self {
        let expiring = ExpiringLedger::new();
        let before = expiring.fixture.folder.path().join("before");
        let expiring = expiring.reopened(|expiring| {
            let fixture = &expiring.fixture;
            copy_folder(&fixture.folder.path().join("cold"), &before);
            fs::remove_dir_all(fixture.ledger()).unwrap();
            restore_to(expiring, &fixture.ledger(), RestoreScope::Whole);
        });
        expiring.fixture.fill(&expiring.ledger, 20_000, 300);
        let expiring = expiring.reopened(|_| ());
        expiring.fixture.fill(&expiring.ledger, 30_000, 500);
        let ledger = &expiring.ledger;
        wait_until(|| {
            ledger.status().is_proven && ledger.status().heads.size >= ledger.head().position.get()
        });
        let rules = Rules { archive_events: FIRST_ARCHIVE, ..forced() };
        let run = ArchiveRun { rules, pace: PACE, release: Release::OnceProven };
        let outcome = expiring.fixture.archiver(ledger).run(&run).unwrap();
        assert!(outcome.archived.iter().all(|one| one.name.contains("/g2/")), "{:?}", outcome.archived);
        assert!(ledger.released_through().is_some_and(|released| released.get() > FIRST_ARCHIVE));
        Self { expiring, before }
    }

    /// The objects of a generation, by their names in the store.
    fn objects(&self, generation: u32) -> Vec<String> {
        let fixture = &self.expiring.fixture;
        let folder = format!("{}/g{generation}", self.expiring.ledger.id());
        let listed = fixture.objects.list(&folder).unwrap().objects;
        listed.into_iter().map(|(name, _)| format!("{folder}/{name}")).collect()
    }

    /// The number of events in the store whose content is to be gone, and of those that hold content, in the archives of the generation.
    fn contents(&self, generation: u32, thirds: &Multiples) -> (u64, u64) {
        let fixture = &self.expiring.fixture;
        let (mut expired, mut others) = (0, 0);
        for name in self.objects(generation) {
            let stored = StoredArchive::open(&fixture.objects, &name, None).unwrap();
            let progress = ArchiveProgress::default();
            let verification = Verification::new(&stored, PACE, &progress);
            let counted = verification.each_group(&fixture.keyring, |first, rows| {
                for (position, row) in (first.get()..).zip(rows.iter()) {
                    let record = decode_record(row.record).unwrap();
                    if record.expired().is_none() {
                        let counted = position <= FIRST_ARCHIVE && thirds.has(&record.id);
                        *(if counted { &mut expired } else { &mut others }) += 1;
                    }
                }
                Ok::<_, bitacora_archiver::ArchiverError>(())
            });
            counted.unwrap();
        }
        (expired, others)
    }
}

fn restore_to(expiring: &ExpiringLedger, folder: &Path, reach: RestoreScope) -> RestoreReport {
    let fixture = &expiring.fixture;
    restore(
        &fixture.environment,
        &fixture.objects,
        (expiring.ledger.id(), reach),
        &fixture.keyring,
        folder,
        &ArchiveProgress::default(),
    )
    .unwrap()
}

/// Checks a restored ledger: what expired in the first archive is gone, and everything else is there.
fn assert_restored(restored: &[StoredEvent<'static>], thirds: &Multiples) {
    assert!(restored.len() > 3_500, "{}", restored.len());
    for stored in restored {
        let is_gone = stored.position.get() <= FIRST_ARCHIVE && thirds.has(&stored.event.id);
        assert_eq!(stored.expired_by.is_some(), is_gone, "{stored:?}");
        let has_data = stored.event.data != Data::None;
        assert!(has_data != is_gone || !stored.event.id.starts_with('e'), "{stored:?}");
    }
}

#[test]
fn what_expired_goes_from_archives_of_an_earlier_generation_too() {
    let restored = RestoredLedger::new();
    let thirds = Multiples::of(3, 7);
    let before = restored.contents(1, &thirds);
    assert_eq!(restored.objects(1).len(), 2);
    assert!(before.0 > 200, "{before:?}");
    assert_eq!(restored.expiring.expire(&thirds, ExpiryMode::DryRun).len(), 1);
    assert_eq!(restored.contents(1, &thirds), before, "a dry run changes nothing");
    assert_eq!(restored.expiring.expire(&thirds, ExpiryMode::Remove).len(), 1);
    assert_eq!((restored.contents(1, &thirds), restored.contents(2, &thirds).0), ((0, before.1), 0));
    let objects = restored.objects(1);
    assert_eq!(objects.len(), 2, "what the ledger gave up stays: {objects:?}");
    // Copies that come back go where nothing expires now, and as before.
    copy_folder(&restored.before, &restored.expiring.fixture.folder.path().join("cold"));
    restored.expiring.fixture.archiver(&restored.expiring.ledger).settle_expiry(PACE).unwrap();
    assert_eq!(restored.contents(1, &thirds).0, 0);
    assert_eq!(restored.expiring.expire(&thirds, ExpiryMode::Remove), []);
}

#[test]
fn a_copy_whose_every_event_is_kept_is_removed() {
    let restored = RestoredLedger::new();
    let thirds = Multiples::of(3, 7);
    restored.expiring.expire(&thirds, ExpiryMode::Remove);
    // A generation in whose archive every event of the kept one stands.
    let kept = restored.objects(2).into_iter().find(|name| name.contains(".r1.")).unwrap();
    let restored = RestoredLedger {
        expiring: restored.expiring.reopened(|expiring| {
            fs::remove_dir_all(expiring.fixture.ledger()).unwrap();
            restore_to(expiring, &expiring.fixture.ledger(), RestoreScope::Whole);
        }),
        ..restored
    };
    let ledger = &restored.expiring.ledger;
    wait_until(|| ledger.status().is_proven && ledger.status().heads.size >= ledger.head().position.get());
    let rules = Rules { archive_events: FIRST_ARCHIVE, ..forced() };
    let run = ArchiveRun { rules, pace: PACE, release: Release::OnceProven };
    restored.expiring.fixture.archiver(ledger).run(&run).unwrap();
    assert!(restored.objects(2).contains(&kept));
    let fifths = Multiples::of(5, 9);
    assert_eq!(restored.expiring.expire(&fifths, ExpiryMode::Remove).len(), 1);
    let stem = kept.split_once(".r1.").unwrap().0;
    let left = restored.objects(2);
    assert!(!left.iter().any(|name| name.starts_with(stem)), "{left:?}");
    assert_eq!(restored.contents(1, &fifths).0 + restored.contents(2, &fifths).0, 0);
}

#[test]
fn a_restoration_brings_nothing_back_of_what_expired_in_a_later_generation() {
    let restored = RestoredLedger::new();
    let thirds = Multiples::of(3, 7);
    restored.expiring.expire(&thirds, ExpiryMode::Remove);
    let fixture = &restored.expiring.fixture;
    // The archives of the first generation go further than the one of the second that is left.
    for name in restored.objects(2).iter().filter(|name| !name.contains(".r1.")) {
        fs::remove_file(fixture.folder.path().join("cold").join(name)).unwrap();
    }
    copy_folder(&restored.before, &fixture.folder.path().join("cold"));
    let again = fixture.folder.path().join("again/main");
    fs::create_dir(again.parent().unwrap()).unwrap();
    let made = restore_to(&restored.expiring, &again, RestoreScope::AsFarAsPossible);
    assert_eq!(made.archives, 2, "{made:?}");
    let ledger = Ledger::open(&fixture.environment, &again, Arc::clone(&fixture.keyring), options()).unwrap();
    let mut all = events(&ledger);
    all.retain(|stored| stored.position.get() <= made.events);
    assert_restored(&all, &thirds);
}

#[test]
fn lost_manifests_do_not_come_back_from_an_earlier_generation() {
    let restored = RestoredLedger::new();
    let thirds = Multiples::of(3, 7);
    restored.expiring.expire(&thirds, ExpiryMode::Remove);
    let before = events(&restored.expiring.ledger);
    let expiring = restored.expiring.reopened(|expiring| {
        copy_folder(&restored.before, &expiring.fixture.folder.path().join("cold"));
        fs::remove_dir_all(expiring.fixture.ledger().join("archives")).unwrap();
    });
    let now = events(&expiring.ledger);
    assert!(now[..before.len()] == before);
}
