//! Imported events: judged by their own history, and counted only once the import is accepted.

use bitacora_formats::{Data, Event, Json, Micros, parse_time};
use bitacora_governance::{ReactorRefusal, RefusalCode, State};
use bitacora_vocabulary::{BreakerCondition, Dimension, DimensionPart, Mode, ReasonCode, Score, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, data, decision, governed, here, kinds, tool, verdict};
use crate::golden::rejudged;

const LONG_AGO: &str = "2026-01-02T03:04:05Z";

fn recorded(
    desk: &mut TestGovernance,
    stream: &'static str,
    kind: &'static str,
    mut data: Value,
) -> Event<'static> {
    data["assurance"] = json!("imported");
    let mut event = desk.event(kind, "admin:0", &data);
    event.stream = stream.into();
    event.time = Some(LONG_AGO.into());
    event
}

fn request(call: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": "src/a.rs"}})
}

pub(crate) fn call(
    desk: &mut TestGovernance,
    call: &str,
    kind: &'static str,
    status: &str,
) -> Vec<Event<'static>> {
    let asked = recorded(desk, "session/one", "tool.requested", request(call));
    let ended = recorded(desk, "session/one", kind, json!({"call": call, "status": status}));
    let mut caused = desk.append(vec![asked]).unwrap();
    caused.extend(desk.append(vec![ended]).unwrap());
    caused
}

#[test]
fn imported_trust_counts_from_its_acceptance_on() {
    let mut desk = governed();
    for number in 0..20 {
        let caused = call(&mut desk, &format!("i{number}"), "tool.completed", "ok");
        assert_eq!(kinds(&caused), ["decision.made", "trust.observed"]);
        assert_eq!(decision(&caused).mode, Mode::Observe);
    }
    let last = call(&mut desk, "i20", "tool.completed", "ok");
    assert_eq!(verdict(&decision(&last)), (Verdict::Allow, "allowed".into()), "judged by its own history");
    let live = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((live.verdict, live.inputs.approvals), (Verdict::Review, 0), "nobody has accepted it");

    desk.act("import.batch", batch("0")).unwrap();
    accept(&mut desk, "0").unwrap();
    let live = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!((live.verdict, live.inputs.approvals, live.inputs.streak), (Verdict::Allow, 21, 21));
    let here = here("fs.write", "src");
    let standing = desk.governance.read(|state| state.standing(&here, Micros(desk.time)));
    assert_eq!(standing.record.last_updated, parse_time(LONG_AGO).ok(), "it happened when it happened");
}

