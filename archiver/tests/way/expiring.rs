//! Events expire: their content goes from archives for good, and everything else stays as it was.

use std::fs;
use std::path::{Path, PathBuf};

use bitacora_archiver::{ArchiverError, ExpiryMode, ExpiryResult, Release};
use bitacora_formats::{Data, Position};
use bitacora_ledger::{AppendError, AppendRequest, StoredEvent};

use super::expiring_ledger::{ChangedMind, ExpiringLedger, Multiples, PACE, events};
use super::fixture::{ArchiveFixture, event, wait_until};

/// Compares the events of an archive with those before: these expired, under this policy, and no others.
fn assert_expired(
    (before, now): (&[StoredEvent<'static>], &[StoredEvent<'static>]),
    through: u64,
    policy_of: impl Fn(&str) -> Option<u64>,
) {
    for (before, now) in before.iter().zip(now) {
        let policy = policy_of(&before.event.id).filter(|_| before.position.get() <= through);
        let Some(policy) = policy else {
            assert!(before == now, "{before:?} {now:?}");
            continue;
        };
        assert_eq!(now.expired_by.map(Position::get), Some(policy), "{now:?}");
        assert_eq!((now.event.data.clone(), &now.event.id), (Data::None, &before.event.id));
        assert_eq!((&now.event.kind, &now.event.stream), (&before.event.kind, &before.event.stream));
        assert_eq!((now.commitment, now.time), (before.commitment, before.time));
        assert_eq!((now.position, now.stream_version), (before.position, before.stream_version));
    }
}

#[test]
fn what_expired_is_gone_and_everything_else_is_as_before() {
    let expiring = ExpiringLedger::new();
    let (ledger, through) = (&expiring.ledger, expiring.through);
    let before = events(ledger);
    let thirds = Multiples::of(3, 7);
    let due = expiring.expire(&thirds, ExpiryMode::DryRun);
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].result, ExpiryResult::Due);
    let expected =
        before.iter().filter(|event| event.position.get() <= through && thirds.has(&event.event.id)).count();
    assert_eq!(due[0].events(), expected as u64);
    assert_eq!(due[0].kinds, [("x.noted".to_owned(), expected as u64)].into());
    assert_expired((&before, &events(ledger)), through, |_| None);

    let removed = expiring.expire(&thirds, ExpiryMode::Remove);
    let ExpiryResult::Removed { bytes } = removed[0].result else { panic!("{removed:?}") };
    assert_eq!(bytes, fs::metadata(expiring.object(1)).unwrap().len());
    assert_eq!(expiring.objects().len(), 2);
    assert!(expiring.object(1).exists(), "{:?}", expiring.objects());
    let expired = |id: &str| thirds.has(id).then_some(7);
    assert_expired((&before, &events(ledger)), through, expired);
    assert_eq!(expiring.expire(&thirds, ExpiryMode::Remove), [], "once");

    // A client that sends one of them again gets its first receipt; with other content it is refused.
    let again = ledger.append(AppendRequest::of(vec![event(3)])).unwrap().wait().unwrap();
    let position = before.iter().find(|stored| stored.event.id == "e3").unwrap().position;
    assert_eq!(again.results[0].position, position);
    let mut other = event(3);
    other.data = Data::None;
    let refused = ledger.append(AppendRequest::of(vec![other])).unwrap().wait().unwrap_err();
    assert!(matches!(refused, AppendError::IdReused { .. }), "{refused}");

    ledger.close().unwrap();
    let ledger = expiring.fixture.open();
    assert_expired((&before, &events(&ledger)), through, expired);
    wait_until(|| ledger.status().is_proven);
}

#[test]
fn later_policies_let_more_expire_and_earlier_ones_stay_named() {
    let expiring = ExpiringLedger::new();
    let before = events(&expiring.ledger);
    let (thirds, halves) = (Multiples::of(3, 7), Multiples::of(2, 9));
    expiring.expire(&thirds, ExpiryMode::Remove);
    expiring.expire(&halves, ExpiryMode::Remove);
    assert_eq!(expiring.objects().len(), 2);
    assert!(expiring.object(2).exists());
    let policy = |id: &str| match (thirds.has(id), halves.has(id)) {
        (true, _) => Some(7),
        (false, true) => Some(9),
        (false, false) => None,
    };
    assert_expired((&before, &events(&expiring.ledger)), expiring.through, policy);
}

