//! Replicas that are up to date: each predicts the ledger's next decision, in any history.
//! It holds nothing that concerns others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitacora_formats::{Data, Event, Json, Micros};
use bitacora_governance::{
    CutProgress, Executor, MAX_PIECE_ENTRIES, PredictedCall, Prediction, PredictionRefusal, Replica, State,
    StateCopy, StatePatch,
};
use bitacora_vocabulary::{ApprovalRequested, DecisionMade, ReasonCode, Verdict};
use serde_json::json;

use crate::desk::{SECOND, TestGovernance, data, decision, governed, scope_of};
use crate::random_acts::RandomRequests;

const STEPS: u64 = 400;

/// A replica, and the state that it was told of last.
struct SyncedReplica {
    replica: Replica,
    base: Option<Arc<StateCopy>>,
    /// Everything that it was told, as it was sent.
    sent: String,
}

impl SyncedReplica {
    fn of(agent: Option<&str>, actor: &str) -> Self {
        let executor = Executor { agent: agent.map(str::to_owned), actor: actor.to_owned() };
        Self { replica: Replica::new(executor), base: None, sent: String::new() }
    }

    /// Tells it the changes since the last time.
    fn catch_up(&mut self, desk: &TestGovernance) {
        let now = desk.governance.copy();
        let before = self.base.replace(Arc::clone(&now));
        let mut progress = CutProgress::default();
        let executor = self.replica.executor().clone();
        let before = before.as_ref().map(|before| &before.state);
        while let Some(piece) = now.state.next_piece(before, &executor, &mut progress) {
            let text = serde_json::to_string(&piece).unwrap();
            let read: StatePatch = serde_json::from_str(&text).unwrap();
            assert_eq!(read, piece);
            self.replica.take(read);
            self.sent += &text;
        }
    }

    fn predict(&self, event: &Event<'_>, at: u64) -> Result<Prediction, PredictionRefusal> {
        self.predict_between(event, (at, at))
    }

    fn predict_between(
        &self,
        event: &Event<'_>,
        (earliest, latest): (u64, u64),
    ) -> Result<Prediction, PredictionRefusal> {
        let Data::Json(json) = &event.data else { panic!("without data") };
        let call = PredictedCall {
            request: json.as_bytes(),
            session: event.session.as_deref(),
            run: event.run.as_deref(),
        };
        self.replica.predict(&call, (Micros(earliest), Micros(latest)))
    }
}

