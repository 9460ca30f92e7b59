//! The stream of what changes, for pages that are open: types and positions alone, no contents.

use bitacora_api::{HeadAnswer, paths};
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use serde::Deserialize;

use crate::console::ConsoleBody;
use crate::interface::{BoxError, InterfaceBody};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The messages on their way to one browser.
const WAITING_MESSAGES: usize = 16;
/// The most bytes of one message of the interface that are kept; a longer one is told by its position.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Returns the stream of changes from the present head on.
pub(crate) async fn changes(visit: &Visit) -> Result<Response<ConsoleBody>, PageError> {
    let head = visit.get::<HeadAnswer>(paths::HEAD, &[], "").await?.value;
    let path = visit.api(paths::EVENTS, &[], &format!("?after={}", head.position));
    let upstream = visit.interface.open(&path, "text/event-stream").await?;
    let (sender, body) = Channel::<Bytes, BoxError>::new(WAITING_MESSAGES);
    tokio::spawn(pass_on(upstream.into_body(), sender));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Passes on what the interface tells, until either side is gone.
async fn pass_on(mut from: InterfaceBody, mut to: Sender<Bytes, BoxError>) {
    let mut messages = Messages::default();
    while let Some(Ok(frame)) = from.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let told = messages.take(&data);
        if !told.is_empty() && to.send_data(told.into()).await.is_err() {
            return;
        }
    }
}

/// The event of a message, of which only the type is passed on.
#[derive(Deserialize)]
struct Message {
    event: MessageEvent,
}

#[derive(Deserialize)]
struct MessageEvent {
    r#type: String,
}

/// Bytes of the interface's stream, cut into messages.
#[derive(Default)]
struct Messages {
    line: Vec<u8>,
    id: Option<u64>,
    name: Option<String>,
    kind: Option<String>,
}

impl Messages {
    /// Takes in bytes, and returns the messages that they end, as a browser is told of them.
    fn take(&mut self, bytes: &[u8]) -> String {
        let mut told = String::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() <= MAX_MESSAGE_BYTES {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(line.trim_ascii_end(), &mut told);
            }
        }
        told
    }

    fn line(&mut self, line: &[u8], told: &mut String) {
        if let Some(id) = line.strip_prefix(b"id: ") {
            self.id = str::from_utf8(id).ok().and_then(|id| id.parse().ok());
        } else if let Some(name) = line.strip_prefix(b"event: ") {
            self.name = str::from_utf8(name).ok().map(str::to_owned);
        } else if let Some(data) = line.strip_prefix(b"data: ") {
            self.kind = serde_json::from_slice::<Message>(data).ok().map(|message| message.event.r#type);
        } else if line == b":" {
            told.push_str(":\n");
        } else if line.is_empty() {
            self.end(told);
        }
    }

    fn end(&mut self, told: &mut String) {
        let (id, name, kind) = (self.id.take(), self.name.take(), self.kind.take());
        match (name.as_deref(), id) {
            (Some("lagged" | "closing" | "failed"), _) => told.push_str("event: ended\ndata: {}\n\n"),
            (_, Some(position)) => {
                let change = serde_json::json!({ "position": position.to_string(), "type": kind });
                told.push_str(&format!("data: {change}\n\n"));
            }
            (_, None) => told.push('\n'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_and_positions_are_passed_on_however_the_bytes_are_cut() {
        let stream = "id: 17\ndata: {\"position\":\"17\",\"event\":{\"type\":\"approval.requested\",\"data\":{\"secret\":1}}}\n\n:\n\nevent: caught-up\nid: 17\n\nevent: closing\nretry: 1000\n\n";
        let expected = "data: {\"position\":\"17\",\"type\":\"approval.requested\"}\n\n:\n\ndata: {\"position\":\"17\",\"type\":null}\n\nevent: ended\ndata: {}\n\n";
        for size in 1..stream.len() {
            let mut messages = Messages::default();
            let told: String = stream.as_bytes().chunks(size).map(|part| messages.take(part)).collect();
            assert_eq!(told, expected, "in pieces of {size}");
        }
    }
}
