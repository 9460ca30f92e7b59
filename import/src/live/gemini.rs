//! Chats of Gemini CLI: a header with the session, then one message a line. A message that changes is written again.

use std::collections::{HashSet, VecDeque};

use bitacora_formats::parse_time;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::TranscriptContext;
use crate::event_draft::EventDraft;
use crate::json_text::JsonObject;
use crate::mapped_events::MappingRefusal;
use crate::outcome::CallEnding;
use crate::runs::digest;

/// Gemini's name of its shell.
const OWN_SHELL: &str = "run_shell_command";
/// The name of a shell in hooks.
const SHELL: &str = "Bash";
/// The tools whose results are Gemini's own words. A server's tool may answer with any words.
const OWN_TOOLS: [&str; 9] = [
    OWN_SHELL,
    "write_file",
    "replace",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "search_file_content",
    "grep_search",
];
/// The beginning of the error of a call that a hook blocked.
const BLOCKED: &str = "Tool execution blocked: ";
/// The kind of a subagent's chat. Its header names the subagent; the session is that of the folder, which the caller knows.
const SUBAGENT: &str = "subagent";
/// The most ids of calls and answers that are remembered, so that a message written again gives nothing new.
const MAX_REMEMBERED: usize = 10_000;

/// The memory of the lines before.
pub(super) struct GeminiChat {
    context: TranscriptContext,
    told: HashSet<String>,
    /// The ids of `told`, the oldest first.
    order: VecDeque<String>,
}

/// A line: the header, a message, or a change of the header.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a line of a chat")]
struct ChatLine<'a> {
    session_id: Option<String>,
    start_time: Option<String>,
    kind: Option<String>,
    #[serde(rename = "$set", borrow)]
    set: Option<ChatChange<'a>>,
    id: Option<String>,
    timestamp: Option<String>,
    model: Option<String>,
    tokens: Option<ChatTokens>,
    #[serde(borrow, default)]
    tool_calls: Vec<ChatCall<'a>>,
}

#[derive(Deserialize)]
struct ChatChange<'a> {
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
}

/// Tokens as the provider counts them: those of the cache are among those that were read.
#[derive(Deserialize)]
struct ChatTokens {
    input: u64,
    output: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    thoughts: u64,
    #[serde(default)]
    tool: u64,
}

#[derive(Deserialize)]
struct ChatCall<'a> {
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    status: String,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultPart {
    function_response: FunctionResponse,
}

#[derive(Deserialize)]
struct FunctionResponse {
    response: ResponseMembers,
}

#[derive(Deserialize)]
struct ResponseMembers {
    error: String,
}

impl GeminiChat {
    pub(super) fn new(context: TranscriptContext) -> Self {
        Self { context, told: HashSet::new(), order: VecDeque::new() }
    }

    pub(super) fn context(&self) -> &TranscriptContext {
        &self.context
    }

    pub(super) fn map(&mut self, line: &[u8]) -> Result<Vec<EventDraft>, MappingRefusal> {
        let line: ChatLine<'_> = serde_json::from_slice(line).map_err(MappingRefusal::json)?;
        let mut events = Vec::new();
        if let (Some(session), Some(start)) = (&line.session_id, &line.start_time) {
            checked(start)?;
            if line.kind.as_deref() == Some(SUBAGENT) && self.context.session.is_some() {
                self.context.run = Some(session.clone());
                return Ok(events);
            }
            self.context.session = Some(session.clone());
            let data = JsonObject::new().text("harness", "gemini-cli").text("assurance", "imported");
            events.push(self.event(format!("{session}#started"), start, "session.started", data)?);
        }
        for message in line.set.iter().flat_map(|set| &set.messages) {
            let message: ChatLine<'_> = serde_json::from_str(message.get()).map_err(MappingRefusal::json)?;
            self.message(&message, &mut events)?;
        }
        self.message(&line, &mut events)?;
        Ok(events)
    }

    fn message(
        &mut self,
        message: &ChatLine<'_>,
        events: &mut Vec<EventDraft>,
    ) -> Result<(), MappingRefusal> {
        let (Some(id), Some(time)) = (&message.id, &message.timestamp) else { return Ok(()) };
        checked(time)?;
        if let (Some(model), Some(tokens)) = (&message.model, &message.tokens)
            && self.is_new(id)
        {
            events.push(self.answered(id, time, model, tokens)?);
        }
        for call in &message.tool_calls {
            let time = call.timestamp.as_deref().unwrap_or(time);
            checked(time)?;
            let Some(ending) = ending_of(call) else { continue };
            if !call.id.is_empty() && self.is_new(&call.id) {
                events.push(self.requested(call, time, message.model.as_deref())?);
                events.push(self.ended(call, time, ending)?);
            }
        }
        Ok(())
    }

