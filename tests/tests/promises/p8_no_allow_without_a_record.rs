//! P8: a decision is durable before the executor hears it; and crashes do not change what decides.

use std::path::PathBuf;

use bitacora_formats::{Data, Event, Json};
use bitacora_governance::{Policy, State};
use bitacora_ledger::{AppendReceipt, AppendRequest, Ledger, Options, ReactorChoice};
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulated_disk::CrashPolicy;
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::{DecisionMade, Rule, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::workload::{FOLDER, keyring, machine_with_ledger, options};

pub(crate) fn open(machine: &Simulation) -> Ledger {
    let options = Options { governing: ReactorChoice::Governance, ..options() };
    Ledger::open(&machine.environment(), &PathBuf::from(FOLDER), keyring(), options).unwrap()
}

pub(crate) fn state(ledger: &Ledger) -> State {
    ledger.governance().unwrap().read(Clone::clone)
}

pub(crate) fn event(kind: &'static str, id: String, actor: &'static str, data: &Value) -> Event<'static> {
    let mut event = Event::new(id, "urn:test", kind, "calls");
    event.actor = Some(actor.into());
    event.agent = Some("coder".into());
    event.call = data["call"].as_str().map(|call| call.to_owned().into());
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    event
}

/// A client that knows what it was told.
pub(crate) struct RecordingClient {
    random: SeededRandom,
    asked: usize,
    acts: usize,
    /// Approvals that were asked for, with the call and the path.
    waiting: Vec<(String, String, String)>,
    /// After each acknowledgement: how far the disk was, and the state that was published.
    seen: Vec<(u64, State)>,
    /// The operation count of the disk when each allow was heard, and the allow's position.
    allowed: Vec<(u64, bitacora_formats::Position)>,
}

impl RecordingClient {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: SeededRandom::new(seed),
            asked: 0,
            acts: 0,
            waiting: vec![],
            seen: vec![],
            allowed: vec![],
        }
    }

    fn append(
        &mut self,
        machine: &Simulation,
        ledger: &Ledger,
        event: Event<'static>,
    ) -> Option<AppendReceipt> {
        let appended = ledger.append(AppendRequest::of(vec![event])).ok()?.wait().ok()?;
        self.seen.push((machine.disk.operation_count(), state(ledger)));
        Some(appended)
    }

    fn act(&mut self, machine: &Simulation, ledger: &Ledger, kind: &'static str, data: &Value) {
        self.acts += 1;
        let event = event(kind, format!("act{}", self.acts), "operator:0", data);
        self.append(machine, ledger, event);
    }

    pub(crate) fn set_up(&mut self, machine: &Simulation, ledger: &Ledger) {
        let tool = json!({
            "tool": "fs.write", "version": "1", "description": "writes",
            "input_schema": {"type": "object"}, "risk": "write", "blast_radius": "low", "requires_review": false,
            "allowed_roles": ["agent"], "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0},
            "idempotency": "none", "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"},
        });
        self.act(machine, ledger, "tool.registered", &tool);
        let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
        let compiled: Vec<Rule> = serde_json::from_value(rules.clone()).unwrap();
        let trust = TrustRules::v2();
        let digest = Policy::compile(&compiled, &trust).unwrap().digest().to_string();
        let policy = json!({"version": 1, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
        self.act(machine, ledger, "policy.published", &policy);
        self.act(machine, ledger, "policy.activated", &json!({"version": 1}));
        let dimension =
            json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
        let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
        self.act(
            machine,
            ledger,
            "trust.set",
            &json!({"dimension": dimension, "counts": counts, "reason": "test"}),
        );
    }

    fn ask(&mut self, machine: &Simulation, ledger: &Ledger, call: &str, path: &str, approval: Option<&str>) {
        let mut data = json!({"call": call, "tool": "fs.write", "args": {"path": path}});
        let mut id = format!("{call}#requested");
        if let Some(approval) = approval {
            data["approval"] = json!(approval);
            id = format!("{id}#{approval}");
        }
        let request = event("tool.requested", id, "agent:1", &data);
        let Some(appended) = self.append(machine, ledger, request) else { return };
        let made = appended.derived.iter().find(|derived| derived.kind == "decision.made").unwrap();
        let decision = decision_at(ledger, made.position);
        match decision.verdict {
            Verdict::Allow => self.allowed.push((machine.disk.operation_count(), made.position)),
            Verdict::Review => {
                let approval = decision.approval.unwrap().to_string();
                self.waiting.push((approval, call.to_owned(), path.to_owned()));
            }
            Verdict::Deny => {}
        }
    }

    fn step(&mut self, machine: &Simulation, ledger: &Ledger) {
        let call = format!("c{}", self.random.index(self.asked + 1));
        match self.random.index(7) {
            0..=2 => {
                self.asked += 1;
                let path = ["src/a.rs", "src/b.rs", "docs/a.md"][self.random.index(3)];
                let call = format!("c{}", self.asked);
                self.ask(machine, ledger, &call, path, None);
            }
            3 | 4 => {
                let (kind, status) =
                    [("tool.completed", "ok"), ("tool.failed", "error")][self.random.index(2)];
                let data = json!({"call": call, "status": status});
                let outcome = event(kind, format!("{call}#outcome"), "agent:1", &data);
                self.append(machine, ledger, outcome);
            }
            5 => {
                let Some((approval, ..)) = self.waiting.last().cloned() else { return };
                let resolution = ["approved", "rejected"][self.random.index(2)];
                let resolved = json!({"approval": approval, "resolution": resolution, "by": "operator:0"});
                self.act(machine, ledger, "approval.resolved", &resolved);
            }
            _ => {
                let Some((approval, call, path)) = self.waiting.pop() else { return };
                self.ask(machine, ledger, &call, &path, Some(&approval));
            }
        }
    }
}