#[test]
fn a_crash_at_any_step_is_finished_by_the_next_run() {
    let expiring = ExpiringLedger::new();
    let before = events(&expiring.ledger);
    let thirds = Multiples::of(3, 7);
    let (first, kept) = (fs::read(expiring.object(0)).unwrap(), fs::read(expiring.manifest_file()).unwrap());
    expiring.expire(&thirds, ExpiryMode::Remove);
    // Before the earlier revision went.
    fs::write(expiring.object(0), &first).unwrap();
    assert_eq!(expiring.expire(&thirds, ExpiryMode::Remove), []);
    assert!(!expiring.object(0).exists(), "removed by the next run");
    // Before the later one was kept: nothing is gone, and it is packed again.
    fs::write(expiring.object(0), &first).unwrap();
    fs::write(expiring.manifest_file(), &kept).unwrap();
    expiring.ledger.forget_archived();
    assert_expired((&before, &events(&expiring.ledger)), expiring.through, |_| None);
    assert_eq!(expiring.expire(&thirds, ExpiryMode::Remove), [], "the log records it, so it is kept");
    assert!(expiring.object(1).exists() && expiring.objects().len() == 2, "{:?}", expiring.objects());
    assert_expired((&before, &events(&expiring.ledger)), expiring.through, |id| thirds.has(id).then_some(7));
}

/// A later revision, which no event records, came back from the store in place of a lost manifest, though the policy lets nothing expire:
/// the earlier one stays.
#[test]
fn an_earlier_revision_stays_while_the_policy_keeps_what_is_in_it() {
    let expiring = ExpiringLedger::new();
    let first = fs::read(expiring.object(0)).unwrap();
    let fickle = ChangedMind { expires: Multiples::of(3, 7), expiring: &expiring, revision: 1 };
    let archiver = expiring.fixture.archiver(&expiring.ledger);
    archiver.expire(&fickle, ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
    let expiring = expiring.reopened(|expiring| {
        fs::copy(expiring.spare(), expiring.object(1)).unwrap();
        fs::remove_file(expiring.object(0)).unwrap();
        fs::remove_file(expiring.manifest_file()).unwrap();
    });
    assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove), []);
    fs::write(expiring.object(0), &first).unwrap();
    assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove), []);
    assert_eq!(fs::read(expiring.object(0)).unwrap(), first);
    // Nor does it go with other events that expire.
    assert_eq!(expiring.expire(&Multiples::of(5, 9), ExpiryMode::Remove), []);
    assert_eq!(fs::read(expiring.object(0)).unwrap(), first);
    assert!(!expiring.object(2).exists(), "{:?}", expiring.objects());
    assert_eq!(expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove), []);
    assert!(!expiring.object(0).exists(), "{:?}", expiring.objects());
}

#[test]
fn an_object_in_the_place_of_a_later_revision_is_not_believed() {
    let expiring = ExpiringLedger::new();
    let before = events(&expiring.ledger);
    let thirds = Multiples::of(3, 7);
    let first = fs::read(expiring.object(0)).unwrap();
    for junk in [b"junk".to_vec(), first] {
        fs::write(expiring.object(1), junk).unwrap();
        assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 7), ExpiryMode::Remove), []);
        assert_expired((&before, &events(&expiring.ledger)), expiring.through, |_| None);
    }
    expiring.expire(&thirds, ExpiryMode::Remove);
    assert!(expiring.object(2).exists() && !expiring.object(0).exists(), "{:?}", expiring.objects());
    assert_expired((&before, &events(&expiring.ledger)), expiring.through, |id| thirds.has(id).then_some(7));
}

/// A copy of the folder and the store from before came back.
#[test]
fn what_a_copy_brought_back_expires_again() {
    let expiring = ExpiringLedger::new();
    let thirds = Multiples::of(3, 7);
    let (first, kept) = (fs::read(expiring.object(0)).unwrap(), fs::read(expiring.manifest_file()).unwrap());
    expiring.expire(&thirds, ExpiryMode::Remove);
    fs::remove_file(expiring.object(1)).unwrap();
    fs::write(expiring.object(0), &first).unwrap();
    fs::write(expiring.manifest_file(), &kept).unwrap();
    assert_eq!(expiring.expire(&thirds, ExpiryMode::Remove).len(), 1);
    assert!(!expiring.object(0).exists() && expiring.object(1).exists(), "{:?}", expiring.objects());
}

#[test]
fn nothing_expires_that_a_segment_here_still_holds() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fixture.fill(&ledger, 1, 3_000);
    fixture.run(&ledger, Release::Never).unwrap();
    let before = events(&ledger);
    let mut looked = Vec::new();
    let archiver = fixture.archiver(&ledger);
    archiver
        .expire(&Multiples::of(3, 7), ExpiryMode::Remove, PACE, &mut |report| looked.push(report))
        .unwrap();
    assert_eq!(looked[0].result, ExpiryResult::WaitsForRelease);
    let now = events(&ledger);
    assert_eq!(now[..before.len()], before[..]);
    assert!(now.iter().all(|event| event.expired_by.is_none()));
}

#[test]
fn a_missing_archive_is_named_and_nothing_is_removed() {
    let expiring = ExpiringLedger::new();
    let archive = fs::read(expiring.object(0)).unwrap();
    fs::remove_file(expiring.object(0)).unwrap();
    let archiver = expiring.fixture.archiver(&expiring.ledger);
    let refused = archiver.expire(&Multiples::of(3, 7), ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, ArchiverError::Stored(_)), "{refused}");
    fs::write(expiring.object(0), archive).unwrap();
    assert_eq!(expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove).len(), 1);
}

