//! The seam of governance: a test reactor derives events, refuses, and panics, inside the sequencer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bitacora_formats::Event;
use bitacora_governance::{
    DerivedEvent, Examination, ObservedEvent, Reactor, ReactorRefusal, ReactorState, RefusalCode,
};
use bitacora_ledger::{AppendError, AppendRequest, Governing, Ledger, Options};
use bitacora_tests::simulation::Simulation;

use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options};

/// Answers each `x.asked` with an `x.decided` that counts the ones before it.
struct CountingReactor {
    /// The count that the durable copy has folded.
    durable: Arc<Mutex<u64>>,
}

struct Counter {
    kept: u64,
    scratch: u64,
    published: Option<Arc<Mutex<u64>>>,
}

impl Reactor for CountingReactor {
    fn version(&self) -> u32 {
        7
    }

    fn state(&self) -> Box<dyn ReactorState> {
        Box::new(Counter { kept: 0, scratch: 0, published: Some(Arc::clone(&self.durable)) })
    }

    fn apart(&self) -> Box<dyn ReactorState> {
        Box::new(Counter { kept: 0, scratch: 0, published: None })
    }

    fn concerns(&self, kind: &str) -> bool {
        kind.starts_with("x.")
    }

    fn examine(&self, _: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal> {
        Ok(None)
    }
}

impl ReactorState for Counter {
    fn react(&mut self, admitted: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        match admitted.event.kind.as_ref() {
            "x.asked" => {
                let before = self.kept + self.scratch;
                self.scratch += 1;
                let id = format!("{}#decided-after-{before}", admitted.event.id);
                Ok(vec![Event::new(id, "urn:reactor", "x.decided", admitted.event.stream.to_string()).into()])
            }
            "x.forbidden" => Err(ReactorRefusal::new(RefusalCode::InvalidData, "it is forbidden")),
            "x.panic" => panic!("on purpose"),
            _ => Ok(Vec::new()),
        }
    }

    fn keep(&mut self) {
        self.kept += std::mem::take(&mut self.scratch);
    }

    fn discard(&mut self) {
        self.scratch = 0;
    }

    fn fork(&self) -> Box<dyn ReactorState> {
        Box::new(Self { kept: self.kept, scratch: 0, published: None })
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        for decided in frame.iter().filter(|placed| placed.event.kind == "x.decided") {
            assert!(decided.derived);
            self.kept += 1;
        }
        if let Some(published) = &self.published {
            *published.lock().unwrap() = self.kept;
        }
    }
}

fn open(machine: &Simulation) -> (Ledger, Arc<Mutex<u64>>) {
    let durable = Arc::default();
    let reactor: Arc<dyn Reactor> = Arc::new(CountingReactor { durable: Arc::clone(&durable) });
    let options = Options { governing: Governing::By(reactor), ..options() };
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options).unwrap();
    (ledger, durable)
}

fn asked(id: &str, kind: &'static str) -> Event<'static> {
    Event::new(id.to_owned(), "urn:test", kind, "calls")
}

#[test]
fn derived_events_lie_in_the_same_atomic_request() {
    let machine = machine_with_ledger(200);
    let (ledger, durable) = open(&machine);
    let request = vec![asked("a", "x.asked"), asked("b", "x.noted"), asked("c", "x.asked")];
    let appended = ledger.append(AppendRequest::of(request.clone())).unwrap().wait().unwrap();
    let ids: Vec<_> = appended.derived.iter().map(|derived| derived.id.as_str()).collect();
    assert_eq!(ids, ["a#decided-after-0", "c#decided-after-1"]);
    assert_eq!(appended.derived[0].position.get(), appended.last.get() + 1);
    assert_eq!(*durable.lock().unwrap(), 2, "folded before the acknowledgement");

    let again = ledger.append(AppendRequest::of(request)).unwrap().wait().unwrap();
    assert_eq!(again.derived, appended.derived, "a retry gets the original answer, derived events included");
    assert!(ledger.event(appended.derived[0].position).unwrap().derived);

    // The state is a pure function of the log: a restart goes on counting where it was.
    ledger.close().unwrap();
    drop(ledger);
    let (ledger, durable) = open(&machine);
    assert_eq!(*durable.lock().unwrap(), 2);
    let appended = ledger.append(AppendRequest::of(vec![asked("d", "x.asked")])).unwrap().wait().unwrap();
    assert_eq!(appended.derived[0].id, "d#decided-after-2");
}

#[test]
fn a_refusal_or_a_panic_drops_the_whole_request_and_nothing_else() {
    let machine = machine_with_ledger(201);
    let (ledger, durable) = open(&machine);
    let head = ledger.head();
    for (id, kind) in [("f", "x.forbidden"), ("p", "x.panic")] {
        let request = vec![asked(&format!("{id}1"), "x.asked"), asked(id, kind)];
        let refused = ledger.append(AppendRequest::of(request)).unwrap().wait();
        assert!(matches!(refused, Err(AppendError::Reactor { .. })), "{refused:?}");
    }
    assert_eq!(ledger.head(), head);
    assert!(ledger.status().writer.is_ready());
    let appended = ledger.append(AppendRequest::of(vec![asked("f1", "x.asked")])).unwrap().wait().unwrap();
    assert_eq!(appended.derived[0].id, "f1#decided-after-0", "the scratch copy of the refused ones is gone");
    assert_eq!(*durable.lock().unwrap(), 1);
    assert_eq!(all(&ledger).unwrap().iter().filter(|event| event.derived).count(), 1);
}