pub(crate) fn decision_at(ledger: &Ledger, position: bitacora_formats::Position) -> DecisionMade {
    let stored = ledger.event(position).unwrap();
    let Data::Json(json) = &stored.event.data else { panic!("a decision has data") };
    serde_json::from_slice(json.as_bytes()).unwrap()
}

/// A history of calls over two openings.
fn history(seed: u64, steps: usize) -> (Simulation, RecordingClient) {
    let machine = machine_with_ledger(seed);
    let mut client = RecordingClient::new(seed);
    for opening in 0..2 {
        let ledger = open(&machine);
        if opening == 0 {
            client.set_up(&machine, &ledger);
        }
        (0..steps).for_each(|_| client.step(&machine, &ledger));
        ledger.close().unwrap();
    }
    (machine, client)
}

#[test]
fn the_state_after_a_restart_is_the_one_before() {
    for seed in 800..806 {
        let (machine, client) = history(seed, 40);
        assert!(!client.allowed.is_empty(), "seed {seed}: nothing was allowed");
        let before = client.seen.last().map(|(_, state)| state.clone()).unwrap();
        let ledger = open(&machine);
        assert!(state(&ledger) == before, "seed {seed}");
        ledger.close().unwrap();
    }
}

#[test]
fn after_every_crash_what_was_heard_is_recorded_and_decides_as_before() {
    for seed in 810..814 {
        let (machine, client) = history(seed, 25);
        let first = client.seen.first().map_or(0, |(operation, _)| *operation);
        let mut random = SeededRandom::new(seed);
        for crash in 0..30 {
            let at = first + random.below(machine.disk.operation_count() - first);
            let policy = CrashPolicy::ALL[random.index(3)];
            let what = format!("seed {seed}, crash {crash} at {at}, {policy:?}");
            let left = machine.after_crash(at, policy, seed * 1_000 + crash).unwrap();
            let ledger = open(&left);
            let heard = client.seen.partition_point(|(operation, _)| *operation <= at);
            // Events on their way may have reached the disk as well.
            let possible = client.seen.iter().take(heard + 1).skip(heard.saturating_sub(1));
            let found = state(&ledger);
            assert!(possible.into_iter().any(|(_, state)| *state == found), "{what}");
            for (_, position) in client.allowed.iter().filter(|(operation, _)| *operation <= at) {
                assert_eq!(decision_at(&ledger, *position).verdict, Verdict::Allow, "{what}");
            }
            ledger.close().unwrap();
            // With its own snapshot, and without any: all of the log is folded then.
            let reopened = open(&left);
            assert!(state(&reopened) == found, "{what}, with a snapshot");
            reopened.close().unwrap();
            remove_index(&left);
            let reopened = open(&left);
            assert!(state(&reopened) == found, "{what}, without a snapshot");
            reopened.close().unwrap();
        }
    }
}

/// Takes away what an opening could spare itself work with.
pub(crate) fn remove_index(machine: &Simulation) {
    let (disk, index) = (machine.environment().disk, PathBuf::from(FOLDER).join("index"));
    for entry in disk.list(&index).unwrap() {
        disk.remove_file(&index.join(entry.name)).unwrap();
    }
}