    /// Returns `true` the first time.
    fn is_new(&mut self, id: &str) -> bool {
        if !self.told.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
        true
    }

    fn answered(
        &self,
        id: &str,
        time: &str,
        model: &str,
        tokens: &ChatTokens,
    ) -> Result<EventDraft, MappingRefusal> {
        let tokens = JsonObject::new()
            .raw("in", tokens.input.saturating_sub(tokens.cached).saturating_add(tokens.tool))
            .raw("out", tokens.output.saturating_add(tokens.thoughts))
            .raw("cache_read", tokens.cached)
            .end();
        let data = JsonObject::new()
            .text("model", model)
            .text("provider", "google")
            .raw("tokens", tokens)
            .text("status", "ok")
            .text("request", id)
            .text("assurance", "imported");
        self.event(format!("{id}#called"), time, "model.called", data)
    }

    fn requested(
        &self,
        call: &ChatCall<'_>,
        time: &str,
        model: Option<&str>,
    ) -> Result<EventDraft, MappingRefusal> {
        let data = JsonObject::new()
            .text("call", &call.id)
            .text("tool", tool_of(call))
            .raw("args", call.args.map_or("{}", RawValue::get))
            .maybe("model", model)
            .text("assurance", "imported");
        let event = self.event(format!("{}#requested", call.id), time, "tool.requested", data)?;
        Ok(EventDraft { call: Some(call.id.clone()), ..event })
    }

    fn ended(
        &self,
        call: &ChatCall<'_>,
        time: &str,
        ending: CallEnding,
    ) -> Result<EventDraft, MappingRefusal> {
        let data = JsonObject::new()
            .text("call", &call.id)
            .text("tool", tool_of(call))
            .text("status", ending.status())
            .maybe("error_type", ending.error_type())
            .maybe("by", ending.by())
            .raw("output", digest(call.result.map_or("", RawValue::get)))
            .text("assurance", "imported");
        let event = self.event(format!("{}#outcome", call.id), time, ending.kind(), data)?;
        Ok(EventDraft { call: Some(call.id.clone()), ..event })
    }

    fn event(
        &self,
        id: String,
        time: &str,
        kind: &'static str,
        data: JsonObject,
    ) -> Result<EventDraft, MappingRefusal> {
        let session = self.context.session.clone();
        let session = session.ok_or_else(|| MappingRefusal::new("no header with a session before it"))?;
        Ok(EventDraft {
            id,
            source: format!("gemini-cli/{session}"),
            kind: kind.into(),
            stream: format!("session/{session}"),
            time: Some(time.to_owned()),
            agent: Some("gemini-cli".to_owned()),
            run: self.context.run.clone(),
            session: Some(session),
            data: data.end(),
            ..EventDraft::default()
        })
    }
}

fn checked(time: &str) -> Result<(), MappingRefusal> {
    parse_time(time).map(drop).map_err(|error| MappingRefusal::new(format!("timestamp: {error}")))
}

fn tool_of<'a>(call: &'a ChatCall<'_>) -> &'a str {
    if call.name == OWN_SHELL { SHELL } else { &call.name }
}

/// Tells how a call ended; `None` while it has not. Only words of Gemini's own tools show that a call did not run.
fn ending_of(call: &ChatCall<'_>) -> Option<CallEnding> {
    match call.status.as_str() {
        "success" => Some(CallEnding::Ok),
        "cancelled" => Some(CallEnding::Rejected),
        "error" if OWN_TOOLS.contains(&call.name.as_str()) && error_of(call).starts_with(BLOCKED) => {
            Some(CallEnding::HookBlocked)
        }
        "error" => Some(CallEnding::Error),
        _ => None,
    }
}

fn error_of(call: &ChatCall<'_>) -> String {
    let parts = call.result.and_then(|result| serde_json::from_str::<Vec<ResultPart>>(result.get()).ok());
    let first = parts.and_then(|parts| parts.into_iter().next());
    first.map(|part| part.function_response.response.error).unwrap_or_default()
}