#[test]
fn tables_and_index_that_are_lost_are_made_again_of_what_is_left() {
    let expiring = ExpiringLedger::new();
    let thirds = Multiples::of(3, 7);
    expiring.expire(&thirds, ExpiryMode::Remove);
    let before = events(&expiring.ledger);
    let fixture = &expiring.fixture;
    expiring.ledger.close().unwrap();
    fs::remove_dir_all(fixture.ledger().join("index")).unwrap();
    let ledger = fixture.open();
    let again = ledger.append(AppendRequest::of(vec![event(3)])).unwrap().wait().unwrap();
    assert!(again.results[0].position.get() <= expiring.through, "a retry gets its first receipt");
    let after = events(&ledger);
    assert_eq!(before[..], after[..before.len()]);
    fixture.fill(&ledger, 20_000, 50);
    ledger.close().unwrap();
}

#[test]
fn an_older_manifest_alone_leads_to_the_later_revision() {
    let expiring = ExpiringLedger::new();
    let older = fs::read(expiring.manifest_file()).unwrap();
    let thirds = Multiples::of(3, 7);
    expiring.expire(&thirds, ExpiryMode::Remove);
    let (before, later) = (events(&expiring.ledger), fs::read(expiring.manifest_file()).unwrap());
    let expiring = expiring.reopened(|expiring| fs::write(expiring.manifest_file(), &older).unwrap());
    let now = events(&expiring.ledger);
    assert_eq!(before[..], now[..before.len()]);
    assert_eq!(expiring.expire(&thirds, ExpiryMode::Remove), []);
    assert!(fs::read(expiring.manifest_file()).unwrap() == later, "the later manifest is kept again");
}

#[test]
fn a_revision_that_is_refused_is_removed_again() {
    let expiring = ExpiringLedger::new();
    let before = expiring.objects();
    let fickle = ChangedMind { expires: Multiples::of(3, 7), expiring: &expiring, revision: 1 };
    let archiver = expiring.fixture.archiver(&expiring.ledger);
    let refused = archiver.expire(&fickle, ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, ArchiverError::StaysForNow { .. }), "{refused}");
    assert_eq!(expiring.objects(), before);

    // One that a crash left is removed before another one is packed, and where nothing expires.
    let left = fs::read(expiring.spare()).unwrap();
    for settled in [true, false] {
        fs::write(expiring.object(1), &left).unwrap();
        if settled {
            expiring.fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
            assert_eq!(expiring.objects(), before);
        }
    }
    expiring.expire(&Multiples::of(5, 7), ExpiryMode::Remove);
    assert!(!expiring.object(0).exists() && expiring.object(1).exists() && !expiring.object(2).exists());
    let fifths = Multiples::of(5, 7);
    let now = events(&expiring.ledger);
    let in_archive = now.iter().take(usize::try_from(expiring.through).unwrap());
    assert!(in_archive.clone().all(|event| event.expired_by.is_some() == fifths.has(&event.event.id)));
}

#[test]
fn copies_that_a_crash_left_are_removed_before_an_archive_is_made_and_before_events_expire() {
    let expiring = ExpiringLedger::new();
    let fixture = &expiring.fixture;
    let archive = expiring.object(0);
    let beside = |path: &Path, ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let leave = || {
        let left = ["#1", "#27", ".unfinished", ".unfinished#3"].map(|ending| beside(&archive, ending));
        assert!(left.iter().all(|left| fs::copy(&archive, left).is_ok()));
        left
    };
    // Another ledger may be about to give its own one its name; a person's file is nobody else's.
    let other = fixture.folder.path().join("cold/00112233445566778899aabbccddeeff/g1");
    fs::create_dir_all(&other).unwrap();
    let of_other = beside(&other.join(archive.file_name().unwrap()), "#1");
    let others = [of_other, archive.with_file_name("notes#1"), archive.with_file_name("notes.unfinished")];
    others.iter().for_each(|other| fs::write(other, "content").unwrap());

    let left = leave();
    fixture.fill(&expiring.ledger, 20_000, 1_000);
    assert_eq!(fixture.archive_all(&expiring.ledger).archived.len(), 1);
    assert!(left.iter().all(|left| !left.exists()), "{:?}", expiring.objects());

    let left = leave();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::DryRun);
    assert!(left.iter().all(|left| left.exists()), "a dry run removes nothing");
    fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
    assert!(left.iter().all(|left| !left.exists()), "{:?}", expiring.objects());

    let left = leave();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    assert!(expiring.object(1).exists() && !archive.exists());
    assert!(left.iter().all(|left| !left.exists()), "{:?}", expiring.objects());
    assert!(others.iter().all(|other| other.exists()));
}
