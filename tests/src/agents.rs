//! Agents at work in a governed ledger: what they ask is decided, people answer, outcomes count.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "agents that cannot go on must fail the test that they work for"
)]

use bitacora_formats::{Data, Event, Json};
use bitacora_governance::{DerivedValue, Policy, STARTER_POLICY, STARTER_TOOLS, parse_policy};
use bitacora_ledger::{AppendReceipt, AppendRequest, Ledger, PendingAppend};
use bitacora_vocabulary::{DecisionMade, EventData, ToolDocument, Verdict};
use serde_json::{Value, json};

const CALLS_OF_SESSION: u64 = 50;
const SESSIONS_OF_RUN: u64 = 3;
const AGENTS: u64 = 40;
/// A step of a thread is saved once in so many calls.
const CALLS_OF_STEP: u64 = 10;
/// One call of so many fails.
const CALLS_OF_FAILURE: u64 = 25;
/// People say no to one question of so many.
const QUESTIONS_OF_NO: u64 = 8;
/// So many calls are made by beginners: what they ask for has to be looked at oftener.
const CALLS_OF_BEGINNERS: u64 = 2_000;
/// Later one of so many calls of a kind is for another machine, which people look at.
const CALLS_ELSEWHERE: u64 = 25;
/// Failures among the last 50 calls that block. Weeks of work are done here in minutes: nothing is forgotten in between.
const BLOCKING_FAILURES: u64 = 20;
/// The number of calls of which one has its effect checked.
const CALLS_OF_CHECK: u64 = 25;
/// Of beginners' checks one of so many fails.
const CHECKS_OF_FAILURE: u64 = 5;
/// Of later ones.
const LATER_CHECKS_OF_FAILURE: u64 = 50;

/// Agents that go on where they stopped.
pub struct Agents {
    next: u64,
    at_once: usize,
}

impl Agents {
    /// They begin in a new ledger, which is given the tools and the policy to begin with; so many sessions have requests on their
    /// way at once.
    ///
    /// # Panics
    /// The ledger does not take that.
    #[must_use]
    pub fn begin(ledger: &Ledger, at_once: usize) -> Self {
        govern(ledger);
        Self { next: 0, at_once }
    }

    /// As many sessions as go on at once, from their first call to their last outcome: about 800 events each.
    ///
    /// # Panics
    /// The ledger does not take them.
    pub fn work(&mut self, ledger: &Ledger) {
        let mut sessions: Vec<AgentSession> =
            (self.next..).take(self.at_once).map(AgentSession::new).collect();
        self.next += self.at_once as u64;
        let mut is_working = true;
        while is_working {
            let asked: Vec<_> = sessions.iter_mut().map(|session| session.go_on(ledger)).collect();
            is_working = false;
            for (session, pending) in sessions.iter_mut().zip(asked) {
                let Some(pending) = pending else { continue };
                session.hear(&pending.wait().unwrap());
                is_working = true;
            }
        }
    }
}

/// The tools and the policy that a ledger may begin with, and what a team allows beside it, meant as they say.
fn govern(ledger: &Ledger) {
    let mut acts = Vec::new();
    let mut act = |kind: &'static str, data: Value| {
        let mut event = Event::new(format!("act{}", acts.len()), "urn:bench", kind, "governance/bench");
        event.actor = Some("operator:0".into());
        event.data = json_data(&data);
        acts.push(event);
    };
    let tools: Vec<ToolDocument> = serde_json::from_str(STARTER_TOOLS).unwrap();
    for tool in tools {
        act("tool.registered", serde_json::to_value(tool).unwrap());
    }
    let mut policy: Value = serde_json::from_str(STARTER_POLICY).unwrap();
    policy["rules"].as_array_mut().unwrap().extend(ordinary_work());
    policy["trust"]["blocking_failures"] = json!(BLOCKING_FAILURES);
    let policy = parse_policy(policy.to_string().as_bytes()).unwrap();
    let compiled = Policy::compile(&policy.rules, &policy.trust).unwrap();
    let digest = compiled.with_settings(policy.settings()).unwrap().digest().to_string();
    let mut published = serde_json::to_value(&policy).unwrap();
    published["version"] = json!(1);
    published["digest"] = json!(digest);
    published["author"] = json!("bench");
    act("policy.published", published);
    act("policy.activated", json!({"version": 1}));
    act("mode.configured", json!({"mode": "enforce"}));
    act(
        "contract.defined",
        json!({"contract": "edit", "pre": [], "post": [{"type": "tests_pass"}], "rollback": [{"type": "git_reset"}],
            "blast_radius": "low"}),
    );
    for act in acts {
        ledger.append(AppendRequest::of(vec![act])).unwrap().wait().unwrap();
    }
}

