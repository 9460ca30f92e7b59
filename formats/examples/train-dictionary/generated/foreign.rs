//! The same acts as other systems report them: hooks, transcripts, action logs and spans.
//!
//! The hooks and transcripts are those of coding agents. The spans follow OpenTelemetry's conventions for generative models.

use bitacora_formats::{Micros, format_time};

use super::json_text::Object;
use super::random::SplitMix;
use super::session::GeneratedSession;
use super::tools::GeneratedCall;

/// The form in which a client reports its calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As the interface of Bitacora has it.
    Own,
    Hooks,
    ActionLog,
    Transcript,
    Spans,
}

impl Dialect {
    pub(crate) fn choose(random: &mut SplitMix) -> Self {
        match random.between(0, 9) {
            0..4 => Self::Own,
            4..6 => Self::Hooks,
            6..8 => Self::ActionLog,
            8 => Self::Transcript,
            _ => Self::Spans,
        }
    }
}

/// A call that is asked for.
pub(crate) fn asked(
    session: &GeneratedSession,
    random: &mut SplitMix,
    id: &str,
    call: &GeneratedCall,
) -> String {
    let object = Object::new(session.spaced);
    match session.dialect {
        Dialect::Own => object
            .text("call", id)
            .text("tool", call.tool)
            .raw("args", &call.arguments)
            .text("model", session.model)
            .text("task_type", session.task)
            .maybe(random.chance(40), "cwd", &session.folder)
            .raw("interactive", random.chance(50))
            .end(),
        Dialect::Hooks => hook(session, object, "PreToolUse", random)
            .text("tool_name", call.tool)
            .raw("tool_input", &call.arguments)
            .text("tool_use_id", id)
            .end(),
        Dialect::ActionLog => action(session, object)
            .text("tool", call.tool)
            .raw("input", &call.arguments)
            .text("call", id)
            .end(),
        Dialect::Transcript => {
            let used = Object::new(session.spaced)
                .text("type", "tool_use")
                .text("id", id)
                .text("name", call.tool)
                .raw("input", &call.arguments)
                .end();
            let usage = Object::new(session.spaced)
                .raw("input_tokens", random.between(1, 90))
                .raw("cache_creation_input_tokens", random.between(0, 9_000))
                .raw("cache_read_input_tokens", random.between(0, 180_000))
                .raw("output_tokens", random.between(1, 3_000))
                .end();
            let message = Object::new(session.spaced)
                .text("id", &format!("msg_01{}", random.letters(22)))
                .text("type", "message")
                .text("role", "assistant")
                .text("model", session.model)
                .list("content", &[used])
                .raw("stop_reason", "null")
                .raw("usage", usage)
                .end();
            transcript(session, object, random).text("type", "assistant").raw("message", message).end()
        }
        Dialect::Spans => span(session, object, random, call.tool, id)
            .text("gen_ai.tool.call.arguments", &call.arguments)
            .text("gen_ai.request.model", session.model)
            .end(),
    }
}

/// Returns the event that reports the outcome of a call, in the client's dialect.
pub(crate) fn told(
    session: &GeneratedSession,
    random: &mut SplitMix,
    id: &str,
    call: &GeneratedCall,
    failed: bool,
) -> String {
    let object = Object::new(session.spaced);
    let summary = session.words.sentence(random, 12);
    match session.dialect {
        Dialect::Own => own_outcome(session, random, object.text("call", id).text("tool", call.tool), failed),
        Dialect::Hooks => {
            hook(session, object, if failed { "PostToolUseFailure" } else { "PostToolUse" }, random)
                .text("tool_name", call.tool)
                .raw("tool_input", &call.arguments)
                .raw(
                    "tool_response",
                    Object::new(session.spaced).text("stdout", &summary).text("stderr", "").end(),
                )
                .text("tool_use_id", id)
                .raw("duration_ms", random.between(2, 60_000))
                .end()
        }
        Dialect::ActionLog => action(session, object)
            .text("tool", call.tool)
            .raw("input", &call.arguments)
            .text("call", id)
            .text("request", &format!("req_011{}", random.letters(21)))
            .raw("tokens_in", random.between(0, 9))
            .raw("tokens_out", random.between(1, 900))
            .raw("cache_read", random.between(0, 180_000))
            .text("outcome", if failed { "exit_code" } else { "ok" })
            .text("ended_at", &session.now(random.between(1, 900)))
            .raw("output_len", random.between(0, 40_000))
            .text("output_sha256", &random.hex(64))
            .end(),
        Dialect::Transcript => {
            let result = Object::new(session.spaced)
                .text("tool_use_id", id)
                .text("type", "tool_result")
                .text("content", &summary)
                .raw("is_error", failed)
                .end();
            let message = Object::new(session.spaced).text("role", "user").list("content", &[result]).end();
            transcript(session, object, random).text("type", "user").raw("message", message).end()
        }
        Dialect::Spans => {
            let object =
                span(session, object, random, call.tool, id).text("gen_ai.tool.call.result", &summary);
            object.maybe(failed, "error.type", "tool_error").end()
        }
    }
}

