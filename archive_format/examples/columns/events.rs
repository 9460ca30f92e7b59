//! Events made of lines: CloudEvents as they are, and observations and actions as an import maps them.

use bitacora_formats::{BodyForm, Data, Event, Json, Micros, format_time, parse_events, parse_time};
use serde_json::{Map, Value};

/// Makes events of all lines.
pub(crate) fn read(text: &[u8], mut take: impl FnMut(Event<'_>)) {
    let mut started = std::collections::HashSet::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value: Map<String, Value> = serde_json::from_slice(line).unwrap();
        if value.contains_key("specversion") {
            parse_events(line, BodyForm::Ndjson, None).unwrap().into_iter().for_each(&mut take);
        } else if value.contains_key("dimension_key") {
            take(observation(&value, line));
        } else {
            let session = text_of(&value, "session");
            if started.insert(session.clone()) {
                take(action(
                    &value,
                    format!("{session}#started"),
                    "session.started",
                    "at",
                    started_data(&value),
                ));
            }
            let call = text_of(&value, "call");
            take(with_call(
                &call,
                action(&value, format!("{call}#requested"), "tool.requested", "at", requested(&value, line)),
            ));
            let (kind, data) = outcome(&value);
            take(with_call(&call, action(&value, format!("{call}#outcome"), kind, "ended_at", data)));
        }
    }
}

fn text_of(value: &Map<String, Value>, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn observation<'a>(value: &Map<String, Value>, line: &'a [u8]) -> Event<'a> {
    let (time, key) = (value["timestamp"].as_u64().unwrap(), text_of(value, "dimension_key"));
    let id = format!("{time}:{key}");
    let mut event =
        Event::new(id, "import/trust-events-100k.jsonl.zst", "x.trust.observed", format!("dimension/{key}"));
    event.time = Some(format_time(Micros(time * 1_000)).into());
    event.datacontenttype = Some("application/json".into());
    event.data = Data::Json(Json::check(line).unwrap());
    event
}

fn action(
    value: &Map<String, Value>,
    id: String,
    kind: &'static str,
    time: &str,
    data: String,
) -> Event<'static> {
    let session = text_of(value, "session");
    let mut event = Event::new(id, format!("actions/{session}"), kind, format!("session/{session}"));
    event.time = value
        .get(time)
        .or_else(|| value.get("at"))
        .and_then(Value::as_str)
        .map(|time| time.to_owned().into());
    event.agent = Some("claude-code".into());
    event.session = Some(session.into());
    event.datacontenttype = Some("application/json".into());
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

fn with_call<'a>(call: &str, mut event: Event<'a>) -> Event<'a> {
    event.call = Some(call.to_owned().into());
    event
}

/// An object of the members that there are, with the values' own text.
fn object(value: &Map<String, Value>, members: &[(&str, &str)], last: &str) -> String {
    let member = |(name, from): &(&str, &str)| Some(format!("\"{name}\":{},", value.get(*from)?));
    format!("{{{}{last}}}", members.iter().filter_map(member).collect::<String>())
}

fn started_data(value: &Map<String, Value>) -> String {
    let members = [("version", "harness_version"), ("model", "model"), ("cwd", "cwd"), ("branch", "branch")];
    object(value, &members, r#""assurance":"imported""#)
}

fn requested(value: &Map<String, Value>, line: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Input<'a> {
        #[serde(borrow)]
        input: Option<&'a serde_json::value::RawValue>,
    }
    let line: Input<'_> = serde_json::from_slice(line).unwrap();
    let first = object(value, &[("call", "call"), ("tool", "tool")], "");
    let members = [
        ("model", "model"),
        ("cwd", "cwd"),
        ("branch", "branch"),
        ("harness_version", "harness_version"),
        ("request", "request"),
    ];
    let tokens =
        object(value, &[("in", "tokens_in"), ("out", "tokens_out"), ("cache_read", "cache_read")], "");
    let tokens = tokens.replace(",}", "}");
    let last = object(value, &members, &format!(r#""tokens":{tokens},"assurance":"imported""#));
    let arguments = line.input.map_or("{}", |input| input.get());
    format!("{}\"args\":{arguments},{}", &first[..first.len() - 1], &last[1..])
}

fn outcome(value: &Map<String, Value>) -> (&'static str, String) {
    let outcome = text_of(value, "outcome");
    let (kind, status) = match outcome.as_str() {
        "ok" => ("tool.completed", r#""status":"ok""#.to_owned()),
        "user_rejected" => ("tool.blocked", r#""status":"rejected","by":"person""#.to_owned()),
        "hook_blocked" => ("tool.blocked", r#""status":"blocked","by":"hook""#.to_owned()),
        "interrupted" => ("tool.failed", r#""status":"interrupted","by":"person""#.to_owned()),
        other => ("tool.failed", format!(r#""status":"error","error_type":"{other}""#)),
    };
    let time = |name: &str| parse_time(value.get(name)?.as_str()?).ok();
    let taken = time("at").zip(time("ended_at")).map(|(at, ended)| ended.0.saturating_sub(at.0) / 1_000);
    let taken = taken.map_or_else(String::new, |taken| format!("\"duration_ms\":{taken},"));
    let output =
        object(value, &[("sha256", "output_sha256"), ("bytes", "output_len")], "").replace(",}", "}");
    let first = object(value, &[("call", "call"), ("tool", "tool")], &status);
    let model = object(value, &[("model", "model")], "");
    let last = format!("{taken}\"output\":{output},\"assurance\":\"imported\"}}");
    (kind, format!("{},{}{last}", &first[..first.len() - 1], &model[1..model.len() - 1]))
}
