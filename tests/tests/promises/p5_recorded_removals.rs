//! A removal that the log records is finished, whatever the policy is by then; and the verifier finds no fault with it before.

use std::fs;
use std::path::Path;

use bitacora_archive_format::Manifest;
use bitacora_archiver::{ArchiverError, ExpiryMode, RetainedEvent, Retention};
use bitacora_formats::{Generation, LedgerKeys, LossDeclaration, Position};
use bitacora_ledger::{HoldRequest, Ledger, Options, ReactorChoice};
use bitacora_verify::{FaultKind, Notice, Report, TailRetries, VerifyOptions, verify_ledger};
use bitacora_vocabulary::{FreeText, HoldReleased, Name, RetentionChanged};
use serde_json::json;

use crate::expiring_ledger::{ChangedMind, ExpiringLedger, Multiples, PACE, events};
use crate::fixture::{ArchiveFixture, copy_folder, data_of, options};

/// Lets events expire, and has the kept manifest fail to be replaced once the archive without them is stored: a folder is in its place.
struct CrashingRetention<'a> {
    thirds: Multiples,
    expiring: &'a ExpiringLedger,
}

impl Retention for CrashingRetention<'_> {
    fn policy(&self) -> Position {
        self.thirds.policy()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        self.thirds.concerns(manifest)
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        let manifest = self.expiring.manifest_file();
        if self.expiring.object(1).exists() && manifest.is_file() {
            fs::remove_file(&manifest).unwrap();
            fs::create_dir(&manifest).unwrap();
            fs::write(manifest.join("full"), b"").unwrap();
        }
        self.thirds.expires(event)
    }
}

/// Runs up to the record of the removal, and no further.
fn crash_behind_the_record(expiring: &ExpiringLedger, policy: u64) {
    let kept = fs::read(expiring.manifest_file()).unwrap();
    let crashing = CrashingRetention { thirds: Multiples::of(3, policy), expiring };
    let archiver = expiring.fixture.archiver(&expiring.ledger);
    let refused = archiver.expire(&crashing, ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, ArchiverError::Disk { .. }), "{refused}");
    assert_eq!(data_of(&expiring.ledger, "retention.expired").len(), 1);
    fs::remove_dir_all(expiring.manifest_file()).unwrap();
    fs::write(expiring.manifest_file(), kept).unwrap();
}

fn expired(ledger: &Ledger) -> usize {
    events(ledger).iter().filter(|event| event.expired_by.is_some()).count()
}

fn verified(expiring: &ExpiringLedger) -> Report {
    verified_in(&expiring.fixture, &expiring.fixture.ledger())
}

fn verified_in(fixture: &ArchiveFixture, ledger: &Path) -> Report {
    let store = fixture.folder.path().join("cold");
    let (keyring, archives) = (Some(&*fixture.keyring), Some(&*store));
    let options = VerifyOptions { keyring, archives, patience: TailRetries::NONE, ..Default::default() };
    verify_ledger(ledger, &options)
}

/// Verifies the folder of a closed ledger, in which a removal is under way.
fn assert_unfinished(expiring: &ExpiringLedger) {
    let Report { fault, gaps, notices, .. } = verified(expiring);
    assert_eq!((fault, gaps), (None, Vec::new()));
    assert!(matches!(*notices, [Notice::UnfinishedRemoval { first: 1, .. }]), "{notices:?}");
}

/// Verifies the folder of a closed ledger, in which no removal is under way.
fn assert_finished(expiring: &ExpiringLedger) {
    let Report { fault, gaps, notices, .. } = verified(expiring);
    assert_eq!((fault, gaps, notices), (None, Vec::new(), Vec::new()));
}

#[test]
fn a_recorded_removal_is_finished_under_another_policy_or_none() {
    for has_policy in [true, false] {
        let expiring = ExpiringLedger::new();
        crash_behind_the_record(&expiring, 7);
        assert_eq!(expired(&expiring.ledger), 0);
        let expiring = expiring.reopened(assert_unfinished);
        if has_policy {
            expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove);
        } else {
            expiring.fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
        }
        assert!(!expiring.object(0).exists() && expiring.object(1).exists(), "{:?}", expiring.objects());
        assert!(expired(&expiring.ledger) > 500);
        let expiring = expiring.reopened(assert_finished);
        assert_eq!(data_of(&expiring.ledger, "retention.expired").len(), 1, "once");
    }
}

/// Somebody removed the earlier archive meanwhile.
#[test]
fn a_recorded_archive_is_kept_and_sealed_where_it_is_the_only_one() {
    let expiring = ExpiringLedger::new();
    crash_behind_the_record(&expiring, 7);
    fs::remove_file(expiring.object(0)).unwrap();
    let sealed = data_of(&expiring.ledger, "archive.sealed").len();
    for _ in 0..2 {
        expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove);
        assert!(expired(&expiring.ledger) > 500);
        assert_eq!(data_of(&expiring.ledger, "archive.sealed").len(), sealed + 1);
    }
}