/// Returns the rules of a team that has had agents for a while; people look at anything else.
fn ordinary_work() -> [Value; 2] {
    let allow = |id: &str, what: Value, trust: &str| json!({"id": id, "match": what, "action": "allow", "reason": "ordinary work of agents here", "trust": trust});
    [
        allow("ordinary-work", json!({"tool": ["Read", "Grep", "Glob", "Edit", "TodoWrite"]}), "ignore"),
        allow("checks", json!({"tool": "Bash", "context": "cargo*"}), "respect"),
    ]
}

fn json_data(data: &Value) -> Data<'static> {
    Data::Json(Json::check(data.to_string().into_bytes()).unwrap())
}

/// A session of an agent, and what it waits for.
struct AgentSession {
    number: u64,
    is_begun: bool,
    /// Calls whose decision is waited for, in the order in which they were asked for.
    asked: Vec<AgentCall>,
    /// The events that are to be told or asked next.
    next: Vec<Event<'static>>,
}

#[derive(Clone)]
struct AgentCall {
    number: u64,
    id: String,
}

impl AgentSession {
    fn new(number: u64) -> Self {
        Self { number, is_begun: false, asked: Vec::new(), next: Vec::new() }
    }

    /// Sends what is next, if anything is.
    fn go_on(&mut self, ledger: &Ledger) -> Option<PendingAppend> {
        if !self.is_begun {
            self.is_begun = true;
            self.begin();
        }
        let next = std::mem::take(&mut self.next);
        (!next.is_empty()).then(|| ledger.append(AppendRequest::of(next)).unwrap())
    }

    fn begin(&mut self) {
        let number = self.number;
        let mut events =
            vec![self.event("session", "session.started", &json!({"harness": "bench", "cwd": "/src"}))];
        if number.is_multiple_of(SESSIONS_OF_RUN) {
            let run = format!("run-{}", number / SESSIONS_OF_RUN);
            events.push(self.event("run", "run.started", &json!({"run": run, "kind": "graph"})));
        }
        for call in number * CALLS_OF_SESSION..(number + 1) * CALLS_OF_SESSION {
            events.push(self.event(&format!("m{call}"), "model.called", &model_called(number, call)));
            if call.is_multiple_of(CALLS_OF_STEP) {
                events.push(self.event(&format!("k{call}"), "checkpoint.saved", &checkpoint(number, call)));
            }
            events.push(self.ask(AgentCall { number: call, id: format!("toolu_{call:024x}") }, None));
        }
        self.next = events;
    }

    fn event(&self, id: &str, kind: &'static str, data: &Value) -> Event<'static> {
        let session = self.number;
        let mut event =
            Event::new(format!("{session}.{id}"), "urn:bench", kind, format!("session/session-{session}"));
        event.session = Some(format!("session-{session}").into());
        event.run = Some(format!("run-{}", session / SESSIONS_OF_RUN).into());
        event.agent = Some(format!("agent-{}", session % AGENTS).into());
        event.actor = Some(format!("agent:{}", session % AGENTS).into());
        event.call = data["call"].as_str().map(|call| call.to_owned().into());
        event.data = json_data(data);
        event
    }

    fn ask(&mut self, call: AgentCall, approval: Option<&str>) -> Event<'static> {
        let (tool, args) = tool_and_args(call.number);
        let model = format!("model-{}", self.number % 3);
        let mut data = json!({"call": call.id, "tool": tool, "args": args, "model": model, "cwd": "/src"});
        if let Some(approval) = approval {
            data["approval"] = json!(approval);
        }
        let event = self.event(&format!("{}#requested", call.id), "tool.requested", &data);
        self.asked.push(call);
        event
    }

    /// A call that may begin ends; for one that needs a person, a person mostly says yes, and it is asked again.
    fn hear(&mut self, appended: &AppendReceipt) {
        let decisions: Vec<&DecisionMade> = appended
            .derived
            .iter()
            .filter(|derived| derived.kind == DecisionMade::KIND)
            .map(|derived| derived.meaning.as_ref().and_then(DerivedValue::decision).unwrap())
            .collect();
        let asked = std::mem::take(&mut self.asked);
        assert_eq!(decisions.len(), asked.len());
        for (call, decision) in asked.into_iter().zip(decisions) {
            match (decision.verdict, &decision.approval) {
                (Verdict::Allow, _) => {
                    if call.number.is_multiple_of(CALLS_OF_CHECK) {
                        self.next.push(self.checked(&call));
                    }
                    let ended = self.ended(&call);
                    self.next.push(ended);
                }
                (Verdict::Review, Some(approval)) => self.answer(&call, approval),
                _ => (),
            }
        }
    }

