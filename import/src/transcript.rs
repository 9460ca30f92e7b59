//! Transcripts of Claude Code: a session's prompts, answers, tool calls and their results.
//!
//! Every event depends only on lines that will never change, so that a longer transcript gives the same events and
//! more. A line that only repeats, or shows progress, makes no event.

mod entry;

use std::collections::{HashMap, HashSet, VecDeque};

use bitacora_formats::{Micros, parse_time};
use serde_json::value::RawValue;

use self::entry::{Block, MessageContent, TranscriptEntry, TranscriptMessage, Usage, result_text};
use super::actions::server_of;
use super::event_draft::EventDraft;
use super::gap::gap_of;
use super::json_text::JsonObject;
use super::mapped_events::{MappedEvents, MappingRefusal};
use super::outcome::CallEnding;
use super::runs::digest;

/// The most calls whose results are awaited. The tools of older ones are forgotten, and their results come without a tool.
const MAX_OPEN_CALLS: usize = 10_000;
/// The most sessions of one file whose start is stored.
const MAX_SESSIONS: usize = 10_000;
/// The age after which a file's last lines are complete: no answer is still being written, and no result is still awaited.
const PATIENCE: Micros = Micros(3_600_000_000);
/// The size of the part of a result's text that is kept beside its digest.
const SUMMARY_BYTES: usize = 256;
/// The model name of messages that the harness made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// The memory of the lines before.
#[derive(Default)]
pub(crate) struct Transcript {
    started: HashSet<String>,
    calls: HashMap<String, PendingCall>,
    /// The ids of `calls`, oldest first; some may be gone.
    call_order: VecDeque<String>,
    /// The number of forgotten calls that had no result by then.
    forgotten: u64,
    partial: Option<PartialMessage>,
}

struct PendingCall {
    tool: String,
    model: Option<String>,
    at: Option<Micros>,
    /// The event that replaces its result if none comes.
    gap: EventDraft,
}

/// The message of a model as far as it was read: one line for each of its blocks.
struct PartialMessage {
    id: String,
    event: EventDraft,
    model: String,
    usage: Usage,
    request: Option<String>,
    stop_reason: Option<String>,
    text_bytes: usize,
    calls: u64,
}

impl Transcript {
    pub(crate) fn map(&mut self, line: &[u8]) -> Result<MappedEvents, MappingRefusal> {
        let entry: TranscriptEntry<'_> = serde_json::from_slice(line).map_err(MappingRefusal::json)?;
        match entry.kind.as_str() {
            "assistant" => self.assistant(&entry),
            "user" => self.user(&entry),
            "system" => self.system(&entry),
            other => Ok(MappedEvents::passed_over(other.chars().take(40).collect::<String>())),
        }
    }

    /// Returns events for the calls without a result and for the last answer, if they are old enough to be complete.
    pub(crate) fn end(&mut self, now: Micros) -> MappedEvents {
        let is_past =
            |time: Option<Micros>| time.is_some_and(|time| time.0.saturating_add(PATIENCE.0) < now.0);
        let time_of =
            |partial: &PartialMessage| partial.event.time.as_deref().and_then(|time| parse_time(time).ok());
        let partial = self.partial.take().filter(|partial| is_past(time_of(partial)));
        let without_outcome = self.calls.len() as u64 + self.forgotten;
        let left = self.call_order.drain(..).filter_map(|call| self.calls.remove(&call));
        let gaps = left.filter(|open| is_past(open.at)).map(|open| open.gap);
        let events = partial.map(PartialMessage::into_event).into_iter().chain(gaps).collect();
        MappedEvents { events, without_outcome, passed_over: None }
    }

    /// Returns the id of the answer that the next line may continue.
    pub(crate) fn open_answer(&self) -> Option<&str> {
        self.partial.as_ref().map(|partial| partial.id.as_str())
    }

