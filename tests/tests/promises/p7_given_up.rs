//! P7: a declared loss gives up the damage and all behind it, and leaves everything before it whole.

use std::fs;

use bitacora_ledger::{Environment, Ledger, ReadOnlyReason, WriterState};

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{all, keyring};

#[test]
fn damage_that_nothing_mends_is_given_up_with_all_behind_it_and_nothing_before_it() {
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let size = fixture.append(3..6);
    fixture.append(6..9);
    let segment = fixture.ledger().join("segments/0000000003.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (ledger, loss) = fixture.declare_loss().unwrap();
    let retained = loss.retained.position.get();
    assert!((before..size).contains(&retained), "{before} {retained} {size}");
    assert_eq!(ledger.status().writer, WriterState::Ready);
    // The bytes that stood there are kept, and their ids are taken again.
    let kept = fs::read_dir(fixture.ledger().join("quarantine")).unwrap().count();
    assert!(kept >= 2, "{kept}");
    (3..9).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    assert!(fixture.append(9..10) > retained + 6);
    let ledger = Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), None).unwrap();
    assert!(matches!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::ForReading)));
}

#[test]
fn what_is_left_of_a_damaged_segment_is_not_taken_twice() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    (0..20).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    drop(ledger);
    let segment = fixture.ledger().join("segments/0000000002.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (ledger, loss) = fixture.declare_loss().unwrap();
    let retained = loss.retained.position.get();
    assert!(retained > 5, "{retained}");
    (0..20).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    drop(ledger);
    let ledger = Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), None).unwrap();
    let stored = all(&ledger).unwrap();
    let mut ids: Vec<_> = stored.iter().map(|stored| stored.event.id.to_string()).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "an event was taken twice");
}
