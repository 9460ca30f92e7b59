//! The whole way: events are archived, their segments go, and they are read as before.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod expired_decisions;
mod expiring;
mod expiring_ledger;
mod fixture;
mod index_reads;
mod joining;
mod lost_manifests;
mod other_copies;
mod packed;
mod picked;
mod unfinished_removals;

use std::sync::Arc;

use bitacora_archiver::{
    ArchivePace, ArchiveProgress, ArchiveRun, ArchiverError, Release, RestoreScope, RestoringError, Rules,
    archived_ledgers, restore,
};
use bitacora_formats::Position;
use bitacora_ledger::{Environment, Ledger, ReadError, RestoreError};

use sha2::{Digest, Sha256};

use self::fixture::{ArchiveFixture, data_of, forced, seen, wait_until};

#[test]
fn what_was_archived_and_released_is_read_as_before() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 6_000);
    let before = seen(&ledger, 6_000).unwrap();
    let outcome = fixture.archive_all(&ledger);
    assert_eq!(outcome.archived.len(), 1);
    let archived = &outcome.archived[0];
    assert_eq!(archived.range.first(), Position::FIRST);
    assert!(archived.range.last().get() > 5_700 && !archived.was_there);
    let released = outcome.released.unwrap();
    assert!(released.segments >= 2, "{released:?}");
    assert_eq!(ledger.released_through(), Some(released.last));
    // Read by the same handle, and by one that is opened anew, and by one that may only read.
    assert!(seen(&ledger, 6_000).unwrap() == before);
    ledger.close().unwrap();
    let ledger = fixture.open();
    assert!(seen(&ledger, 6_000).unwrap() == before);
    // Later events are archived behind it.
    fixture.fill(&ledger, 10_000, 3_000);
    let outcome = fixture.archive_all(&ledger);
    assert_eq!(outcome.archived[0].range.first().get(), archived.range.last().get() + 1);
    assert!(seen(&ledger, 6_000).unwrap() == before);
    assert_eq!(fixture.archive_all(&ledger).archived, []);
}

#[test]
fn an_archive_that_is_gone_or_damaged_is_named_by_its_positions() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 3_000);
    let outcome = fixture.archive_all(&ledger);
    assert!(outcome.released.is_some());
    ledger.close().unwrap();
    let (name, range) = (&outcome.archived[0].name, outcome.archived[0].range);
    let path = fixture.folder.path().join("cold").join(name);
    let whole = std::fs::read(&path).unwrap();
    // The damage lies among the first events; the last ones of an archive may be here too.
    for (bytes, kind) in [(None, "archive-unavailable"), (Some(200), "archive-damaged")] {
        match bytes {
            None => std::fs::remove_file(&path).unwrap(),
            Some(at) => {
                let mut damaged = whole.clone();
                damaged[at] ^= 1;
                std::fs::write(&path, damaged).unwrap();
            }
        }
        let ledger = fixture.open();
        // The newest events are here.
        ledger.event(ledger.head().position).unwrap();
        let Err(ReadError::Archive(error)) = seen(&ledger, 3_000) else { panic!("read out of nothing") };
        assert_eq!((error.first, error.last, error.code()), (range.first(), range.last(), kind));
        ledger.close().unwrap();
    }
    std::fs::write(&path, &whole).unwrap();
    let ledger = fixture.open();
    assert_eq!(seen(&ledger, 3_000).unwrap().len(), 3_000);
}

#[test]
fn nothing_is_let_go_whose_archive_is_not_there_any_more() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 3_000);
    let archived = fixture.run(&ledger, Release::Never).unwrap().archived;
    let path = fixture.folder.path().join("cold").join(&archived[0].name);
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 1;
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(fixture.run(&ledger, Release::OnceProven), Err(ArchiverError::Stored(_))));
    std::fs::write(&path, damaged).unwrap();
    assert!(matches!(fixture.run(&ledger, Release::OnceProven), Err(ArchiverError::Stored(_))));
    assert_eq!(ledger.released_through(), None);
    assert_eq!(seen(&ledger, 3_000).unwrap().len(), 3_000);
    std::fs::write(&path, whole).unwrap();
    assert!(fixture.run(&ledger, Release::OnceProven).unwrap().released.is_some());
    assert_eq!(seen(&ledger, 3_000).unwrap().len(), 3_000);
}

