//! The writer of an event as one JSON object, with its members in one order.
//!
//! Data is written as the bytes it came in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::SPEC_VERSION;
use crate::event::{Data, Event, ExtensionValue};
use crate::json::write_json_text;

/// Appends the event as a CloudEvent in JSON.
///
/// The members stand in this order, those that are absent left out: `specversion`, `id`, `source`, `type`, `subject`,
/// `time`, `datacontenttype`, `dataschema`, `actor`, `agent`, `session`, `run`, `call`, `correlationid`,
/// `causationid`, `traceparent`, `datasubject`, `tags`, the other extensions by name, `data` or `data_base64`. Nothing
/// is put between them. JSON data is copied byte for byte, so it may bring line breaks of its own; where a line must
/// stay one, use [`write_event_line`].
pub fn write_event(event: &Event<'_>, out: &mut Vec<u8>) {
    write_members(event, out, |json, out| out.extend_from_slice(json));
}

/// Appends the event as [`write_event`] does, and a line feed, with no other line break in between.
///
/// JSON data keeps every byte but its raw line breaks, which become spaces. JSON allows raw line breaks only between
/// tokens, so the value stays the same.
pub fn write_event_line(event: &Event<'_>, out: &mut Vec<u8>) {
    write_members(event, out, |json, out| {
        let one_line = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
        out.extend(json.iter().map(one_line));
    });
    out.push(b'\n');
}

fn write_members(event: &Event<'_>, out: &mut Vec<u8>, write_json: fn(&[u8], &mut Vec<u8>)) {
    out.reserve(256 + event.id.len() + event.stream.len() + event.data.len());
    out.extend_from_slice(b"{\"specversion\":\"");
    out.extend_from_slice(SPEC_VERSION.as_bytes());
    out.push(b'"');
    push_member(out, "id", &event.id);
    push_member(out, "source", &event.source);
    push_member(out, "type", &event.kind);
    push_member(out, "subject", &event.stream);
    for (name, text) in event.optional_texts() {
        if let Some(text) = text {
            push_member(out, name, text);
        }
    }
    if !event.tags.is_empty() {
        push_member(out, "tags", &event.tags.join(" "));
    }
    for (name, value) in &event.extensions {
        out.push(b',');
        write_json_text(name, out);
        out.push(b':');
        match value {
            ExtensionValue::Text(text) => write_json_text(text, out),
            ExtensionValue::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            ExtensionValue::Boolean(true) => out.extend_from_slice(b"true"),
            ExtensionValue::Boolean(false) => out.extend_from_slice(b"false"),
        }
    }
    match &event.data {
        Data::None => {}
        Data::Json(json) => {
            push_name(out, "data");
            write_json(json, out);
        }
        Data::Binary(bytes) => push_member(out, "data_base64", &STANDARD.encode(bytes)),
    }
    out.push(b'}');
}

fn push_member(out: &mut Vec<u8>, name: &'static str, text: &str) {
    push_name(out, name);
    write_json_text(text, out);
}

/// The names that are known hold nothing to be escaped.
fn push_name(out: &mut Vec<u8>, name: &'static str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}
