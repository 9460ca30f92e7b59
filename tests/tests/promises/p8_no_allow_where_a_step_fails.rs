//! P8: no allow comes of a decision with a failing step; and an allow that was heard is recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bitacora_formats::{Event, Micros, Position};
use bitacora_governance::{
    DerivedEvent, Examination, Governance, ObservedEvent, Reactor, ReactorRefusal, ReactorState, RefusalCode,
};
use bitacora_ledger::{AppendError, AppendReceipt, AppendRequest, Ledger, Options, ReactorChoice};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::{SIMULATION_START, Simulation};
use bitacora_vocabulary::Verdict;
use serde_json::json;

use crate::p8_no_allow_without_a_record::{RecordingClient, decision_at, event, open, state};
use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options};

/// A step of a decision, as the ledger asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Examine,
    React,
    Keep,
    Discard,
    Fold,
}

/// The manner of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Refusal,
    Panic,
}

/// The call of a step that fails, and the number of calls of each step.
#[derive(Debug, Default)]
struct FailurePlan {
    failing: Option<(Step, Manner, u32)>,
    calls: BTreeMap<Step, u32>,
}

impl FailurePlan {
    /// Counts a call, which may be the one that fails.
    fn call(plan: &Mutex<Self>, step: Step) -> Result<(), ReactorRefusal> {
        let mut plan = plan.lock().unwrap();
        let calls = plan.calls.entry(step).or_default();
        *calls += 1;
        let strikes = plan.failing.take_if(|(failing, _, left)| {
            *left -= u32::from(*failing == step);
            *left == 0
        });
        drop(plan);
        match strikes {
            None => Ok(()),
            Some((_, Manner::Refusal, _)) => {
                Err(ReactorRefusal::new(RefusalCode::Broken, "it fails on purpose"))
            }
            Some((_, Manner::Panic, _)) => panic!("on purpose"),
        }
    }
}

/// The service's governance, with steps that fail.
struct FailingGovernance {
    inner: Governance,
    plan: Arc<Mutex<FailurePlan>>,
}

struct FailingState {
    inner: Box<dyn ReactorState>,
    plan: Arc<Mutex<FailurePlan>>,
}

impl Reactor for FailingGovernance {
    fn version(&self) -> u32 {
        self.inner.version()
    }

    fn state(&self) -> Box<dyn ReactorState> {
        Box::new(FailingState { inner: self.inner.state(), plan: Arc::clone(&self.plan) })
    }

    fn apart(&self) -> Box<dyn ReactorState> {
        self.inner.apart()
    }

    fn concerns(&self, kind: &str) -> bool {
        self.inner.concerns(kind)
    }

    fn examine(&self, event: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal> {
        FailurePlan::call(&self.plan, Step::Examine)?;
        self.inner.examine(event)
    }
}

impl ReactorState for FailingState {
    fn react(&mut self, placed: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        FailurePlan::call(&self.plan, Step::React)?;
        self.inner.react(placed)
    }

    fn keep(&mut self) {
        FailurePlan::call(&self.plan, Step::Keep).unwrap();
        self.inner.keep();
    }

    fn discard(&mut self) {
        FailurePlan::call(&self.plan, Step::Discard).unwrap();
        self.inner.discard();
    }

    fn fork(&self) -> Box<dyn ReactorState> {
        Box::new(Self { inner: self.inner.fork(), plan: Arc::clone(&self.plan) })
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        FailurePlan::call(&self.plan, Step::Fold).unwrap();
        self.inner.fold(frame);
    }
}

/// A ledger in which a call of `fs.write` in `src` is allowed.
fn trusting(seed: u64) -> Simulation {
    let machine = machine_with_ledger(seed);
    let ledger = open(&machine);
    RecordingClient::new(seed).set_up(&machine, &ledger);
    ledger.close().unwrap();
    machine
}

fn open_failing(machine: &Simulation) -> (Ledger, Arc<Mutex<FailurePlan>>) {
    let plan = Arc::default();
    let reactor = FailingGovernance { inner: Governance::default(), plan: Arc::clone(&plan) };
    let options = Options { governing: ReactorChoice::By(Arc::new(reactor)), ..options() };
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options).unwrap();
    (ledger, plan)
}

fn request(call: &str) -> Event<'static> {
    // Of each call another file, so that none goes round.
    let data = json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}});
    event("tool.requested", format!("{call}#requested"), "agent:1", &data)
}

