//! Rollouts of Codex: one JSON object a line, `{timestamp, type, payload}`.
//!
//! Only the first line names the session, so a reader that begins later needs the context of the one before.

use std::borrow::Cow;

use bitacora_formats::parse_time;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::TranscriptContext;
use crate::event_draft::EventDraft;
use crate::json_text::JsonObject;
use crate::mapped_events::MappingRefusal;
use crate::outcome::CallEnding;
use crate::runs::digest;

/// The tools that run a command of a shell. Hooks call all of them `Bash`, so one policy is for all harnesses.
const SHELLS: [&str; 3] = ["exec_command", "shell", "local_shell"];
/// The name of a shell in hooks.
const SHELL: &str = "Bash";
/// The tools whose results are Codex's own words, so that their beginning says whether they ran. A server's tool may answer
/// with any words.
const OWN_TOOLS: [&str; 5] = ["Bash", "apply_patch", "write_stdin", "update_plan", "view_image"];
/// The beginnings of results of calls that a hook blocked.
const BLOCKED: [&str; 2] = ["Command blocked by PreToolUse hook: ", "Tool call blocked by PreToolUse hook: "];
/// The beginnings of results of calls that the user refused.
const REFUSED: [&str; 3] = ["exec command rejected by user", "patch rejected by user", "rejected by user"];
/// The text before a program's exit code.
const EXIT_CODE: &str = "Process exited with code ";
/// The bytes of a result in which its exit code is looked for: the program's own output comes behind.
const HEAD_BYTES: usize = 512;
/// The most calls whose results are awaited.
const MAX_OPEN_CALLS: usize = 1_000;

/// The memory of the lines before.
pub(super) struct CodexRollout {
    context: TranscriptContext,
    /// Tools of the calls without a result, the oldest first.
    open: Vec<(String, String)>,
    /// The tokens of the thread at the last answer. Two kinds of lines tell of the same answer.
    counted: Option<u64>,
}

#[derive(Deserialize)]
#[serde(expecting = "a line of a rollout")]
struct RolloutLine<'a> {
    timestamp: String,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SessionMeta {
    id: String,
    session_id: Option<String>,
    cwd: Option<String>,
    cli_version: Option<String>,
}

#[derive(Deserialize)]
struct TurnContext {
    model: Option<String>,
}

#[derive(Deserialize)]
struct ResponseItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    name: Option<String>,
    call_id: Option<String>,
    arguments: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TokenUsage {
    response_id: Option<String>,
    usage: Usage,
    thread_token_usage: Usage,
}

#[derive(Deserialize)]
struct EventMessage<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    info: Option<TokenInfo>,
}

#[derive(Deserialize)]
struct TokenInfo {
    total_token_usage: Usage,
    last_token_usage: Usage,
}

/// Tokens as the provider counts them: those of the cache are among those that were read.
#[derive(Clone, Copy, Deserialize)]
struct Usage {
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    cache_write_input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

impl CodexRollout {
    pub(super) fn new(context: TranscriptContext) -> Self {
        Self { context, open: Vec::new(), counted: None }
    }

    pub(super) fn context(&self) -> &TranscriptContext {
        &self.context
    }

    pub(super) fn map(&mut self, line: &[u8]) -> Result<Vec<EventDraft>, MappingRefusal> {
        let line: RolloutLine<'_> = serde_json::from_slice(line).map_err(MappingRefusal::json)?;
        parse_time(&line.timestamp).map_err(|error| MappingRefusal::new(format!("timestamp: {error}")))?;
        let payload = line.payload.map_or("null", RawValue::get);
        let event = match &*line.kind {
            "session_meta" => self.started(&line, &parsed(payload)?),
            "turn_context" => {
                let turn: TurnContext = parsed(payload)?;
                self.context.model = turn.model.or(self.context.model.take());
                None
            }
            "response_item" => self.item(&line, &parsed(payload)?)?,
            "token_usage_record" => {
                let TokenUsage { response_id, usage, thread_token_usage } = parsed(payload)?;
                self.answered(&line, usage, thread_token_usage.total_tokens, response_id.as_deref())?
            }
            "event_msg" => {
                let message: EventMessage<'_> = parsed(payload)?;
                match message.info.filter(|_| message.kind == "token_count") {
                    Some(TokenInfo { total_token_usage, last_token_usage }) => {
                        self.answered(&line, last_token_usage, total_token_usage.total_tokens, None)?
                    }
                    None => None,
                }
            }
            _ => None,
        };
        Ok(event.into_iter().collect())
    }

