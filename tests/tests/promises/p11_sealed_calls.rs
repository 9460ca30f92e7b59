//! P11: a call with sealed arguments is decided, approved and ended without a clear byte of them.
//! Erasing their subject changes no decision.

use std::path::PathBuf;

use bitacora_formats::{After, Data, Position};
use bitacora_governance::Reevaluation;
use bitacora_ledger::{AppendReceipt, AppendRequest, Filter, Fold, Ledger, ReadFrom, ReadQuery};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::{DecisionMade, Verdict};
use serde_json::{Value, json};

use crate::p8_no_allow_without_a_record::{RecordingClient, decision_at, event, open, remove_index, state};
use crate::workload::{FOLDER, machine_with_ledger};

/// The text that must be found nowhere.
const SECRET: &str = "jane-doe-4711";

fn sealed(ledger: &Ledger, kind: &'static str, id: &str, data: &Value) -> AppendReceipt {
    let mut event = event(kind, id.to_owned(), "agent:1", data);
    event.datasubject = Some("customer/1".into());
    ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap()
}

fn ask(ledger: &Ledger, call: &str, path: &str, cwd: Option<&str>, approval: Option<&str>) -> DecisionMade {
    let folder = cwd.map_or(0, str::len);
    let mut data = json!({"call": call, "tool": "fs.write", "args": {"path": path}});
    data["idempotency_key"] = json!(format!("k{folder}"));
    data["cwd"] = json!(cwd);
    data["approval"] = json!(approval);
    let id = format!("{call}#{}#{folder}", approval.unwrap_or("-"));
    let answer = sealed(ledger, "tool.requested", &id, &data);
    let made = answer.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
    decision_at(ledger, made.position)
}

fn resolve(ledger: &Ledger, approval: &str) {
    let word = json!({"approval": approval, "resolution": "approved", "by": "operator:0"});
    let word = event("approval.resolved", format!("{approval}#yes"), "operator:0", &word);
    ledger.append(AppendRequest::of(vec![word])).unwrap().wait().unwrap();
}

/// Every event that can be read, and the state, as text.
fn everything(ledger: &Ledger) -> String {
    let query = ReadQuery {
        from: ReadFrom::After(After::new(0)),
        until: None,
        limit: 1_000,
        filter: Filter::default(),
    };
    let mut text = String::new();
    for stored in ledger.read(&query).unwrap().events {
        // Callers that may read the subject's own part still can, until it is erased.
        if stored.event.datasubject.is_none() {
            text += &format!("{:?}", stored.event);
            if let Data::Json(json) = &stored.event.data {
                text += str::from_utf8(json.as_bytes()).unwrap();
            }
        }
    }
    text + &serde_json::to_string(&state(ledger)).unwrap()
}

/// The rules over all of a log again.
#[derive(Default)]
struct Judge(Reevaluation);

impl Fold for Judge {
    fn concerns(&self, kind: &str) -> bool {
        bitacora_governance::State::concerns(kind)
    }

