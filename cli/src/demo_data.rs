//! An invented hour of several agents at work.
//! It is the same for the same seed, but for the time at which it ends.
//!
//! Coding agents, operators, analysts and support agents start sessions, get prompts, call models and tools, fail, are
//! denied calls, save checkpoints and send out subagents. All of it is invented; its shape is that of real sessions.

mod agent;
mod calls;
mod random;
mod words;

use bitacora_formats::{Micros, format_time};

use self::agent::Agent;
use self::random::DemoRandom;
use bitacora_import::EventDraft;

/// The approximate number of events of one busy agent in an hour.
const EVENTS_PER_AGENT: u64 = 1_650;
/// The length of the hour.
const HOUR_US: u64 = 3_600_000_000;

/// The contents of an hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hour {
    /// The events, in the order of their times.
    pub(crate) events: Vec<EventDraft>,
    pub(crate) agents: u64,
}

/// Returns an hour of this many events that ends at `end`.
pub(crate) fn hour(seed: u64, events: u64, end: Micros) -> Hour {
    let agents = (events / EVENTS_PER_AGENT).max(1);
    let mut random = DemoRandom::new(seed);
    let mut all: Vec<(u64, EventDraft)> = Vec::new();
    for number in 0..agents {
        let quota = events / agents + u64::from(number < events % agents);
        let mut agent = Agent::new(random.fork(), number);
        let told = agent.work(quota);
        // An agent's last event comes close before the end; work and time need not agree to the second.
        let worked_us = told.last().map_or(1, |last| last.at_ms * 1_000).max(1);
        let rest_us = random.between(0, HOUR_US / 200);
        let span_us = u128::from(HOUR_US - rest_us);
        for event in told {
            let at_us = u128::from(event.at_ms * 1_000) * span_us / u128::from(worked_us);
            let at_us = u64::try_from(at_us).unwrap_or(HOUR_US).min(HOUR_US);
            // Times are told in milliseconds, as most clients do.
            let time = end.0.saturating_sub(HOUR_US).saturating_add(at_us) / 1_000 * 1_000;
            all.push((time, event.draft));
        }
    }
    all.sort_by_key(|(time, _)| *time);
    let events = all.into_iter().map(|(time, draft)| EventDraft { time: Some(told_time(time)), ..draft });
    Hour { events: events.collect(), agents }
}

fn told_time(micros: u64) -> String {
    format_time(Micros(micros)).replace("000Z", "Z")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use bitacora_formats::{BodyForm, parse_events, parse_time};
    use serde_json::Value;

    use super::*;

    const END: Micros = Micros(1_795_000_000_000_000);

    #[test]
    fn it_is_the_same_for_the_same_seed_and_as_long_as_was_asked() {
        assert_eq!(hour(7, 3_000, END), hour(7, 3_000, END));
        assert_ne!(hour(7, 3_000, END).events, hour(8, 3_000, END).events);
        for events in [1, 10, 1_000, 20_000] {
            assert_eq!(hour(1, events, END).events.len() as u64, events);
        }
    }

    #[test]
    fn its_events_are_taken_by_a_ledger_each_under_an_identity_of_its_own() {
        let hour = hour(1, 20_000, END);
        let mut seen = HashSet::new();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let mut requested = HashSet::new();
        let mut last = END.0 - HOUR_US;
        for draft in &hour.events {
            let body = draft.to_json();
            let parsed = parse_events(body.as_bytes(), BodyForm::Structured, None);
            assert!(parsed.is_ok(), "{parsed:?}: {body}");
            assert!(seen.insert((draft.source.clone(), draft.id.clone())), "{body}");
            let time = parse_time(draft.time.as_deref().unwrap()).unwrap().0;
            assert!(last <= time && time <= END.0, "{body}");
            last = time;
            let data: Value = serde_json::from_str(&draft.data).unwrap();
            assert!(data.is_object());
            match &*draft.kind {
                "tool.requested" => assert!(requested.insert(draft.call.clone())),
                "tool.completed" | "tool.failed" | "tool.blocked" => {
                    assert!(requested.contains(&draft.call), "an outcome comes after its request: {body}");
                }
                _ => {}
            }
            *kinds.entry(draft.kind.to_string()).or_default() += 1;
        }
        let count = |kind: &str| kinds.get(kind).copied().unwrap_or_default();
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
            assert!(count(kind) >= 10, "{kind}: {kinds:?}");
        }
        let share = |kind: &str| count(kind) * 100 / count("tool.requested");
        assert!(share("tool.completed") > 75 && (2..20).contains(&share("tool.failed")), "{kinds:?}");
    }
}