fn own_outcome(session: &GeneratedSession, random: &mut SplitMix, object: Object, failed: bool) -> String {
    let object = if failed {
        object
            .text("status", "error")
            .text("error_type", random.pick(&["exit_code", "timeout", "tool_error", "permission_denied"]))
            .raw("exit_code", random.between(1, 127))
    } else {
        object.text("status", "ok").raw("exit_code", 0)
    };
    let tokens = Object::new(session.spaced)
        .raw("in", random.between(1, 4_000))
        .raw("out", random.between(1, 2_000))
        .raw("cache_read", random.between(0, 180_000))
        .end();
    object
        .raw("duration_ms", random.between(2, 60_000))
        .raw("tokens", tokens)
        .text("cost_usd", &format!("0.{:04}", random.between(1, 900)))
        .raw("output_len", random.between(0, 40_000))
        .text("output_sha256", &random.hex(64))
        .maybe(random.chance(30), "summary", &session.words.sentence(random, 12))
        .end()
}

fn hook(session: &GeneratedSession, object: Object, event: &str, random: &mut SplitMix) -> Object {
    let project = session.folder.replace('/', "-");
    object
        .text("session_id", &session.id)
        .text("transcript_path", &format!("{}/.claude/projects/{project}/{}.jsonl", session.home, session.id))
        .text("cwd", &session.folder)
        .text("permission_mode", random.pick(&["default", "acceptEdits", "plan", "bypassPermissions"]))
        .text("hook_event_name", event)
}

fn action(session: &GeneratedSession, object: Object) -> Object {
    object
        .text("at", &session.now(0))
        .text("session", &session.id)
        .text("cwd", &session.folder)
        .text("branch", &session.branch)
        .text("harness_version", &session.harness.1)
        .text("model", session.model)
}

fn transcript(session: &GeneratedSession, object: Object, random: &mut SplitMix) -> Object {
    object
        .text("parentUuid", &random.uuid4())
        .raw("isSidechain", "false")
        .text("userType", "external")
        .text("cwd", &session.folder)
        .text("sessionId", &session.id)
        .text("version", &session.harness.1)
        .text("gitBranch", &session.branch)
        .text("uuid", &random.uuid4())
        .text("timestamp", &session.now(0))
}

fn span(session: &GeneratedSession, object: Object, random: &mut SplitMix, tool: &str, id: &str) -> Object {
    object
        .text("name", &format!("execute_tool {tool}"))
        .text("traceId", &random.hex(32))
        .text("spanId", &random.hex(16))
        .text("parentSpanId", &random.hex(16))
        .text("startTimeUnixNano", &format!("{}000000", session.time_ms))
        .text("gen_ai.operation.name", "execute_tool")
        .text("gen_ai.agent.name", &session.agent)
        .text("gen_ai.conversation.id", &session.id)
        .text("gen_ai.tool.name", tool)
        .text("gen_ai.tool.call.id", id)
}

impl GeneratedSession {
    /// The session's time, `later` milliseconds on, as most writers of JSON put it.
    pub(crate) fn now(&self, later: u64) -> String {
        let text = format_time(Micros((self.time_ms + later) * 1_000));
        text.replace("000Z", "Z")
    }
}
