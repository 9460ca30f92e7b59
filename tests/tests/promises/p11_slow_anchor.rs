//! P11 with an anchor that does not answer: nothing but the erasure's own answer waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bitacora_formats::{Data, Json, LedgerName};
use bitacora_ledger::{
    Anchor, AnchorError, AppendRequest, ErasedSubject, ErasureMemory, ErasureRequest, HeadOptions,
    HoldRequest, Ledger, Options, ReactorChoice,
};
use bitacora_vocabulary::{FreeText, Name};

use crate::workload::{FOLDER, event, keyring, machine_with_ledger, options};

/// The patience with an act that waits for nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// An anchor that answers about an erasure when it is told to.
#[derive(Debug)]
struct StalledAnchor {
    asked: Sender<()>,
    may_answer: Mutex<Receiver<()>>,
}

impl Anchor for StalledAnchor {
    fn load(&self, _: &LedgerName) -> Result<Option<String>, AnchorError> {
        Ok(None)
    }

    fn swap(&self, _: &LedgerName, _: Option<&str>, _: &str) -> Result<(), AnchorError> {
        Ok(())
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        Ok(Vec::new())
    }

    fn remember_erased(&self, _: &LedgerName, _: &str) -> Result<(), AnchorError> {
        self.asked.send(()).unwrap();
        self.may_answer.lock().unwrap().recv().unwrap();
        Ok(())
    }

    fn erased(&self, _: &LedgerName) -> Result<Vec<String>, AnchorError> {
        Ok(Vec::new())
    }
}

#[test]
fn a_hold_is_placed_and_another_subject_is_unreadable_while_the_anchor_does_not_answer() {
    let machine = machine_with_ledger(1_130);
    let (asked, is_asked) = channel();
    let (answer, may_answer) = channel();
    let anchor =
        Some(Arc::new(StalledAnchor { asked, may_answer: Mutex::new(may_answer) }) as Arc<dyn Anchor>);
    let heads = HeadOptions { every: Duration::from_secs(3_600), anchor, ..HeadOptions::default() };
    let options = Options { heads: Some(heads), governing: ReactorChoice::Governance, ..options() };
    let ledger = Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap();
    let positions = ["person/ada", "person/bob"].map(|subject| {
        let mut personal = event(subject.len() as u64);
        personal.id = subject.into();
        personal.datasubject = Some(subject.into());
        personal.data = Data::Json(Json::check(b"{}".to_vec()).unwrap());
        ledger.append(AppendRequest::of(vec![personal])).unwrap().wait().unwrap().first
    });
    let erase = |subject: &'static str| {
        let (ledger, authority) = (ledger.clone(), FreeText::new("ticket 4711").unwrap());
        std::thread::spawn(move || {
            let subject = ErasedSubject::Named(subject);
            ledger.erase(&ErasureRequest { subject, authority, by: None, reason: None, actor: None })
        })
    };
    let first = erase("person/ada");
    is_asked.recv_timeout(PATIENCE).unwrap();
    assert!(ledger.event(positions[0]).unwrap().erased, "unreadable before the anchor knows");

    let (placed, is_placed) = channel();
    let holder = ledger.clone();
    let holding = std::thread::spawn(move || {
        let request = HoldRequest {
            hold: Name::new("case-7").unwrap(),
            subject: None,
            first: None,
            last: None,
            stream: None,
            reason: FreeText::new("case 7").unwrap(),
            by: None,
            actor: None,
        };
        placed.send(holder.place_hold(request).map(drop)).unwrap();
    });
    is_placed.recv_timeout(PATIENCE).unwrap().unwrap();
    holding.join().unwrap();

    (0..2).for_each(|_| answer.send(()).unwrap());
    assert_eq!(first.join().unwrap().unwrap().memory, ErasureMemory::Remembered);
    assert!(erase("person/bob").join().unwrap().is_err(), "the hold is in force");
    ledger.close().unwrap();
}
