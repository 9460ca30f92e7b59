//! Answers of read models follow from the log alone, however often folded, killed, damaged or lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod checkpointed;
#[path = "models/cuts.rs"]
mod cuts;
mod elsewhere;
mod ended;
mod image;
mod remembered;
#[path = "models/runs.rs"]
mod runs;
mod whatever_fits;
mod worked;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Event, Keyring, Micros, Position};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};
use bitacora_projector::{
    AnsweredApprovalQuery, CallQuery, CallSummary, CostQuery, CostsBy, DecisionMinuteQuery, GapQuery,
    IndexOptions, IndexedLedger, ModelState, ModelStatus, ReadModels, RunQuery, RunState, RunSummary,
    ToolQuery, ToolsBy,
};
use bitacora_vocabulary::Dimension;

use image::{Image, StoredFile};

struct ReadModelsBench {
    folder: tempfile::TempDir,
    keyring: Arc<Keyring>,
    environment: Environment,
    written: u64,
}

impl ReadModelsBench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let bench = Self { folder, keyring, environment: Environment::real(), written: 0 };
        let (path, name) = (bench.path(), "main".parse().unwrap());
        Ledger::create(&bench.environment, &path, &name, &bench.keyring, &Options::small()).unwrap();
        bench
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    fn store(&self) -> PathBuf {
        self.path().join("projections/models")
    }

    fn open(&self) -> IndexedLedger {
        let keyring = Arc::clone(&self.keyring);
        let ledger = Ledger::open(&self.environment, &self.path(), keyring, Options::small()).unwrap();
        let options = IndexOptions { read_models: true, ..IndexOptions::default() };
        IndexedLedger::open(ledger, &self.environment, &self.path(), &self.keyring, &options)
    }

    /// Appends what sessions of agents leave behind.
    fn append(&mut self, ledger: &Ledger, sessions: u64) {
        for _ in 0..sessions {
            self.written += 1;
            ledger.append(AppendRequest::of(session(self.written))).unwrap().wait().unwrap();
            let saved = checkpointed::session(self.written);
            ledger.append(AppendRequest::of(saved)).unwrap().wait().unwrap();
            let learned = remembered::session(self.written);
            ledger.append(AppendRequest::of(learned)).unwrap().wait().unwrap();
            let worked = worked::session(self.written);
            ledger.append(AppendRequest::of(worked)).unwrap().wait().unwrap();
        }
    }
}

fn event(kind: &str, session: u64, number: u64, data: String) -> Event<'static> {
    let stream = format!("session/{session}");
    let mut event = Event::new(format!("{session}-{number}"), "urn:test", kind.to_owned(), stream);
    event.session = Some(format!("s{session}").into());
    event.agent = Some(format!("agent-{}", session % 3).into());
    event.data = bitacora_formats::Data::Json(bitacora_formats::Json::check(data.into_bytes()).unwrap());
    event
}

