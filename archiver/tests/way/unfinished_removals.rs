//! A run that lets events expire and ends before it records that leaves two revisions of an archive: the earlier one counts everywhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bitacora_archiver::{ArchiveProgress, ExpiryMode, known_archives, restore_history};
use bitacora_ledger::{KnownSegments, Ledger, StoredEvent};

use super::expiring_ledger::{ChangedMind, ExpiringLedger, Multiples, PACE, events};
use super::fixture::{copy_folder, options};

/// Leaves the revision beside the archive that a run leaves which ends before it records it.
fn leave_unrecorded(expiring: &ExpiringLedger) {
    let fickle = ChangedMind { expires: Multiples::of(3, 7), expiring, revision: 1 };
    let archiver = expiring.fixture.archiver(&expiring.ledger);
    archiver.expire(&fickle, ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
    fs::rename(expiring.spare(), expiring.object(1)).unwrap();
}

/// The events of a restored ledger that its archives held.
fn restored_events(expiring: &ExpiringLedger, folder: &Path) -> Vec<StoredEvent<'static>> {
    let (environment, keyring) = (&expiring.fixture.environment, Arc::clone(&expiring.fixture.keyring));
    let ledger = Ledger::open(environment, folder, keyring, options()).unwrap();
    let mut all = events(&ledger);
    all.truncate(usize::try_from(expiring.through).unwrap());
    ledger.close().unwrap();
    all
}

fn assert_begins(before: &[StoredEvent<'static>], restored: &[StoredEvent<'static>]) {
    assert!(restored.len() > 2_500, "{}", restored.len());
    assert!(before.starts_with(restored));
}

fn expired(events: &[StoredEvent<'static>]) -> usize {
    events.iter().filter(|event| event.expired_by.is_some()).count()
}

/// Restores the ledger as a recovery does that knows the damaged folder.
fn recovered(expiring: &ExpiringLedger) -> Vec<StoredEvent<'static>> {
    let (fixture, damaged) = (&expiring.fixture, expiring.fixture.ledger());
    let again = fixture.folder.path().join("recovered/main");
    fs::create_dir(again.parent().unwrap()).unwrap();
    let known = KnownSegments::read(&*fixture.environment.disk, &damaged).unwrap();
    let of = (expiring.ledger.id(), &known, &*damaged);
    let progress = ArchiveProgress::default();
    restore_history(&fixture.environment, &fixture.objects, of, &fixture.keyring, &again, &progress).unwrap();
    restored_events(expiring, &again)
}

#[test]
fn a_restoration_takes_the_archive_before_an_unrecorded_removal() {
    let expiring = ExpiringLedger::new();
    let before = events(&expiring.ledger);
    leave_unrecorded(&expiring);
    assert!(expiring.object(0).exists() && expiring.object(1).exists(), "{:?}", expiring.objects());
    assert_begins(&before, &restored_events(&expiring, &expiring.restored()));
    assert_begins(&before, &recovered(&expiring));
    // Where nothing else is left, it is better than nothing.
    fs::remove_dir_all(expiring.fixture.folder.path().join("again")).unwrap();
    fs::remove_file(expiring.object(0)).unwrap();
    assert!(expired(&restored_events(&expiring, &expiring.restored())) > 500);
}

#[test]
fn a_lost_manifest_comes_back_from_the_archive_before_an_unrecorded_removal() {
    let expiring = ExpiringLedger::new();
    let (before, kept) = (events(&expiring.ledger), fs::read(expiring.manifest_file()).unwrap());
    leave_unrecorded(&expiring);
    let expiring = expiring.reopened(|expiring| fs::remove_file(expiring.manifest_file()).unwrap());
    assert!(events(&expiring.ledger)[..before.len()] == before);
    assert!(fs::read(expiring.manifest_file()).unwrap() == kept);
    let (fixture, signers) = (&expiring.fixture, expiring.fixture.keyring.signing_chain());
    fs::remove_file(expiring.manifest_file()).unwrap();
    let from = (&fixture.objects, &*fixture.environment.disk);
    let known = known_archives(from, &fixture.ledger(), expiring.ledger.id(), signers).unwrap();
    assert!(known.archives[0].manifest.note().to_string().as_bytes() == kept);
}

/// Somebody put the archive from before a removal back, which the log records.
#[test]
fn content_does_not_come_back_where_its_removal_is_recorded() {
    let expiring = ExpiringLedger::new();
    let first = fs::read(expiring.object(0)).unwrap();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    let before = events(&expiring.ledger);
    fs::write(expiring.object(0), first).unwrap();
    // By the manifest that the damaged folder kept: no archive holds the record yet.
    assert_begins(&before, &recovered(&expiring));
    // By the record, once an archive holds it.
    expiring.fixture.fill(&expiring.ledger, 20_000, 1_000);
    expiring.fixture.archive_all(&expiring.ledger);
    assert_begins(&before, &restored_events(&expiring, &expiring.restored()));
}

#[test]
fn a_lost_manifest_is_that_of_the_recorded_archive_after_the_next_look() {
    let expiring = ExpiringLedger::new();
    let first = fs::read(expiring.object(0)).unwrap();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    let (before, later) = (events(&expiring.ledger), fs::read(expiring.manifest_file()).unwrap());
    let expiring = expiring.reopened(|expiring| {
        fs::write(expiring.object(0), &first).unwrap();
        fs::remove_file(expiring.manifest_file()).unwrap();
    });
    expiring.fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
    assert!(fs::read(expiring.manifest_file()).unwrap() == later);
    assert!(!expiring.object(0).exists(), "{:?}", expiring.objects());
    assert!(events(&expiring.ledger)[..before.len()] == before);
}

/// A ledger that was restored from a removal that nobody recorded, and archived again: no whole copy goes because of it.
#[test]
fn a_whole_copy_stays_beside_expired_events_that_the_log_does_not_record() {
    let expiring = ExpiringLedger::new();
    let first = fs::read(expiring.object(0)).unwrap();
    leave_unrecorded(&expiring);
    fs::remove_file(expiring.object(0)).unwrap();
    let expiring = expiring.reopened(|expiring| {
        let again = expiring.restored();
        fs::remove_dir_all(expiring.fixture.ledger()).unwrap();
        copy_folder(&again, &expiring.fixture.ledger());
    });
    expiring.fixture.fill(&expiring.ledger, 20_000, 1_000);
    let expiring = expiring.reopened(|_| ());
    expiring.fixture.fill(&expiring.ledger, 30_000, 1_000);
    let archived = expiring.fixture.archive_all(&expiring.ledger).archived;
    assert!(archived.iter().all(|one| one.name.contains("/g2/")), "{archived:?}");
    fs::write(expiring.object(0), &first).unwrap();
    expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove);
    assert!(fs::read(expiring.object(0)).unwrap() == first, "{:?}", expiring.objects());
    assert!(expired(&events(&expiring.ledger)) > 500);
}
