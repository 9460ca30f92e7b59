//! Labelled runs: one conversation of an agent a record, with messages, tool calls and a reward.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::event_draft::EventDraft;
use super::gap::gap_of;
use super::json_text::JsonObject;
use super::mapped_events::{MappedEvents, MappingRefusal};

/// The mapping of runs to events.
pub(crate) struct Runs {
    /// The file's name without its ending.
    set: String,
    seen: HashSet<String>,
}

/// The most runs of one file whose names are compared; past it, the ledger finds a repeated name.
const MAX_NAMES: usize = 1_000_000;

#[derive(Deserialize)]
#[serde(expecting = "struct Run")]
struct RunRecord<'a> {
    #[serde(borrow)]
    task_id: &'a RawValue,
    trial: Option<u64>,
    #[serde(borrow)]
    reward: &'a RawValue,
    traj: Vec<RunMessage>,
}

#[derive(Deserialize)]
#[serde(expecting = "struct Message")]
struct RunMessage {
    role: String,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// A call that waits for its result.
struct RunCall {
    /// The call's name in the ledger: ids repeat within a run.
    name: String,
    at: usize,
    tool: String,
    /// The event that replaces its outcome if none comes.
    gap: EventDraft,
}

impl Runs {
    pub(crate) fn new(file: &str) -> Self {
        let base = file.rsplit('/').next().unwrap_or(file);
        let set = base.split('.').next().filter(|set| !set.is_empty()).unwrap_or(base);
        Self { set: set.to_owned(), seen: HashSet::new() }
    }

    pub(crate) fn map(&mut self, record: &[u8], number: u64) -> Result<MappedEvents, MappingRefusal> {
        let run: RunRecord<'_> = serde_json::from_slice(record).map_err(MappingRefusal::json)?;
        let task = run.task_id.get().trim_matches('"');
        let reward: f64 = serde_json::from_str(run.reward.get()).map_err(MappingRefusal::json)?;
        let mut name = format!("{}/{task}.{}", self.set, run.trial.unwrap_or_default());
        if self.seen.contains(&name) {
            name.push_str(&format!("#{number}"));
        } else if self.seen.len() < MAX_NAMES {
            self.seen.insert(name.clone());
        }
        let mapping = RunMapping { run: &name, source: format!("runs/{}", self.set) };
        let mut mapped = MappedEvents::default();
        let started = JsonObject::new()
            .text("run", &name)
            .text("kind", &self.set)
            .text("case", task)
            .maybe_raw("trial", run.trial)
            .text("assurance", "imported");
        mapped.events.push(mapping.event("started", "run.started", started));
        mapped.without_outcome = mapping.messages(&run.traj, &mut mapped.events);
        let calls = run.traj.iter().map(|message| message.tool_calls.as_deref().unwrap_or_default().len());
        // The run came to its end either way; the label says whether the end was the wanted one.
        let completed = JsonObject::new()
            .text("run", &name)
            .text("status", if reward > 0.0 { "success" } else { "failure" })
            .raw("reward", run.reward)
            .raw("messages", run.traj.len())
            .raw("calls", calls.sum::<usize>())
            .text("assurance", "imported");
        mapped.events.push(mapping.event("completed", "run.completed", completed));
        Ok(mapped)
    }
}

/// The mapping of one run.
struct RunMapping<'a> {
    run: &'a str,
    source: String,
}

