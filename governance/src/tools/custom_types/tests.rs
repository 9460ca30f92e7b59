use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use bitacora_vocabulary::SchemaMatch;
use serde_json::json;

use super::*;
use crate::reactor::{ObservedEvent, ReactorState};
use crate::{Governance, Reactor, State};
use bitacora_testkit::SeededRng;

fn registered(kind: &str, version: u64, schema: &Value) -> SchemaRegistered {
    serde_json::from_value(json!({"type": kind, "version": version, "schema": schema})).unwrap()
}

fn refusal(types: &CustomTypes, kind: &str, version: u64, schema: &Value) -> (RefusalCode, String) {
    let refusal = types.may_register(&registered(kind, version, schema)).unwrap_err();
    (refusal.code, refusal.reason)
}

fn build() -> Value {
    json!({
        "type": "object",
        "properties": {"commit": {"type": "string", "maxLength": 40}, "tests": {"type": "integer", "minimum": 0}},
        "required": ["commit"],
    })
}

fn event(data: &Value) -> Event<'static> {
    let mut event = Event::new("e1", "urn:test", "schema.registered", "acts");
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    event
}

fn placed<'e>(event: &'e Event<'e>) -> ObservedEvent<'e> {
    ObservedEvent {
        position: Position::new(2).unwrap(),
        stream_version: StreamVersion::FIRST,
        time: Micros(1),
        derived: false,
        event,
        examination: None,
    }
}

#[test]
fn a_type_counts_its_versions_up_and_is_none_of_the_vocabularys_or_the_services() {
    let mut types = CustomTypes::default();
    types.may_register(&registered("build.done", 3, &build())).unwrap();
    types.apply_registered(registered("build.done", 3, &build()));
    for (kind, version, why) in [
        ("build.done", 3, "version 3 already"),
        ("build.done", 2, "count up"),
        ("tool.completed", 1, "a type of the vocabulary"),
        ("schema.registered", 1, "a type of the vocabulary"),
        ("x.build", 1, "holds anything"),
        ("ledger.built", 1, "the service's own"),
        ("hold.extended", 1, "the service's own"),
        ("principal.renamed", 1, "the service's own"),
    ] {
        let (code, reason) = refusal(&types, kind, version, &build());
        assert_eq!(code, RefusalCode::InvalidData);
        assert!(reason.contains(why), "{reason}");
    }
    types.may_register(&registered("build.done", 4, &build())).unwrap();
    types.may_register(&registered("tool.finished", 1, &build())).unwrap();
}

#[test]
fn types_and_their_schemas_are_bounded_and_a_new_version_takes_the_room_of_the_old_one() {
    let mut types = CustomTypes::default();
    let large = json!({"description": "d".repeat(60_000)});
    let bytes = registered("a", 1, &large).schema.as_str().len();
    for number in 0..MAX_CUSTOM_SCHEMA_BYTES / bytes {
        types.apply_registered(registered(&format!("large.{number}"), 1, &large));
    }
    let (code, reason) = refusal(&types, "large.more", 1, &large);
    assert_eq!(code, RefusalCode::StateFull);
    assert!(reason.contains("bytes"), "{reason}");
    types.may_register(&registered("large.0", 2, &large)).unwrap();

    let mut types = CustomTypes::default();
    for number in 0..MAX_CUSTOM_TYPES {
        types.apply_registered(registered(&format!("small.{number}"), 1, &json!({})));
    }
    assert_eq!(refusal(&types, "small.more", 1, &json!({})).0, RefusalCode::StateFull);
    types.may_register(&registered("small.0", 2, &json!({}))).unwrap();
}

