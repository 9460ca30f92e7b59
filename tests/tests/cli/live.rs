//! `verify` on a folder that a service is writing to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bitacora_cli::verify::{Verdict, VerifyOptions, verify_ledger};
use bitacora_ledger::AppendRequest;

use crate::sample::{Sample, event};

/// Verifications beside the load.
const VERIFICATIONS: u64 = 30;

#[test]
fn a_ledger_is_verified_while_it_is_written_to() {
    let sample = Sample::new(1);
    let ledger = sample.open();
    let (stop, appended) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
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
            if found != Verdict::Alone {
                stop.store(true, Ordering::Relaxed);
            }
            assert_eq!(found, Verdict::Alone, "round {round}: {report:?}");
            assert!(report.events >= acknowledged, "round {round}: {} of {acknowledged}", report.events);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(appended.load(Ordering::Relaxed) > 0);
    ledger.close().unwrap();
    let report = sample.verify(true);
    assert_eq!((report.verdict(), report.events), (Verdict::Alone, ledger.head().position.get()));
}
