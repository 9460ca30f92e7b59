//! The messages to a follower, as `text/event-stream` (HTML standard, section 9.2).

use std::time::Duration;

use bitacora_formats::{After, Position};
use bitacora_ledger::StoredEvent;

use crate::json::write_decimal;
use crate::limits::FOLLOW_CHUNK_BYTES;
use crate::page::write_event_on_line;
use crate::problem::Problem;

/// The message that keeps the connection alive when there is nothing to tell: a comment.
pub(crate) const HEARTBEAT: &[u8] = b":\n\n";

/// Some messages of stored events, with nothing left out between the first and the last.
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// The end of each event's message in the bytes.
    pub(crate) ends: Vec<usize>,
    /// The position of the last event.
    pub(crate) last: Position,
}

/// The events' messages, in pieces of about [`FOLLOW_CHUNK_BYTES`]; no message is divided.
pub(crate) fn chunks(events: &[StoredEvent<'_>]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for event in events {
        let message = message(event);
        match chunks.last_mut().filter(|chunk| chunk.bytes.len() + message.len() <= FOLLOW_CHUNK_BYTES) {
            Some(chunk) => {
                chunk.bytes.extend_from_slice(&message);
                chunk.ends.push(chunk.bytes.len());
                chunk.last = event.position;
            }
            None => {
                let ends = vec![message.len()];
                chunks.push(Chunk { bytes: message, ends, last: event.position });
            }
        }
    }
    for chunk in &mut chunks {
        chunk.bytes.shrink_to_fit();
    }
    chunks
}

/// `id: 17`, `data: {…}`.
fn message(event: &StoredEvent<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"id: ");
    write_decimal(event.position.get(), &mut out);
    out.extend_from_slice(b"\ndata: ");
    let mut out = write_event_on_line(event, out);
    out.extend_from_slice(b"\n\n");
    out
}

/// Moves the client's last id without a message: nothing up to here matched.
pub(crate) fn mark(position: After) -> Vec<u8> {
    format!("id: {position}\n\n").into_bytes()
}

/// Writes the pause before a follower comes back.
pub(crate) fn retry(pause: Duration) -> Vec<u8> {
    format!("retry: {}\n\n", pause.as_millis()).into_bytes()
}

/// Everything that was durable has been told, up to this position.
pub(crate) fn caught_up(position: After) -> Vec<u8> {
    format!("event: caught-up\nid: {position}\ndata: {{\"position\":\"{position}\"}}\n\n").into_bytes()
}

/// The reader took too little for too long. Its events are whole up to this position.
pub(crate) fn lagged(position: After) -> Vec<u8> {
    format!("event: lagged\ndata: {{\"position\":\"{position}\"}}\n\n").into_bytes()
}

/// The service ends.
pub(crate) fn closing(position: After, pause: Duration) -> Vec<u8> {
    let pause = pause.as_millis();
    format!("event: closing\nretry: {pause}\ndata: {{\"position\":\"{position}\"}}\n\n").into_bytes()
}

/// Reading failed on the way.
pub(crate) fn failed(problem: &Problem) -> Vec<u8> {
    [b"event: failed\ndata: ".as_slice(), &problem.to_json(), b"\n\n"].concat()
}
