//! Writes an event as one JSON object, its members in one order, its data as the bytes it came in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::SPEC_VERSION;
use crate::event::{Data, Event, ExtensionValue};

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
    out.push(b'{');
    push_text(out, "specversion");
    out.push(b':');
    push_text(out, SPEC_VERSION);
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
        push_name(out, name);
        match value {
            ExtensionValue::Text(text) => push_text(out, text),
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

fn push_member(out: &mut Vec<u8>, name: &str, text: &str) {
    push_name(out, name);
    push_text(out, text);
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    push_text(out, name);
    out.push(b':');
}

/// Appends a JSON string. Only what JSON demands is escaped; everything else stays UTF-8.
fn push_text(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| HEX.get(usize::from(value & 0xF)).copied().unwrap_or(b'0');
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = match special {
            [special @ (b'"' | b'\\'), rest @ ..] => {
                out.extend_from_slice(&[b'\\', *special]);
                rest
            }
            [control, rest @ ..] => {
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(*control)]);
                rest
            }
            [] => break,
        };
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
