//! Messages of the server.

use std::sync::Arc;
use std::time::Instant;

use bitacora_api::ContentRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::in_flight::{RunningCall, Waiting};
use super::{Proxy, UpstreamEvent};
use crate::definitions::ListedTools;
use crate::frame::{Id, ServerMessage, ServerMessageKind, error_answer};
use crate::gate::{CallEnd, note};
use crate::limits::{MAX_MESSAGE_BYTES, OUTPUT_TAIL_BYTES};

/// The notification that tools changed.
const LIST_CHANGED: &str = "notifications/tools/list_changed";
/// The code of a request that got no answer, as SDKs use it for a closed connection.
const CONNECTION_CLOSED: i32 = -32000;
/// A result that asks the client for something, and is not the call's end.
const INPUT_REQUIRED: &str = "input_required";

/// The members of a call's result that its outcome is made of.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMembers {
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    result_type: Option<String>,
    #[serde(default)]
    content: Vec<ContentMembers>,
}

#[derive(Deserialize)]
struct ContentMembers {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct ErrorMembers {
    code: i64,
}

impl Proxy {
    /// Reads the server until it ends, and returns the reason.
    pub(super) async fn read_server(self: Arc<Self>, mut events: mpsc::Receiver<UpstreamEvent>) -> String {
        while let Some(event) = events.recv().await {
            match event {
                UpstreamEvent::Message(line) => match ServerMessage::parse_line(&line) {
                    Some(messages) => {
                        for message in messages {
                            self.from_server(message).await;
                        }
                    }
                    None => note("a line of the server is dropped, because it is no message"),
                },
                UpstreamEvent::TooLong => {
                    return format!("it sent a message of more than {MAX_MESSAGE_BYTES} bytes");
                }
                UpstreamEvent::Failed { id, why } => self.failed(id, &why).await,
                UpstreamEvent::Ended(why) => return why,
            }
        }
        "it is gone".to_owned()
    }

    async fn from_server(self: &Arc<Self>, message: ServerMessage) {
        let ServerMessage { text, kind } = message;
        let (id, result, error) = match kind {
            ServerMessageKind::Method(method) => {
                if method == LIST_CHANGED {
                    self.definitions.changed();
                }
                return self.to_client(&text).await;
            }
            ServerMessageKind::Answer { id, result, error } => (id, result, error),
        };
        match self.in_flight.answered(&id) {
            None | Some(Waiting::Held(_)) => {
                note(&format!("an answer of the server to no request that waits is dropped: id {id}"));
            }
            Some(Waiting::Plain) => self.to_client(&text).await,
            Some(Waiting::List) => {
                self.to_client(&text).await;
                if let Some(listed) = result.as_deref().and_then(ListedTools::read) {
                    let proxy = Arc::clone(self);
                    self.spawn(async move { proxy.definitions.take(&proxy.gate, &listed.tools).await }).await;
                }
            }
            // Nobody waits any more where this fails.
            Some(Waiting::Own(asked)) => drop(asked.send(result)),
            Some(Waiting::Running(running)) => {
                let end = call_end(&running, result.as_deref(), error.as_deref());
                let proxy = Arc::clone(self);
                // The outcome is durable before the client goes on.
                self.spawn(async move {
                    proxy.gate.report(&running.id, end).await;
                    proxy.to_client(&text).await;
                })
                .await;
            }
        }
    }

    /// Answers a request that the upstream gave no answer to.
    async fn failed(&self, id: Option<Id>, why: &str) {
        note(&format!("the server gives no answer: {why}"));
        let Some(id) = id else { return };
        if let Some(waiting) = self.in_flight.answered(&id) {
            self.end_one(&id, waiting, why).await;
        }
    }

    /// Answers everything that waits, because nothing comes any more.
    pub(super) async fn end_all(&self, why: &str) {
        for (id, waiting) in self.in_flight.drain() {
            self.end_one(&id, waiting, why).await;
        }
    }

    async fn end_one(&self, id: &Id, waiting: Waiting, why: &str) {
        match waiting {
            // Its task tells nobody: whoever cancelled it knows.
            Waiting::Held(cancelled) => cancelled.notify_one(),
            // The receiver sees that the sender is gone.
            Waiting::Own(_) => return,
            Waiting::Running(running) => {
                let end = ended(&running, "error", Some("server-ended".to_owned()));
                self.gate.report(&running.id, end).await;
            }
            Waiting::Plain | Waiting::List => {}
        }
        self.to_client(&error_answer(
            Some(id),
            CONNECTION_CLOSED,
            &format!("the server gave no answer: {why}"),
        ))
        .await;
    }
}

/// Returns the end of a running call.
pub(super) fn ended(running: &RunningCall, status: &'static str, error: Option<String>) -> CallEnd {
    CallEnd {
        status,
        error,
        duration: Some(Instant::now().saturating_duration_since(running.began)),
        output: None,
    }
}

fn call_end(running: &RunningCall, result: Option<&RawValue>, error: Option<&RawValue>) -> CallEnd {
    let Some(result) = result else {
        let code = error.and_then(|error| serde_json::from_str::<ErrorMembers>(error.get()).ok());
        let kind =
            code.map_or_else(|| "protocol-error".to_owned(), |error| format!("protocol-error{}", error.code));
        return ended(running, "error", Some(kind));
    };
    let members = serde_json::from_str::<ResultMembers>(result.get()).ok();
    let is_error = members.as_ref().is_some_and(|members| members.is_error == Some(true));
    let asks = members.as_ref().is_some_and(|members| members.result_type.as_deref() == Some(INPUT_REQUIRED));
    let (status, kind) = match (is_error, asks) {
        (true, _) => ("error", Some("tool-error".to_owned())),
        (false, true) => ("interrupted", Some("input-required".to_owned())),
        (false, false) => ("ok", None),
    };
    let output = ContentRequest {
        digest: Some(hex::encode(Sha256::digest(result.get().as_bytes()))),
        bytes: u64::try_from(result.get().len()).ok(),
        tail: members.map(|members| tail(&members.content)).filter(|tail| !tail.is_empty()),
    };
    CallEnd { output: Some(output), ..ended(running, status, kind) }
}

/// Returns the end of the texts of a result.
fn tail(content: &[ContentMembers]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(|item| item.text.as_deref()).collect();
    let whole = texts.join("\n");
    let mut from = whole.len().saturating_sub(OUTPUT_TAIL_BYTES);
    while !whole.is_char_boundary(from) {
        from = from.saturating_add(1);
    }
    whole.get(from..).unwrap_or_default().to_owned()
}
