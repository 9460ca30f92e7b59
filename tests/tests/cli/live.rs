//! `verify` on a folder that a service is writing to.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bitacora_ledger::{AppendRequest, HeadOptions, Options};
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_verify::{Report, Verdict, VerifyOptions, verify_ledger};

use crate::sample::{Sample, event};

/// Verifications beside the load.
const VERIFICATIONS: u64 = 30;

#[test]
fn a_ledger_is_verified_while_it_is_written_to() {
    verify_beside_writers(&Options::small());
}

#[test]
fn a_ledger_is_verified_while_its_heads_are_signed() {
    let heads = HeadOptions { every: Duration::from_millis(2), ..HeadOptions::default() };
    let report = verify_beside_writers(&Options { heads: Some(heads), ..Options::small() });
    let heads = report.heads.unwrap();
    // The number of heads is up to the disk; the last one alone would mean that none was signed beside a verification.
    assert!(heads.heads > 1 && heads.events == heads.heads, "{heads:?}");
    assert_eq!(heads.last_size, report.events, "the last one is made at the end");
}

/// Verifies while some write, and then once more.
fn verify_beside_writers(options: &Options) -> Report {
    let sample = Sample::new(1);
    let ledger = sample.open_with(options);
    let (stop, appended) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _stopped = RaisedAtEnd::of(&stop);
        for writer in 0..3 {
            let (ledger, stop, appended) = (ledger.clone(), &stop, &appended);
            scope.spawn(move || {
                for number in 0_u64.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let events = (0..20).map(|at| event(&format!("w{writer}.{number}.{at}"), "w")).collect();
                    ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
                    appended.fetch_add(20, Ordering::Relaxed);
                }
            });
        }
        for round in 0..VERIFICATIONS {
            let acknowledged = ledger.head().position.get();
            let keyring = (round % 2 == 1).then_some(&*sample.keyring);
            let options = VerifyOptions { keyring, ..Default::default() };
            let report = verify_ledger(&sample.ledger(), &options);
            let found = report.verdict();
            assert_eq!(found, Verdict::Alone, "round {round}: {report:?}");
            assert!(report.events >= acknowledged, "round {round}: {} of {acknowledged}", report.events);
        }
    });
    assert!(appended.load(Ordering::Relaxed) > 0);
    ledger.close().unwrap();
    let report = sample.verify(true);
    assert_eq!((report.verdict(), report.events), (Verdict::Alone, ledger.head().position.get()));
    report
}

#[test]
fn a_write_in_progress_is_waited_for_and_a_torn_one_is_not_passed() {
    let sample = Sample::new(1);
    let path = sample.segment(2);
    let whole = fs::read(&path).unwrap();
    let mut half = whole.clone();
    half[whole.len() - 400..].fill(0);
    fs::write(&path, &half).unwrap();
    let torn = verify_ledger(&sample.ledger(), &VerifyOptions::default());
    assert!(torn.verdict() == Verdict::Invalid && torn.fault.unwrap().torn);

    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            fs::write(&path, &whole).unwrap();
        });
        let report = verify_ledger(&sample.ledger(), &VerifyOptions::default());
        assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    });
}
