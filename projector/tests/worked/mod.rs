//! The events that harnesses tell of their sessions, and all questions about them.

use std::collections::BTreeMap;

use bitacora_formats::{After, Data, Event, Json, Position};
use bitacora_ledger::{Filter, Ledger, ReadFrom, ReadQuery};
use bitacora_projector::{
    CallQuery, CheckQuery, CostQuery, NO_CONTRACT, ReadModels, RollbackQuery, RollbackState, SessionCounts,
    SessionQuery, SessionState, SessionWhole, SpendingSums,
};
use serde_json::Value;

use crate::{ReadModelsBench, settled};

fn event(session: u64, number: usize, kind: &'static str, data: String) -> Event<'static> {
    let mut event =
        Event::new(format!("{session}-{number}"), "urn:test/worked", kind, format!("session/{session}"));
    // Some go on in the session before.
    event.session = Some(format!("s{}", session - session % 7 / 6).into());
    event.actor = Some(format!("agent:{session}").into());
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

/// Returns the events of a session: its beginning and its end, or neither, turns, other events, ends of calls that were given up.
pub(crate) fn session(session: u64) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut push = |kind: &'static str, data: String| {
        let number = events.len();
        events.push(event(session, number, kind, data));
    };
    if !session.is_multiple_of(3) {
        let version = if session.is_multiple_of(2) { "" } else { r#","version":"1.2","cwd":"/w""# };
        push("session.started", format!(r#"{{"harness":"h{}"{version}}}"#, session % 2));
    }
    push(
        "turn.started",
        format!(r#"{{"prompt":{{"sha256":"{session:064x}","bytes":{session}}},"source":"user"}}"#),
    );
    push("x.noted", r#"{"run":"not one","status":"ok"}"#.to_owned());
    let call = format!("w{session}");
    push(
        "tool.requested",
        format!(
            r#"{{"call":"{call}","tool":"other","args":{{}},"run":"w{}","tokens":{{"in":5,"out":1}},"request":"q{}","assurance":"imported"}}"#,
            session / 2,
            session / 2
        ),
    );
    push(
        "tool.failed",
        format!(r#"{{"call":"{call}","status":"timeout","error_type":"timeout","assurance":"imported"}}"#),
    );
    if session.is_multiple_of(2) {
        push(
            "tool.completed",
            format!(r#"{{"call":"{call}","status":"ok","cost_micro_usd":{session},"assurance":"imported"}}"#),
        );
    }
    if session.is_multiple_of(4) {
        push("tool.blocked", format!(r#"{{"call":"only-{session}","status":"rejected"}}"#));
    }
    if session.is_multiple_of(5) {
        let totals = r#""totals":{"turns":1,"tokens":{"in":2},"cost_micro_usd":12}"#;
        push("session.ended", format!(r#"{{"reason":"exit",{totals}}}"#));
    }
    let part = format!(r#""type":"lint","params":{{"n":{}}}"#, session / 7 % 2);
    if session % 9 == 1 {
        push(
            "contract.defined",
            format!(r#"{{"contract":"k","pre":[],"post":[{{{part}}}],"rollback":[],"blast_radius":"low"}}"#),
        );
    }
    let named = if session.is_multiple_of(4) { "" } else { r#""contract":"k","# };
    let passed = !session.is_multiple_of(5);
    push(
        "contract.checked",
        format!(
            r#"{{{named}"call":"{call}","run":"w{session}","node":"n","phase":"post","checks":[{{{part},"passed":{passed}}}]}}"#
        ),
    );
    if session.is_multiple_of(5) {
        push(
            "rollback.executed",
            format!(
                r#"{{{named}"call":"w{}","run":"w","node":"undo","status":"ok","steps":[]}}"#,
                session / 10
            ),
        );
    }
    if session % 10 == 7 {
        // The end of a call that names no session.
        let mut end =
            event(session, 99, "tool.completed", format!(r#"{{"call":"c{session}-2","status":"ok"}}"#));
        end.session = None;
        events.push(end);
    }
    events
}

/// Calls that are asked for, or have ended, in that.
pub(crate) fn calls(session: u64) -> u64 {
    1 + u64::from(session.is_multiple_of(4))
}

/// Everything that can be asked.
pub(crate) fn answers(models: &ReadModels) -> String {
    let asked = |query: SessionQuery| models.sessions(&SessionQuery { limit: 10_000, ..query }).unwrap();
    let all = asked(SessionQuery::default()).sessions;
    let shown: Vec<_> = all.iter().map(|one| models.session(&one.session.session).unwrap().0).collect();
    let ended = asked(SessionQuery { state: Some(SessionState::Ended), ..SessionQuery::default() });
    let of_one = asked(SessionQuery { harness: Some("h1".to_owned()), ..SessionQuery::default() });
    let checks = |contract: &str, failed_only| {
        let query =
            CheckQuery { contract: contract.to_owned(), failed_only, limit: 10_000, ..CheckQuery::default() };
        models.contract_checks(&query).unwrap().items
    };
    let checked = [checks("k", false), checks("k", true), checks(NO_CONTRACT, false)];
    let rollbacks = |contract: Option<&str>| {
        let contract = contract.map(str::to_owned);
        models
            .rollbacks(&RollbackQuery { contract, limit: 10_000, ..RollbackQuery::default() })
            .unwrap()
            .rollbacks
    };
    let undone = [rollbacks(None), rollbacks(Some("k"))];
    let contract = models.contract("k").unwrap().0;
    format!(
        "{all:?} {shown:?} {:?} {:?} {checked:?} {undone:?} {contract:?}",
        ended.sessions, of_one.sessions
    )
}

/// Counts each session by going through all events.
fn counted(ledger: &Ledger) -> BTreeMap<String, SessionCounts> {
    let (mut sessions, mut calls) = (BTreeMap::<String, SessionCounts>::new(), BTreeMap::new());
    let mut from = Some(ReadFrom::After(After::START));
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: None, limit: 1_000, filter: Filter::default() };
        let page = ledger.read(&query).unwrap();
        from = page.next;
        for stored in &page.events {
            let data: Value = match &stored.event.data {
                Data::Json(json) => serde_json::from_slice(json.as_bytes()).unwrap(),
                _ => continue,
            };
            let told = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (call, status) = (told("call"), told("status"));
            let kind = &*stored.event.kind;
            let ends = matches!(kind, "tool.completed" | "tool.failed" | "tool.blocked");
            let named = stored.event.session.as_deref().map(str::to_owned);
            let of_call: Option<String> = calls.get(&call).cloned().filter(|_| ends);
            let Some(session) = of_call.clone().or(named) else { continue };
            let counts = sessions.entry(session.clone()).or_default();
            counts.events += 1;
            counts.last = stored.position.get();
            counts.turns += u64::from(kind == "turn.started");
            counts.gaps += u64::from(kind == "coverage.gap");
            if kind == "tool.requested" {
                counts.calls += 1;
                calls.insert(call, session);
                continue;
            }
            if !ends {
                continue;
            }
            counts.calls += u64::from(of_call.is_none());
            match status.as_str() {
                "ok" if call.starts_with('w') => {
                    counts.ok += 1;
                    counts.timeouts -= 1;
                }
                "ok" => counts.ok += 1,
                "error" => counts.errors += 1,
                "timeout" => counts.timeouts += 1,
                "rejected" => counts.rejected += 1,
                other => assert_eq!(other, "", "a status that no call of the test has"),
            }
            if status != "timeout" {
                calls.remove(&call);
            }
        }
    }
    sessions
}

#[test]
fn sessions_come_to_what_their_events_say() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 60);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let all = models.sessions(&SessionQuery { limit: 1_000, ..SessionQuery::default() }).unwrap();
    assert!(all.sessions.is_sorted_by(|one, next| one.session.position > next.session.position));
    let expected = counted(ledger.ledger());
    assert_eq!(all.sessions.len(), expected.len());
    for SessionWhole { session, counts } in &all.sessions {
        let told =
            SessionCounts { last_time: 0, runs: 0, spending: SpendingSums::default(), ..counts.clone() };
        assert_eq!(Some(&told), expected.get(&session.session), "{}", session.session);
        let of_session =
            CallQuery { session: Some(session.session.clone()), limit: 1_000, ..CallQuery::default() };
        assert_eq!(models.calls(&of_session).unwrap().calls.len() as u64, counts.calls);
    }
    // The counts of sessions and those of days come to the same.
    let total = models.costs(&CostQuery::default()).unwrap().total;
    let sum = |of: fn(&SessionCounts) -> u128| all.sessions.iter().map(|one| of(&one.counts)).sum::<u128>();
    assert_eq!(sum(|counts| counts.spending.cost_micro_usd), total.cost_micro_usd);
    assert_eq!(sum(|counts| counts.spending.tokens.read), total.tokens.read);
    assert_eq!(sum(|counts| counts.spending.model_calls.into()), total.model_calls.into());
    assert!(total.tokens.read > 0 && total.cost_micro_usd > 0);
    ledger.close().unwrap();
}

#[test]
fn sessions_are_found_by_all_that_is_asked_and_page_by_page() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 60);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let asked = |query: SessionQuery| models.sessions(&query).unwrap();
    let all = asked(SessionQuery { limit: 1_000, ..SessionQuery::default() }).sessions;
    let query = SessionQuery {
        state: Some(SessionState::Ended),
        harness: Some("h1".to_owned()),
        agent: Some("agent-1".to_owned()),
        ..SessionQuery::default()
    };
    let expected: Vec<_> = all
        .iter()
        .filter(|one| {
            one.session.end.is_some()
                && one.session.harness.as_deref() == Some("h1")
                && one.session.agent.as_deref() == Some("agent-1")
        })
        .cloned()
        .collect();
    assert!(expected.len() > 1, "{expected:?}");
    let (mut paged, mut before) = (Vec::new(), None);
    loop {
        let page = asked(SessionQuery { limit: 1, before, ..query.clone() });
        paged.extend(page.sessions);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(paged, expected);
    let (known, runs) = models.session("s10").unwrap().0.unwrap();
    let end = known.session.end.unwrap();
    assert_eq!((end.reason.as_str(), end.totals.unwrap().cost_micro_usd), ("exit", Some(12)));
    assert_eq!(runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["w5", "r10"]);
    let unsaid = models.session("s9").unwrap().0.unwrap().0.session;
    assert_eq!((unsaid.started, unsaid.harness, unsaid.end), (None, None, None));
    assert_eq!(models.session("none").unwrap().0, None);
    ledger.close().unwrap();
}

#[test]
fn checks_hold_by_the_definition_of_their_time_and_rollbacks_stand_where_they_were_made() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 40);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let query = CheckQuery { contract: "k".to_owned(), limit: 100, ..CheckQuery::default() };
    let all = models.contract_checks(&query).unwrap().items;
    assert_eq!(all.len(), 30, "all but each fourth name it");
    // Defined by session 1, 10, 19, 28, 37; what it asks for changes with each seventh.
    let parts = |session: u64| session / 7 % 2;
    for check in &all {
        let session: u64 = check.run.trim_start_matches('w').parse().unwrap();
        let defined = (0..=session).rev().find(|session| session % 9 == 1);
        let is_made = defined.is_none_or(|defined| parts(defined) == parts(session));
        assert_eq!(check.missing.is_empty(), is_made, "{check:?}");
        assert_eq!(check.failed.is_empty(), !session.is_multiple_of(5), "{check:?}");
        assert_eq!(check.version, defined.map_or(0, |defined| defined / 9 + 1));
    }
    let failed = models.contract_checks(&CheckQuery { failed_only: true, ..query.clone() }).unwrap().items;
    assert_eq!(failed, all.iter().filter(|check| !check.holds()).cloned().collect::<Vec<_>>());
    let (known, definitions) = models.contract("k").unwrap().0.unwrap();
    assert_eq!((known.version, known.checks, known.failed), (5, 30, failed.len() as u64));
    assert_eq!(definitions.iter().map(|one| one.version).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    let page = models.contract_checks(&CheckQuery { limit: 4, ..query.clone() }).unwrap();
    let before = page.items.last().and_then(|last| Position::new(last.position));
    let rest = models.contract_checks(&CheckQuery { before, ..query }).unwrap();
    assert_eq!([page.items, rest.items].concat(), all);

    let asked =
        |query: RollbackQuery| models.rollbacks(&RollbackQuery { limit: 100, ..query }).unwrap().rollbacks;
    let rollbacks = asked(RollbackQuery::default());
    // Two for each call: the second is another try of the first.
    assert_eq!(rollbacks.len(), 5);
    let tries = rollbacks.iter().map(|one| one.execution.as_ref().unwrap().tries).collect::<Vec<_>>();
    assert_eq!(tries, [1, 2, 2, 2, 1]);
    let executed = RollbackQuery { state: Some(RollbackState::Executed), ..RollbackQuery::default() };
    assert_eq!(asked(executed), rollbacks);
    let waiting = RollbackQuery { state: Some(RollbackState::Asked), ..RollbackQuery::default() };
    assert_eq!(asked(waiting), []);
    ledger.close().unwrap();
}
