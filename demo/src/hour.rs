//! The recorded hour of several invented agents, moved to another time and repeated.
//!
//! `import/examples/demo-hour` generates the recording.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use bitacora_formats::{BodyForm, Data, Event, Json, Micros, format_time, parse_events, parse_time};

/// NDJSON, compressed with zstd.
const COMPRESSED: &[u8] = include_bytes!("demo-hour.ndjson.zst");
/// The recording's text; nothing if it is damaged.
static RECORDING: LazyLock<Option<String>> =
    LazyLock::new(|| String::from_utf8(zstd::decode_all(COMPRESSED).ok()?).ok());

/// The contents of an hour.
#[derive(Debug, PartialEq, Eq)]
pub struct DemoHour {
    /// The events, in the order of their times.
    pub events: Vec<Event<'static>>,
    /// The number of agents in them.
    pub agents: usize,
}

/// Returns the names of the tools that are called.
#[cfg(test)]
pub(crate) fn called_tools() -> std::collections::BTreeSet<String> {
    let hour = recorded_hour(10_000, Micros(1_795_000_000_000_000)).unwrap();
    let requested = hour.events.iter().filter(|event| event.kind == "tool.requested");
    let tool = |event: &Event<'_>| match &event.data {
        Data::Json(json) => {
            serde_json::from_slice::<serde_json::Value>(json).ok()?["tool"].as_str().map(str::to_owned)
        }
        _ => None,
    };
    requested.filter_map(tool).collect()
}

