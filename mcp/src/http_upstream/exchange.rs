//! One message to an upstream and its answers, and the stream of the upstream's own messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use tokio::time::sleep;

use super::{Routing, Shared};
use crate::frame::{Id, ServerMessage, ServerMessageKind};
use crate::limits::{MAX_MESSAGE_BYTES, MAX_RESUMPTIONS, STREAM_PAUSE, UPSTREAM_TAKE_PATIENCE};
use crate::proxy::UpstreamEvent;
use crate::sse::EventStream;

/// The headers of the transport.
pub(super) const SESSION_ID: &str = "mcp-session-id";
pub(super) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const LAST_EVENT_ID: &str = "last-event-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// The request that begins a session.
const INITIALIZE: &str = "initialize";

/// A message that is about to be sent.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    request: RequestBuilder,
    begins: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
}

impl Exchange {
    pub(super) fn new(shared: &Arc<Shared>, message: &str, routing: &Routing) -> Self {
        let mut request = shared
            .request(Method::POST)
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, format!("{JSON}, {EVENTS}"))
            .body(message.to_owned());
        if let Some(version) =
            routing.stateless.as_deref().and_then(|version| HeaderValue::from_str(version).ok())
        {
            request = request.header(PROTOCOL_VERSION, version);
            for (name, value) in [(METHOD, routing.method.as_deref()), (NAME, routing.target.as_deref())] {
                if let Some(value) = value.and_then(header_text) {
                    request = request.header(name, value);
                }
            }
        }
        let begins = routing.method.as_deref() == Some(INITIALIZE);
        Self { shared: Arc::clone(shared), request, begins }
    }

    /// Sends a message that is not answered.
    pub(super) async fn taken(self) -> io::Result<()> {
        let answer = self
            .request
            .timeout(UPSTREAM_TAKE_PATIENCE)
            .send()
            .await
            .map_err(|error| io::Error::other(why(&error)))?;
        let status = answer.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("it answered with HTTP {status}")))
        }
    }

    /// Sends a request, and hands on what comes until its answer has come.
    pub(super) async fn answered(self, id: &Id) {
        if let Err(failure) = self.exchange(id).await {
            // Where nobody takes events, nobody waits for an answer.
            let _gone =
                self.shared.tell.send(UpstreamEvent::Failed { id: Some(id.clone()), why: failure }).await;
        }
    }

    async fn exchange(&self, id: &Id) -> Result<(), String> {
        let request = self.request.try_clone().ok_or("the request cannot be sent")?;
        let answer = request.send().await.map_err(|error| why(&error))?;
        let status = answer.status();
        if self.begins && status.is_success() {
            self.shared.state().session = answer.headers().get(SESSION_ID).cloned();
        }
        if is_kind(&answer, EVENTS) && status.is_success() {
            return self.follow(answer, id).await;
        }
        if !is_kind(&answer, JSON) {
            return Err(format!("it answered with HTTP {status} and no message"));
        }
        let body = whole_body(answer).await?;
        match self.hand_on(body, id).await? {
            true => Ok(()),
            false => Err(format!("it answered with HTTP {status} and no answer to the request")),
        }
    }

    /// Reads a stream up to the request's answer. One that breaks off is taken up behind its last event.
    async fn follow(&self, answer: Response, id: &Id) -> Result<(), String> {
        let mut events = EventStream::default();
        let mut answer = Some(answer);
        for _ in 0..MAX_RESUMPTIONS {
            if let Some(mut open) = answer.take() {
                while let Ok(Some(piece)) = open.chunk().await {
                    for data in events.push(&piece).map_err(|_| self.too_long())? {
                        if self.hand_on(data, id).await? {
                            return Ok(());
                        }
                    }
                }
            }
            let Some(last) = events.last_id.as_deref().and_then(header_text) else { break };
            sleep(events.pause.unwrap_or(STREAM_PAUSE)).await;
            let again = self.shared.request(Method::GET).header(ACCEPT, EVENTS).header(LAST_EVENT_ID, last);
            answer = again
                .send()
                .await
                .ok()
                .filter(|answer| answer.status().is_success() && is_kind(answer, EVENTS));
        }
        Err("its stream ended before the answer".to_owned())
    }

    /// Hands on a message. Returns `true` for the request's answer.
    async fn hand_on(&self, data: Vec<u8>, id: &Id) -> Result<bool, String> {
        let is_answer = |message: &ServerMessage| match &message.kind {
            ServerMessageKind::Answer { id: of, result, .. } if of == id => {
                if let (true, Some(result)) = (self.begins, result) {
                    let begun = serde_json::from_str::<InitializeResult>(result.get()).ok();
                    self.shared.state().version =
                        begun.and_then(|begun| HeaderValue::from_str(&begun.protocol_version).ok());
                }
                true
            }
            _ => false,
        };
        let messages = ServerMessage::parse_line(&data).unwrap_or_default();
        let found = messages.iter().filter(|message| is_answer(message)).count();
        let sent = self.shared.tell.send(UpstreamEvent::Message(data)).await;
        sent.map_err(|_| "the session ended".to_owned())?;
        Ok(found > 0)
    }

    fn too_long(&self) -> String {
        format!("it sent a message of more than {MAX_MESSAGE_BYTES} bytes")
    }
}

/// Reads the server's own stream for as long as the server has one.
pub(super) async fn listen(shared: &Arc<Shared>) {
    let mut events = EventStream::default();
    loop {
        let mut request = shared.request(Method::GET).header(ACCEPT, EVENTS);
        if let Some(last) = events.last_id.as_deref().and_then(header_text) {
            request = request.header(LAST_EVENT_ID, last);
        }
        if let Ok(mut open) = request.send().await {
            let refused = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST];
            if refused.contains(&open.status()) {
                return;
            }
            let is_open = open.status().is_success() && is_kind(&open, EVENTS);
            while let (true, Ok(Some(piece))) = (is_open, open.chunk().await) {
                let Ok(messages) = events.push(&piece) else { return };
                for data in messages {
                    if shared.tell.send(UpstreamEvent::Message(data)).await.is_err() {
                        return;
                    }
                }
            }
        }
        sleep(events.pause.unwrap_or(STREAM_PAUSE).max(LEAST_PAUSE)).await;
    }
}

/// The shortest pause before the server's own stream is opened again.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

async fn whole_body(mut answer: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| why(&error))? {
        if body.len().saturating_add(piece.len()) > MAX_MESSAGE_BYTES {
            return Err(format!("it sent a message of more than {MAX_MESSAGE_BYTES} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn is_kind(answer: &Response, kind: &str) -> bool {
    let found = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let found = found.and_then(|value| value.split(';').next()).map(str::trim);
    found.is_some_and(|found| found.eq_ignore_ascii_case(kind))
}

/// Returns a text as a header's value: as it is, or in base64 where a header could not hold it.
fn header_text(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !text.starts_with("=?");
    let written = if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    HeaderValue::from_str(&written).ok()
}

/// The last cause says it; those before it are how the client is built.
fn why(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