    fn ended(&self, call: &AgentCall) -> Event<'static> {
        let is_bad = is_one_of(CALLS_OF_FAILURE, call.number);
        let (kind, status) = if is_bad { ("tool.failed", "error") } else { ("tool.completed", "ok") };
        let data = json!({
            "call": call.id, "status": status, "duration_ms": call.number % 900, "cost_micro_usd": call.number % 3,
        });
        self.event(&format!("{}#ended", call.id), kind, &data)
    }

    /// Before its end it is seen whether what it did holds; now and then it does not, and a person is asked.
    fn checked(&self, call: &AgentCall) -> Event<'static> {
        let of_failure = if is_beginner(call.number) { CHECKS_OF_FAILURE } else { LATER_CHECKS_OF_FAILURE };
        let passed = !call.number.is_multiple_of(CALLS_OF_CHECK * of_failure);
        let run = format!("run-{}", self.number / SESSIONS_OF_RUN);
        let data = json!({
            "contract": "edit", "call": call.id, "run": run, "node": "act", "phase": "post",
            "checks": [{"type": "tests_pass", "passed": passed}],
        });
        self.event(&format!("{}#checked", call.id), "contract.checked", &data)
    }

    fn answer(&mut self, call: &AgentCall, approval: &str) {
        let is_no = is_one_of(QUESTIONS_OF_NO, call.number);
        let resolution = if is_no { "rejected" } else { "approved" };
        let resolved = json!({"approval": approval, "resolution": resolution, "by": "operator:7"});
        let mut event = self.event(&format!("{approval}#resolved"), "approval.resolved", &resolved);
        event.actor = Some("operator:7".into());
        self.next.push(event);
        if !is_no {
            let again = AgentCall { number: call.number, id: format!("{}b", call.id) };
            let asked = self.ask(again, Some(approval));
            self.next.push(asked);
        }
    }
}

/// Returns `true` for one call of so many, spread over all of them without regard to what they are.
fn is_one_of(many: u64, call: u64) -> bool {
    (call.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(many)
}

fn is_beginner(call: u64) -> bool {
    call < CALLS_OF_BEGINNERS
}

fn asks_elsewhere(call: u64) -> bool {
    is_beginner(call) || is_one_of(CALLS_ELSEWHERE, call)
}

fn tool_and_args(call: u64) -> (&'static str, Value) {
    let part = call / 7 % 60;
    match call % 7 {
        0 | 1 => ("Read", json!({"file_path": format!("/src/part-{part}/file-{call}.rs")})),
        2 => ("Grep", json!({"pattern": format!("fn part_{call}"), "path": format!("/src/part-{part}")})),
        3 => ("Bash", json!({"command": format!("cargo test -p part-{part} case_{call}")})),
        4 => {
            let path = format!("/src/part-{part}/file-{call}.rs");
            ("Edit", json!({"file_path": path, "old_string": "a", "new_string": format!("b{call}")}))
        }
        5 if asks_elsewhere(call) => {
            let url = format!("https://docs-{part}.example/page/{call}");
            ("WebFetch", json!({"url": url, "prompt": "what changed"}))
        }
        5 => ("Glob", json!({"pattern": format!("**/case_{call}*"), "path": format!("/src/part-{part}")})),
        _ => ("TodoWrite", json!({"todos": [{"content": format!("part {call}"), "status": "pending"}]})),
    }
}

fn model_called(session: u64, call: u64) -> Value {
    json!({
        "model": format!("model-{}", session % 3), "provider": "p", "tokens": {"in": 900 + call % 100, "out": 260},
        "cost_micro_usd": 3_000 + call % 77, "duration_ms": 1_400, "status": "ok",
    })
}

fn checkpoint(session: u64, call: u64) -> Value {
    let step = call / CALLS_OF_STEP;
    json!({
        "thread": format!("thread-{session}"), "namespace": "", "checkpoint": format!("1f0c-{step:012x}"),
        "step": step % 1_000, "source": "loop", "channel_versions": {"plan": step},
        "blobs": [{"channel": "plan", "version": step, "encoding": "msgpack", "inline": format!("{step:016x}"), "bytes": 8}],
        "metadata": {"run_id": format!("run-{}", session / SESSIONS_OF_RUN)},
    })
}