#[test]
fn a_ledger_is_made_again_of_its_archives() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 3_000);
    fixture.archive_all(&ledger);
    fixture.fill(&ledger, 5_000, 2_000);
    fixture.archive_all(&ledger);
    let all = seen(&ledger, u64::MAX).unwrap();
    let id = ledger.id();
    assert_eq!(archived_ledgers(&*fixture.objects).unwrap(), [id]);
    let again = fixture.folder.path().join("again/main");
    std::fs::create_dir(again.parent().unwrap()).unwrap();
    let restored = restore(
        &fixture.environment,
        &fixture.objects,
        (id, RestoreScope::Whole),
        &fixture.keyring,
        &again,
        &ArchiveProgress::default(),
    )
    .unwrap();
    assert_eq!(restored.archives, 2);
    assert!(restored.events > 4_600 && restored.left_out < 256, "{restored:?}");
    // Opened without any archives: everything is here again.
    let opened =
        Ledger::open_for_reading(&Environment::real(), &again, Arc::clone(&fixture.keyring), None).unwrap();
    assert_eq!((opened.id(), opened.head().position.get()), (id, restored.events));
    assert_eq!(opened.head().tree_root, restored.root);
    let events = usize::try_from(restored.events).unwrap();
    assert!(seen(&opened, u64::MAX).unwrap() == all[..events]);
    // Requests and frames begin where they did.
    for position in [1, 2, 700, 3_000, 4_000].map(|position| Position::new(position).unwrap()) {
        let marks = [&ledger, &opened].map(|ledger| ledger.frame_of(position).unwrap());
        assert_eq!((marks[0].first, marks[0].last), (marks[1].first, marks[1].last));
    }
    let again = restore(
        &fixture.environment,
        &fixture.objects,
        (id, RestoreScope::Whole),
        &fixture.keyring,
        &again,
        &ArchiveProgress::default(),
    );
    assert!(matches!(again, Err(RestoringError::Ledger(RestoreError::Exists(_)))), "{again:?}");
}

#[test]
fn a_ledger_made_again_goes_on_and_is_archived_beside_what_was_lost() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 3_000);
    fixture.archive_all(&ledger);
    fixture.fill(&ledger, 5_000, 700);
    fixture.archive_all(&ledger);
    let id = ledger.id();
    ledger.close().unwrap();
    std::fs::remove_dir_all(fixture.ledger()).unwrap();
    let restored = restore(
        &fixture.environment,
        &fixture.objects,
        (id, RestoreScope::Whole),
        &fixture.keyring,
        &fixture.ledger(),
        &ArchiveProgress::default(),
    )
    .unwrap();
    let ledger = fixture.open();
    // Other events stand where those stood that were left out, and those that no archive had.
    fixture.fill(&ledger, 20_000, 700);
    let before = seen(&ledger, u64::MAX).unwrap();
    let outcome = fixture.archive_all(&ledger);
    assert!(outcome.archived.iter().all(|one| one.name.contains("/g2/")), "{:?}", outcome.archived);
    assert!(outcome.released.is_some());
    assert!(seen(&ledger, u64::MAX).unwrap()[..before.len()] == before);
    assert!(ledger.head().position.get() > restored.events);
}

/// The log's record of an archive fits the archive in the store, also if that was lost before the ledger knew of it.
#[test]
fn an_archive_that_was_lost_and_made_anew_is_recorded_anew() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 1_000);
    let first = fixture.run(&ledger, Release::Never).unwrap().archived.remove(0);
    std::fs::remove_dir_all(fixture.folder.path().join("cold")).unwrap();
    std::fs::remove_dir_all(fixture.ledger().join("archives")).unwrap();
    let rules = Rules { archive_events: first.range.events(), ..forced() };
    let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 1 }, release: Release::Never };
    let again = fixture.archiver(&ledger).run(&run).unwrap().archived.remove(0);
    assert_eq!(again.name, first.name);
    let kept = fixture.ledger().join("archives").join(format!("{}.manifest", first.range.file_stem()));
    let digest = Sha256::digest(std::fs::read(kept).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let said = data_of(&ledger, "archive.sealed");
    assert!(said.len() >= 2 && said.iter().all(|data| data.contains("manifest_sha256")), "{said:?}");
    let said: Vec<&String> = said.iter().filter(|data| data.contains(&first.name)).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains(&digest) && !said[0].contains(&digest), "{digest}: {said:?}");
}

#[test]
fn a_ledger_that_is_too_small_has_nothing_due() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    for events in [0, 100, 154] {
        fixture.fill(&ledger, 1, events);
        assert_eq!(fixture.archiver(&ledger).plan(&forced()).unwrap(), [], "{events}");
        assert_eq!(fixture.archive_all(&ledger).archived, []);
    }
    wait_until(|| ledger.head().position.get() > 100);
}
