//! Cuts: rows that leave come back in answers, and the rows come to the same however they were folded.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bitacora_projector::{RecallBounds, RecallSlots};
use bitacora_vocabulary::{WarmCut, WarmDays};

use super::*;

impl ReadModelsBench {
    /// Opens it so that every model may be recalled at once.
    fn open_to_recall(&self) -> IndexedLedger {
        let keyring = Arc::clone(&self.keyring);
        let ledger = Ledger::open(&self.environment, &self.path(), keyring, Options::small()).unwrap();
        let bounds = RecallBounds {
            at_once: 32,
            of_ledger: 32,
            per_hour: 32,
            ledger_per_hour: 32,
            free_bytes: 0,
            ..RecallBounds::default()
        };
        let recalls = Some(Arc::new(RecallSlots::new(bounds)));
        let options = IndexOptions { read_models: true, recalls, ..IndexOptions::default() };
        IndexedLedger::open(ledger, &self.environment, &self.path(), &self.keyring, &options)
    }
}

fn cut(ledger: &IndexedLedger, through: Position) {
    let cut = WarmCut { through: through.into(), keep_days: WarmDays::clamped(365) };
    ledger.ledger().record_warm_cut(&cut).unwrap();
}

/// Waits until all models have come to the head, and their rows have left.
fn settled_and_cut(ledger: &IndexedLedger) -> Vec<ModelStatus> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let status = settled(ledger);
        if status.iter().all(|model| !model.is_cutting && model.late == 0) {
            return status;
        }
        assert!(Instant::now() < end, "{status:#?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asks until rows that left are back, and whether there were any.
fn answers_of_all_tiers(ledger: &IndexedLedger) -> (String, bool) {
    let models = ledger.read_models().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let asked = models.ask(|models| catch_unwind(AssertUnwindSafe(|| answers(models))));
        match asked.answer {
            Ok(answer) => return (answer, asked.is_cold),
            Err(_) => assert!(Instant::now() < end, "{:#?}", models.status()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_model_answers_after_a_cut_what_it_answered_before() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open_to_recall();
    bench.append(ledger.ledger(), 30);
    let through = ledger.head().position;
    bench.append(ledger.ledger(), 5);
    settled(&ledger);
    let said = answers_of_all_tiers(&ledger);
    cut(&ledger, through);
    let status = settled_and_cut(&ledger);
    let left: Vec<_> = status.iter().filter(|model| model.left > 0).map(|model| model.name).collect();
    let leaving = ["calls", "contracts", "gaps", "learned", "resolutions", "runs", "sessions", "trust"];
    assert_eq!(left, leaving, "{status:#?}");
    assert_eq!((said.0, true), answers_of_all_tiers(&ledger));
    assert!(!said.1);
    ledger.close().unwrap();
}

#[test]
fn rows_with_cuts_among_their_events_come_to_the_same_piece_by_piece_and_at_once() {
    let mut bench = ReadModelsBench::new();
    for _ in 0..4 {
        let ledger = bench.open();
        bench.append(ledger.ledger(), 10);
        settled_and_cut(&ledger);
        let through = ledger.head().position;
        bench.append(ledger.ledger(), 7);
        cut(&ledger, through);
        bench.append(ledger.ledger(), 3);
        ledger.close().unwrap();
    }
    let cut = |bench: &ReadModelsBench| {
        let ledger = bench.open();
        settled_and_cut(&ledger);
        ledger.close().unwrap();
        digests(bench)
    };
    let grown = cut(&bench);
    fs::remove_dir_all(bench.store()).unwrap();
    assert_eq!(cut(&bench), grown);
}
