//! Answers that are written by hand for speed, compared with the types of the interface, byte for byte.

use std::fmt::Debug;

use bitacora_api::{AppendAnswer, EndLine, IngestLine, StoredEvent, StoredEventPage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::service::{ServiceAnswer, TestService, event};

const EVENTS: &str = "/v1/ledgers/main/events";

/// Reads an answer into its type, which has to write the same.
pub(crate) fn same<T: Serialize + DeserializeOwned + Debug>(written: &str) -> T {
    let read: T = serde_json::from_str(written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&read).unwrap(), written);
    read
}

/// A service with a call that an imported batch tells of, a secret, and more events than a page holds.
fn service_with_events() -> (TestService, ServiceAnswer) {
    let service = TestService::start();
    let secret = event("s", "s").replace(r#"{"n":1}"#, r#"{"n":"AKIAIOSFODNN7EXAMPLE"}"#);
    service.append(format!("[{},{secret}]", event("1", "s"))).expect(201);
    let told = |kind: &str, data: Value| json!({"specversion": "1.0", "id": kind, "source": "/t", "type": kind, "subject": "s", "call": "c", "data": data});
    let asked =
        told("tool.requested", json!({"tool": "Read", "args": {}, "call": "c", "assurance": "imported"}));
    let ended = told("tool.completed", json!({"status": "ok", "call": "c", "assurance": "imported"}));
    let answer = service.append(json!([asked, ended]).to_string()).expect(201);
    (service, answer)
}

#[test]
fn appends_say_what_their_type_says() {
    let (service, answer) = service_with_events();
    let appended: AppendAnswer = same(answer.text());
    assert_eq!(appended.results.len(), 2);
    assert!(!appended.derived.is_empty(), "{}", answer.text());
    let again = service.append(event("1", "s")).expect(200);
    same::<AppendAnswer>(again.text());
}

#[test]
fn events_and_pages_of_them_say_what_their_types_say() {
    let (service, _) = service_with_events();
    let page: StoredEventPage = same(service.get(EVENTS).expect(200).text());
    assert!(page.next.is_none() && page.events.iter().any(|event| event.redactions > 0));
    assert!(page.events.iter().any(|event| event.derived));
    for query in ["?limit=2", "?dir=backward&limit=2", "?after=1&until=2"] {
        same::<StoredEventPage>(service.get(&format!("{EVENTS}{query}")).expect(200).text());
    }
    same::<StoredEvent>(service.get(&format!("{EVENTS}/2")).expect(200).text());
    for query in ["", "?limit=2"] {
        let accept = [("Accept", "application/x-ndjson")];
        let answer = service.get_with(&format!("{EVENTS}{query}"), &accept).expect(200);
        let (lines, end) = answer.text().trim_end().rsplit_once('\n').unwrap();
        let events = lines.lines().map(same::<StoredEvent>).count() as u64;
        let end: EndLine = same(end);
        assert_eq!((end.end.count, end.end.next.is_some()), (events, !query.is_empty()));
    }
}

#[test]
fn lines_of_uploads_say_what_their_type_says() {
    let service = TestService::start();
    let lines = [event("1", "s"), String::new(), event("2", "t"), String::new()].join("\n");
    for (body, last) in [(lines.clone(), "end"), (format!("{lines}{{}}\n"), "error")] {
        let path = "/v1/ledgers/main/events:ingest";
        let answer = service.post(path, "application/x-ndjson", body).expect(200);
        let lines: Vec<IngestLine> = answer.text().lines().map(same).collect();
        let told = lines.last().map(|line| match line {
            IngestLine::End { .. } => "end",
            IngestLine::Error { .. } => "error",
            IngestLine::Acknowledged(_) => "acknowledged",
        });
        assert_eq!(told, Some(last), "{}", answer.text());
        assert!(lines.len() > 1, "{}", answer.text());
    }
}