fn session(session: u64) -> Vec<Event<'static>> {
    let (mut events, mut number) = (Vec::new(), 0);
    let mut push = |kind: &str, data: String| {
        number += 1;
        events.push(event(kind, session, number, data));
    };
    for outcome in ["approved", "error"] {
        let dimension =
            format!(r#"{{"tool":"bash","context":"c{}","model":"-","task_type":"-"}}"#, session % 3);
        push(
            "trust.observed",
            format!(
                r#"{{"dimension":{dimension},"outcome":"{outcome}","duration_ms":{session},"assurance":"imported"}}"#
            ),
        );
    }
    let run = format!("r{session}");
    if !session.is_multiple_of(4) {
        push("run.started", format!(r#"{{"run":"{run}","kind":"graph","graph":"g"}}"#));
    }
    push(
        "run.step",
        format!(r#"{{"run":"{run}","node":"act","node_type":"agent","status":"started","attempt":1}}"#),
    );
    push(
        "run.step",
        format!(
            r#"{{"run":"{run}","node":"act","node_type":"agent","status":"{}","attempt":1,"cost_micro_usd":{session},"tokens":{{"in":3}}}}"#,
            if session.is_multiple_of(3) { "error" } else { "ok" }
        ),
    );
    match session % 5 {
        0 => push("run.paused", format!(r#"{{"run":"{run}","reason":"an approval"}}"#)),
        1 => push("run.failed", format!(r#"{{"run":"{run}","error_type":"timeout"}}"#)),
        2 => push("run.completed", format!(r#"{{"run":"{run}","status":"success","cost_micro_usd":9}}"#)),
        _ => {}
    }
    let word = match session % 4 {
        0 => "approved",
        1 => "rejected",
        2 => "edited",
        _ => "expired",
    };
    // The first word holds.
    for (by, word) in [("operator:1", word), ("operator:2", "withdrawn")] {
        push(
            "approval.resolved",
            format!(r#"{{"approval":"a{session}","resolution":"{word}","by":"{by}{}"}}"#, session % 2),
        );
    }
    for call in 0..1 + session % 5 {
        let id = format!("c{session}-{call}");
        let tool = match (session + call) % 3 {
            0 => "bash",
            1 => "edit",
            _ => "read",
        };
        push(
            "tool.requested",
            format!(
                r#"{{"call":"{id}","tool":"{tool}","args":{{"n":{call}}},"model":"m{}","task_type":"t{}"}}"#,
                session % 2,
                session % 4
            ),
        );
        push(
            "model.called",
            format!(
                r#"{{"model":"m{}","provider":"p","tokens":{{"in":{session},"out":7}},"cost_micro_usd":{call},"status":"ok"}}"#,
                session % 2
            ),
        );
        match call % 3 {
            0 => push(
                "tool.completed",
                format!(
                    r#"{{"call":"{id}","status":"ok","duration_ms":{session},"cost_micro_usd":5,"summary":"done"}}"#
                ),
            ),
            1 => push(
                "tool.failed",
                format!(r#"{{"call":"{id}","status":"error","error_type":"exit_code","exit_code":1}}"#),
            ),
            _ => push(
                "coverage.gap",
                format!(r#"{{"call":"{id}","evidence":"line {call}","missing":"outcome"}}"#),
            ),
        }
    }
    events
}

/// Waits until all models have come to the head, and gives what they come to.
fn settled(ledger: &IndexedLedger) -> Vec<ModelStatus> {
    let models = ledger.read_models().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let status = models.status();
        if status.iter().all(|model| model.lag == 0 && model.state == ModelState::Ok) {
            return status;
        }
        assert!(Instant::now() < end, "{status:#?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the digests of the rows, model by model. Each is as of its last stored batch, so the ledger is closed before.
fn digests(bench: &ReadModelsBench) -> Vec<(&'static str, u64, [u8; 32])> {
    let ledger = bench.open();
    let status = settled(&ledger);
    ledger.close().unwrap();
    status.iter().map(|model| (model.name, model.digest.unwrap().1, model.digest.unwrap().2)).collect()
}

/// Everything that can be asked.
fn answers(models: &ReadModels) -> String {
    let calls = CallQuery { limit: 10_000, ..CallQuery::default() };
    let gaps = GapQuery { limit: 10_000, ..GapQuery::default() };
    let by = vec![CostsBy::Day, CostsBy::Model, CostsBy::Task, CostsBy::Agent];
    let costs = models.costs(&CostQuery { by, ..CostQuery::default() }).unwrap();
    let by = vec![CostsBy::Tool, CostsBy::Role, CostsBy::Run, CostsBy::Session, CostsBy::Case];
    let of_work = models.costs(&CostQuery { by, ..CostQuery::default() }).unwrap();
    assert_eq!(of_work.total, costs.total, "rows of each kind count the same");
    let runs = models.runs(&RunQuery { limit: 10_000, ..RunQuery::default() }).unwrap().runs;
    let steps: Vec<_> = runs.iter().map(|run| models.run_steps(&run.run, None, 100).unwrap().items).collect();
    let dimension = |context: u64| Dimension::new("bash", format!("c{context}"), "-", "-").unwrap();
    let months: Vec<_> =
        (0..4).map(|context| models.trust_months(&dimension(context), 9).unwrap().items).collect();
    let (calls, gaps) = (models.calls(&calls).unwrap().calls, models.gaps(&gaps).unwrap().items);
    let by = vec![ToolsBy::Tool, ToolsBy::Context, ToolsBy::Role, ToolsBy::Agent, ToolsBy::Day];
    let tools = models.tools(&ToolQuery { by, ..ToolQuery::default() }).unwrap();
    let minutes =
        models.decision_minutes(&DecisionMinuteQuery { limit: 10_000, ..Default::default() }).unwrap().items;
    let count = |is: &dyn Fn(&&CallSummary) -> bool| calls.iter().filter(is).count() as u64;
    let ended = |status: &str| count(&|call| call.outcome.as_ref().is_some_and(|end| end.status == status));
    let (counts, timed) = (tools.total.counts, tools.total.took.total());
    // The sums say of all calls what the rows say of each.
    assert_eq!([counts.ok, counts.errors, counts.timeouts], ["ok", "error", "timeout"].map(ended));
    assert_eq!(counts.calls, count(&|call| call.decision.is_some() || call.outcome.is_some()));
    let is_timed = |call: &&CallSummary| call.outcome.as_ref().is_some_and(|end| end.duration_ms.is_some());
    assert_eq!(timed, count(&is_timed));
    let saved = checkpointed::answers(models);
    let every_answer = AnsweredApprovalQuery { limit: 10_000, ..AnsweredApprovalQuery::default() };
    let answered = models.answered(&every_answer).unwrap().items;
    let answerers = models.answerers(0, 100).unwrap().items;
    let (learned, worked) = (remembered::answers(models), worked::answers(models));
    format!(
        "{saved} {learned} {worked} {:?} {:?} {:?} {answered:?} {answerers:?} {calls:?} {gaps:?} {minutes:?} {runs:?} {steps:?} {months:?} {:?} {:?}",
        tools.sums, tools.total, of_work.costs, costs.costs, costs.total
    )
}

fn answered(bench: &ReadModelsBench) -> String {
    let ledger = bench.open();
    settled(&ledger);
    let answered = answers(ledger.read_models().unwrap());
    ledger.close().unwrap();
    answered
}

#[test]
fn rows_folded_piece_by_piece_are_those_that_are_folded_at_once() {
    let mut bench = ReadModelsBench::new();
    for _ in 0..6 {
        let ledger = bench.open();
        bench.append(ledger.ledger(), 20);
        settled(&ledger);
        bench.append(ledger.ledger(), 7);
        ledger.close().unwrap();
    }
    let (grown, said) = (digests(&bench), answered(&bench));
    assert!(grown.iter().all(|(_, rows, _)| *rows > 0), "{grown:?}");
    fs::remove_dir_all(bench.store()).unwrap();
    // Opening the ledger again adds events, of which no model takes any.
    assert_eq!(digests(&bench), grown);
    assert_eq!(answered(&bench), said);
}

#[test]
fn deleting_the_folder_of_derived_state_loses_nothing() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 50);
    settled(&ledger);
    let said = answers(ledger.read_models().unwrap());
    ledger.close().unwrap();
    fs::remove_dir_all(bench.path().join("projections")).unwrap();
    assert_eq!(answered(&bench), said);
}

#[test]
fn a_flipped_bit_anywhere_in_the_store_changes_no_answer() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 120);
    settled(&ledger);
    let said = answers(ledger.read_models().unwrap());
    ledger.close().unwrap();
    let whole = Image::take(&bench.store());
    let note = bench.store().with_extension("clean");
    let noted = fs::read(&note).unwrap();
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    for file in &whole.0 {
        for (flip, is_noted) in [(0, true), (1, false), (2, false)] {
            if file.bytes.is_empty() {
                continue;
            }
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(flip * 2 + 1);
            let at = usize::try_from((dice >> 16) % file.bytes.len() as u64).unwrap();
            let mut damaged = file.clone();
            *damaged.bytes.get_mut(at).unwrap() ^= 1 << (dice % 8);
            whole.lay(&bench.store(), Some((&file.path, Some(&damaged))));
            let _ = fs::remove_file(&note);
            if is_noted {
                fs::write(&note, &noted).unwrap();
            }
            assert_eq!(answered(&bench), said, "{} at {at}", file.path.display());
        }
    }
}

#[test]
fn a_store_cut_off_anywhere_or_missing_files_changes_no_answer() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 60);
    settled(&ledger);
    let said = answers(ledger.read_models().unwrap());
    // As a killed process leaves it.
    let whole = Image::take(&bench.store());
    ledger.close().unwrap();
    for file in &whole.0 {
        let cut = |thirds: usize| {
            let bytes = file.bytes.get(..file.bytes.len() * thirds / 3).unwrap().to_vec();
            Some(StoredFile { path: file.path.clone(), length: bytes.len() as u64, bytes })
        };
        for damaged in [None, cut(0), cut(2)] {
            whole.lay(&bench.store(), Some((&file.path, damaged.as_ref())));
            let left = damaged.map(|damaged| damaged.length);
            assert_eq!(answered(&bench), said, "{}: {left:?}", file.path.display());
        }
    }
}

#[test]
fn a_store_whose_opening_never_came_back_is_put_aside() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 20);
    settled(&ledger);
    ledger.close().unwrap();
    let said = answered(&bench);
    assert!(!bench.store().with_extension("damaged").exists());
    fs::write(bench.store().with_extension("opening"), "").unwrap();
    assert_eq!(answered(&bench), said);
    assert!(bench.store().with_extension("damaged").exists());
    assert!(!bench.store().with_extension("opening").exists());
}

#[test]
fn a_store_of_another_history_is_not_believed() {
    let (mut one, mut other) = (ReadModelsBench::new(), ReadModelsBench::new());
    for (bench, sessions) in [(&mut one, 30), (&mut other, 40)] {
        let ledger = bench.open();
        bench.append(ledger.ledger(), sessions);
        settled(&ledger);
        ledger.close().unwrap();
    }
    let said = answered(&one);
    Image::take(&other.store()).lay(&one.store(), None);
    assert_eq!(answered(&one), said);
    // An older copy of its own is gone on with.
    let early = Image::take(&one.store());
    let ledger = one.open();
    one.append(ledger.ledger(), 5);
    ledger.close().unwrap();
    let said = answered(&one);
    early.lay(&one.store(), None);
    assert_eq!(answered(&one), said);
}

#[test]
fn folding_again_beside_what_answers_gives_the_same_and_takes_its_place() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 80);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let said = answers(models);
    assert!(models.fold_again("calls") && models.fold_again("costs") && !models.fold_again("none"));
    for _ in 0..50 {
        assert_eq!(answers(models), said);
        std::thread::sleep(Duration::from_millis(5));
    }
    bench.append(ledger.ledger(), 3);
    let status = settled(&ledger);
    assert!(status.iter().all(|model| model.doubts == 0), "{status:?}");
    assert_ne!(answers(models), said);
    ledger.close().unwrap();
}

#[test]
fn calls_are_found_by_all_that_is_asked_and_page_by_page() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 40);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let all = models.calls(&CallQuery { limit: 1_000, ..CallQuery::default() }).unwrap().calls;
    let calls = |session: u64| 1 + session % 5 + worked::calls(session);
    assert_eq!(all.len() as u64, (1..=40).map(calls).sum::<u64>());
    assert!(all.is_sorted_by(|one, next| one.position > next.position));
    let tool = CallQuery {
        tool: Some("bash".into()),
        outcome: Some("error".into()),
        limit: 1_000,
        ..CallQuery::default()
    };
    let expected: Vec<_> = all
        .iter()
        .filter(|call| call.tool == "bash" && call.outcome.as_ref().is_some_and(|end| end.status == "error"))
        .cloned()
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(models.calls(&tool).unwrap().calls, expected);
    let (mut paged, mut before) = (Vec::new(), None);
    loop {
        let page = models.calls(&CallQuery { limit: 3, before, ..tool.clone() }).unwrap();
        paged.extend(page.calls);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(paged, expected);
    let open = models
        .calls(&CallQuery { outcome: Some("open".into()), limit: 1_000, ..CallQuery::default() })
        .unwrap()
        .calls;
    assert!(!open.is_empty() && open.iter().all(|call| call.outcome.is_none()));
    let one = &all[7];
    assert_eq!(models.call(&one.call).unwrap().0.as_ref(), Some(one));
    assert_eq!(models.call("none").unwrap().0, None);
    let head = ledger.head().position;
    let late = CallQuery { from: Position::new(one.position), limit: 1_000, ..CallQuery::default() };
    assert_eq!(models.calls(&late).unwrap().calls, all[..=7]);
    assert_eq!(models.calls(&late).unwrap().position, head);
    ledger.close().unwrap();
}

#[test]
fn a_store_of_a_history_that_was_given_up_is_not_believed() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 10);
    settled(&ledger);
    ledger.close().unwrap();
    let before = Image::take(&bench.path());
    // One history goes on, and another one from the same place, further.
    let ledger = bench.open();
    bench.append(ledger.ledger(), 5);
    settled(&ledger);
    ledger.close().unwrap();
    let given_up = Image::take(&bench.store());
    before.lay(&bench.path(), None);
    for empty in ["quarantine", "subjects"] {
        let _ = fs::create_dir(bench.path().join(empty));
    }
    bench.written += 100;
    let ledger = bench.open();
    bench.append(ledger.ledger(), 20);
    settled(&ledger);
    ledger.close().unwrap();
    let said = answered(&bench);
    given_up.lay(&bench.store(), None);
    assert_eq!(answered(&bench), said);
}