    /// Returns `true` if a line of that answer says why it stopped: such a line is written at its end.
    pub(crate) fn has_ended_answer(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.stop_reason.is_some())
    }

    /// Returns the event of that answer, if it has ended.
    pub(crate) fn take_ended_answer(&mut self) -> Option<EventDraft> {
        let ended = self.partial.take_if(|partial| partial.stop_reason.is_some());
        ended.map(PartialMessage::into_event)
    }

    fn assistant(&mut self, entry: &TranscriptEntry<'_>) -> Result<MappedEvents, MappingRefusal> {
        let origin = LineOrigin::of(entry)?;
        let message = entry.message("assistant")?;
        let MessageContent::Blocks(blocks) = message.content()? else {
            return Err(MappingRefusal::new("an assistant's message without a list of contents"));
        };
        let mut requested = Vec::new();
        for block in &blocks {
            if block.kind == "tool_use" {
                requested.push(origin.requested(entry, &message, block)?);
            }
        }
        let mut mapped = MappedEvents::default();
        mapped.events.extend(self.start(entry, &origin));
        mapped.events.extend(self.go_on(entry, &origin, &message, &blocks));
        for (call, tool, event) in requested {
            let gap = gap_of(&event, "no result of it follows in the transcript");
            let open = PendingCall { tool, model: message.model.clone(), at: origin.at, gap };
            self.remember(call, open);
            mapped.events.push(event);
        }
        if mapped.events.is_empty() {
            return Ok(MappedEvents::passed_over("part of an answer"));
        }
        Ok(mapped)
    }

    fn user(&mut self, entry: &TranscriptEntry<'_>) -> Result<MappedEvents, MappingRefusal> {
        let origin = LineOrigin::of(entry)?;
        let message = entry.message("user")?;
        let (mut told, mut ended) = (Vec::new(), Vec::new());
        match message.content()? {
            MessageContent::Text(_) if entry.is_meta => {}
            MessageContent::Text(text) => told.extend(origin.prompt(entry, &text)?),
            MessageContent::Blocks(blocks) => {
                let mut prompt = String::new();
                for block in &blocks {
                    match block.kind.as_str() {
                        "tool_result" => ended.push(self.result(entry, &origin, block)?),
                        "text" if !entry.is_meta => {
                            prompt.push_str(block.text.as_deref().unwrap_or_default());
                        }
                        _ => {}
                    }
                }
                if !prompt.is_empty() {
                    told.extend(origin.prompt(entry, &prompt)?);
                }
            }
        }
        // Nothing fails from here on: a line that makes no event leaves no trace.
        let mut mapped = MappedEvents::default();
        mapped.events.extend(self.start(entry, &origin));
        mapped.events.append(&mut told);
        for (call, event) in ended {
            if self.calls.remove(&call).is_none() {
                self.forgotten = self.forgotten.saturating_sub(1);
            }
            mapped.events.push(event);
        }
        if mapped.events.is_empty() {
            return Ok(MappedEvents::passed_over(if entry.is_meta {
                "note of the harness"
            } else {
                "local command"
            }));
        }
        Ok(mapped)
    }

    fn system(&mut self, entry: &TranscriptEntry<'_>) -> Result<MappedEvents, MappingRefusal> {
        let what = entry.subtype.as_deref().unwrap_or_default();
        let Some(duration_ms) = entry.duration_ms.filter(|_| what == "turn_duration") else {
            return Ok(MappedEvents::passed_over(format!(
                "system ({})",
                what.chars().take(40).collect::<String>()
            )));
        };
        let origin = LineOrigin::of(entry)?;
        let data = JsonObject::new()
            .text("stop_reason", "end_turn")
            .raw("duration_ms", duration_ms)
            .text("assurance", "imported");
        let ended = origin.event(origin.own_id(entry, "turn-ended")?, "turn.ended", data);
        Ok(MappedEvents { events: vec![ended], ..MappedEvents::default() })
    }

    /// Returns the start of a session, at the first line of a person or a model. Lines of subagents do not start it.
    fn start(&mut self, entry: &TranscriptEntry<'_>, origin: &LineOrigin) -> Option<EventDraft> {
        let is_own = !entry.is_sidechain && entry.agent_id.is_none();
        if !is_own || self.started.len() >= MAX_SESSIONS || self.started.contains(&origin.session) {
            return None;
        }
        self.started.insert(origin.session.clone());
        let data = JsonObject::new()
            .text("harness", "claude-code")
            .maybe("version", entry.version.as_deref())
            .maybe("cwd", entry.cwd.as_deref())
            .maybe("branch", entry.branch.as_deref())
            .text("assurance", "imported");
        Some(origin.event(format!("{}#started", origin.session), "session.started", data))
    }

    /// Takes in a line of an answer; returns the event of the answer before it, which is complete now.
    fn go_on(
        &mut self,
        entry: &TranscriptEntry<'_>,
        origin: &LineOrigin,
        message: &TranscriptMessage<'_>,
        blocks: &[Block<'_>],
    ) -> Option<EventDraft> {
        let (Some(id), Some(model), Some(usage)) = (&message.id, &message.model, message.usage) else {
            return None;
        };
        if model == SYNTHETIC {
            return None;
        }
        let calls = blocks.iter().filter(|block| block.kind == "tool_use").count() as u64;
        let text = blocks.iter().filter_map(|block| block.text.as_deref()).map(str::len).sum::<usize>();
        let mut ended = None;
        if self.partial.as_ref().is_none_or(|partial| partial.id != *id) {
            let event = origin.event(format!("{id}#called"), "model.called", JsonObject::new());
            let partial = PartialMessage {
                id: id.clone(),
                event,
                model: model.clone(),
                usage,
                request: entry.request_id.clone(),
                stop_reason: None,
                text_bytes: 0,
                calls: 0,
            };
            ended = self.partial.replace(partial);
        }
        if let Some(partial) = &mut self.partial {
            partial.usage = usage;
            partial.stop_reason = message.stop_reason.clone().or(partial.stop_reason.take());
            partial.event.time.clone_from(&origin.time);
            partial.text_bytes += text;
            partial.calls += calls;
        }
        ended.map(PartialMessage::into_event)
    }

    /// Returns the event of a call's result, and the call's id.
    fn result(
        &self,
        entry: &TranscriptEntry<'_>,
        origin: &LineOrigin,
        block: &Block<'_>,
    ) -> Result<(String, EventDraft), MappingRefusal> {
        let call = block.tool_use_id.clone().filter(|id| !id.is_empty());
        let call = call.ok_or_else(|| MappingRefusal::new("a tool result without tool_use_id"))?;
        let text = result_text(block.content)?;
        let ending = CallEnding::of_result(&text, block.is_error.unwrap_or_default());
        let open = self.calls.get(&call);
        let duration = open.and_then(|open| Some(origin.at?.0.checked_sub(open.at?.0)? / 1_000));
        let data = JsonObject::new()
            .text("call", &call)
            .maybe("tool", open.map(|open| open.tool.as_str()))
            .text("status", ending.status())
            .maybe("error_type", ending.error_type())
            .maybe_raw("exit_code", ending.exit_code())
            .maybe("by", ending.by())
            .maybe("model", open.and_then(|open| open.model.as_deref()))
            .maybe_raw("duration_ms", duration)
            .raw("output", digest(&text))
            .maybe("summary", Some(summary(&text)).filter(|summary| !summary.is_empty()))
            .maybe("cwd", entry.cwd.as_deref())
            .text("assurance", "imported");
        let mut event = origin.event(format!("{call}#outcome"), ending.kind(), data);
        event.call = Some(call.clone());
        Ok((call, event))
    }

    fn remember(&mut self, call: String, open: PendingCall) {
        while self.calls.len() >= MAX_OPEN_CALLS {
            let Some(oldest) = self.call_order.pop_front() else { break };
            self.forgotten += u64::from(self.calls.remove(&oldest).is_some());
        }
        if self.call_order.len() >= 2 * MAX_OPEN_CALLS {
            self.call_order.retain(|call| self.calls.contains_key(call));
        }
        self.call_order.push_back(call.clone());
        self.calls.insert(call, open);
    }
}