/// Returns this many recorded events, the last of them at `end`; nothing if the recording is damaged.
///
/// Fewer events than recorded are the first ones, so every session in them has its beginning. More events are the
/// recording again, as further agents at the same time.
pub fn recorded_hour(events: usize, end: Micros) -> Option<DemoHour> {
    let recorded = RECORDING.as_deref()?.lines().map(recorded_event).collect::<Option<Vec<_>>>()?;
    let mut all: Vec<(u64, Event<'static>)> = Vec::with_capacity(events);
    for copy in 1.. {
        let taken = recorded.get(..recorded.len().min(events - all.len()))?;
        let Some((last, _)) = taken.last() else { break };
        for (time, event) in taken {
            // Times are told in milliseconds, as most clients do.
            let time = end.0.saturating_sub(last.0.saturating_sub(time.0)) / 1_000 * 1_000;
            let mut event = if copy == 1 { event.clone() } else { event_of_copy(event, copy)? };
            event.time = Some(format_time(Micros(time)).replace("000Z", "Z").into());
            all.push((time, event));
        }
    }
    all.sort_by_key(|(time, _)| *time);
    let events: Vec<_> = all.into_iter().map(|(_, event)| event).collect();
    let agents = events.iter().filter_map(|event| event.actor.as_deref()).collect::<HashSet<_>>().len();
    Some(DemoHour { events, agents })
}

fn recorded_event(line: &'static str) -> Option<(Micros, Event<'static>)> {
    let event = parse_events(line.as_bytes(), BodyForm::Structured, None).ok()?.pop()?;
    Some((parse_time(event.time.as_deref()?).ok()?, event))
}

/// Returns the event as one of another agent: each name in it, its data included, ends with the number of the copy.
fn event_of_copy(event: &Event<'static>, copy: usize) -> Option<Event<'static>> {
    let mut data = match &event.data {
        Data::Json(json) => std::str::from_utf8(json).ok()?.to_owned(),
        _ => return None,
    };
    let mut renamed = |name: &str| -> Cow<'static, str> {
        // A subagent stays one of its agent.
        let new = match name.split_once('/') {
            Some((agent, subagent)) => format!("{agent}-{copy}/{subagent}"),
            None => format!("{name}-{copy}"),
        };
        data = data.replace(&format!("\"{name}\""), &format!("\"{new}\""));
        new.into()
    };
    let mut of_copy = |name: &Option<Cow<'static, str>>| name.as_deref().map(&mut renamed);
    let (agent, session, run) = (of_copy(&event.agent), of_copy(&event.session), of_copy(&event.run));
    let (call, actor) = (of_copy(&event.call), of_copy(&event.actor));
    let id = renamed(&event.id);
    Some(Event {
        id,
        source: format!("{}-{copy}", event.source).into(),
        stream: format!("{}-{copy}", event.stream).into(),
        actor,
        agent,
        session,
        run,
        call,
        // A name needs no escapes, so this stays the JSON that it was.
        data: Data::Json(Json::stored(data.into_bytes().into())),
        ..event.clone()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    /// The number of recorded events.
    const RECORDED: usize = 10_000;
    const END: Micros = Micros(1_795_000_000_000_000);
    const HOUR_US: u64 = 3_600_000_000;

    fn count(hour: &DemoHour, kind: &str) -> usize {
        hour.events.iter().filter(|event| event.kind == kind).count()
    }

    /// Checks identities, times, and that each outcome comes after its request.
    fn assert_consistent(hour: &DemoHour) {
        let (mut identities, mut requested, mut ended) = (HashSet::new(), BTreeMap::new(), HashSet::new());
        let mut sessions = HashSet::new();
        let mut last = END.0 - HOUR_US;
        for event in &hour.events {
            assert!(identities.insert((&event.source, &event.id)), "{event:?}");
            let time = parse_time(event.time.as_deref().unwrap()).unwrap().0;
            assert!(last <= time && time <= END.0, "{event:?}");
            last = time;
            let Data::Json(json) = &event.data else { panic!("no JSON: {event:?}") };
            let data: Value = serde_json::from_slice(json).unwrap();
            assert_eq!(data["call"].as_str(), event.call.as_deref(), "{event:?}");
            let is_start = event.kind == "session.started";
            assert_eq!(sessions.insert(event.session.clone().unwrap()), is_start, "{event:?}");
            match &*event.kind {
                "tool.requested" => {
                    assert!(requested.insert(event.call.clone(), (&event.agent, &event.session)).is_none());
                }
                "tool.completed" | "tool.failed" | "tool.blocked" => {
                    let request = requested.get(&event.call);
                    assert_eq!(request, Some(&(&event.agent, &event.session)), "no request: {event:?}");
                    assert!(ended.insert(event.call.clone()), "two outcomes: {event:?}");
                }
                _ => {}
            }
        }
        assert_eq!(last, END.0, "the hour ends at its end");
    }

    #[test]
    fn the_recording_is_an_hour_of_every_kind_of_event() {
        let text = RECORDING.as_deref().unwrap();
        assert_eq!(text.lines().count(), RECORDED);
        let hour = recorded_hour(RECORDED, END).unwrap();
        assert_consistent(&hour);
        assert_eq!(hour.agents, 12);
        for kind in [
            "session.started",
            "session.ended",
            "turn.started",
            "turn.ended",
            "model.called",
            "tool.requested",
            "tool.completed",
            "tool.failed",
            "tool.blocked",
            "checkpoint.saved",
            "run.started",
            "run.step",
            "run.completed",
        ] {
            assert!(count(&hour, kind) >= 10, "{kind}: {}", count(&hour, kind));
        }
        let share = |kind| count(&hour, kind) * 100 / count(&hour, "tool.requested");
        assert!(share("tool.completed") > 75 && (2..20).contains(&share("tool.failed")));
    }

    #[test]
    fn fewer_events_are_the_first_and_more_are_further_agents() {
        for events in [1, 10, 1_000, RECORDED + 1, 25_000] {
            let hour = recorded_hour(events, END).unwrap();
            assert_eq!(hour.events.len(), events);
            assert_consistent(&hour);
        }
        let twice = recorded_hour(2 * RECORDED, END).unwrap();
        assert_eq!(twice.agents, 24);
        let once = recorded_hour(RECORDED, END).unwrap();
        for kind in ["session.started", "tool.requested", "tool.completed", "run.step"] {
            assert_eq!(count(&twice, kind), 2 * count(&once, kind), "{kind}");
        }
    }

    #[test]
    fn the_recording_stays_small() {
        assert!(COMPRESSED.len() < 400_000, "{} bytes", COMPRESSED.len());
    }
}
