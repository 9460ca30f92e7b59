//! Action logs: one tool call of a coding agent's session a line, with its outcome.

use std::collections::HashSet;

use bitacora_formats::parse_time;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::event_draft::EventDraft;
use super::gap::gap_of;
use super::json_text::JsonObject;
use super::mapped_events::{MappedEvents, MappingRefusal};
use super::outcome::CallEnding;

/// The most sessions whose start is stored. Sessions past this get no start event.
const MAX_SESSIONS: usize = 100_000;

/// The mapping of actions to events.
#[derive(Default)]
pub(crate) struct Actions {
    started: HashSet<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "struct Action")]
struct ActionRecord<'a> {
    at: String,
    session: String,
    call: String,
    tool: String,
    outcome: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    cwd: Option<String>,
    branch: Option<String>,
    harness_version: Option<String>,
    model: Option<String>,
    request: Option<String>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    cache_read: Option<u64>,
    ended_at: Option<String>,
    output_len: Option<u64>,
    output_sha256: Option<String>,
}

impl Actions {
    pub(crate) fn map(&mut self, line: &[u8]) -> Result<MappedEvents, MappingRefusal> {
        let action: ActionRecord<'_> = serde_json::from_slice(line).map_err(MappingRefusal::json)?;
        let ending = CallEnding::of_action(&action.outcome)
            .ok_or_else(|| MappingRefusal::new(format!("outcome `{}` is not known", action.outcome)))?;
        let at = parse_time(&action.at).map_err(|error| MappingRefusal::new(format!("at: {error}")))?;
        let ended = action.ended_at.as_deref().map(parse_time).transpose();
        let ended = ended.map_err(|error| MappingRefusal::new(format!("ended_at: {error}")))?;
        let duration_ms = ended.map(|ended| ended.0.saturating_sub(at.0) / 1_000);
        let mut mapped = MappedEvents::default();
        if !self.started.contains(&action.session) && self.started.len() < MAX_SESSIONS {
            mapped.events.push(action.started());
            self.started.insert(action.session.clone());
        }
        let requested = action.requested();
        let ended = match ending {
            Some(ending) => action.outcome(ending, duration_ms),
            None => {
                mapped.without_outcome = 1;
                gap_of(&requested, "the log of actions says `none` of how it ended")
            }
        };
        mapped.events.extend([requested, ended]);
        Ok(mapped)
    }
}

impl ActionRecord<'_> {
    fn draft(&self, id: String, kind: &'static str, time: Option<&str>) -> EventDraft {
        EventDraft {
            id,
            source: format!("actions/{}", self.session),
            kind: kind.into(),
            stream: format!("session/{}", self.session),
            time: time.map(str::to_owned),
            agent: Some("claude-code".to_owned()),
            session: Some(self.session.clone()),
            ..EventDraft::default()
        }
    }

    fn started(&self) -> EventDraft {
        let mut draft = self.draft(format!("{}#started", self.session), "session.started", Some(&self.at));
        draft.data = JsonObject::new()
            .text("harness", "claude-code")
            .maybe("version", self.harness_version.as_deref())
            .maybe("model", self.model.as_deref())
            .maybe("cwd", self.cwd.as_deref())
            .maybe("branch", self.branch.as_deref())
            .text("assurance", "imported")
            .end();
        draft
    }

    fn requested(&self) -> EventDraft {
        let mut draft = self.draft(format!("{}#requested", self.call), "tool.requested", Some(&self.at));
        draft.call = Some(self.call.clone());
        let tokens = JsonObject::new()
            .maybe_raw("in", self.tokens_in)
            .maybe_raw("out", self.tokens_out)
            .maybe_raw("cache_read", self.cache_read)
            .end();
        draft.data = JsonObject::new()
            .text("call", &self.call)
            .text("tool", &self.tool)
            .maybe("server", server_of(&self.tool))
            .raw("args", self.input.map_or("{}", RawValue::get))
            .maybe("model", self.model.as_deref())
            .maybe("cwd", self.cwd.as_deref())
            .maybe("branch", self.branch.as_deref())
            .maybe("harness_version", self.harness_version.as_deref())
            .maybe("request", self.request.as_deref())
            .maybe_raw("tokens", (tokens != "{}").then_some(tokens))
            .text("assurance", "imported")
            .end();
        draft
    }

    fn outcome(&self, ending: CallEnding, duration_ms: Option<u64>) -> EventDraft {
        let time = self.ended_at.as_deref().or(Some(&self.at));
        let mut draft = self.draft(format!("{}#outcome", self.call), ending.kind(), time);
        draft.call = Some(self.call.clone());
        let output = JsonObject::new()
            .maybe("sha256", self.output_sha256.as_deref())
            .maybe_raw("bytes", self.output_len)
            .end();
        draft.data = JsonObject::new()
            .text("call", &self.call)
            .text("tool", &self.tool)
            .text("status", ending.status())
            .maybe("error_type", ending.error_type())
            .maybe_raw("exit_code", ending.exit_code())
            .maybe("by", ending.by())
            .maybe("model", self.model.as_deref())
            .maybe_raw("duration_ms", duration_ms)
            .maybe_raw("output", (output != "{}").then_some(output))
            .text("assurance", "imported")
            .end();
        draft
    }
}