    fn started(&mut self, line: &RolloutLine<'_>, meta: &SessionMeta) -> Option<EventDraft> {
        let session = meta.session_id.clone().unwrap_or_else(|| meta.id.clone());
        self.context.run = (session != meta.id).then(|| meta.id.clone());
        self.context.session = Some(session.clone());
        self.context.cwd.clone_from(&meta.cwd);
        if self.context.run.is_some() {
            return None;
        }
        let data = JsonObject::new()
            .text("harness", "codex")
            .maybe("version", meta.cli_version.as_deref())
            .maybe("cwd", meta.cwd.as_deref())
            .text("assurance", "imported");
        self.event(line, format!("{session}#started"), "session.started", data).ok()
    }

    fn item(
        &mut self,
        line: &RolloutLine<'_>,
        item: &ResponseItem<'_>,
    ) -> Result<Option<EventDraft>, MappingRefusal> {
        match &*item.kind {
            "function_call" | "custom_tool_call" | "local_shell_call" => self.requested(line, item).map(Some),
            "function_call_output" | "custom_tool_call_output" => self.ended(line, item).map(Some),
            _ => Ok(None),
        }
    }

    fn requested(
        &mut self,
        line: &RolloutLine<'_>,
        item: &ResponseItem<'_>,
    ) -> Result<EventDraft, MappingRefusal> {
        let call = call_id(item)?;
        let name = item.name.as_deref().unwrap_or("local_shell");
        let (tool, args) = if SHELLS.contains(&name) {
            (SHELL, shell_args(item.arguments.as_deref()))
        } else {
            (name, own_args(item))
        };
        let data = JsonObject::new()
            .text("call", &call)
            .text("tool", tool)
            .raw("args", args)
            .maybe("model", self.context.model.as_deref())
            .maybe("cwd", self.context.cwd.as_deref())
            .text("assurance", "imported");
        if self.open.len() >= MAX_OPEN_CALLS {
            self.open.remove(0);
        }
        self.open.push((call.clone(), tool.to_owned()));
        let mut event = self.event(line, format!("{call}#requested"), "tool.requested", data)?;
        event.call = Some(call);
        Ok(event)
    }

    fn ended(
        &mut self,
        line: &RolloutLine<'_>,
        item: &ResponseItem<'_>,
    ) -> Result<EventDraft, MappingRefusal> {
        let call = call_id(item)?;
        let at = self.open.iter().position(|(open, _)| *open == call);
        let tool = at.map(|at| self.open.remove(at).1);
        let output = item.output.map_or("\"\"", RawValue::get);
        let text = serde_json::from_str::<String>(output).unwrap_or_else(|_| output.to_owned());
        let ending = ending_of(tool.as_deref(), &text);
        let data = JsonObject::new()
            .text("call", &call)
            .maybe("tool", tool.as_deref())
            .text("status", ending.status())
            .maybe("error_type", ending.error_type())
            .maybe_raw("exit_code", ending.exit_code())
            .maybe("by", ending.by())
            .raw("output", digest(&text))
            .text("assurance", "imported");
        let mut event = self.event(line, format!("{call}#outcome"), ending.kind(), data)?;
        event.call = Some(call);
        Ok(event)
    }

