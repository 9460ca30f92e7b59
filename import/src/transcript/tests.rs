use bitacora_formats::parse_time;
use serde_json::{Value, json};

use super::*;

fn line(kind: &str, at: u64, more: &Value) -> String {
    let mut line = json!({
        "type": kind, "uuid": format!("u{at}"), "sessionId": "s1", "isSidechain": false,
        "timestamp": format!("2026-01-07T16:37:{at:02}.000Z"), "cwd": "/w", "gitBranch": "main", "version": "2.0.76",
    });
    for (key, value) in more.as_object().unwrap() {
        line[key] = value.clone();
    }
    line.to_string()
}

fn answer(at: u64, id: &str, block: &Value, output: u64) -> String {
    let message = json!({"id": id, "model": "m", "role": "assistant", "content": [block],
        "usage": {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 7}});
    line("assistant", at, &json!({"message": message, "requestId": "r"}))
}

fn result(at: u64, call: &str, content: &Value, is_error: bool) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error});
    line("user", at, &json!({"message": {"role": "user", "content": [block]}}))
}

fn told(lines: &[String]) -> (Vec<EventDraft>, MappedEvents) {
    let mut transcript = Transcript::default();
    let mut events = Vec::new();
    for line in lines {
        events.extend(transcript.map(line.as_bytes()).unwrap().events);
    }
    (events, transcript.end(parse_time("2026-01-08T00:00:00Z").unwrap()))
}

fn session() -> Vec<String> {
    vec![
        line("user", 1, &json!({"message": {"role": "user", "content": "do it"}})),
        answer(2, "msg1", &json!({"type": "text", "text": "I will"}), 1),
        answer(
            4,
            "msg1",
            &json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}),
            60,
        ),
        result(7, "c1", &json!("Exit code 2\nno"), true),
        answer(8, "msg2", &json!({"type": "tool_use", "id": "c2", "name": "Read", "input": {}}), 5),
        line("system", 9, &json!({"subtype": "turn_duration", "durationMs": 46977})),
    ]
}

