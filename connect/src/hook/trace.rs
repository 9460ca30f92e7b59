//! Traces of inputs that never reach the ledger: an event that says so, with the input's digest, length and names.
//!
//! The event is a `coverage.gap`, because half of a call's record is missing then. It holds nothing else of the input.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::input_body::InputBody;
use super::other_id::random_id;
use crate::connection::Connection;
use crate::error::SpoolError;
use crate::limits::MAX_TRACE_NAME_CHARS;
use crate::spool::Spool;

/// The beginning of an event's source.
const SOURCE: &str = "/bitacora-hook";
/// The stream of traces whose session is not known.
const STREAM: &str = "hooks";
/// The members by which an input says what it is about. They are looked for in text that is no JSON, too.
const EVENT: &str = "hook_event_name";
/// The events of hooks before calls, in all harnesses.
const BEFORE_CALLS: [&str; 3] = ["PreToolUse", "BeforeTool", "preToolUse"];

/// The names in an input of any harness.
#[derive(Debug, Default, Deserialize)]
struct InputNames {
    hook_event_name: Option<String>,
    #[serde(alias = "conversation_id")]
    session_id: Option<String>,
    tool_use_id: Option<String>,
    tool_name: Option<String>,
}

/// An input that is not recorded itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LostInput<'a> {
    /// An id that no other loss has.
    pub(crate) id: &'a str,
    /// The harness's dialect.
    pub(crate) harness: &'a str,
    /// The input, or its beginning.
    pub(crate) body: &'a [u8],
    /// The length of all of it.
    pub(crate) bytes: u64,
    /// The digest of all of it, hexadecimal; `None` where it is not known.
    pub(crate) sha256: Option<&'a str>,
    /// The fate of the input and the reason: it is not recorded, or it has another id.
    pub(crate) fate: &'a str,
}

#[derive(Serialize)]
struct TraceEvent {
    specversion: &'static str,
    id: String,
    source: String,
    r#type: &'static str,
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    data: TraceData,
}

#[derive(Serialize)]
struct TraceData {
    call: String,
    evidence: String,
    missing: &'static str,
}

/// Returns the path that traces of a ledger are posted to.
pub(crate) fn trace_path(ledger: &str) -> String {
    format!("/v1/ledgers/{ledger}/events")
}

impl LostInput<'_> {
    /// Returns the event that tells of an input that waits in a spool.
    pub(super) fn of_spooled(id: &str, harness: &str, body: &str, fate: &str) -> String {
        let digest = hex::encode(Sha256::digest(body.as_bytes()));
        let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
        let lost = LostInput { id, harness, body: body.as_bytes(), bytes, sha256: Some(&digest), fate };
        String::from_utf8_lossy(&lost.event()).into_owned()
    }

    /// Returns the event that tells of it.
    pub(crate) fn event(&self) -> Vec<u8> {
        let names = names_of(self.body);
        let event = names.hook_event_name.as_deref().map_or_else(|| "unknown".to_owned(), plain);
        let tool = names.tool_name.as_deref().map(|tool| format!(" of {}", plain(tool))).unwrap_or_default();
        let digest =
            self.sha256.map_or_else(|| "unknown digest".to_owned(), |digest| format!("SHA-256 {digest}"));
        let evidence = format!(
            "hook {event}{tool} of {}: an input of {} bytes, {digest}, {}",
            self.harness,
            self.bytes,
            plain_text(self.fate)
        );
        let missing = if BEFORE_CALLS.contains(&event.as_str()) { "decision" } else { "outcome" };
        let call = names.tool_use_id.as_deref().map(plain).filter(|call| !call.is_empty());
        write(self.id, self.harness, names.session_id.as_deref(), call, evidence, missing)
    }
}

/// Returns the event that tells of inputs of which nothing is left but their number.
pub(crate) fn lost_event(id: &str, harness: &str, evidence: String) -> Vec<u8> {
    write(id, harness, None, None, evidence, "decision")
}

fn write(
    id: &str,
    harness: &str,
    session: Option<&str>,
    call: Option<String>,
    evidence: String,
    missing: &'static str,
) -> Vec<u8> {
    let session = session.map(plain).filter(|session| !session.is_empty());
    let event = TraceEvent {
        specversion: "1.0",
        id: format!("{id}#lost"),
        source: format!("{SOURCE}/{harness}"),
        r#type: "coverage.gap",
        subject: session.as_ref().map_or_else(|| STREAM.to_owned(), |session| format!("session/{session}")),
        session,
        data: TraceData { call: call.clone().unwrap_or_else(|| format!("{id}#lost")), evidence, missing },
        call,
    };
    // A struct of texts is always written.
    serde_json::to_vec(&event).unwrap_or_default()
}

/// Spools the event that tells of an input which nobody records.
pub(super) fn leave_trace(
    spool: &Spool,
    connection: &Connection,
    body: &InputBody,
    reason: &str,
) -> Result<(), SpoolError> {
    let digest = body.digest();
    let lost = LostInput {
        id: &random_id()?,
        harness: &connection.harness,
        body: &body.bytes,
        bytes: body.length,
        sha256: digest.as_deref(),
        fate: &format!("is not recorded: {reason}"),
    };
    spool.keep(&trace_path(&connection.ledger), &lost.event())
}

/// Reads the names of an input; of one that is cut or no JSON, the event's alone.
fn names_of(body: &[u8]) -> InputNames {
    if let Ok(names) = serde_json::from_slice(body) {
        return names;
    }
    let text = String::from_utf8_lossy(body);
    let value = text.split_once(&format!("\"{EVENT}\"")).and_then(|(_, rest)| rest.split('"').nth(1));
    InputNames { hook_event_name: value.map(str::to_owned), ..InputNames::default() }
}

/// Returns a name of visible characters, up to the limit.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_TRACE_NAME_CHARS).collect()
}

/// Returns a text of one line, up to the limit of an evidence's part.
fn plain_text(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(4 * MAX_TRACE_NAME_CHARS).collect()
}
