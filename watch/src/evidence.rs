//! Evidence of transcripts: calls and answers, as the events that are recorded of them.

use bitacora_formats::limits::MAX_ID_BYTES;
use bitacora_formats::text_problem;
use bitacora_import::{EventDraft, JsonObject};
use bitacora_redaction::Redactor;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::followed::SeenCall;

/// The beginning of the sources of these events.
const SOURCE: &str = "bitacora-watch";
/// The missing half of a call that dodged the gate.
pub(crate) const MISSING_DECISION: &str = "decision";
/// The beginning of the names of tools of servers. Their results have any words, so their words prove nothing.
const SERVER_TOOLS: &str = "mcp_";
/// The kind of error of a call that the harness refused before any hook.
const REFUSED: &str = "tool_use_error";
/// The beginning of such an error of a tool that did run.
const FAILED_WITHIN: &str = "<tool_use_error>Error calling tool";
/// The beginnings of results of calls that the harness's own rules refused.
const NOT_PERMITTED: [&str; 2] = ["Claude requested permissions to ", "Permission to use "];

/// The most characters of a tool's or a file's name in evidence.
const MAX_SHOWN_CHARS: usize = 256;

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallEnd {
    /// `false` if the transcript proves that it did not run.
    pub(crate) ran: bool,
    /// `true` if its end proves that it ran.
    pub(crate) surely_ran: bool,
    /// Its status in one word.
    pub(crate) status: String,
}

#[derive(Deserialize)]
struct RequestData {
    tool: String,
    args: Box<RawValue>,
}

#[derive(Deserialize)]
struct EndData {
    status: String,
    error_type: Option<String>,
    summary: Option<String>,
}

/// Reads tool and arguments of a request.
pub(crate) fn request_of(data: &str) -> Option<(String, String)> {
    let RequestData { tool, args } = serde_json::from_str(data).ok()?;
    Some((tool, args.get().to_owned()))
}

/// Reads how a call ended. A call ran, unless words of the harness itself say that it did not.
pub(crate) fn end_of(tool: &str, data: &str) -> CallEnd {
    let Ok(EndData { status, error_type, summary }) = serde_json::from_str(data) else {
        return CallEnd { ran: true, surely_ran: false, status: "unknown".to_owned() };
    };
    let summary = summary.unwrap_or_default();
    let is_refused = match (status.as_str(), error_type.as_deref()) {
        ("rejected" | "blocked", _) => true,
        (_, Some(REFUSED)) => !summary.starts_with(FAILED_WITHIN),
        ("error", _) => NOT_PERMITTED.iter().any(|begin| summary.starts_with(begin)),
        _ => false,
    };
    let surely_ran = status == "ok" || error_type.as_deref() == Some("exit_code");
    CallEnd { ran: !is_refused || tool.starts_with(SERVER_TOOLS), surely_ran, status }
}

/// Returns the digest of tool and arguments, as the ledger keeps them: without secrets, whatever the blanks.
pub(crate) fn args_key(tool: &str, args: &str) -> blake3::Hash {
    let redacted = Redactor::new().redact_json(args.as_bytes()).map(|(json, _)| json);
    let args = redacted.as_deref().unwrap_or(args.as_bytes());
    let canonical = serde_json::from_slice::<Value>(args).map(|args| args.to_string());
    let mut hasher = blake3::Hasher::new();
    hasher.update(tool.as_bytes());
    hasher.update(&[0]);
    hasher.update(canonical.as_deref().unwrap_or_default().as_bytes());
    hasher.finalize()
}

/// The reason why a call is a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dodge {
    /// The gate has no record of it.
    Unasked,
    /// The gate said that it may not run.
    NotAllowed,
    /// No end of it follows, and the gate has no record of it.
    Unfinished,
}

/// The evidence of a call that dodged the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GapEvidence {
    /// The text before the position in the transcript.
    place: String,
    /// The position, bytes.
    at: u64,
    /// The text behind it.
    what: String,
}

impl GapEvidence {
    /// Returns the evidence as it is recorded.
    pub(crate) fn text(&self) -> String {
        let Self { place, at, what } = self;
        format!("{place}{at}{what}")
    }