#[test]
fn a_session_is_told_from_its_prompt_to_its_end() {
    let (events, end) = told(&session());
    let ids: Vec<(&str, &str)> = events.iter().map(|event| (event.id.as_str(), &*event.kind)).collect();
    assert_eq!(
        ids,
        [
            ("s1#started", "session.started"),
            ("u1#prompt", "turn.started"),
            ("c1#requested", "tool.requested"),
            ("c1#outcome", "tool.failed"),
            ("msg1#called", "model.called"),
            ("c2#requested", "tool.requested"),
            ("u9#turn-ended", "turn.ended"),
        ]
    );
    assert!(!events[1].data.contains("do it"), "a prompt is kept as its digest");
    assert!(
        events[3].data.contains(r#""tool":"Bash","status":"error","error_type":"exit_code","exit_code":2,"#)
    );
    assert!(events[3].data.contains(r#""duration_ms":3000"#));
    assert!(events[4].data.contains(r#""tokens":{"in":10,"out":60,"cache_read":7}"#));
    assert!(events[4].data.contains(r#""text_bytes":6,"calls":1"#));
    assert_eq!(end.without_outcome, 1);
    let ids: Vec<&str> = end.events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["msg2#called", "c2#gap"]);
    let gap = &end.events[1];
    assert_eq!(
        (&*gap.kind, gap.call.as_deref(), gap.stream.as_str()),
        ("coverage.gap", Some("c2"), "session/s1")
    );
    assert!(gap.data.contains(r#""missing":"outcome""#), "{}", gap.data);
}

#[test]
fn a_transcript_that_has_grown_gives_the_same_events_and_more() {
    let lines = session();
    let (whole, whole_end) = told(&lines);
    let whole: Vec<EventDraft> = whole.into_iter().chain(whole_end.events).collect();
    for length in 0..lines.len() {
        let mut transcript = Transcript::default();
        let mut part = Vec::new();
        for line in &lines[..length] {
            part.extend(transcript.map(line.as_bytes()).unwrap().events);
        }
        // Imported while it is being written: the clock stands at its last line.
        part.extend(transcript.end(parse_time("2026-01-07T16:38:00Z").unwrap()).events);
        for event in part {
            assert!(whole.contains(&event), "after {length} lines: {event:?}");
        }
    }
}

#[test]
fn what_the_harness_writes_under_a_persons_name_is_no_prompt() {
    let text = |text: &str| line("user", 1, &json!({"message": {"role": "user", "content": text}}));
    let kinds = |line: String| {
        let kinds = told(&[line]).0.into_iter().map(|event| event.kind.into_owned());
        kinds.filter(|kind| kind != "session.started").collect::<Vec<_>>()
    };
    assert_eq!(kinds(text("<command-name>/exit</command-name>")), Vec::<String>::new());
    assert_eq!(kinds(text("<local-command-stdout>Bye!</local-command-stdout>")), Vec::<String>::new());
    assert_eq!(kinds(text("[Request interrupted by user for tool use]")), ["turn.ended"]);
    assert_eq!(kinds(text("yes")), ["turn.started"]);
    let meta = line("user", 1, &json!({"isMeta": true, "message": {"role": "user", "content": "note"}}));
    assert_eq!(kinds(meta), Vec::<String>::new());
}

#[test]
fn a_result_may_be_texts_and_pictures_and_may_come_without_its_call() {
    let content = json!([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, {"type": "text", "text": "b"}]);
    let (events, _) = told(&[result(3, "c9", &content, false)]);
    assert_eq!((events[1].id.as_str(), &*events[1].kind), ("c9#outcome", "tool.completed"));
    assert!(events[1].data.contains(r#""summary":"a\nb""#) && !events[1].data.contains("\"tool\""));
    assert_eq!(summary(&"é".repeat(200)).len(), 256);
    assert_eq!(summary(&format!("{}é", "x".repeat(255))).len(), 255);
    assert_eq!(summary("a\0b"), "a");
}

#[test]
fn a_wrong_type_in_any_field_is_told_and_leaves_no_trace() {
    let lines = session();
    for line in &lines {
        let right: Value = serde_json::from_str(line).unwrap();
        for field in right.as_object().unwrap().keys() {
            let mut wrong = right.clone();
            wrong[field] = json!([{"x": 1}]);
            let mut transcript = Transcript::default();
            let mapped = transcript.map(wrong.to_string().as_bytes());
            assert!(mapped.is_err(), "{field}: {wrong}");
            assert!(
                transcript.calls.is_empty() && transcript.partial.is_none() && transcript.started.is_empty()
            );
        }
    }
    let broken = |pointer: &str, value: Value| {
        let mut line: Value = serde_json::from_str(&lines[2]).unwrap();
        *line.pointer_mut(pointer).unwrap() = value;
        Transcript::default().map(line.to_string().as_bytes()).is_err()
    };
    for pointer in [
        "/message/id",
        "/message/model",
        "/message/usage",
        "/message/content",
        "/message/usage/input_tokens",
        "/message/content/0",
        "/message/content/0/type",
        "/message/content/0/id",
        "/message/content/0/name",
    ] {
        assert!(broken(pointer, json!(false)), "{pointer}");
    }
    assert!(broken("/timestamp", json!("yesterday")) && broken("/sessionId", json!("")));
}

#[test]
fn lines_that_make_no_event_are_passed_over_by_name() {
    for (line, name) in [
        (json!({"type": "summary", "summary": "x", "leafUuid": "u"}), "summary"),
        (json!({"type": "file-history-snapshot", "messageId": "m"}), "file-history-snapshot"),
        (json!({"type": "system", "subtype": "stop_hook_summary"}), "system (stop_hook_summary)"),
    ] {
        let mapped = Transcript::default().map(line.to_string().as_bytes()).unwrap();
        assert_eq!(mapped.passed_over.as_deref(), Some(name));
    }
    assert!(Transcript::default().map(b"{}").is_err() && Transcript::default().map(b"[]").is_err());
}

#[test]
fn open_calls_are_bounded() {
    let mut transcript = Transcript::default();
    for number in 0..3 * MAX_OPEN_CALLS {
        let open = PendingCall { tool: "t".into(), model: None, at: None, gap: EventDraft::default() };
        transcript.remember(format!("c{number}"), open);
        if number % 2 == 0 {
            transcript.calls.remove(&format!("c{number}"));
        }
    }
    assert!(transcript.calls.len() <= MAX_OPEN_CALLS && transcript.call_order.len() <= 2 * MAX_OPEN_CALLS);
    let without = transcript.end(Micros(0)).without_outcome;
    assert_eq!(without, 3 * MAX_OPEN_CALLS as u64 / 2, "those that are forgotten are still counted");
}