impl PartialMessage {
    fn into_event(self) -> EventDraft {
        let Usage { input, output, cache_read, cache_write } = self.usage;
        let tokens = JsonObject::new()
            .maybe_raw("in", input)
            .maybe_raw("out", output)
            .maybe_raw("cache_read", cache_read)
            .maybe_raw("cache_write", cache_write)
            .end();
        let data = JsonObject::new()
            .text("model", &self.model)
            .text("provider", "anthropic")
            .raw("tokens", tokens)
            .text("status", "ok")
            .maybe("stop_reason", self.stop_reason.as_deref())
            .maybe("request", self.request.as_deref())
            .raw("text_bytes", self.text_bytes)
            .raw("calls", self.calls)
            .text("assurance", "imported")
            .end();
        EventDraft { data, ..self.event }
    }
}

/// The author and time of a line.
struct LineOrigin {
    session: String,
    agent: String,
    time: Option<String>,
    at: Option<Micros>,
}

impl LineOrigin {
    fn of(entry: &TranscriptEntry<'_>) -> Result<Self, MappingRefusal> {
        let session = entry.session.clone().filter(|session| !session.is_empty());
        let session = session.ok_or_else(|| MappingRefusal::new("no sessionId"))?;
        let time = entry.timestamp.clone().ok_or_else(|| MappingRefusal::new("no timestamp"))?;
        let at = parse_time(&time).map_err(|error| MappingRefusal::new(format!("timestamp: {error}")))?;
        let agent = match (&entry.agent_id, entry.is_sidechain) {
            (Some(agent), _) => format!("claude-code/{agent}"),
            (None, true) => "claude-code/subagent".to_owned(),
            (None, false) => "claude-code".to_owned(),
        };
        Ok(Self { session, agent, time: Some(time), at: Some(at) })
    }