#[test]
fn a_recorded_call_is_known_by_its_folders_or_by_what_it_runs() {
    let mut desk = governed();
    let mut shell = tool("Bash");
    shell["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    shell["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
    desk.act("tool.registered", shell).unwrap();
    for (number, (tool, args, context)) in [
        ("Bash", json!({"command": "git status && cargo test"}), "cargo test"),
        ("mcp__files__read", json!({"path": "/home/ana/work/src/api/a.rs"}), "src/api"),
        ("mcp__shell__run", json!({"command": "make all"}), "make all"),
        ("mcp__search__web", json!({"query": "x"}), "-"),
        ("fs.write", json!({"path": "src/api/v1/a.rs"}), "src/api"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = json!({"call": format!("i{number}"), "tool": tool, "args": args, "model": "m",
            "cwd": "/home/ana/work"});
        let asked = recorded(&mut desk, "session/one", "tool.requested", request);
        let found = decision(&desk.append(vec![asked]).unwrap()).inputs.dimension;
        let workspace = DimensionPart::new("/home/ana/work").unwrap();
        assert_eq!(found, Dimension::new(tool, context, "m", "-").unwrap().in_workspace(Some(&workspace)));
    }
    // A decision has the same context.
    let live = desk.ask("c1", "Bash", json!({"command": "git status && cargo test"}));
    assert_eq!(live.inputs.dimension.context(), "cargo test");
}

#[test]
fn imported_failures_open_no_breaker() {
    let mut desk = governed();
    for number in 0..10 {
        let caused = call(&mut desk, &format!("i{number}"), "tool.failed", "error");
        assert_eq!(kinds(&caused), ["decision.made", "trust.observed"]);
    }
}

#[test]
fn an_imported_outcome_without_a_request_is_a_gap() {
    let mut desk = governed();
    let ended = json!({"call": "i1", "status": "ok"});
    let outcome = recorded(&mut desk, "session/one", "tool.completed", ended);
    let caused = desk.append(vec![outcome]).unwrap();
    assert_eq!(kinds(&caused), ["coverage.gap"]);
    let gap: Value = data(&caused[0]);
    assert_eq!((&gap["call"], &gap["missing"]), (&json!("i1"), &json!("decision")));
}

#[test]
fn the_same_call_id_in_two_recordings_is_two_calls() {
    let mut desk = governed();
    for stream in ["session/one", "session/two"] {
        let event = recorded(&mut desk, stream, "tool.requested", request("call_1"));
        assert_eq!(kinds(&desk.append(vec![event]).unwrap()), ["decision.made"]);
    }
    for stream in ["session/one", "session/two"] {
        let event = recorded(&mut desk, stream, "tool.completed", json!({"call": "call_1", "status": "ok"}));
        assert_eq!(kinds(&desk.append(vec![event]).unwrap()), ["trust.observed"]);
    }
}

pub(crate) fn batch(digest: &str) -> Value {
    let counts = json!({"files": 1, "lines": 1, "bytes": 1, "events": 1, "unmapped": 0, "passed_over": 0,
        "without_outcome": 0, "types": {}});
    json!({"digest": digest.repeat(64), "mapping": "m", "counts": counts, "sources": []})
}

pub(crate) fn accept(desk: &mut TestGovernance, digest: &str) -> Result<Vec<Event<'static>>, ReactorRefusal> {
    desk.act("import.accepted", json!({"digest": digest.repeat(64)}))
}

#[test]
fn what_is_accepted_is_what_that_import_brought() {
    let mut desk = governed();
    for number in 0..3 {
        call(&mut desk, &format!("a{number}"), "tool.completed", "ok");
    }
    let early = accept(&mut desk, "a").unwrap_err();
    assert_eq!(early.code, RefusalCode::NoSuchThing, "it has not come to its end");
    desk.act("import.batch", batch("a")).unwrap();
    // Another one arrives while the first is looked at.
    for number in 0..5 {
        call(&mut desk, &format!("b{number}"), "tool.completed", "ok");
    }
    let unknown = accept(&mut desk, "b").unwrap_err();
    assert_eq!(unknown.code, RefusalCode::NoSuchThing);
    let shown = desk.governance.read(|state| {
        let digest = serde_json::from_value(json!("a".repeat(64))).unwrap();
        state.would_change(state.import(&digest).unwrap(), Micros(desk.time))
    });
    let approvals: Vec<_> =
        shown.iter().map(|of| (of.record.approvals, of.now.score, of.accepted.score)).collect();
    assert_eq!(approvals.len(), 1);
    assert_eq!((approvals[0].0, approvals[0].1), (3, Score::default()));
    assert!(approvals[0].2 > Score::default());
    accept(&mut desk, "a").unwrap();
    let live = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(live.inputs.approvals, 3, "and nothing that was brought beside it");
    assert_eq!(accept(&mut desk, "a").unwrap_err().code, RefusalCode::AlreadyResolved);
    desk.act("import.batch", batch("b")).unwrap();
    assert_eq!(desk.act("import.batch", batch("b")).unwrap_err().code, RefusalCode::AlreadyResolved);
    accept(&mut desk, "b").unwrap();
    let live = desk.ask("c2", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(live.inputs.approvals, 8);
    assert!(desk.is_in_step());
}

/// Returns the last update of the one dimension, as brought by the import that ends now.
fn last_seen(desk: &mut TestGovernance, times: &[&'static str]) -> Micros {
    for (number, time) in times.iter().enumerate() {
        for (kind, data) in [
            ("tool.requested", request(&format!("t{number}"))),
            ("tool.completed", json!({"call": format!("t{number}"), "status": "ok"})),
        ] {
            let mut event = recorded(desk, "session/one", kind, data);
            event.time = Some((*time).into());
            desk.append(vec![event]).unwrap();
        }
    }
    desk.act("import.batch", batch("a")).unwrap();
    accept(desk, "a").unwrap();
    let here = here("fs.write", "src");
    desk.governance.read(|state| state.standing(&here, Micros(desk.time)).record.last_updated).unwrap()
}

#[test]
fn a_recordings_clock_goes_neither_back_nor_past_now() {
    let at = |time| parse_time(time).unwrap();
    let mut desk = governed();
    let seen = last_seen(&mut desk, &[LONG_AGO, "2100-01-01T00:00:00Z"]);
    assert_eq!(seen, at(LONG_AGO), "a time that has not come yet tells nothing");
    let mut desk = governed();
    let seen = last_seen(&mut desk, &["2100-01-01T00:00:00Z"]);
    assert_eq!(seen, Micros(desk.time), "and without another one it is now");
    let mut desk = governed();
    let mut decided = Vec::new();
    for (number, time) in ["2026-03-01T00:00:00Z", LONG_AGO].into_iter().enumerate() {
        let mut event = recorded(&mut desk, "session/one", "tool.requested", request(&format!("t{number}")));
        event.time = Some(time.into());
        decided.push(decision(&desk.append(vec![event]).unwrap()).deadline);
    }
    assert_eq!(decided[0], decided[1], "nothing happened before what was told before it");
    assert!(rejudged(&desk.log).1.disagreements.is_empty());
}

#[test]
fn a_recording_and_what_happens_now_end_no_calls_of_one_another() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let live = |desk: &mut TestGovernance, kind, data: Value| {
        let mut event = desk.event(kind, "agent:111111111111", &data);
        event.stream = "session/one".into();
        desk.append(vec![event]).unwrap()
    };
    for imported_first in [true, false] {
        let id = format!("c{imported_first}");
        let asked = recorded(&mut desk, "session/one", "tool.requested", request(&id));
        desk.append(vec![asked]).unwrap();
        live(&mut desk, "tool.requested", request(&id));
        let done = json!({"call": id, "status": "ok"});
        for imported in [imported_first, !imported_first] {
            let caused = if imported {
                let ended = recorded(&mut desk, "session/one", "tool.completed", done.clone());
                desk.append(vec![ended]).unwrap()
            } else {
                live(&mut desk, "tool.completed", done.clone())
            };
            assert_eq!(kinds(&caused), ["trust.observed"]);
            let observed: Value = data(&caused[0]);
            assert_eq!(observed["assurance"] == "imported", imported, "{observed}");
        }
        assert_eq!(desk.governance.read(State::open_calls), 0);
    }
}

#[test]
fn what_was_decided_here_is_not_counted_again_from_a_recording() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let in_session = |mut event: Event<'static>, session: &'static str| {
        event.session = Some(session.into());
        event
    };
    let asked = desk.event("tool.requested", "agent:111111111111", &request("c1"));
    desk.append(vec![in_session(asked, "one")]).unwrap();
    desk.ok("c1");
    for (session, stream, counted) in [("one", "session/one", 0), ("two", "session/two", 1)] {
        let asked = recorded(&mut desk, stream, "tool.requested", request("c1"));
        assert_eq!(kinds(&desk.append(vec![in_session(asked, session)]).unwrap()), ["decision.made"]);
        let ended = recorded(&mut desk, stream, "tool.completed", json!({"call": "c1", "status": "ok"}));
        assert_eq!(desk.append(vec![in_session(ended, session)]).unwrap().len(), counted, "{session}");
    }
}

#[test]
fn a_recording_is_judged_without_what_holds_now() {
    let mut desk = governed();
    for number in 0..6 {
        let id = format!("f{number}");
        desk.ask(&id, "fs.write", json!({"path": "src/a.rs"}));
        desk.fail(&id);
    }
    desk.act("panic.engaged", json!({"reason": "for a test"})).unwrap();
    let mut keyed = request("i1");
    keyed["idempotency_key"] = json!("k1");
    let asked = recorded(&mut desk, "session/one", "tool.requested", keyed);
    let made = decision(&desk.append(vec![asked]).unwrap());
    assert_eq!(verdict(&made), (Verdict::Review, "trust-require-review".into()));
    assert_eq!(made.inputs.breaker, BreakerCondition::Closed);
    desk.act("panic.released", json!({"reason": "for a test"})).unwrap();
    // Its key stands for nothing that happens now.
    let other = json!({"call": "c1", "tool": "fs.write", "args": {"path": "other"}, "idempotency_key": "k1"});
    assert_eq!(desk.ask_with(other).unwrap().reason_code, ReasonCode::TrustRequireReview);
}

#[test]
fn what_was_recorded_elsewhere_is_known_as_that_however_it_says_so() {
    for mark in ["\"assurance\"", "\"\\u0061ssurance\""] {
        let mut desk = governed();
        desk.earn("fs.write", "src");
        desk.ask_with(request("c1")).unwrap();
        let mut ended = desk.event("tool.completed", "admin:0", &request("c1"));
        let text = format!("{{\"call\":\"c1\",\"status\":\"ok\",{mark}:\"imported\"}}");
        ended.data = Data::Json(Json::check(text.into_bytes()).unwrap());
        assert_eq!(kinds(&desk.append(vec![ended]).unwrap()), ["coverage.gap"], "{mark}");
        assert_eq!(desk.governance.read(State::open_calls), 1, "{mark}: it ends no call of here");
    }
}

#[test]
fn an_outcome_that_tells_no_time_says_nothing_of_when_the_next_one_was() {
    let mut desk = governed();
    for (number, (path, time)) in [("docs/a.md", None), ("src/a.rs", Some(LONG_AGO))].into_iter().enumerate()
    {
        let id = format!("t{number}");
        let asked = json!({"call": id, "tool": "fs.write", "args": {"path": path}});
        for (kind, data) in
            [("tool.requested", asked), ("tool.completed", json!({"call": id, "status": "ok"}))]
        {
            let mut event = recorded(&mut desk, "session/one", kind, data);
            event.time = time.map(Into::into);
            desk.append(vec![event]).unwrap();
        }
    }
    let seen = desk.governance.read(|state| {
        let records = state.imported_dimensions();
        records
            .map(|(of, record)| (of.context().to_string(), record.last_updated.unwrap()))
            .collect::<Vec<_>>()
    });
    let long_ago = parse_time(LONG_AGO).unwrap();
    assert_eq!(seen, [("docs".to_owned(), Micros(desk.time)), ("src".to_owned(), long_ago)]);
}