#[test]
fn a_copy_that_was_written_and_read_is_the_same_and_is_written_by_type() {
    let mut types = CustomTypes::default();
    types.apply_registered(registered("b", 1, &build()));
    types.apply_registered(registered("a", 2, &json!(true)));
    let text = serde_json::to_string(&types).unwrap();
    assert!(
        text.starts_with(r#"[{"type":"a","version":2,"schema":true},{"type":"b","version":1,"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<CustomTypes>(&text).unwrap(), types);
}

#[test]
fn data_is_held_to_the_newest_version_that_is_durable() {
    let governance = Governance::default();
    let check = |data: &Value| governance.check_registered("build.done", Some(data.to_string().as_bytes()));
    let (one, nothing) = (json!({"commit": "c1", "more": [1]}), json!({}));
    assert_eq!(check(&one), Ok(SchemaMatch::Unlisted));

    let first = event(&json!({"type": "build.done", "version": 1, "schema": build()}));
    let mut staged = governance.state().fork();
    staged.react(&placed(&first)).unwrap();
    staged.keep();
    assert_eq!(check(&one), Ok(SchemaMatch::Unlisted), "what is staged can still be lost");
    governance.state().fold(&[placed(&first)]);
    assert_eq!(check(&one), Ok(SchemaMatch::Registered));
    let error = check(&nothing).unwrap_err();
    assert_eq!(error.pointer, "");
    assert_eq!(error.problem, "does not fit `required` in version 1 of `build.done`");
    let error = check(&json!({"commit": "c1", "tests": -1})).unwrap_err();
    assert_eq!((error.pointer.as_str(), error.problem.contains("`minimum`")), ("/tests", true));
    for none in [None, Some(b"".as_slice())] {
        let error = governance.check_registered("build.done", none).unwrap_err();
        assert_eq!(error.problem, "has to be JSON for this type");
    }
    assert_eq!(governance.check_registered("build.begun", None), Ok(SchemaMatch::Unlisted));

    let second = event(&json!({"type": "build.done", "version": 2, "schema": {"maxProperties": 0}}));
    governance.state().fold(&[placed(&second)]);
    assert_eq!(check(&nothing), Ok(SchemaMatch::Registered));
    assert!(check(&one).unwrap_err().problem.contains("version 2"));
}

#[test]
fn a_schema_that_cannot_be_held_to_is_refused_before_it_is_recorded() {
    let governance = Governance::default();
    let mut state = State::default();
    for schema in [
        json!({"type": "strin"}),
        json!({"pattern": "(a)\\1"}),
        json!({"items": {"$ref": "#"}}),
        json!({"$ref": "https://example.com/schema"}),
    ] {
        let event = event(&json!({"type": "build.done", "version": 1, "schema": schema}));
        let refusal = governance.examine(&event).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::InvalidData);
        assert!(refusal.reason.starts_with("schema: ") && !refusal.reason.contains('\n'), "{refusal:?}");
    }
    let sealed = Event::new("e1", "urn:test", "schema.registered", "acts");
    assert_eq!(state.react(&placed(&sealed)).unwrap_err().code, RefusalCode::InvalidData);
    assert_eq!(state, State::default());
    let twice = event(&json!({"type": "build.done", "version": 1, "schema": build()}));
    state.react(&placed(&twice)).unwrap();
    assert_eq!(state.react(&placed(&twice)).unwrap_err().code, RefusalCode::InvalidData);
}

#[test]
fn looking_at_any_value_is_bounded_and_says_so() {
    // A value may meet thousands of subschemas here, and there are many values.
    let branches: Vec<Value> = (0..90).map(|number| json!({"items": {"minimum": number}})).collect();
    let inner = json!({"items": {"anyOf": branches}});
    let large = registered("grid", 1, &inner);
    let compiled = CompiledTypes::default();
    let rows = |count: usize| json!(vec![json!([0]); count]).to_string();
    check_registered(&large, &compiled, Some(rows(10).as_bytes())).unwrap();
    let error = check_registered(&large, &compiled, Some(rows(200_000).as_bytes())).unwrap_err();
    assert!(error.problem.contains("too long"), "{error}");
}

#[test]
fn any_registration_gives_an_answer_and_never_a_state_that_cannot_be_read_back() {
    let mut random = SeededRng::new(7);
    let mut types = CustomTypes::default();
    for _ in 0..2_000 {
        let kind = random.one_of(&["a", "b", "x.c", "run.step", "ledger.d", "e.f"]);
        let registered = registered(kind, 1 + random.below(9), &json!({"maximum": random.below(5)}));
        let before = types.get(kind).map(|before| before.version);
        if types.may_register(&registered).is_ok() {
            assert!(before < Some(registered.version));
            types.apply_registered(registered);
        }
    }
    assert_eq!(types.iter().count(), 3);
    let text = serde_json::to_vec(&types).unwrap();
    assert_eq!(serde_json::from_slice::<CustomTypes>(&text).unwrap(), types);
}
