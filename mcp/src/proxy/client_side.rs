//! Messages of the client.

use std::io;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::AsyncBufRead;
use tokio::sync::Notify;

use super::Proxy;
use super::in_flight::{Cancelled, InFlightRefusal, Waiting};
use super::server_side::ended;
use crate::answer::Refusal;
use crate::call::ToolCall;
use crate::frame::{BadMessage, ClientMessage, Id, TOOLS_CALL, error_answer, written};
use crate::gate::note;
use crate::lines::{Line, next_line};

/// The method that lists tools.
pub(super) const TOOLS_LIST: &str = "tools/list";
/// The notification that cancels a request.
pub(super) const CANCELLED: &str = "notifications/cancelled";
/// The codes of JSON-RPC for a request that is not taken.
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

impl Proxy {
    /// Reads the client until it ends.
    pub(super) async fn read_client(self: Arc<Self>, mut lines: impl AsyncBufRead + Unpin) -> io::Result<()> {
        loop {
            let read = match next_line(&mut lines).await? {
                Line::End => return Ok(()),
                Line::TooLong => Err(BadMessage::too_long()),
                Line::Whole(line) => ClientMessage::parse(&line),
            };
            match read {
                Ok(message) => self.from_client(message).await,
                Err(bad) => {
                    note(&format!("a message of the client is refused: {}", bad.why));
                    self.to_client(&error_answer(bad.id.as_ref(), bad.code, &bad.why)).await;
                }
            }
        }
    }

    async fn from_client(self: &Arc<Self>, message: ClientMessage) {
        match message {
            ClientMessage::Request { id, method, params } if method == TOOLS_CALL => {
                self.begin_call(id, params.as_deref()).await;
            }
            ClientMessage::Request { id, method, params } => self.hand_on(id, method, params).await,
            ClientMessage::Notification { method, params } => {
                if method == CANCELLED && self.cancelled(params.as_deref()).await {
                    return;
                }
                let text = written(None, &method, params.as_deref());
                self.to_server(&text).await;
            }
            ClientMessage::Answer { text } => {
                self.to_server(&text).await;
            }
        }
    }

    /// Begins a call: from here on it is held.
    async fn begin_call(self: &Arc<Self>, id: Id, params: Option<&str>) {
        let call = match ToolCall::parse(params) {
            Ok(call) => call,
            Err(why) => {
                note(&format!("a call is refused: {why}"));
                return self.to_client(&error_answer(Some(&id), INVALID_PARAMS, &why)).await;
            }
        };
        let cancelled = Arc::new(Notify::new());
        match self.in_flight.add(id.clone(), Waiting::Held(Arc::clone(&cancelled))) {
            Ok(()) => self.spawn(Arc::clone(self).run_call(id, Arc::new(call), cancelled)).await,
            Err(InFlightRefusal::Twice) => self.refuse_twice(&id).await,
            Err(InFlightRefusal::Full) => {
                let refusal = Refusal::new(
                    "busy",
                    "Too many calls wait or run. Wait for one of them to end, then call again.",
                );
                self.to_client(&refusal.answer(&id, Some(&call))).await;
            }
        }
    }

    async fn hand_on(&self, id: Id, method: String, params: Option<String>) {
        let waiting = if method == TOOLS_LIST { Waiting::List } else { Waiting::Plain };
        match self.in_flight.add(id.clone(), waiting) {
            Ok(()) => {
                let text = written(Some(&id), &method, params.as_deref());
                self.to_server(&text).await;
            }
            Err(InFlightRefusal::Twice) => self.refuse_twice(&id).await,
            Err(InFlightRefusal::Full) => {
                let answer = error_answer(
                    Some(&id),
                    INVALID_REQUEST,
                    "too many requests wait for answers; wait for one of them",
                );
                self.to_client(&answer).await;
            }
        }
    }

    async fn refuse_twice(&self, id: &Id) {
        // Without the id: the answer to the first request is still to come.
        let why = format!("found a request with the id {id}, under which another one waits for its answer");
        note(&why);
        self.to_client(&error_answer(None, INVALID_REQUEST, &why)).await;
    }

    /// Cancels a request. Returns `true` where the server has not seen it, and is not told.
    async fn cancelled(self: &Arc<Self>, params: Option<&str>) -> bool {
        let params: Option<CancelledParams<'_>> = params.and_then(|params| serde_json::from_str(params).ok());
        let id = params.and_then(|params| params.request_id).and_then(Id::read);
        match id.map(|id| self.in_flight.cancel(&id)) {
            Some(Cancelled::Held) => true,
            Some(Cancelled::Running(running)) => {
                let proxy = Arc::clone(self);
                let end = ended(&running, "interrupted", Some("cancelled".to_owned()));
                self.spawn(async move { proxy.gate.report(&running.id, end).await }).await;
                false
            }
            Some(Cancelled::Other) | None => false,
        }
    }

    /// Sends a message to the server. One that is gone is noticed by its reader.
    pub(super) async fn to_server(&self, message: &str) {
        if let Err(error) = self.upstream.send(message).await {
            note(&format!("the server takes no message: {error}"));
        }
    }
}