impl RunMapping<'_> {
    fn event(&self, part: &str, kind: &'static str, data: JsonObject) -> EventDraft {
        EventDraft {
            id: format!("{}#{part}", self.run),
            source: self.source.clone(),
            kind: kind.into(),
            stream: format!("run/{}", self.run),
            run: Some(self.run.to_owned()),
            data: data.end(),
            ..EventDraft::default()
        }
    }

    /// Maps every message in order, and returns the number of calls without a result.
    fn messages(&self, messages: &[RunMessage], events: &mut Vec<EventDraft>) -> u64 {
        let mut open: HashMap<&str, RunCall> = HashMap::new();
        let mut names: HashMap<&str, u32> = HashMap::new();
        let mut without = Vec::new();
        for (at, message) in (1..).zip(messages) {
            for call in message.tool_calls.iter().flatten() {
                let times = names.entry(&call.id).or_default();
                *times += 1;
                let name = if *times == 1 { call.id.clone() } else { format!("{}~{times}", call.id) };
                let requested = self.requested(call, &name, at);
                let gap = gap_of(&requested, "no result of it follows in the run");
                events.push(requested);
                let call_open = RunCall { name, at, tool: call.function.name.clone(), gap };
                without.extend(open.insert(&call.id, call_open));
            }
            let text = message.content.as_deref().unwrap_or_default();
            match message.role.as_str() {
                "tool" => {
                    let id = message.tool_call_id.as_deref().unwrap_or_default();
                    events.extend(open.remove(id).map(|call| self.outcome(&call, text, message)));
                }
                "user" => {
                    let prompt = JsonObject::new().raw("prompt", digest(text)).text("source", "user");
                    events.push(self.event(&format!("{at}-prompt"), "turn.started", prompt));
                }
                _ => {}
            }
        }
        without.extend(open.into_values());
        without.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
        let count = without.len() as u64;
        events.extend(without.into_iter().map(|call| call.gap));
        count
    }

    fn requested(&self, call: &ToolCall, name: &str, at: usize) -> EventDraft {
        let data = JsonObject::new().text("call", name).text("tool", &call.function.name);
        // Arguments are JSON in a string. What is not JSON is kept as the string it is.
        let arguments = call.function.arguments.as_str();
        let data = match serde_json::from_str::<&RawValue>(arguments) {
            Ok(arguments) => data.raw("args", arguments),
            Err(_) => data.text("args", arguments),
        };
        let mut event = self.event(
            &format!("{at}-{name}-requested"),
            "tool.requested",
            data.text("assurance", "imported"),
        );
        event.call = Some(name.to_owned());
        event
    }

    fn outcome(&self, open: &RunCall, text: &str, message: &RunMessage) -> EventDraft {
        let failed = text.starts_with("Error");
        let data = JsonObject::new()
            .text("call", &open.name)
            .text("tool", message.name.as_deref().unwrap_or(&open.tool))
            .text("status", if failed { "error" } else { "ok" })
            .maybe("error_type", failed.then_some("error"))
            .raw("output", digest(text))
            .text("assurance", "imported");
        let kind = if failed { "tool.failed" } else { "tool.completed" };
        let mut event = self.event(&format!("{}-{}-outcome", open.at, open.name), kind, data);
        event.call = Some(open.name.clone());
        event
    }
}

/// Returns the digest and the length of a text, which are kept in its place.
pub(crate) fn digest(text: &str) -> String {
    let sha256 = hex::encode(Sha256::digest(text.as_bytes()));
    JsonObject::new().text("sha256", &sha256).raw("bytes", text.len()).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"task_id":3,"trial":1,"reward":1.0,"info":{},"traj":[
        {"role":"system","content":"be kind"},{"role":"user","content":"hello"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"x\": 1}"}}]},
        {"role":"tool","tool_call_id":"c","name":"look","content":"found"},
        {"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"nonsense"}},{"id":"d","type":"function","function":{"name":"do","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c","name":"look","content":"Error: no"}]}"#;

    #[test]
    fn a_run_is_told_from_start_to_end_and_every_call_is_its_own() {
        let mut runs = Runs::new("some/airline.json");
        let mapped = runs.map(RUN.as_bytes(), 1).unwrap();
        let told: Vec<(&str, &str)> =
            mapped.events.iter().map(|event| (event.id.as_str(), &*event.kind)).collect();
        assert_eq!(
            told,
            [
                ("airline/3.1#started", "run.started"),
                ("airline/3.1#2-prompt", "turn.started"),
                ("airline/3.1#3-c-requested", "tool.requested"),
                ("airline/3.1#3-c-outcome", "tool.completed"),
                ("airline/3.1#5-c~2-requested", "tool.requested"),
                ("airline/3.1#5-d-requested", "tool.requested"),
                ("airline/3.1#5-c~2-outcome", "tool.failed"),
                ("airline/3.1#5-d-gap", "coverage.gap"),
                ("airline/3.1#completed", "run.completed"),
            ]
        );
        assert_eq!(mapped.without_outcome, 1);
        assert!(mapped.events[2].data.contains(r#""args":{"x": 1}"#));
        assert!(mapped.events[4].data.contains(r#""args":"nonsense""#));
        let again = runs.map(RUN.as_bytes(), 9).unwrap();
        assert_eq!(again.events[0].id, "airline/3.1#9#started");
    }

    #[test]
    fn a_wrong_type_in_any_field_is_told() {
        for (right, wrong) in [
            ("\"reward\":1.0", "\"reward\":\"1\""),
            ("\"trial\":1", "\"trial\":[]"),
            ("\"role\":\"user\"", "\"role\":1"),
            ("\"content\":\"hello\"", "\"content\":{}"),
            ("\"arguments\":\"{}\"", "\"arguments\":{}"),
            ("\"traj\":[", "\"traj\":[7,"),
        ] {
            assert!(Runs::new("f").map(RUN.replace(right, wrong).as_bytes(), 1).is_err(), "{wrong}");
        }
    }
}
