//! Messages of JSON-RPC: read strictly from the client, and as far as needed from the server.
//!
//! The server never sees a byte that the client chose the framing of. A client's message is read whole, by one strict reader, and
//! written anew from what was read. So no reader of the server finds another message in it than the gate did: members are an
//! allow-list, no key stands twice, and a message has no line ends.

use std::collections::BTreeMap;
use std::fmt;

use bitacora_formats::check_json;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json_text::{compact, quoted, read};
use crate::limits::{MAX_BATCH_MESSAGES, MAX_ID_BYTES, MAX_MESSAGE_BYTES, MAX_METHOD_BYTES};

/// The method that the gate is about.
pub(crate) const TOOLS_CALL: &str = "tools/call";
/// The letters and digits of that method, by which its odd spellings are found.
const TOOLS_CALL_LETTERS: &str = "toolscall";
/// The members that a client's message may have.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// Reads an id; `None` where it is none that the protocol has.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        if raw.get().starts_with('"') {
            return read::<String>(raw).filter(|text| text.len() <= MAX_ID_BYTES).map(Self::Text);
        }
        raw.get().parse().ok().map(Self::Number)
    }
}

impl fmt::Display for Id {
    /// Writes the id as JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// A message of the client.
#[derive(Debug)]
pub(crate) enum ClientMessage {
    /// A request; its parameters are compact JSON.
    Request { id: Id, method: String, params: Option<String> },
    /// A notification.
    Notification { method: String, params: Option<String> },
    /// An answer to a request of the server, as it is handed on.
    Answer { text: String },
}

/// A message of the client that is not handed on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadMessage {
    /// Its id, where it could be read.
    pub(crate) id: Option<Id>,
    /// The code of JSON-RPC.
    pub(crate) code: i32,
    /// The fault.
    pub(crate) why: String,
}

impl BadMessage {
    pub(crate) fn too_long() -> Self {
        Self::new(
            None,
            -32600,
            format!("found a message of more than {MAX_MESSAGE_BYTES} bytes; expected fewer"),
        )
    }

    pub(crate) fn new(id: Option<Id>, code: i32, why: impl Into<String>) -> Self {
        Self { id, code, why: why.into() }
    }
}

impl ClientMessage {
    /// Reads a line of the client.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, BadMessage> {
        check_json(line).map_err(|error| {
            BadMessage::new(None, -32700, format!("found a message that is not taken: {error}"))
        })?;
        let text =
            std::str::from_utf8(line).map_err(|error| BadMessage::new(None, -32700, error.to_string()))?;
        let text = compact(text);
        if text.starts_with('[') {
            return Err(BadMessage::new(
                None,
                -32600,
                "found a batch; expected one message a line, as the protocol has had no batches since 2025-06-18",
            ));
        }
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(&text).map_err(|_| {
            BadMessage::new(None, -32600, "found a message that is no object; expected one of JSON-RPC")
        })?;
        Members::of(&members)?.message(&text)
    }
}

/// The members of a client's message.
struct Members<'a> {
    id: Option<Id>,
    method: Option<String>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    has_id: bool,
}