#[test]
fn a_later_archive_that_the_log_does_not_record_hides_no_recorded_one() {
    for has_earlier in [true, false] {
        let expiring = ExpiringLedger::new();
        // The next name is taken while the archive without any content is packed, which is refused.
        fs::write(expiring.object(1), "content").unwrap();
        let fickle = ChangedMind { expires: Multiples::of(1, 7), expiring: &expiring, revision: 2 };
        let archiver = expiring.fixture.archiver(&expiring.ledger);
        archiver.expire(&fickle, ExpiryMode::Remove, PACE, &mut |_| ()).unwrap_err();
        fs::remove_file(expiring.object(1)).unwrap();
        crash_behind_the_record(&expiring, 7);
        fs::copy(expiring.spare(), expiring.object(2)).unwrap();
        if !has_earlier {
            fs::remove_file(expiring.object(0)).unwrap();
        }
        let expiring = expiring.reopened(|_| ());
        assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove), []);
        assert!(expiring.object(1).exists() && expiring.objects().len() == 2, "{:?}", expiring.objects());
        let thirds = Multiples::of(3, 7);
        for event in events(&expiring.ledger).iter().filter(|event| event.position.get() <= expiring.through)
        {
            assert_eq!(event.expired_by.is_some(), thirds.has(&event.event.id), "{event:?}");
        }
        let expiring = expiring.reopened(assert_finished);
        assert_eq!(data_of(&expiring.ledger, "retention.expired").len(), 1, "once");
    }
}

/// Without the seal an earlier archive that somebody puts back would look like a removal under way for good.
#[test]
fn an_archive_that_was_kept_and_not_sealed_is_sealed_by_the_next_look() {
    for has_policy in [true, false] {
        let expiring = ExpiringLedger::new();
        crash_behind_the_record(&expiring, 7);
        let (first, earlier) =
            (fs::read(expiring.object(0)).unwrap(), fs::read(expiring.manifest_file()).unwrap());
        let image = expiring.fixture.folder.path().join("image");
        let put_back = |expiring: &ExpiringLedger| {
            fs::write(expiring.object(0), &first).unwrap();
            fs::write(expiring.manifest_file(), &earlier).unwrap();
        };
        let expiring = expiring.reopened(|expiring| copy_folder(&expiring.fixture.ledger(), &image));
        expiring.fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
        // The ledger as it was before, and the manifest and the store as they are now.
        let expiring = expiring.reopened(|expiring| {
            let kept = fs::read(expiring.manifest_file()).unwrap();
            fs::remove_dir_all(expiring.fixture.ledger()).unwrap();
            copy_folder(&image, &expiring.fixture.ledger());
            put_back(expiring);
            assert_unfinished(expiring);
            fs::remove_file(expiring.object(0)).unwrap();
            fs::write(expiring.manifest_file(), kept).unwrap();
        });
        let sealed = data_of(&expiring.ledger, "archive.sealed").len();
        for _ in 0..2 {
            if has_policy {
                assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove), []);
            } else {
                expiring.fixture.archiver(&expiring.ledger).settle_expiry(PACE).unwrap();
            }
            assert_eq!(data_of(&expiring.ledger, "archive.sealed").len(), sealed + 1);
        }
        expiring.reopened(|expiring| {
            assert_finished(expiring);
            put_back(expiring);
            let fault = verified(expiring).fault.unwrap();
            assert!(
                matches!(*fault.kind, FaultKind::ArchiveRevision { found: 0, expected: 1, .. }),
                "{fault}"
            );
            // It opens again.
            fs::remove_file(expiring.object(0)).unwrap();
        });
    }
}

#[test]
fn an_earlier_archive_goes_beside_one_that_the_log_records() {
    let expiring = ExpiringLedger::new();
    let (first, kept) = (fs::read(expiring.object(0)).unwrap(), fs::read(expiring.manifest_file()).unwrap());
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    fs::write(expiring.object(0), &first).unwrap();
    let later = fs::read(expiring.manifest_file()).unwrap();
    // Both of them put back are a rollback, and no removal that is under way: the log seals the later one.
    let expiring = expiring.reopened(|expiring| {
        fs::write(expiring.manifest_file(), &kept).unwrap();
        let fault = verified(expiring).fault.unwrap();
        assert!(matches!(*fault.kind, FaultKind::ArchiveRevision { found: 0, expected: 1, .. }), "{fault}");
        fs::write(expiring.manifest_file(), &later).unwrap();
    });
    assert_eq!(expiring.expire(&Multiples::of(u64::MAX, 9), ExpiryMode::Remove), []);
    assert!(!expiring.object(0).exists(), "{:?}", expiring.objects());
}