/// Returns the MCP server in the name of a tool.
pub(crate) fn server_of(tool: &str) -> Option<&str> {
    Some(tool.strip_prefix("mcp__")?.split_once("__")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"at":"2026-01-05T15:02:06.978Z","session":"s1","cwd":"/w","branch":"b","harness_version":"2.0.76","model":"m","tool":"mcp__linear__get","input":{"id" : 1e2},"call":"c1","request":"r","tokens_in":2,"tokens_out":5,"cache_read":22033,"outcome":"ok","ended_at":"2026-01-05T15:02:16.399Z","output_len":17,"output_sha256":"ab"}"#;

    fn mapped(line: &str) -> Result<MappedEvents, MappingRefusal> {
        Actions::default().map(line.as_bytes())
    }

    #[test]
    fn an_action_becomes_a_request_and_an_outcome() {
        let mut actions = Actions::default();
        let events = actions.map(LINE.as_bytes()).unwrap().events;
        let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids, ["s1#started", "c1#requested", "c1#outcome"]);
        assert!(events[1].data.contains(r#""server":"linear","args":{"id" : 1e2},"model":"m""#));
        assert!(events[1].data.contains(r#""tokens":{"in":2,"out":5,"cache_read":22033}"#));
        assert!(events[2].data.contains(r#""status":"ok","model":"m","duration_ms":9421,"#));
        assert_eq!(events[2].time.as_deref(), Some("2026-01-05T15:02:16.399Z"));
        assert_eq!(events[2].stream, "session/s1");
        assert_eq!(actions.map(LINE.as_bytes()).unwrap().events.len(), 2, "a session starts once");
    }

    #[test]
    fn a_call_without_outcome_leaves_a_gap() {
        let none = mapped(&LINE.replace(r#""ok""#, r#""none""#)).unwrap();
        assert_eq!((none.events.len(), none.without_outcome), (3, 1));
        let gap = &none.events[2];
        assert_eq!(
            (gap.id.as_str(), &*gap.kind, gap.stream.as_str()),
            ("c1#gap", "coverage.gap", "session/s1")
        );
        assert_eq!((gap.call.as_deref(), &gap.time), (Some("c1"), &none.events[1].time));
        assert!(gap.data.starts_with(r#"{"call":"c1","evidence":"#), "{}", gap.data);
        assert!(gap.data.ends_with(r#""missing":"outcome","assurance":"imported"}"#), "{}", gap.data);
    }

    #[test]
    fn a_wrong_type_in_any_field_is_told_and_never_guessed_at() {
        for field in [
            "at",
            "session",
            "cwd",
            "branch",
            "harness_version",
            "model",
            "tool",
            "call",
            "request",
            "tokens_in",
            "tokens_out",
            "cache_read",
            "outcome",
            "ended_at",
            "output_len",
            "output_sha256",
        ] {
            let mut line: serde_json::Value = serde_json::from_str(LINE).unwrap();
            for wrong in [serde_json::json!([1]), serde_json::json!({"x": 1}), serde_json::json!(-1.5)] {
                line[field] = wrong;
                assert!(mapped(&line.to_string()).is_err(), "{field}: {line}");
            }
        }
        assert!(mapped(&LINE.replace("\"ok\"", "\"approved\"")).is_err());
        assert!(mapped(&LINE.replace("2026-01-05T15:02:06.978Z", "yesterday")).is_err());
        assert!(mapped("").is_err() && mapped("[]").is_err() && mapped("7").is_err());
    }
}
