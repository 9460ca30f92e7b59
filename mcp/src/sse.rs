//! Server-sent events, as far as MCP uses them: data, ids and the pause before a new connection.

use std::time::Duration;

use crate::limits::{LONGEST_STREAM_PAUSE, MAX_MESSAGE_BYTES};

/// The longest id of an event that is kept.
const MAX_EVENT_ID_BYTES: usize = 1_024;

/// An event was longer than any message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// A stream of events, read piece by piece.
#[derive(Debug, Default)]
pub(crate) struct EventStream {
    line: Vec<u8>,
    data: Vec<u8>,
    /// `true` behind a carriage return: a line feed right behind it ends no further line.
    after_return: bool,
    /// The id of the last event that had one.
    pub(crate) last_id: Option<String>,
    /// The pause that the server asks for.
    pub(crate) pause: Option<Duration>,
}

impl EventStream {
    /// Takes the next bytes, and returns the data of the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        for byte in bytes {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.end_line(&line));
                }
                _ => self.line.push(*byte),
            }
            if self.line.len().saturating_add(self.data.len()) > MAX_MESSAGE_BYTES {
                return Err(TooLong);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if line.is_empty() {
            let mut data = std::mem::take(&mut self.data);
            data.pop();
            return Some(data).filter(|data| !data.is_empty());
        }
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(at);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match (field, std::str::from_utf8(value)) {
            (b"data", _) => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            (b"id", Ok(id)) if id.len() <= MAX_EVENT_ID_BYTES && !id.contains('\0') => {
                self.last_id = Some(id.to_owned()).filter(|id| !id.is_empty());
            }
            (b"retry", Ok(retry)) => {
                let pause = retry.parse().ok().map(Duration::from_millis);
                self.pause = pause.map(|pause| pause.min(LONGEST_STREAM_PAUSE)).or(self.pause);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_their_bytes_are_cut() {
        let text = b": hello\r\nid: 7\r\nevent: message\r\ndata: {\"a\":\r\ndata:  1}\r\n\r\nid: 8\nretry: 500\ndata:\n\ndata:x\r\rdata: cut";
        for cut in 1..text.len() {
            let mut stream = EventStream::default();
            let mut events = Vec::new();
            for piece in text.chunks(cut) {
                events.extend(stream.push(piece).unwrap());
            }
            assert_eq!(events, [b"{\"a\":\n 1}".to_vec(), b"x".to_vec()], "in pieces of {cut}");
            assert_eq!(
                (stream.last_id.as_deref(), stream.pause),
                (Some("8"), Some(Duration::from_millis(500)))
            );
        }
    }

    #[test]
    fn an_event_without_an_end_is_bounded() {
        let mut stream = EventStream::default();
        let piece = vec![b'x'; 1024 * 1024];
        let pieces = (0..32).map(|_| stream.push(&piece)).find(Result::is_err);
        assert_eq!(pieces, Some(Err(TooLong)));
    }
}