impl<'a> Members<'a> {
    fn of(members: &BTreeMap<String, &'a RawValue>) -> Result<Self, BadMessage> {
        let id = members.get("id").and_then(|raw| Id::read(raw));
        let refused = |why: String| BadMessage::new(id.clone(), -32600, why);
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(refused(format!(
                "found the member {unknown:?}; expected the members of JSON-RPC alone"
            )));
        }
        if members.get("jsonrpc").is_none_or(|version| version.get() != "\"2.0\"") {
            return Err(refused("found no member `jsonrpc` that is \"2.0\"".to_owned()));
        }
        let method = match members.get("method") {
            None => None,
            Some(raw) => Some(
                read::<String>(raw).ok_or_else(|| refused("found a method that is no text".to_owned()))?,
            ),
        };
        let of = |name: &str| members.get(name).copied();
        let (params, result, error, has_id) = (of("params"), of("result"), of("error"), of("id").is_some());
        Ok(Self { id, method, params, result, error, has_id })
    }

    fn message(self, text: &str) -> Result<ClientMessage, BadMessage> {
        let refused = |why: &str| BadMessage::new(self.id.clone(), -32600, why);
        let is_answer = self.result.is_some() || self.error.is_some();
        if self.has_id && self.id.is_none() && !(is_answer && self.method.is_none()) {
            return Err(refused("found an id that is neither a text nor a whole number"));
        }
        let Some(method) = self.method.clone() else {
            if is_answer && self.params.is_none() && self.has_id {
                return Ok(ClientMessage::Answer { text: text.to_owned() });
            }
            return Err(refused("found neither a method nor an answer"));
        };
        if is_answer {
            return Err(refused("found a method and an answer in one message"));
        }
        check_method(&method).map_err(|why| refused(&why))?;
        let params = match self.params {
            Some(raw) if raw.get().starts_with('{') || raw.get().starts_with('[') => {
                Some(raw.get().to_owned())
            }
            Some(raw) if raw.get() == "null" => None,
            Some(_) => return Err(refused("found parameters that are no object")),
            None => None,
        };
        match self.id {
            Some(id) => Ok(ClientMessage::Request { id, method, params }),
            None if method == TOOLS_CALL => {
                Err(refused("found a call of a tool without an id; expected a request"))
            }
            None => Ok(ClientMessage::Notification { method, params }),
        }
    }
}

/// Checks a method's name. Every method is handed on but those that a lenient server might take for a call.
fn check_method(method: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_/.$:-".contains(&byte);
    if method.is_empty() || method.len() > MAX_METHOD_BYTES || !method.bytes().all(is_plain) {
        return Err("found a method with characters that no method has".to_owned());
    }
    let letters: String = method
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    if letters == TOOLS_CALL_LETTERS && method != TOOLS_CALL {
        return Err(format!("found the method {method:?}; expected {TOOLS_CALL:?}"));
    }
    Ok(())
}

/// Writes a request or a notification.
pub(crate) fn written(id: Option<&Id>, method: &str, params: Option<&str>) -> String {
    let mut out = "{\"jsonrpc\":\"2.0\"".to_owned();
    if let Some(id) = id {
        out.push_str(&format!(",\"id\":{id}"));
    }
    out.push_str(&format!(",\"method\":{}", quoted(method)));
    if let Some(params) = params {
        out.push_str(",\"params\":");
        out.push_str(params);
    }
    out.push('}');
    out
}

/// Writes an error of JSON-RPC as an answer.
pub(crate) fn error_answer(id: Option<&Id>, code: i32, message: &str) -> String {
    let id = id.map_or_else(|| "null".to_owned(), Id::to_string);
    let message = quoted(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}

/// A message of the server, as far as the proxy reads it.
#[derive(Debug)]
pub(crate) struct ServerMessage {
    /// The message as it is handed on: one line.
    pub(crate) text: String,
    pub(crate) kind: ServerMessageKind,
}

/// The kind of a server's message.
#[derive(Debug)]
pub(crate) enum ServerMessageKind {
    /// An answer to a request.
    Answer { id: Id, result: Option<Box<RawValue>>, error: Option<Box<RawValue>> },
    /// A request or a notification.
    Method(String),
}

#[derive(Deserialize)]
struct ServerMembers<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Box<RawValue>>,
}

impl ServerMessage {
    /// Reads a line of the server: one message, or a batch of them; `None` where it is neither.
    pub(crate) fn parse_line(line: &[u8]) -> Option<Vec<Self>> {
        let text = std::str::from_utf8(line).ok()?;
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        if !raw.get().starts_with('[') {
            return Some(vec![Self::parse(raw.get())?]);
        }
        let batch: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
        if batch.len() > MAX_BATCH_MESSAGES {
            return None;
        }
        batch.into_iter().map(|raw| Self::parse(raw.get())).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let members: ServerMembers<'_> = serde_json::from_str(text).ok()?;
        let kind = match (members.method, members.id) {
            (Some(method), _) => ServerMessageKind::Method(method),
            (None, Some(id)) if members.result.is_some() || members.error.is_some() => {
                ServerMessageKind::Answer { id: Id::read(id)?, result: members.result, error: members.error }
            }
            _ => return None,
        };
        Some(Self { text: compact(text), kind })
    }
}

#[cfg(test)]
mod tests;
