//! The kind of a record: what it tells about an agent, if anything.

use bitacora_vocabulary::{
    EventData, TelemetryAgent, TelemetryDecision, TelemetryEvent, TelemetryModel, TelemetryTool,
};

use super::attributes::AttributeReader;
use super::names::{AGENT, AGENT_ID, CODING_AGENTS, EVENT_NAME, GEN_AI, MODEL, OPERATION, PROVIDER, TOOL};
use crate::record::{ExportedRecord, Signal};

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Tool,
    Model,
    Agent,
    Decision,
    Other,
}

/// Operations of GenAI conventions with a kind of their own.
const OPERATIONS: [(&str, RecordKind); 8] = [
    ("execute_tool", RecordKind::Tool),
    ("chat", RecordKind::Model),
    ("generate_content", RecordKind::Model),
    ("text_completion", RecordKind::Model),
    ("embeddings", RecordKind::Model),
    ("create_agent", RecordKind::Agent),
    ("invoke_agent", RecordKind::Agent),
    ("invoke_workflow", RecordKind::Agent),
];

/// Events of coding agents with a kind of their own, without their beginning.
const AGENT_EVENTS: [(&str, RecordKind); 7] = [
    ("tool_result", RecordKind::Tool),
    ("tool_call", RecordKind::Tool),
    ("tool_decision", RecordKind::Decision),
    ("api_request", RecordKind::Model),
    ("api_response", RecordKind::Model),
    ("api_error", RecordKind::Model),
    ("sse_event", RecordKind::Model),
];

impl RecordKind {
    /// Returns the kind of a record; `None` where it tells nothing about an agent.
    pub(crate) fn of(
        signal: Signal,
        record: &ExportedRecord<'_>,
        attributes: &AttributeReader<'_, '_>,
    ) -> Option<Self> {
        let name = record_name(signal, record, attributes);
        if let Some(event) = CODING_AGENTS.iter().find_map(|agent| name.strip_prefix(agent)) {
            let known = AGENT_EVENTS.iter().find(|(of, _)| *of == event);
            return Some(known.map_or(Self::Other, |(_, kind)| *kind));
        }
        if let Some(operation) = attributes.peek(OPERATION) {
            return Some(operation_kind(operation).unwrap_or(Self::Other));
        }
        if !attributes.any_begins(GEN_AI) && !name.starts_with(GEN_AI) {
            return None;
        }
        // Older conventions name no operation.
        let first_word = name.split(' ').next().unwrap_or_default();
        let by_name = operation_kind(first_word).filter(|_| signal == Signal::Traces);
        let by_attributes = || {
            let named = |names: &[&str]| attributes.peek(names).is_some();
            if named(TOOL) {
                Some(Self::Tool)
            } else if signal == Signal::Traces && named(PROVIDER) && named(MODEL) {
                Some(Self::Model)
            } else if named(AGENT) || named(AGENT_ID) {
                Some(Self::Agent)
            } else {
                None
            }
        };
        Some(by_name.or_else(by_attributes).unwrap_or(Self::Other))
    }

    /// Returns the type of the event.
    pub(crate) fn event_type(self) -> &'static str {
        match self {
            Self::Tool => TelemetryTool::KIND,
            Self::Model => TelemetryModel::KIND,
            Self::Agent => TelemetryAgent::KIND,
            Self::Decision => TelemetryDecision::KIND,
            Self::Other => TelemetryEvent::KIND,
        }
    }
}

fn operation_kind(operation: &str) -> Option<RecordKind> {
    OPERATIONS.iter().find(|(of, _)| *of == operation).map(|(_, kind)| *kind)
}

/// Returns the name of a span, or the event name of a log record, which stands in one of three places.
pub(crate) fn record_name<'r>(
    signal: Signal,
    record: &'r ExportedRecord<'_>,
    attributes: &AttributeReader<'r, '_>,
) -> &'r str {
    if signal == Signal::Traces || !record.name.is_empty() {
        return &record.name;
    }
    // Claude Code shortens the attribute, and not the body.
    let body = record.body.as_text().filter(|body| CODING_AGENTS.iter().any(|agent| body.starts_with(agent)));
    body.or_else(|| attributes.peek(EVENT_NAME)).unwrap_or_default()
}
