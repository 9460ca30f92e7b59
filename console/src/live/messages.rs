//! The interface's stream of events, read for types and positions alone.

use serde::Deserialize;

/// The most bytes of one line that are kept; a longer event is told without its type.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// A message of the interface.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamMessage {
    /// There is an event, of a type that was read or not.
    Event { position: u64, kind: Option<String> },
    /// The stream ends; the service does not.
    Ended,
    /// The service ends.
    Closing,
}

/// The event of a message, of which only the type is taken.
#[derive(Deserialize)]
struct Message {
    event: MessageEvent,
}

#[derive(Deserialize)]
struct MessageEvent {
    r#type: String,
}

/// Bytes of the stream, cut into messages.
#[derive(Default)]
pub(super) struct Messages {
    line: Vec<u8>,
    id: Option<u64>,
    name: Option<String>,
    kind: Option<String>,
}

impl Messages {
    /// Takes in bytes, and returns the messages that they end.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<StreamMessage> {
        let mut told = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() <= MAX_LINE_BYTES {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                told.extend(self.line(line.trim_ascii_end()));
            }
        }
        told
    }

    fn line(&mut self, line: &[u8]) -> Option<StreamMessage> {
        if let Some(id) = line.strip_prefix(b"id: ") {
            self.id = str::from_utf8(id).ok().and_then(|id| id.parse().ok());
        } else if let Some(name) = line.strip_prefix(b"event: ") {
            self.name = str::from_utf8(name).ok().map(str::to_owned);
        } else if let Some(data) = line.strip_prefix(b"data: ") {
            self.kind = serde_json::from_slice::<Message>(data).ok().map(|message| message.event.r#type);
        } else if line.is_empty() {
            return self.end();
        }
        None
    }

    fn end(&mut self) -> Option<StreamMessage> {
        let (id, name, kind) = (self.id.take(), self.name.take(), self.kind.take());
        match name.as_deref() {
            Some("lagged" | "failed") => Some(StreamMessage::Ended),
            Some("closing") => Some(StreamMessage::Closing),
            Some(_) => None,
            None => id.map(|position| StreamMessage::Event { position, kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_positions_are_read_however_the_bytes_are_cut() {
        let stream = "retry: 1000\n\nevent: caught-up\nid: 16\ndata: {\"position\":\"16\"}\n\nid: 17\ndata: {\"position\":\"17\",\"event\":{\"type\":\"approval.requested\",\"data\":{\"secret\":1}}}\n\n:\n\nid: 19\n\nevent: closing\nretry: 1000\n\n";
        let event =
            |position, kind: Option<&str>| StreamMessage::Event { position, kind: kind.map(str::to_owned) };
        let expected = [event(17, Some("approval.requested")), event(19, None), StreamMessage::Closing];
        for size in 1..stream.len() {
            let mut messages = Messages::default();
            let told: Vec<_> = stream.as_bytes().chunks(size).flat_map(|part| messages.take(part)).collect();
            assert_eq!(told, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_long_event_is_told_without_its_type() {
        let mut messages = Messages::default();
        let long = format!("id: 5\ndata: {}\n\n", "x".repeat(10 * MAX_LINE_BYTES));
        assert_eq!(messages.take(long.as_bytes()), [StreamMessage::Event { position: 5, kind: None }]);
        assert!(messages.line.capacity() < 2 * MAX_LINE_BYTES);
    }
}