    /// Returns the event of an answer. Its id is the number of tokens of the thread, which every answer raises and which both
    /// kinds of lines name.
    fn answered(
        &mut self,
        line: &RolloutLine<'_>,
        usage: Usage,
        thread: u64,
        request: Option<&str>,
    ) -> Result<Option<EventDraft>, MappingRefusal> {
        if self.counted == Some(thread) {
            return Ok(None);
        }
        self.counted = Some(thread);
        let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_input_tokens);
        let tokens = JsonObject::new()
            .raw("in", usage.input_tokens.saturating_sub(cached))
            .raw("out", usage.output_tokens)
            .raw("cache_read", usage.cached_input_tokens)
            .raw("cache_write", usage.cache_write_input_tokens)
            .end();
        let data = JsonObject::new()
            .text("model", self.context.model.as_deref().unwrap_or("unknown"))
            .text("provider", "openai")
            .raw("tokens", tokens)
            .text("status", "ok")
            .maybe("request", request)
            .text("assurance", "imported");
        let thread_id = self.context.run.as_deref().or(self.context.session.as_deref());
        let id = format!("{}#tokens-{thread}#called", thread_id.unwrap_or_default());
        self.event(line, id, "model.called", data).map(Some)
    }

    fn event(
        &self,
        line: &RolloutLine<'_>,
        id: String,
        kind: &'static str,
        data: JsonObject,
    ) -> Result<EventDraft, MappingRefusal> {
        let session = self.context.session.clone();
        let session = session.ok_or_else(|| MappingRefusal::new("no session_meta before it"))?;
        Ok(EventDraft {
            id,
            source: format!("codex/{session}"),
            kind: kind.into(),
            stream: format!("session/{session}"),
            time: Some(line.timestamp.clone()),
            agent: Some("codex".to_owned()),
            run: self.context.run.clone(),
            session: Some(session),
            data: data.end(),
            ..EventDraft::default()
        })
    }
}

fn parsed<'a, T: Deserialize<'a>>(payload: &'a str) -> Result<T, MappingRefusal> {
    serde_json::from_str(payload).map_err(|error| MappingRefusal::new(format!("payload: {error}")))
}

fn call_id(item: &ResponseItem<'_>) -> Result<String, MappingRefusal> {
    let call = item.call_id.clone().filter(|call| !call.is_empty());
    call.ok_or_else(|| MappingRefusal::new(format!("a {} without call_id", item.kind)))
}

/// Returns the arguments of a shell, under the name that hooks give them.
fn shell_args(arguments: Option<&str>) -> String {
    #[derive(Deserialize)]
    struct Command {
        #[serde(alias = "command")]
        cmd: serde_json::Value,
    }
    let command = arguments.and_then(|arguments| serde_json::from_str::<Command>(arguments).ok());
    match command {
        Some(Command { cmd }) => JsonObject::new().raw("command", cmd).end(),
        None => "{}".to_owned(),
    }
}

fn own_args(item: &ResponseItem<'_>) -> String {
    let is_object =
        |text: &&str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    match (item.arguments.as_deref().filter(is_object), item.input) {
        (Some(arguments), _) => arguments.to_owned(),
        (None, Some(input)) => JsonObject::new().raw("input", input.get()).end(),
        (None, None) => "{}".to_owned(),
    }
}

/// Tells how a call ended, by the beginning of its result. Of a tool whose words are not Codex's own, nothing shows that it
/// did not run.
fn ending_of(tool: Option<&str>, text: &str) -> CallEnding {
    if !tool.is_some_and(|tool| OWN_TOOLS.contains(&tool)) {
        return CallEnding::Ok;
    }
    if BLOCKED.iter().any(|begin| text.starts_with(begin)) {
        return CallEnding::HookBlocked;
    }
    if REFUSED.iter().any(|begin| text.starts_with(begin)) {
        return CallEnding::Rejected;
    }
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let head = text.get(..end).unwrap_or_default();
    let head = head.split("\nOutput:\n").next().unwrap_or_default();
    let code = head.split_once(EXIT_CODE).and_then(|(_, code)| code.lines().next()?.trim().parse().ok());
    match code {
        None | Some(0) => CallEnding::Ok,
        failed => CallEnding::ExitCode(failed),
    }
}