/// The same event, in a run or a session that only its agent names, and not in both.
fn apart(mut event: Event<'static>) -> Event<'static> {
    let is_told = ["model.called", "run.started", "run.step", "checkpoint.saved"].contains(&&*event.kind);
    if is_told {
        event.agent = Some("coder".into());
        event.datasubject = None;
        if let Data::Json(json) = &event.data {
            let text = str::from_utf8(json.as_bytes()).unwrap().replace("\"r1\"", "\"r1-coder\"");
            let text = text.replace("\"r2\"", "\"r2-coder\"");
            event.data = Data::Json(Json::check(text.into_bytes()).unwrap());
        }
    }
    let own = |name: std::borrow::Cow<'static, str>, agent: &str| format!("{name}-{agent}").into();
    if let Some(agent) = event.agent.clone() {
        event.run = event.run.take().map(|run| own(run, &agent));
        event.session = event.session.take().filter(|_| event.run.is_none()).map(|name| own(name, &agent));
    }
    event
}

#[test]
fn predictions_are_what_is_decided_next() {
    let (mut codes, mut denied) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for seed in 0..44 {
        let (mut desk, mut acts) = (TestGovernance::new(), RandomRequests::new(seed));
        let mut told = BTreeMap::from(
            [
                ("coder", "agent:111111111111"),
                ("tester", "agent:222222222222"),
                ("ops", "operator:333333333333"),
            ]
            .map(|(agent, actor)| (agent, SyncedReplica::of(Some(agent), actor))),
        );
        for event in acts.first() {
            desk.append(vec![event]).unwrap();
        }
        for step in 0..STEPS {
            let request = desk.governance.read(|state| acts.next(state, Micros(desk.time)));
            desk.pass(request.seconds);
            let events: Vec<_> = request.events.into_iter().map(apart).collect();
            let first = &events[0];
            let is_call = first.kind == "tool.requested" && first.agent.is_some();
            let mut predicted = None;
            if is_call {
                let one = told.get_mut(first.agent.as_deref().unwrap()).unwrap();
                one.catch_up(&desk);
                predicted = Some(one.predict(first, desk.time));
            }
            let Ok(caused) = desk.append(events) else { continue };
            let Some(predicted) = predicted else { continue };
            let made = decision(&caused);
            let predicted = predicted.unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
            let at = format!("seed {seed}, step {step}: {made:?}");
            // A replica counts a reservation past its time as held back.
            if predicted.reason_code == ReasonCode::BudgetSpent && made.reason_code != ReasonCode::BudgetSpent
            {
                assert!(!predicted.denies(), "{at}");
                continue;
            }
            assert_eq!((predicted.verdict, predicted.mode), (made.verdict, made.mode), "{at}");
            // Of an approval that another agent's call waits for a replica does not know.
            if predicted.reason_code != ReasonCode::ApprovalUnknown {
                assert_eq!(predicted.reason_code, made.reason_code, "{at}");
                assert_eq!(predicted.reason, words(&made, &caused), "{at}");
            }
            *codes.entry(made.reason_code.as_str()).or_default() += 1;
            if let Some(code) = predicted.denied_for() {
                assert_eq!(made.effective_verdict(), Verdict::Deny, "seed {seed}, step {step}");
                *denied.entry(code.as_str()).or_default() += 1;
            }
        }
        // Told bit by bit it has come to what one is told at once.
        for one in told.values_mut() {
            one.catch_up(&desk);
            let mut late = SyncedReplica {
                replica: Replica::new(one.replica.executor().clone()),
                ..SyncedReplica::of(None, "")
            };
            late.catch_up(&desk);
            assert!(one.replica.state() == late.replica.state(), "seed {seed}: {:?}", one.replica.executor());
        }
    }
    for code in [
        "allowed",
        "approved",
        "granted",
        "rate-limited",
        "loop-detected",
        "in-flight",
        "breaker-open",
        "no-rule",
    ] {
        assert!(code == "no-rule" || codes.contains_key(code), "{code} never came: {codes:?}");
    }
    for code in ["panic", "agent-suspended", "tool-unknown", "path-outside", "policy-deny"] {
        assert!(denied.contains_key(code), "nothing was denied for {code}: {denied:?}");
    }
}

/// The words of a decision, without the approval that was only asked for with it.
fn words(made: &DecisionMade, caused: &[Event<'static>]) -> String {
    let Some(requested) = caused.iter().find(|event| event.kind == "approval.requested") else {
        return made.reason.to_string();
    };
    let id = data::<ApprovalRequested>(requested).approval;
    let asked = format!(" Approval {id} waits for a person; ask again with it once it is given.");
    made.reason.replace(&asked, "")
}

#[test]
fn what_concerns_others_is_never_sent() {
    let mut desk = governed();
    let mut coder = SyncedReplica::of(Some("coder"), "agent:111111111111");
    coder.catch_up(&desk);
    let hash = "ab".repeat(32);
    let limit = json!({"burst": 5, "refill": 1, "period_ms": 1_000});
    let expires = desk.time + 900 * SECOND;
    desk.earn("fs.write", "lib");
    let rules = json!([{"id": "of-tester", "match": {}, "action": "deny", "reason": "not active"}]);
    desk.publish_rules(2, rules);
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    coder.catch_up(&desk);
    let acts = [
        ("mode.configured", json!({"mode": "enforce", "scope": {"agent": "tester"}})),
        (
            "grant.given",
            json!({"grant": "for-tester", "scope": scope_of("tester", "docs"), "expires": expires}),
        ),
        ("rate.configured", json!({"scope": {"by": "agent", "name": "tester"}, "limit": limit})),
        (
            "budget.configured",
            json!({"budget": "of-tester", "scope": {"agent": "tester"}, "limits": {"calls": 50}, "period": "day", "on_exceed": "deny"}),
        ),
        (
            "budget.configured",
            json!({"budget": "each-session", "scope": {}, "limits": {"calls": 50}, "period": "session", "on_exceed": "deny"}),
        ),
        ("principal.created", json!({"principal": "tester", "role": "admin", "token_hash": hash})),
        ("schema.registered", json!({"type": "tester.noted", "version": 1, "schema": {"type": "object"}})),
    ];
    for (kind, data) in acts {
        desk.act(kind, data).unwrap();
        coder.catch_up(&desk);
    }
    for agent in ["tester", "coder"] {
        let request = json!({
            "call": format!("call-of-{agent}"), "tool": "fs.write", "args": {"path": format!("src/{agent}.rs")},
            "idempotency_key": format!("key-of-{agent}"),
        });
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.agent = Some(agent.into());
        event.session = Some(format!("session-of-{agent}").into());
        event.stream = format!("session/session-of-{agent}").into();
        let made = decision(&desk.append(vec![event]).unwrap());
        assert_eq!(made.verdict, Verdict::Review, "an approval waits: {made:?}");
        coder.catch_up(&desk);
        // One that is allowed, so that budgets hold something back for it.
        let allowed = format!("allowed-to-{agent}");
        let request = json!({"call": allowed, "tool": "fs.write", "args": {"path": "lib/a.rs"}});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.agent = Some(agent.into());
        event.session = Some(format!("session-of-{agent}").into());
        assert_eq!(decision(&desk.append(vec![event]).unwrap()).verdict, Verdict::Allow);
        coder.catch_up(&desk);
    }
    desk.act("agent.suspended", json!({"agent": "tester", "reason": "tester went too far"})).unwrap();
    coder.catch_up(&desk);
    // The same at once, for who begins only now.
    let mut late = SyncedReplica::of(Some("coder"), "agent:111111111111");
    late.catch_up(&desk);
    for told in [&coder, &late] {
        assert!(!told.sent.contains("tester") && !told.sent.contains(&hash), "{}", told.sent);
        for own in ["call-of-coder", "key-of-coder", "session-of-coder", "allowed-to-coder"] {
            assert!(told.sent.contains(own), "{own} is missing: {}", told.sent);
        }
    }
    assert!(coder.replica.state() == late.replica.state(), "told bit by bit or at once, it is the same");
}

#[test]
fn a_no_that_may_be_over_by_now_denies_nothing() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let budget =
        json!({"budget": "b", "scope": {}, "limits": {"calls": 1}, "period": "day", "on_exceed": "deny"});
    desk.act("budget.configured", budget).unwrap();
    let mut coder = SyncedReplica::of(Some("coder"), "agent:111111111111");
    let args = json!({"path": "src/a.rs"});
    assert_eq!(desk.ask("c1", "fs.write", args.clone()).verdict, Verdict::Allow);
    coder.catch_up(&desk);
    let mut asked = |call: &str| {
        desk.event(
            "tool.requested",
            "agent:111111111111",
            &json!({"call": call, "tool": "fs.write", "args": args}),
        )
    };
    let (first, second) = (asked("c1"), asked("c2"));
    let now = desk.time;
    assert!(
        matches!(coder.predict(&first, now), Err(PredictionRefusal::AskedBefore(call)) if call.as_str() == "c1")
    );
    let predicted = coder.predict_between(&second, (now, now + SECOND)).unwrap();
    assert_eq!((predicted.verdict, predicted.reason_code), (Verdict::Deny, ReasonCode::BudgetSpent));
    assert!(!predicted.denies(), "what is held back may be over without anybody telling");
    // The spending ends with its day.
    desk.ok("c1");
    coder.catch_up(&desk);
    let predicted = coder.predict_between(&second, (now, now + SECOND)).unwrap();
    assert_eq!(predicted.denied_for(), Some(ReasonCode::BudgetSpent));
    let predicted = coder.predict_between(&second, (now, now + 24 * 3_600 * SECOND)).unwrap();
    assert_eq!((predicted.verdict, predicted.denies()), (Verdict::Deny, false));
    // A rate passes by itself.
    let roomy =
        json!({"budget": "b", "scope": {}, "limits": {"calls": 9}, "period": "day", "on_exceed": "deny"});
    desk.act("budget.configured", roomy).unwrap();
    let limit = json!({"burst": 1, "refill": 1, "period_ms": 60_000});
    desk.act("rate.configured", json!({"scope": {"by": "agent"}, "limit": limit})).unwrap();
    assert_eq!(desk.ask("c3", "fs.write", args.clone()).verdict, Verdict::Allow);
    coder.catch_up(&desk);
    let predicted = coder.predict(&second, desk.time).unwrap();
    assert_eq!((predicted.verdict, predicted.reason_code), (Verdict::Deny, ReasonCode::RateLimited));
    assert!(!predicted.denies());
}

#[test]
fn a_prediction_is_of_the_project_that_the_call_works_in() {
    let mut desk = governed();
    let mut coder = SyncedReplica::of(Some("coder"), "agent:111111111111");
    let request = |call: &str, cwd: &str| json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "cwd": cwd});
    let dimension = json!({"tool": "fs.write", "context": "src", "workspace": "/srv/cli"});
    let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    for number in 0..5 {
        let call = format!("f{number}");
        desk.ask_with(request(&call, "/srv/web")).unwrap();
        desk.fail(&call);
    }
    for (call, cwd, code, denies) in [
        ("c1", "/srv/cli/.worktrees/1", ReasonCode::Allowed, false),
        ("c2", "/srv/web", ReasonCode::BreakerOpen, false),
        ("c3", "/srv/other", ReasonCode::TrustRequireReview, false),
    ] {
        coder.catch_up(&desk);
        let event = desk.event("tool.requested", "agent:111111111111", &request(call, cwd));
        let predicted = coder.predict(&event, desk.time).unwrap();
        let made = decision(&desk.append(vec![event]).unwrap());
        assert_eq!((predicted.reason_code, predicted.denies()), (code, denies), "{cwd}");
        assert_eq!((predicted.verdict, predicted.reason_code), (made.verdict, made.reason_code), "{cwd}");
    }
}