    fn fold(&mut self, frame: &[bitacora_governance::ObservedEvent<'_>]) {
        self.0.fold(frame);
    }

    fn reached(&mut self, _: Position) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

fn agrees(ledger: &Ledger) {
    let mut judge = Judge::default();
    ledger.fold(After::new(0), ledger.head().position, &mut judge).unwrap();
    let (folded, found) = judge.0.end();
    assert!(folded == state(ledger));
    assert_eq!((found.disagreeing, found.unchecked_decisions), (0, 0), "{:?}", found.disagreements);
    assert!(found.decisions >= 3);
}

/// Erases a subject: its key is gone, under its id and under its name.
fn erase_subjects(machine: &Simulation) {
    let disk = machine.environment().disk;
    for index in ["by-name", "by-id"] {
        remove_files(&*disk, &PathBuf::from(FOLDER).join("subjects").join(index));
    }
}

fn remove_files(disk: &dyn bitacora_ledger::Disk, folder: &std::path::Path) {
    for entry in disk.list(folder).unwrap() {
        let path = folder.join(&entry.name);
        if disk.remove_file(&path).is_err() {
            remove_files(disk, &path);
        }
    }
}

#[test]
fn nothing_of_sealed_arguments_is_told_and_erasing_them_changes_no_decision() {
    let machine = machine_with_ledger(1_101);
    let ledger = open(&machine);
    RecordingClient::new(1_101).set_up(&machine, &ledger);
    let path = format!("src/{SECRET}/a.rs");

    let reviewed = ask(&ledger, "c1", &path, Some("/home/jane-doe-4711"), None);
    // Trust was earned in this context; that it is this one is not known any more.
    assert_eq!(
        (reviewed.verdict, reviewed.reason_code.as_str().as_str()),
        (Verdict::Review, "arguments-opaque")
    );
    assert_eq!(reviewed.inputs.dimension.context(), "-");
    let approval = reviewed.approval.unwrap().to_string();
    resolve(&ledger, &approval);
    let elsewhere = ask(&ledger, "c1", &path, Some("/home/other"), Some(&approval));
    assert_eq!(elsewhere.reason_code.as_str(), "approval-mismatch");
    let allowed = ask(&ledger, "c1", &path, Some("/home/jane-doe-4711"), Some(&approval));
    assert_eq!((allowed.verdict, allowed.reason_code.as_str().as_str()), (Verdict::Allow, "approved"));
    sealed(&ledger, "tool.completed", "c1#ended", &json!({"call": "c1", "status": "ok", "summary": SECRET}));
    assert!(ledger.governance().unwrap().read(|state| state.open_call("c1").is_none()));

    // The digest of what can be guessed is nowhere either.
    let before = everything(&ledger);
    assert!(!before.contains(SECRET), "{before}");
    let plain = ask_in_clear(&ledger, &path);
    assert_ne!(plain, reviewed.inputs.action_digest);
    agrees(&ledger);
    let live = state(&ledger);
    ledger.close().unwrap();

    erase_subjects(&machine);
    for again in ["with a snapshot", "from the log alone"] {
        let ledger = open(&machine);
        assert!(state(&ledger) == live, "{again}");
        agrees(&ledger);
        ledger.close().unwrap();
        remove_index(&machine);
    }
}

/// Findings of a recording are made anew when a secret in it is replaced, from the kept record: that is sealed too.
#[test]
fn of_a_sealed_recording_nothing_is_told_either_where_a_secret_of_it_was_replaced() {
    let machine = machine_with_ledger(1_102);
    let ledger = open(&machine);
    RecordingClient::new(1_102).set_up(&machine, &ledger);
    let path = format!("src/{SECRET}/a.rs");
    let key = ["sk-", "a1b2c3d4e5".repeat(4).as_str()].concat();
    let mut recorded = json!({"call": "c1", "tool": "fs.write", "args": {"path": path, "text": key}});
    recorded["cwd"] = json!("/home/jane-doe-4711");
    recorded["assurance"] = json!("imported");
    let answer = sealed(&ledger, "tool.requested", "c1", &recorded);
    assert_eq!(ledger.event(answer.first).unwrap().redactions, 1);
    let made = answer.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
    let decision = decision_at(&ledger, made.position);
    assert_eq!(decision.inputs.dimension.context(), "-");
    let told = everything(&ledger);
    assert!(!told.contains(SECRET), "{told}");
    ledger.close().unwrap();
}

fn ask_in_clear(ledger: &Ledger, path: &str) -> Option<bitacora_vocabulary::Sha256Text> {
    let data = json!({"call": "clear", "tool": "fs.write", "args": {"path": path}});
    let request = event("tool.requested", "clear".to_owned(), "agent:1", &data);
    let answer = ledger.append(AppendRequest::of(vec![request])).unwrap().wait().unwrap();
    let made = answer.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
    decision_at(ledger, made.position).inputs.action_digest
}
