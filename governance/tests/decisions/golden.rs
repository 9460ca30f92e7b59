//! A history that was recorded once, with the state that it leads to. Whoever changes the rules without a new version of them
//! fails here: what decided in the past must decide so for ever.

use bitacora_formats::{Data, Event, Json, Micros, Position};
use bitacora_governance::{Governance, Reactor, Rejudged, Rejudging, State};
use serde_json::{Value, json};

use crate::desk::{Desk, Placed, governed, tool};

/// Recorded under version 1 of the rules, a frame a line; made once, never again: a new version gets a file of its own.
const HISTORY: &str = include_str!("golden-v1.ndjson");
/// What the state comes to behind it.
const DIGEST: &str = "85d0526b9739f4dfa68238eca06e4abdbbf1711d23d253172e7008d3a0d902a2";

/// One of everything that calls go through.
fn live() -> Desk {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    desk.ok("c1");
    desk.ask("c2", "fs.write", json!({"path": "docs/a.md"}));
    resolve(&mut desk, "c2", "approved");
    desk.ask("c3", "fs.write", json!({"path": "docs/b.md"}));
    resolve(&mut desk, "c3", "rejected");
    desk.ask("c4", "no.such", json!({}));
    desk.ask("c5", "fs.write", json!({"path": "../outside"}));
    for number in 0..6 {
        let call = format!("f{number}");
        desk.ask(&call, "fs.write", json!({"path": "src/b.rs"}));
        desk.fail(&call);
    }
    desk.ask("c6", "fs.write", json!({"path": "src/b.rs"}));
    desk.pass(301);
    desk.ask("c7", "fs.write", json!({"path": "src/b.rs"}));
    desk.act("tool.registered", tool("fs.read")).unwrap();
    desk.act("mode.configured", json!({"mode": "observe", "scope": {"tool": "fs.read"}})).unwrap();
    desk.ask_with(json!({"call": "c8", "tool": "fs.read", "args": {"path": "a"}, "idempotency_key": "k1"}))
        .unwrap();
    desk.ok("c8");
    desk.publish(2, "review");
    desk.ask("c9", "fs.write", json!({"path": "src/a.rs"}));
    desk
}

/// Answers the approval that a call waits for, and asks again with it.
fn resolve(desk: &mut Desk, call: &str, resolution: &str) {
    let id = desk.governance.read(|state| state.open_call(call).unwrap().approval.clone().unwrap());
    desk.act("approval.resolved", json!({"approval": id, "resolution": resolution, "by": "operator:0"}))
        .unwrap();
    let request = json!({"call": call, "tool": "fs.write", "args": {"path": "docs/a.md"}, "approval": id});
    drop(desk.ask_with(request));
}

/// A frame as it is kept here.
pub(crate) fn line(frame: &[Placed]) -> String {
    let events: Vec<Value> = frame
        .iter()
        .map(|placed| {
            let data = match &placed.event.data {
                Data::Json(data) => String::from_utf8(data.as_bytes().to_vec()).unwrap(),
                Data::None | Data::Binary(_) => String::new(),
            };
            json!({
                "position": placed.position.get(), "time": placed.time.0, "derived": placed.derived,
                "id": placed.event.id, "source": placed.event.source, "type": placed.event.kind,
                "actor": placed.event.actor, "agent": placed.event.agent, "call": placed.event.call,
                "data": data,
            })
        })
        .collect();
    Value::from(events).to_string()
}

fn recorded(line: &str) -> Vec<Placed> {
    let events: Vec<Value> = serde_json::from_str(line).unwrap();
    let text = |value: &Value| value.as_str().map(|text| std::borrow::Cow::from(text.to_owned()));
    let placed = |value: &Value| {
        let owned = |name: &str| text(&value[name]).unwrap();
        let mut event = Event::new(owned("id"), owned("source"), owned("type"), "calls");
        (event.actor, event.agent, event.call) =
            (text(&value["actor"]), text(&value["agent"]), text(&value["call"]));
        event.data = Data::Json(Json::check(owned("data").into_owned().into_bytes()).unwrap());
        Placed {
            position: Position::new(value["position"].as_u64().unwrap()).unwrap(),
            time: Micros(value["time"].as_u64().unwrap()),
            derived: value["derived"].as_bool().unwrap(),
            event,
        }
    };
    events.iter().map(placed).collect()
}

pub(crate) fn rejudged(frames: &[Vec<Placed>]) -> (State, Rejudged) {
    let mut rejudging = Rejudging::default();
    for frame in frames {
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        rejudging.fold(&observed);
    }
    rejudging.end()
}

fn history() -> Vec<Vec<Placed>> {
    HISTORY.lines().map(recorded).collect()
}

#[test]
fn the_recorded_history_leads_where_it_led() {
    let governance = Governance::default();
    let mut state = governance.state();
    for frame in &history() {
        state.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
    }
    let digest = governance.read(|state| state.digests().unwrap().state.to_string());
    assert_eq!(
        digest, DIGEST,
        "the same history leads to another state: that is another version of the rules"
    );
}

#[test]
fn the_rules_say_of_the_recorded_history_what_they_said() {
    let (state, found) = rejudged(&history());
    assert_eq!(found.disagreements, [], "the rules say something else: that is another version of them");
    assert!(found.decisions >= 16, "{found:?}");
    assert_eq!((found.ungoverned, found.unchecked_decisions, found.unknown_rules), (0, 0, None));
    assert_eq!(state.digests().unwrap().state.to_string(), DIGEST);
}

#[test]
fn a_decision_that_was_changed_in_the_record_is_noticed() {
    let mut frames = history();
    let (mut changed, mut noticed) = (0, 0);
    for at in 0..frames.len() {
        for index in 0..frames[at].len() {
            let event = &frames[at][index].event;
            let Data::Json(data) = &event.data else { panic!("without data") };
            let text = String::from_utf8(data.as_bytes().to_vec()).unwrap();
            if event.kind != "decision.made" || !text.contains(r#""verdict":"deny""#) {
                continue;
            }
            let before = frames[at][index].event.data.clone();
            let lie = text.replacen(r#""verdict":"deny""#, r#""verdict":"allow""#, 1);
            frames[at][index].event.data = Data::Json(Json::check(lie.into_bytes()).unwrap());
            changed += 1;
            noticed += rejudged(&frames).1.disagreeing.min(1);
            frames[at][index].event.data = before;
        }
    }
    assert!(changed > 3, "{changed}");
    assert_eq!(changed, noticed);
}

#[test]
fn what_is_made_now_is_judged_alike_again_and_unknown_rules_are_told() {
    let desk = live();
    if let Some(file) = std::env::var_os("BITACORA_WRITE_GOLDEN") {
        let lines: Vec<_> = desk.log.iter().map(|frame| line(frame)).collect();
        std::fs::write(file, lines.join("\n") + "\n").unwrap();
    }
    let (state, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(desk.governance.read(|published| *published == state));
    let mut frames = desk.log.clone();
    for placed in frames.iter_mut().flatten().filter(|placed| placed.event.kind == "decision.made") {
        let Data::Json(data) = &placed.event.data else { panic!("without data") };
        let text = String::from_utf8(data.as_bytes().to_vec()).unwrap();
        let other = text.replacen(r#""reactor_version":1"#, r#""reactor_version":9"#, 1);
        placed.event.data = Data::Json(Json::check(other.into_bytes()).unwrap());
    }
    let (_, found) = rejudged(&frames);
    assert_eq!((found.decisions, found.unknown_rules.map(|(_, version)| version)), (0, Some(9)));
}
