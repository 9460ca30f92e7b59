//! A history that was recorded once, with the state that it leads to.
//! A change of the rules without a new version of them fails here: the decisions of the past must stay as they are for ever.

use bitacora_formats::{Data, Event, Json, Micros, Position};
use bitacora_governance::{Governance, REACTOR_VERSION, Reactor, Reevaluation, ReevaluationReport, State};
use serde_json::{Value, json};

use crate::desk::LocatedEvent;
use crate::everything::live;

/// A history that was recorded under one version of the rules.
struct GoldenHistory {
    /// A frame a line; made once, never again: a new version gets a file of its own.
    frames: &'static str,
    /// The digest of the state behind it.
    digest: &'static str,
    /// Decisions in it, at least.
    decisions: u64,
}

const GOLDEN: [GoldenHistory; 8] = [
    GoldenHistory {
        frames: include_str!("golden-v1.ndjson"),
        digest: "942d6220116d72d268490024d8b1625b05e8227780e271a875dc92d8ce128cfe",
        decisions: 36,
    },
    GoldenHistory {
        frames: include_str!("golden-v2.ndjson"),
        digest: "8ed081c11e3cd46e294bb4581492e2a9b1499e2ba77aafd60cd6ac14c6e51057",
        decisions: 50,
    },
    GoldenHistory {
        frames: include_str!("golden-v3.ndjson"),
        digest: "1cf4eee2ebeca663ec93cd6e0086c2c506237de49cbd96a49eda73eb34cb888d",
        decisions: 65,
    },
    GoldenHistory {
        frames: include_str!("golden-v4.ndjson"),
        digest: "9fd4ad03e5464472e81b93ecf29e1357c4a4ec2a6969282b67dfdbd5a6c93627",
        decisions: 68,
    },
    GoldenHistory {
        frames: include_str!("golden-v5.ndjson"),
        digest: "e8d889004579d15f7f02fd065add446b8cb38c1b348ad379f21f839e04902203",
        decisions: 68,
    },
    GoldenHistory {
        frames: include_str!("golden-v6.ndjson"),
        digest: "5287b4b926c52f3300bd83e84ef33b76addccacdeebd28ed6f0eaf6a94c32363",
        decisions: 107,
    },
    GoldenHistory {
        frames: include_str!("golden-v7.ndjson"),
        digest: "51c53a57c330c56be5ba3876c8402e6b8301b7d227923dd40ada1de878af35de",
        decisions: 120,
    },
    GoldenHistory {
        frames: include_str!("golden-v8.ndjson"),
        digest: "5de00a7fec1c32494ea49cf772a38142ce024beaaabc9ed3c936b4d4dce11830",
        decisions: 180,
    },
];

/// A frame as it is kept here.
pub(crate) fn line(frame: &[LocatedEvent]) -> String {
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
                "said": placed.event.time, "stream": placed.event.stream, "session": placed.event.session,
                "run": placed.event.run,
                "data": data,
            })
        })
        .collect();
    Value::from(events).to_string()
}

fn recorded(line: &str) -> Vec<LocatedEvent> {
    let events: Vec<Value> = serde_json::from_str(line).unwrap();
    let text = |value: &Value| value.as_str().map(|text| std::borrow::Cow::from(text.to_owned()));
    let placed = |value: &Value| {
        let owned = |name: &str| text(&value[name]).unwrap();
        let mut event = Event::new(owned("id"), owned("source"), owned("type"), owned("stream"));
        event.time = text(&value["said"]);
        (event.actor, event.agent, event.call) =
            (text(&value["actor"]), text(&value["agent"]), text(&value["call"]));
        (event.session, event.run) = (text(&value["session"]), text(&value["run"]));
        event.data = Data::Json(Json::check(owned("data").into_owned().into_bytes()).unwrap());
        LocatedEvent {
            position: Position::new(value["position"].as_u64().unwrap()).unwrap(),
            time: Micros(value["time"].as_u64().unwrap()),
            derived: value["derived"].as_bool().unwrap(),
            event,
        }
    };
    events.iter().map(placed).collect()
}

pub(crate) fn rejudged(frames: &[Vec<LocatedEvent>]) -> (State, ReevaluationReport) {
    let mut rejudging = Reevaluation::default();
    for frame in frames {
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        rejudging.fold(&observed);
    }
    rejudging.end()
}

impl GoldenHistory {
    fn history(&self) -> Vec<Vec<LocatedEvent>> {
        self.frames.lines().map(recorded).collect()
    }
}

