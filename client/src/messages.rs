//! A parser of the `text/event-stream` that a service sends of a ledger, message by message.

use bitacora_api::ProblemAnswer;
use bitacora_formats::After;

/// A message of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamMessage {
    /// A stored event, as a line of NDJSON without its line feed.
    Event { position: After, line: Vec<u8> },
    /// Everything durable was shown.
    CaughtUp { position: After },
    /// Nothing up to here matches.
    Mark { position: After },
    /// The stream ends: the service does, or this side was too slow.
    Ending { why: &'static str },
    /// The stream ends on an error.
    Failed { what: String, is_retryable: bool },
    /// A heartbeat, or another message that is not for us.
    Other,
}

/// Bytes that are not a whole message yet.
#[derive(Default)]
pub(crate) struct Messages {
    unread: Vec<u8>,
    /// The number of bytes that were searched for an end.
    scanned: usize,
}

/// The error for bytes that are no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageError;

impl Messages {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.unread.extend_from_slice(piece);
    }

    /// Returns the number of bytes that wait for the rest of their message.
    pub(crate) fn waiting(&self) -> usize {
        self.unread.len()
    }

    /// Returns the next whole messages.
    pub(crate) fn take(&mut self) -> Result<Vec<StreamMessage>, MessageError> {
        self.take_as(read_message)
    }

    /// Returns the next whole messages, parsed by `read`.
    pub(crate) fn take_as<T>(
        &mut self,
        read: impl Fn(&[u8]) -> Result<T, MessageError>,
    ) -> Result<Vec<T>, MessageError> {
        let mut messages = Vec::new();
        let mut begin = 0;
        let mut from = self.scanned.saturating_sub(1);
        while let Some(found) =
            self.unread.get(from..).and_then(|rest| rest.windows(2).position(|two| two == b"\n\n"))
        {
            let end = from + found;
            messages.push(read(self.unread.get(begin..end).unwrap_or_default())?);
            begin = end + 2;
            from = begin;
        }
        self.unread.drain(..begin);
        self.scanned = self.unread.len();
        Ok(messages)
    }
}

/// The fields of a message, undecoded.
#[derive(Default)]
pub(crate) struct Fields<'b> {
    pub(crate) kind: &'b [u8],
    pub(crate) id: Option<&'b [u8]>,
    pub(crate) data: Option<&'b [u8]>,
}

pub(crate) fn read_fields(block: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    for line in block.split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => fields.kind = value,
            b"id" => fields.id = Some(value),
            b"data" => fields.data = Some(value),
            // Comments, and fields that are for browsers.
            _ => (),
        }
    }
    fields
}

fn read_message(block: &[u8]) -> Result<StreamMessage, MessageError> {
    let Fields { kind, id, data } = read_fields(block);
    let id = id.map(position).transpose()?;
    match (kind, id, data) {
        (b"", Some(position), Some(line)) => Ok(StreamMessage::Event { position, line: line.to_vec() }),
        (b"", Some(position), None) => Ok(StreamMessage::Mark { position }),
        (b"caught-up", Some(position), _) => Ok(StreamMessage::CaughtUp { position }),
        (b"closing", ..) => Ok(StreamMessage::Ending { why: "the service ends" }),
        (b"lagged", ..) => Ok(StreamMessage::Ending { why: "this side took too little for too long" }),
        (b"failed", _, Some(problem)) => {
            let ProblemAnswer { detail, code, retryable, .. } =
                serde_json::from_slice(problem).map_err(|_| MessageError)?;
            Ok(StreamMessage::Failed { what: format!("{detail} ({code})"), is_retryable: retryable })
        }
        _ => Ok(StreamMessage::Other),
    }
}

fn position(text: &[u8]) -> Result<After, MessageError> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(MessageError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_came_in() {
        let text = concat!(
            "retry: 1000\n\n",
            "id: 7\ndata: {\"a\":\"b: c\"}\n\n",
            ":\n\n",
            "id: 8\n\n",
            "event: caught-up\nid: 9\ndata: {\"position\":\"9\"}\n\n",
            "event: failed\ndata: {\"type\":\"urn:bitacora:problem:disk-error\",\"title\":\"the disk gave an error\",",
            "\"status\":503,\"detail\":\"why\",\"code\":\"disk-error\",\"retryable\":true,\"sideEffects\":\"none\"}\n\n",
            "event: lagged\ndata: {}\n\n",
            "event: new\ndata: {}\n\nid: 1"
        );
        let expected = [
            StreamMessage::Other,
            StreamMessage::Event { position: After::new(7), line: b"{\"a\":\"b: c\"}".to_vec() },
            StreamMessage::Other,
            StreamMessage::Mark { position: After::new(8) },
            StreamMessage::CaughtUp { position: After::new(9) },
            StreamMessage::Failed { what: "why (disk-error)".to_owned(), is_retryable: true },
            StreamMessage::Ending { why: "this side took too little for too long" },
            StreamMessage::Other,
        ];
        for size in [1, 2, 5, 1_000] {
            let (mut messages, mut taken) = (Messages::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                messages.push(piece);
                taken.extend(messages.take().unwrap());
            }
            assert_eq!(taken, expected, "in pieces of {size}");
            assert_eq!(messages.waiting(), 5);
        }
    }

    #[test]
    fn an_id_that_is_no_position_is_no_message() {
        for text in ["id: x\n\n", "id: -1\n\n", "id:\ndata: {}\n\n", "event: failed\ndata: {}\n\n"] {
            let mut messages = Messages::default();
            messages.push(text.as_bytes());
            assert_eq!(messages.take(), Err(MessageError), "{text}");
        }
    }
}