/// Nothing but the lost tail recorded the removal. The ledger records that a tail was lost; before its first opening, its folder declares it.
#[test]
fn what_expired_in_a_restored_ledger_is_no_forgery() {
    let expiring = ExpiringLedger::new();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    let fixture = &expiring.fixture;
    let again = expiring.restored();
    for opened in 0..3 {
        if opened > 0 {
            let keyring = fixture.keyring.clone();
            let ledger = Ledger::open(&fixture.environment, &again, keyring, options()).unwrap();
            assert_eq!(data_of(&ledger, "retention.expired").len(), 0);
            ledger.close().unwrap();
        }
        let Report { fault, gaps, notices, .. } = verified_in(fixture, &again);
        assert_eq!((fault, gaps), (None, Vec::new()), "opened {opened} times");
        let [Notice::RemovalRecordLost { first, last, retained, generation }] = *notices else {
            panic!("{notices:?}")
        };
        assert!(first < last && last <= expiring.through && last < retained, "{notices:?}");
        assert_eq!(generation, Generation(2));
    }
}

/// Only a declaration that the ledger's keys sealed, and that begins behind the last event, stands for a lost record.
#[test]
fn a_restored_ledger_without_its_declaration_is_a_forgery() {
    let expiring = ExpiringLedger::new();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    let again = expiring.restored();
    let declaration = again.join("declared-loss");
    let whole = fs::read_to_string(&declaration).unwrap();
    let keys = LedgerKeys::new(&expiring.fixture.keyring, expiring.ledger.id());
    let declared = LossDeclaration::read_file(keys.index_key(), whole.as_bytes()).unwrap();
    let earlier =
        LossDeclaration { retained: Position::new(declared.retained.get() - 1).unwrap(), ..declared };
    let forged = whole.replace("\"generation\": 2", "\"generation\": 3");
    assert_ne!(forged, whole);
    for other in [Some(forged), Some(earlier.to_file(keys.index_key())), None] {
        match &other {
            Some(other) => fs::write(&declaration, other).unwrap(),
            None => fs::remove_file(&declaration).unwrap(),
        }
        let fault = verified_in(&expiring.fixture, &again).fault.unwrap();
        assert!(matches!(*fault.kind, FaultKind::UnrecordedRemoval { .. }), "{other:?}: {fault}");
    }
}

/// A governed ledger with a policy, and the policy's position.
fn governed() -> (ExpiringLedger, u64) {
    let options = Options { governing: ReactorChoice::Governance, ..options() };
    let mut position = 0;
    let expiring = ExpiringLedger::with(&options, |ledger| {
        let rule = json!({"rule": "notes", "keep_days": 180, "types": ["x.*"]});
        let policy = json!({"rules": [rule], "reason": "a test"});
        let policy: RetentionChanged = serde_json::from_value(policy).unwrap();
        position = ledger.change_retention(&policy, Some("operator:0")).unwrap().get();
    });
    (expiring, position)
}

#[test]
fn a_legal_hold_keeps_content_whose_removal_is_recorded_and_not_made() {
    let (expiring, policy) = governed();
    crash_behind_the_record(&expiring, policy);
    let (hold, reason) = (Name::new("case-7").unwrap(), FreeText::new("the proceedings of case 7").unwrap());
    let (first, last) = (Position::new(100).unwrap().into(), Position::new(200).unwrap().into());
    let request = HoldRequest {
        hold: hold.clone(),
        subject: None,
        first: Some(first),
        last: Some(last),
        stream: None,
        reason: reason.clone(),
        by: None,
        actor: Some("operator:0"),
    };
    expiring.ledger.place_hold(request).unwrap();
    for everything in [Multiples::of(u64::MAX, policy), Multiples::of(1, policy)] {
        assert_eq!(expiring.expire(&everything, ExpiryMode::Remove), []);
        assert_eq!(expired(&expiring.ledger), 0);
        assert!(expiring.object(0).exists() && !expiring.object(2).exists(), "{:?}", expiring.objects());
    }
    let expiring = expiring.reopened(assert_unfinished);
    let released = HoldReleased { hold, by: None, reason };
    expiring.ledger.release_hold(&released, Some("operator:0")).unwrap();
    assert_eq!(expiring.expire(&Multiples::of(u64::MAX, policy), ExpiryMode::Remove), []);
    assert!(expired(&expiring.ledger) > 500);
    assert!(!expiring.object(0).exists() && expiring.object(1).exists(), "{:?}", expiring.objects());
}