    fn event(&self, id: String, kind: &'static str, data: JsonObject) -> EventDraft {
        EventDraft {
            id,
            source: format!("claude-code/{}", self.session),
            kind: kind.into(),
            stream: format!("session/{}", self.session),
            time: self.time.clone(),
            agent: Some(self.agent.clone()),
            session: Some(self.session.clone()),
            data: data.end(),
            ..EventDraft::default()
        }
    }

    fn own_id(&self, entry: &TranscriptEntry<'_>, part: &str) -> Result<String, MappingRefusal> {
        let uuid = entry.uuid.as_deref().filter(|uuid| !uuid.is_empty());
        uuid.map(|uuid| format!("{uuid}#{part}")).ok_or_else(|| MappingRefusal::new("no uuid"))
    }

    /// Maps a line under a person's name. A prompt starts a turn, and the harness's note of an interruption ends one.
    /// All other such lines are the harness's own.
    fn prompt(&self, entry: &TranscriptEntry<'_>, text: &str) -> Result<Option<EventDraft>, MappingRefusal> {
        if text.starts_with("[Request interrupted by user") {
            let data = JsonObject::new().text("stop_reason", "interrupted").text("assurance", "imported");
            return Ok(Some(self.event(self.own_id(entry, "turn-ended")?, "turn.ended", data)));
        }
        if text.starts_with("<local-command-") || text.starts_with("<command-") {
            return Ok(None);
        }
        let source = if entry.is_sidechain || entry.agent_id.is_some() { "agent" } else { "user" };
        let data = JsonObject::new()
            .raw("prompt", digest(text))
            .text("source", source)
            .maybe("cwd", entry.cwd.as_deref())
            .maybe("branch", entry.branch.as_deref())
            .maybe("permission_mode", entry.permission_mode.as_deref())
            .text("assurance", "imported");
        Ok(Some(self.event(self.own_id(entry, "prompt")?, "turn.started", data)))
    }

    /// Returns the call's id, its tool, and the event.
    fn requested(
        &self,
        entry: &TranscriptEntry<'_>,
        message: &TranscriptMessage<'_>,
        block: &Block<'_>,
    ) -> Result<(String, String, EventDraft), MappingRefusal> {
        let call = block.id.clone().filter(|id| !id.is_empty());
        let call = call.ok_or_else(|| MappingRefusal::new("a tool use without id"))?;
        let tool = block.name.clone().ok_or_else(|| MappingRefusal::new("a tool use without name"))?;
        let data = JsonObject::new()
            .text("call", &call)
            .text("tool", &tool)
            .maybe("server", server_of(&tool))
            .raw("args", block.input.map_or("{}", RawValue::get))
            .maybe("model", message.model.as_deref())
            .maybe("cwd", entry.cwd.as_deref())
            .maybe("branch", entry.branch.as_deref())
            .maybe("harness_version", entry.version.as_deref())
            .maybe("request", entry.request_id.as_deref())
            .text("assurance", "imported");
        let mut event = self.event(format!("{call}#requested"), "tool.requested", data);
        event.call = Some(call.clone());
        Ok((call, tool, event))
    }
}

/// Returns the first bytes of a text, as whole characters.
fn summary(text: &str) -> &str {
    let mut end = text.len().min(SUMMARY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // A NUL is nothing that a ledger takes.
    text.get(..end).and_then(|text| text.split('\0').next()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