fn ask(ledger: &Ledger, call: &str) -> Result<AppendReceipt, AppendError> {
    ledger.append_ahead(AppendRequest::of(vec![request(call)]))?.wait()
}

/// Returns the decision that a caller heard in an answer.
fn heard(ledger: &Ledger, answer: &AppendReceipt) -> (Position, Verdict) {
    let made = answer.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
    (made.position, decision_at(ledger, made.position).verdict)
}

fn decisions(ledger: &Ledger) -> usize {
    all(ledger).unwrap().iter().filter(|stored| stored.event.kind == "decision.made").count()
}

#[test]
fn a_step_that_refuses_or_panics_allows_nothing() {
    let usual = {
        let (ledger, plan) = open_failing(&trusting(820));
        let before = plan.lock().unwrap().calls.clone();
        assert_eq!(heard(&ledger, &ask(&ledger, "c0").unwrap()).1, Verdict::Allow);
        let after = plan.lock().unwrap().calls.clone();
        ledger.close().unwrap();
        move |step: Step| after.get(&step).unwrap_or(&0) - before.get(&step).unwrap_or(&0)
    };
    // The request and the decision that it causes.
    assert_eq!((usual(Step::Examine), usual(Step::React), usual(Step::Keep)), (2, 2, 1));
    for (step, manner) in [
        (Step::Examine, Manner::Refusal),
        (Step::Examine, Manner::Panic),
        (Step::React, Manner::Refusal),
        (Step::React, Manner::Panic),
        (Step::Keep, Manner::Panic),
    ] {
        for nth in 1..=usual(step) {
            let what = format!("{step:?} {nth}, {manner:?}");
            let machine = trusting(821);
            let (ledger, plan) = open_failing(&machine);
            plan.lock().unwrap().failing = Some((step, manner, nth));
            let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(&ledger, "c1")));
            assert!(plan.lock().unwrap().failing.is_none(), "{what}: nothing failed");
            assert!(!matches!(asked, Ok(Ok(_))), "{what}: {asked:?}");
            assert_eq!(decisions(&ledger), 0, "{what}");
            drop(ledger.close());
            let reopened = open(&machine);
            assert_eq!(decisions(&reopened), 0, "{what}");
            assert_eq!(heard(&reopened, &ask(&reopened, "c1").unwrap()).1, Verdict::Allow, "{what}");
            reopened.close().unwrap();
        }
    }
}

#[test]
fn a_scratch_copy_that_cannot_be_dropped_decides_nothing_more() {
    let machine = trusting(822);
    let (ledger, plan) = open_failing(&machine);
    plan.lock().unwrap().failing = Some((Step::Discard, Manner::Panic, 1));
    let both =
        vec![request("c1"), event("grant.revoked", "g".to_owned(), "operator:0", &json!({"grant": "g"}))];
    ledger.append(AppendRequest::of(both)).unwrap().wait().unwrap_err();
    assert!(plan.lock().unwrap().failing.is_none(), "nothing failed");
    for call in ["c1", "c2"] {
        ask(&ledger, call).unwrap_err();
    }
    assert_eq!(decisions(&ledger), 0);
    drop(ledger.close());
    let reopened = open(&machine);
    assert_eq!(heard(&reopened, &ask(&reopened, "c1").unwrap()).1, Verdict::Allow);
    reopened.close().unwrap();
}

#[test]
fn a_frame_that_cannot_be_folded_leaves_every_allow_recorded() {
    let machine = trusting(823);
    let (ledger, plan) = open_failing(&machine);
    plan.lock().unwrap().failing = Some((Step::Fold, Manner::Panic, 1));
    let mut allowed = Vec::new();
    for call in ["c1", "c2", "c3"] {
        let Ok(answer) = ask(&ledger, call) else { continue };
        allowed.push((machine.disk.operation_count(), heard(&ledger, &answer)));
    }
    assert!(plan.lock().unwrap().failing.is_none(), "nothing failed");
    drop(ledger.close());
    for (at, (position, verdict)) in allowed {
        let left = machine.after_crash(at, CrashPolicy::OnlySynced, 1).unwrap();
        let reopened = open(&left);
        assert_eq!(decision_at(&reopened, position).verdict, verdict);
        reopened.close().unwrap();
    }
}

