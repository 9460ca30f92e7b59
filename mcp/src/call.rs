//! The parameters of a call: read by an allow-list, and written anew.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::json_text::{folded, quoted, read};
use crate::limits::MAX_TOOL_NAME_BYTES;

/// The members that the parameters of a call may have. `task` is of 2025-11-25, the last two of 2026-07-28.
const MEMBERS: [&str; 6] = ["name", "arguments", "_meta", "task", "inputResponses", "requestState"];
/// The parameter in `_meta` that each request of 2026-07-28 has.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The beginning of the protocol's own parameters in `_meta`.
const PROTOCOL: &str = "io.modelcontextprotocol/";

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    /// The tool's name, as the server knows it.
    pub(crate) name: String,
    /// The arguments: a JSON object.
    pub(crate) arguments: String,
    /// The parameters as they are sent.
    pub(crate) params: String,
    /// The token under which the client takes messages about progress, as JSON.
    pub(crate) progress_token: Option<String>,
    /// The members by which a request of a protocol without sessions names its version, as JSON.
    pub(crate) stateless: Option<String>,
}

impl ToolCall {
    /// Reads the parameters of a call, which are compact JSON without duplicate keys.
    ///
    /// # Errors
    /// The fault. Such a call is not handed on.
    pub(crate) fn parse(params: Option<&str>) -> Result<Self, String> {
        let params = params.ok_or("found a call without parameters")?;
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(params).map_err(|_| "found parameters that are no object".to_owned())?;
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(format!(
                "found the parameter {unknown:?}, which no call has; nothing can be decided about it"
            ));
        }
        let name: Option<String> = members.get("name").and_then(|raw| read(raw));
        let name = name.filter(|name| !name.is_empty() && name.len() <= MAX_TOOL_NAME_BYTES);
        let name = name.ok_or("found no name of a tool")?;
        let arguments = match members.get("arguments") {
            Some(raw) if raw.get() != "null" => raw.get(),
            _ => "{}",
        };
        check_arguments(arguments)?;
        let meta = members.get("_meta").map(|raw| raw.get());
        let meta_members: BTreeMap<String, &RawValue> =
            meta.and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
        let progress_token = meta_members.get("progressToken").map(|token| token.get().to_owned());
        let progress_token = progress_token.filter(|token| !token.starts_with(['{', '[', 'n', 't', 'f']));
        let stateless = meta_members.contains_key(PROTOCOL_VERSION).then(|| protocol_members(&meta_members));
        let params = rewritten(&name, &members);
        Ok(Self { name, arguments: arguments.to_owned(), params, progress_token, stateless })
    }
}

/// Arguments are an object. No two members differ by letter case alone: some servers take one for the other.
fn check_arguments(arguments: &str) -> Result<(), String> {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(arguments).map_err(|_| "found arguments that are no object".to_owned())?;
    let mut names = BTreeSet::new();
    match members.keys().find(|name| !names.insert(folded(name))) {
        Some(name) => {
            Err(format!("found the argument {name:?} twice, in other letter case; name each argument once"))
        }
        None => Ok(()),
    }
}

fn protocol_members(meta: &BTreeMap<String, &RawValue>) -> String {
    let kept = meta.iter().filter(|(name, _)| name.starts_with(PROTOCOL));
    let kept: Vec<String> = kept.map(|(name, value)| format!("{}:{}", quoted(name), value.get())).collect();
    format!("{{{}}}", kept.join(","))
}

/// Writes the parameters anew, in the order of the allow-list.
fn rewritten(name: &str, members: &BTreeMap<String, &RawValue>) -> String {
    let mut out = format!("{{\"name\":{}", quoted(name));
    for member in MEMBERS.iter().filter(|member| **member != "name") {
        if let Some(raw) = members.get(*member).filter(|raw| raw.get() != "null") {
            out.push_str(&format!(",\"{member}\":{}", raw.get()));
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_from_what_was_read() {
        let call =
            ToolCall::parse(Some(r#"{"arguments":{"a":1},"_meta":{"progressToken":7},"\u006eame":"echo"}"#))
                .unwrap();
        assert_eq!(call.params, r#"{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":7}}"#);
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("echo", r#"{"a":1}"#));
        assert_eq!((call.progress_token.as_deref(), call.stateless), (Some("7"), None));
        let bare = ToolCall::parse(Some(r#"{"name":"echo","arguments":null}"#)).unwrap();
        assert_eq!((bare.params.as_str(), bare.arguments.as_str()), (r#"{"name":"echo"}"#, "{}"));
    }

    #[test]
    fn a_request_without_a_session_says_what_it_is() {
        let params = r#"{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1}}"#;
        let stateless = ToolCall::parse(Some(params)).unwrap().stateless;
        let expected = r#"{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        assert_eq!(stateless.as_deref(), Some(expected));
    }

    #[test]
    fn a_call_that_two_servers_would_read_differently_is_refused() {
        for (params, fault) in [
            (r#"{"name":"echo","Name":"rm"}"#, "the parameter \"Name\""),
            (r#"{"name":"echo","argument\u017f":{}}"#, "the parameter"),
            (r#"{"name":"echo","tool":"rm"}"#, "the parameter \"tool\""),
            (r#"{"name":"echo","arguments":{"path":"a","Path":"b"}}"#, "in other letter case"),
            (r#"{"name":"echo","arguments":[1]}"#, "no object"),
            (r#"{"name":"echo","arguments":"{}"}"#, "no object"),
            (r#"{"name":["echo"]}"#, "no name"),
            (r#"{"name":""}"#, "no name"),
            (r#"{}"#, "no name"),
            (r#"["echo"]"#, "no object"),
        ] {
            let why = ToolCall::parse(Some(params)).unwrap_err();
            assert!(why.contains(fault), "{params}: {why}");
        }
        assert!(ToolCall::parse(None).is_err());
    }
}
