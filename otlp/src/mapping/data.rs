//! The data of an event of telemetry, and its JSON.

use std::borrow::Cow;
use std::fmt::Write;

use bitacora_formats::limits::MAX_ATTRIBUTE_BYTES;
use bitacora_formats::write_json_text;
use bitacora_vocabulary::{MicroUsd, Milliseconds, Tokens};

use super::attributes::{AttributeReader, MAX_NAME_BYTES, as_name, is_name};
use super::kind::{RecordKind, record_name};
use super::names;
use super::time::rfc3339;
use crate::record::{ExportedRecord, RecordContext, Signal, StatusCode};
use crate::value::{AnyValue, write_members, write_text};

/// Bytes of the name of a span or log event.
const MAX_RECORD_NAME_BYTES: usize = 1_024;
/// Nanoseconds of a millisecond.
const NANOSECONDS: u64 = 1_000_000;
/// Millionths of a dollar.
const MICRO_USD: f64 = 1_000_000.0;

/// The members of the data that are not attributes.
pub(super) struct TelemetryData<'r, 'a> {
    signal: Signal,
    name: Option<Cow<'r, str>>,
    operation: Option<&'r str>,
    tool: Option<&'r str>,
    pub(super) call: Option<&'r str>,
    decision: Option<&'r str>,
    by: Option<&'r str>,
    agent: Option<&'r str>,
    agent_id: Option<&'r str>,
    model: Option<&'r str>,
    provider: Option<&'r str>,
    tokens: [(&'static str, Option<u64>); 4],
    cost_micro_usd: Option<u64>,
    is_error: Option<bool>,
    error_type: Option<&'r str>,
    duration_ms: Option<u64>,
    ended: Option<String>,
    service: Option<&'r str>,
    scope: Option<&'r str>,
    parent: Option<String>,
    body: Option<&'r AnyValue<'a>>,
    /// The message of a span's status.
    message: Option<&'r str>,
    pub(super) session: Option<&'r str>,
    /// The agent by which the event is found: its id, or else its name.
    pub(super) found_by: Option<&'r str>,
}

impl<'r, 'a> TelemetryData<'r, 'a> {
    /// Takes what is known of a record.
    pub(super) fn read(
        signal: Signal,
        kind: RecordKind,
        context: &'r RecordContext,
        record: &'r ExportedRecord<'a>,
        attributes: &mut AttributeReader<'r, 'a>,
    ) -> Self {
        let name = record_name(signal, record, attributes);
        let is_model = matches!(kind, RecordKind::Model | RecordKind::Agent);
        let is_call = matches!(kind, RecordKind::Tool | RecordKind::Decision);
        let is_agent = kind == RecordKind::Agent;
        let is_decision = kind == RecordKind::Decision;
        let mut text =
            |of_kind: bool, names: &[&str]| of_kind.then(|| attributes.text(names, MAX_NAME_BYTES)).flatten();
        let operation = text(!is_call, names::OPERATION);
        let (tool, call) = (text(is_call, names::TOOL), text(is_call, names::CALL));
        let (decision, by) = (text(is_decision, names::DECISION), text(is_decision, names::DECIDED_BY));
        let (model, provider) = (text(is_model, names::MODEL), text(is_model, names::PROVIDER));
        let error_type = text(true, names::ERROR_TYPE);
        // The attributes of other records than the agent's own stay where they are.
        let found_by = attributes.peek(names::AGENT_ID).or_else(|| attributes.peek(names::AGENT));
        let mut name_of_agent =
            |names: &[&str]| is_agent.then(|| attributes.text(names, MAX_ATTRIBUTE_BYTES)).flatten();
        let (agent, agent_id) = (name_of_agent(names::AGENT), name_of_agent(names::AGENT_ID));
        let mut tokens =
            |names: &[&str]| is_model.then(|| attributes.count(names, Tokens::MAX.get())).flatten();
        let tokens = [
            ("in", tokens(names::INPUT_TOKENS)),
            ("out", tokens(names::OUTPUT_TOKENS)),
            ("cache_read", tokens(names::CACHE_READ_TOKENS)),
            ("cache_write", tokens(names::CACHE_WRITE_TOKENS)),
        ];
        let cost_micro_usd = (kind == RecordKind::Model).then(|| cost(attributes)).flatten();
        let success = attributes.flag(names::SUCCESS);
        let is_error = match (record.status, success) {
            (StatusCode::Error, _) => Some(true),
            (StatusCode::Ok, _) => Some(false),
            (StatusCode::Unset, Some(success)) => Some(!success),
            (StatusCode::Unset, None) => {
                (error_type.is_some() || name.ends_with(".api_error")).then_some(true)
            }
        };
        Self {
            signal,
            name: as_name(name, MAX_RECORD_NAME_BYTES),
            operation,
            tool,
            call,
            decision,
            by,
            agent,
            agent_id,
            model,
            provider,
            tokens,
            cost_micro_usd,
            is_error,
            error_type,
            duration_ms: duration(signal, record)
                .or_else(|| attributes.count(names::DURATION_MS, Milliseconds::MAX.get())),
            ended: rfc3339(record.end).filter(|_| signal == Signal::Traces),
            service: context.service.as_deref().filter(|name| is_name(name, MAX_NAME_BYTES)),
            scope: context.scope.as_deref().filter(|name| is_name(name, MAX_NAME_BYTES)),
            parent: record.parent.map(hex::encode),
            body: Some(&record.body).filter(|body| **body != AnyValue::Empty && body.as_text() != Some(name)),
            message: Some(&*record.message).filter(|message| !message.is_empty()),
            found_by,
            session: attributes.text(names::SESSION, MAX_ATTRIBUTE_BYTES),
        }
    }
}

/// The duration of a span in milliseconds, unless its end lies before its begin.
fn duration(signal: Signal, record: &ExportedRecord<'_>) -> Option<u64> {
    let has_both = signal == Signal::Traces && record.time > 0;
    let nanoseconds = has_both.then(|| record.end.checked_sub(record.time)).flatten()?;
    Some(nanoseconds / NANOSECONDS).filter(|milliseconds| *milliseconds <= Milliseconds::MAX.get())
}

/// The cost in millionths of a dollar.
fn cost(attributes: &mut AttributeReader<'_, '_>) -> Option<u64> {
    attributes
        .count(names::COST_MICRO_USD, MicroUsd::MAX.get())
        .or_else(|| attributes.amount(names::COST_USD).and_then(micro_usd))
}

/// Dollars in millionths, rounded.
fn micro_usd(dollars: f64) -> Option<u64> {
    let micros = (dollars * MICRO_USD).round();
    // Its text has no fraction and no exponent.
    format!("{micros:.0}").parse().ok().filter(|micros| *micros <= MicroUsd::MAX.get())
}

/// Writes the data as JSON.
pub(super) fn write_data(
    data: &TelemetryData<'_, '_>,
    attributes: &AttributeReader<'_, '_>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(match data.signal {
        Signal::Traces => br#"{"assurance":"self_reported","signal":"span""#,
        Signal::Logs => br#"{"assurance":"self_reported","signal":"log""#,
    });
    put_text("name", data.name.as_deref(), out);
    put_text("operation", data.operation, out);
    put_text("tool", data.tool, out);
    put_text("call", data.call, out);
    put_text("decision", data.decision, out);
    put_text("by", data.by, out);
    put_text("agent", data.agent, out);
    put_text("agent_id", data.agent_id, out);
    put_text("model", data.model, out);
    put_text("provider", data.provider, out);
    put_tokens(&data.tokens, out);
    put_number("cost_micro_usd", data.cost_micro_usd, out);
    put_text("status", data.is_error.map(|is_error| if is_error { "error" } else { "ok" }), out);
    put_text("error_type", data.error_type, out);
    put_number("duration_ms", data.duration_ms, out);
    put_text("ended", data.ended.as_deref(), out);
    put_text("service", data.service, out);
    put_text("scope", data.scope, out);
    put_text("parent", data.parent.as_deref(), out);
    if let Some(body) = data.body {
        put_key("body", out);
        body.write(out);
    } else if let Some(message) = data.message {
        put_key("body", out);
        write_text(message, out);
    }
    if !attributes.is_empty() {
        put_key("attributes", out);
        write_members(attributes.rest(), out);
    }
    out.push(b'}');
}

fn put_tokens(tokens: &[(&'static str, Option<u64>)], out: &mut Vec<u8>) {
    if tokens.iter().all(|(_, count)| count.is_none()) {
        return;
    }
    put_key("tokens", out);
    let begin = out.len();
    for (name, count) in tokens {
        put_number(name, *count, out);
    }
    // The first member's comma becomes the object's begin.
    if let Some(first) = out.get_mut(begin) {
        *first = b'{';
    }
    out.push(b'}');
}

fn put_key(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn put_text(name: &str, text: Option<&str>, out: &mut Vec<u8>) {
    if let Some(text) = text {
        put_key(name, out);
        write_json_text(text, out);
    }
}

fn put_number(name: &str, number: Option<u64>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        put_key(name, out);
        let mut text = String::new();
        // A text is always written.
        let _ = write!(text, "{number}");
        out.extend_from_slice(text.as_bytes());
    }
}