    /// Returns the evidence of a gap whose id another event has.
    pub(crate) fn of_taken_id(&self) -> Self {
        Self { what: format!("{}; another event has the id of this gap", self.what), ..self.clone() }
    }

    /// Returns `true` if a recorded text is this evidence. A transcript that was rewritten shows the same call at another position.
    pub(crate) fn is_told_by(&self, recorded: &str) -> bool {
        let at = recorded.strip_prefix(&self.place).and_then(|rest| rest.strip_suffix(&self.what));
        at.is_some_and(|at| at.parse::<u64>().is_ok_and(|number| number.to_string() == at))
    }
}

/// Returns the event of a call that dodged the gate. It has no arguments, because operators' notices have none.
pub(crate) fn gap_event(
    harness: &str,
    file: &str,
    call: &SeenCall,
    dodge: Dodge,
) -> (EventDraft, GapEvidence) {
    let (tool, file) = (plain(&call.tool), plain(file));
    let status = call.end.as_ref().map_or("unknown", |end| end.status.as_str());
    let what = match dodge {
        Dodge::Unasked => format!("`{tool}` ended ({status}), and the gate was not asked"),
        Dodge::NotAllowed => format!("`{tool}` ran ({status}), although the gate did not allow it"),
        Dodge::Unfinished => format!("`{tool}` has no end within an hour, and the gate was not asked"),
    };
    let place = format!("transcript {file} of {harness} at byte ");
    let evidence = GapEvidence { place, at: call.at, what: format!(": {what}") };
    let event = EventDraft {
        id: bounded(format!("{}#{}#gap", call.session, call.call)),
        source: format!("{SOURCE}/{harness}"),
        kind: "coverage.gap".into(),
        stream: format!("session/{}", call.session),
        time: Some(call.time.clone()).filter(|time| !time.is_empty()),
        session: Some(call.session.clone()),
        run: call.run.clone(),
        call: Some(call.call.clone()),
        data: gap_data(call, &evidence.text()),
        ..EventDraft::default()
    };
    (event, evidence)
}

/// Returns the data of a gap.
pub(crate) fn gap_data(call: &SeenCall, evidence: &str) -> String {
    JsonObject::new()
        .text("call", &call.call)
        .text("evidence", evidence)
        .text("missing", MISSING_DECISION)
        .end()
}

/// Returns the event of an answer, as this connection records it: the transcript is its source, and nobody imports it.
pub(crate) fn answer_event(harness: &str, draft: &EventDraft) -> EventDraft {
    let data = match serde_json::from_str::<Map<String, Value>>(&draft.data) {
        Ok(mut data) => {
            data.remove("assurance");
            Value::Object(data).to_string()
        }
        Err(_) => draft.data.clone(),
    };
    let session = draft.session.as_deref().unwrap_or_default();
    EventDraft {
        id: bounded(format!("{session}#{}", draft.id)),
        source: format!("{SOURCE}/{harness}"),
        run: draft.run.clone().or_else(|| Some(draft.agent.as_deref()?.split_once('/')?.1.to_owned())),
        agent: None,
        data,
        ..draft.clone()
    }
}

/// Returns a name as the ledger can hold it: itself, or its digest. Whoever writes a transcript chooses its names.
pub(crate) fn recordable(name: &str) -> String {
    match text_problem(name, MAX_ID_BYTES) {
        None => name.to_owned(),
        Some(_) => blake3::hash(name.as_bytes()).to_hex().to_string(),
    }
}

/// Returns the beginning of a text, in characters that the ledger can hold.
fn plain(text: &str) -> String {
    let is_taken = |c: char| text_problem(c.encode_utf8(&mut [0; 4]), MAX_ID_BYTES).is_none();
    let characters = text.chars().map(|c| if is_taken(c) { c } else { char::REPLACEMENT_CHARACTER });
    characters.take(MAX_SHOWN_CHARS).collect()
}

/// Returns an id, or the digest of one that is too long.
fn bounded(id: String) -> String {
    if id.len() <= MAX_ID_BYTES { id } else { blake3::hash(id.as_bytes()).to_hex().to_string() }
}