#[test]
fn where_a_call_of_the_disk_fails_every_allow_that_was_heard_is_recorded() {
    let mut heard_behind_a_fault = 0;
    for (number, call) in (0..).zip([
        DiskCall::Write,
        DiskCall::SyncData,
        DiskCall::SyncAll,
        DiskCall::SyncFolder,
        DiskCall::CreateNew,
        DiskCall::Open,
        DiskCall::Read,
        DiskCall::Stat,
        DiskCall::SetLen,
        DiskCall::Rename,
    ]) {
        for effect in [Effect::Without, Effect::With, Effect::Partly] {
            for nth in 1..=2 {
                let what = format!("{call:?} {nth}, {effect:?}");
                let machine = trusting(830 + number);
                let ledger = open(&machine);
                machine.disk.inject(DiskFault::on(call, nth, errno::EIO).effect(effect));
                let mut allowed = Vec::new();
                for asked in 0..6 {
                    let Ok(answer) = ask(&ledger, &format!("c{asked}")) else { continue };
                    let (position, verdict) = heard(&ledger, &answer);
                    assert_eq!(verdict, Verdict::Allow, "{what}");
                    allowed.push((machine.disk.operation_count(), position));
                }
                heard_behind_a_fault += allowed.len();
                drop(ledger.close());
                for policy in CrashPolicy::ALL {
                    let Some((at, _)) = allowed.last() else { continue };
                    let left = machine.after_crash(*at, policy, 1).unwrap();
                    let reopened = open(&left);
                    for (_, position) in &allowed {
                        let decision = decision_at(&reopened, *position);
                        assert_eq!(decision.verdict, Verdict::Allow, "{what}, {policy:?}");
                    }
                    reopened.close().unwrap();
                }
            }
        }
    }
    assert!(heard_behind_a_fault > 0, "nothing was heard at all");
}

#[test]
fn a_full_queue_allows_nothing_and_what_waited_is_recorded() {
    let machine = trusting(850);
    let small = Options { queue_bytes: 4 * 1024, governing: ReactorChoice::Governance, ..options() };
    let ledger = Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), small).unwrap();
    let syncs = machine.disk.hold(DiskCall::SyncData);
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    for number in 0..400 {
        let call = format!("c{number}");
        match ledger.append(AppendRequest::of(vec![request(&call)])) {
            Ok(pending) => waiting.push(pending),
            Err(AppendError::QueueFull { .. }) => refused.push(call),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(!refused.is_empty());
    assert_eq!(decisions(&ledger), 0, "nothing can be read before it is durable");
    drop(syncs);
    let answers: Vec<_> = waiting.into_iter().map(|pending| pending.wait().unwrap()).collect();
    assert!(answers.iter().all(|answer| heard(&ledger, answer).1 == Verdict::Allow));
    assert_eq!(decisions(&ledger), answers.len());
    assert!(!ask(&ledger, &refused[0]).unwrap().only_duplicates(), "a refused request left something behind");
    ledger.close().unwrap();
}

#[test]
fn a_clock_that_is_set_back_makes_nothing_valid_again() {
    let machine = trusting(851);
    let ledger = open(&machine);
    let ask = |call: &str, approval: Option<&str>| {
        let mut data = json!({"call": call, "tool": "fs.write", "args": {"path": format!("docs/{call}.md")}});
        data["approval"] = approval.map_or(json!(null), |approval| json!(approval));
        let id = format!("{call}#{}", approval.unwrap_or("-"));
        let asked = event("tool.requested", id, "agent:1", &data);
        let answer = ledger.append(AppendRequest::of(vec![asked])).unwrap().wait().unwrap();
        decision_at(&ledger, heard(&ledger, &answer).0)
    };
    let waiting = ask("c1", None).approval.unwrap().to_string();
    let word = json!({"approval": waiting, "resolution": "approved", "by": "operator:0"});
    let resolved = event("approval.resolved", "r".to_owned(), "operator:0", &word);
    ledger.append(AppendRequest::of(vec![resolved])).unwrap().wait().unwrap();
    machine.clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(ask("c2", None).verdict, Verdict::Review);
    let before = state(&ledger).governed_time();
    machine.clock.set(SIMULATION_START);
    assert_eq!(ask("c3", None).reason_code.as_str(), "clock-untrusted");
    let word = event("clock.accepted", "t".to_owned(), "operator:0", &json!({"reason": "looked at"}));
    ledger.append(AppendRequest::of(vec![word])).unwrap().wait().unwrap();
    let late = ask("c1", Some(&waiting));
    assert_eq!((late.verdict, late.reason_code.as_str().as_str()), (Verdict::Review, "approval-expired"));
    assert_eq!(state(&ledger).governed_time(), before);
    assert!(before > Micros(SIMULATION_START.0));
    ledger.close().unwrap();
}