#[test]
fn the_recorded_histories_lead_where_they_led() {
    for golden in &GOLDEN {
        let governance = Governance::default();
        let mut state = governance.state();
        for frame in &golden.history() {
            state.fold(&frame.iter().map(|placed| placed.observed(None)).collect::<Vec<_>>());
        }
        let digest = governance.read(|state| state.digests().unwrap().state.to_string());
        assert_eq!(
            digest, golden.digest,
            "the same history leads to another state: that is another version of the rules"
        );
    }
}

#[test]
fn the_rules_say_of_the_recorded_histories_what_they_said() {
    for golden in &GOLDEN {
        let (state, found) = rejudged(&golden.history());
        assert_eq!(found.disagreements, [], "the rules say something else: that is another version of them");
        assert!(found.decisions >= golden.decisions, "{found:?}");
        assert_eq!((found.ungoverned, found.unchecked_decisions, found.unknown_rules), (0, 0, None));
        assert_eq!(state.digests().unwrap().state.to_string(), golden.digest);
    }
}

/// The additions of version 5 take more approvals than a file of them should have: tests of bounds have it.
#[test]
fn the_newer_histories_have_what_their_rules_are_new_for() {
    let [_, second, third, fourth, _, sixth, seventh, eighth] = &GOLDEN;
    for said in [
        "budget.charged",
        "settled",
        "released",
        "budget.exceeded",
        "loop.detected",
        "iteration_cap",
        "identical_calls",
        "budget-spent",
        "iteration-cap",
        "delegation-too-deep",
        "contract-broken",
    ] {
        assert!(second.frames.contains(said), "{said}");
    }
    for said in [
        "approval-outgrown",
        "reason_codes",
        "\\\"contract\\\":\\\"tidy\\\"",
        "run.completed",
        "ledger.created",
    ] {
        assert!(third.frames.contains(said), "{said}");
    }
    for said in [
        "ledger.clock-jumped",
        "clock-untrusted",
        r#"\"budget\":\"x\",\"call\":\"x1\",\"charge\":\"settled\""#,
    ] {
        assert!(fourth.frames.contains(said), "{said}");
    }
    for said in [
        "clock.corrected",
        "secret-file",
        "runs-by-itself",
        "exclude_secret_files",
        "checks_failed",
        r#"\"verdict\":\"review\",\"mode\":\"enforce\",\"reason_code\":\"tool-unknown\""#,
        r#"\"counted\":\"each_agent\""#,
        r#"\"window\":\"shared\""#,
        r#"\"workspace\":\"/home/ana/src/acme/cli\""#,
        r#"\"verdict\":\"deny\",\"mode\":\"enforce\",\"reason_code\":\"approval-rejected\""#,
        "\"parts\\\":",
        "granted",
        "session_folder",
        r#"\"rule\":\"served\""#,
    ] {
        assert!(sixth.frames.contains(said), "{said}");
    }
    for said in [
        r#"\"kind\":\"repeated_cycle\""#,
        r#"\"kind\":\"poll_calls\""#,
        r#"\"poll\":true"#,
        r#"\"kind\":\"text\""#,
        r#"\"code\":\"blast-radius\""#,
        r#"\"reactor_version\":7"#,
    ] {
        assert!(seventh.frames.contains(said), "{said}");
    }
    for said in [
        r#"\"at_end\":\"deny\""#,
        "approval-lapsed",
        "run-budget-spent",
        "run-aborted",
        r#"\"budget\":\"run:own\""#,
        r#"\"elapsed_ms\":60000"#,
        "run.overdue",
        r#"\"zone\":\"Asia/Kathmandu\""#,
        r#"\"rolling\":"#,
        r#"\"reactor_version\":8"#,
    ] {
        assert!(eighth.frames.contains(said), "{said}");
    }
}

#[test]
fn a_decision_that_was_changed_in_the_record_is_noticed() {
    let [oldest, newest, ..] = &GOLDEN;
    let mut frames = oldest.history();
    assert!(newest.frames.lines().count() > frames.len());
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
        let own = format!(r#""reactor_version":{REACTOR_VERSION}"#);
        let other = text.replacen(&own, r#""reactor_version":9"#, 1);
        placed.event.data = Data::Json(Json::check(other.into_bytes()).unwrap());
    }
    let (_, found) = rejudged(&frames);
    assert_eq!((found.decisions, found.unknown_rules.map(|(_, version)| version)), (0, Some(9)));
}