#[test]
fn of_an_agent_that_is_alone_all_is_known_that_decides() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let limit = json!({"burst": 9, "refill": 1, "period_ms": 60_000});
    let dimension =
        json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
    let expires = desk.time + 60 * SECOND;
    for (kind, data) in [
        ("rate.configured", json!({"scope": {"by": "tool", "name": "fs.write"}, "limit": limit})),
        (
            "budget.configured",
            json!({"budget": "b", "scope": {}, "limits": {"calls": 9}, "period": "day", "on_exceed": "deny"}),
        ),
        ("mode.configured", json!({"mode": "enforce", "scope": {"agent": "coder"}})),
        ("grant.given", json!({"grant": "g", "scope": scope_of("coder", "docs"), "expires": expires})),
        ("trust.probed", json!({"dimension": dimension, "expires": expires, "reason": "mended"})),
        (
            "contract.defined",
            json!({"contract": "k", "pre": [], "post": [], "rollback": [], "blast_radius": "low"}),
        ),
    ] {
        desk.act(kind, data).unwrap();
    }
    for call in ["c1", "c2"] {
        let key = format!("key-{call}");
        let request =
            json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}, "idempotency_key": key});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.session = Some("s1".into());
        assert_eq!(decision(&desk.append(vec![event]).unwrap()).verdict, Verdict::Allow);
    }
    desk.fail("c1");
    assert_eq!(desk.ask("c3", "fs.write", json!({"path": "docs/b.md"})).verdict, Verdict::Allow, "granted");
    desk.ok("c3");
    assert_eq!(desk.ask("c4", "fs.write", json!({"path": "etc/b"})).verdict, Verdict::Review);
    desk.act("agent.suspended", json!({"agent": "coder", "reason": "it went too far"})).unwrap();
    let jump = json!({"from": desk.time, "to": desk.time + 1, "direction": "forward"});
    desk.act("ledger.clock-jumped", jump).unwrap();
    let mut coder = SyncedReplica::of(Some("coder"), "agent:111111111111");
    coder.catch_up(&desk);
    let copy = desk.governance.copy();
    let differing = |other: &State| -> BTreeSet<String> {
        let differences = copy.state.differences(other, usize::MAX).unwrap();
        let place = |part: &str, key: &str| format!("{part} {}", key.split(' ').next().unwrap_or_default());
        differences.shown.iter().map(|one| place(one.part, &one.key)).collect()
    };
    let filled = differing(&State::default());
    for part in [
        "trust",
        "breakers",
        "probes",
        "calls",
        "approvals",
        "keys",
        "rates",
        "budgets",
        "rounds",
        "contracts",
        "registry",
        "policies",
        "modes",
        "grants",
        "stops",
        "clock",
        "time",
        "begun",
    ] {
        assert!(
            filled.iter().any(|place| place.split(' ').next() == Some(part)),
            "nothing is in {part}: {filled:?}"
        );
    }
    // The times of leaving, the reservations of each call, the ended calls, and the live sessions.
    let unsent = [
        "approvals by_end",
        "budgets ending",
        "budgets reservations",
        "calls by_deadline",
        "calls leaving",
        "keys by_end",
        "live_sessions began",
        "live_sessions by_age",
        "rates leaving",
        "rounds leaving",
        "rules ",
    ];
    let ended = ["by_id", "leaving", "shares"].map(|part| format!("ended_calls {part}"));
    let unsent: BTreeSet<String> = unsent.map(str::to_owned).into_iter().chain(ended).collect();
    assert_eq!(differing(coder.replica.state()), unsent);
}

#[test]
fn many_dimensions_come_in_pieces() {
    let mut desk = governed();
    let count = MAX_PIECE_ENTRIES * 2 + 5;
    for number in 0..count {
        desk.earn("fs.write", &format!("d{number}"));
    }
    // A breaker has a piece of its own.
    desk.ask("c1", "fs.write", json!({"path": "d0/a.rs"}));
    desk.fail("c1");
    let mut coder = SyncedReplica::of(Some("coder"), "agent:111111111111");
    coder.catch_up(&desk);
    assert_eq!(coder.replica.dimensions(), count);
    let state = desk.governance.copy();
    let known =
        |state: &State| state.dimensions(None).map(|(dimension, _)| dimension.clone()).collect::<Vec<_>>();
    assert_eq!(known(&state.state), known(coder.replica.state()));
    let mut progress = CutProgress::default();
    let mut pieces = 0;
    while state.state.next_piece(None, coder.replica.executor(), &mut progress).is_some() {
        pieces += 1;
        assert_eq!(state.state.has_more_pieces(None, progress), pieces < 5, "piece {pieces}");
    }
    assert_eq!(pieces, 5, "one of all else, three of trust, one of breakers");
    let same =
        state.state.next_piece(Some(&state.state), coder.replica.executor(), &mut CutProgress::default());
    assert_eq!(same, None, "nothing changed");
}
