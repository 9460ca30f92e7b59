//! A line of a transcript: the members that are read.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::MappingRefusal;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "struct Entry")]
pub(super) struct TranscriptEntry<'a> {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) uuid: Option<String>,
    #[serde(rename = "sessionId")]
    pub(super) session: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) cwd: Option<String>,
    #[serde(rename = "gitBranch")]
    pub(super) branch: Option<String>,
    pub(super) version: Option<String>,
    #[serde(default)]
    pub(super) is_sidechain: bool,
    #[serde(default)]
    pub(super) is_meta: bool,
    pub(super) agent_id: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) subtype: Option<String>,
    pub(super) duration_ms: Option<u64>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(expecting = "struct Message")]
pub(super) struct TranscriptMessage<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) stop_reason: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Usage {
    #[serde(rename = "input_tokens")]
    pub(super) input: Option<u64>,
    #[serde(rename = "output_tokens")]
    pub(super) output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: Option<u64>,
}

/// One block of a message's contents, of any kind.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    pub(super) is_error: Option<bool>,
}

/// The contents of a message.
pub(super) enum MessageContent<'a> {
    Text(String),
    Blocks(Vec<Block<'a>>),
}

impl<'a> TranscriptEntry<'a> {
    pub(super) fn message(&self, kind: &str) -> Result<TranscriptMessage<'a>, MappingRefusal> {
        let message = self.message.ok_or_else(|| MappingRefusal::new(format!("{kind} without a message")))?;
        serde_json::from_str(message.get()).map_err(|error| within("message", &error))
    }
}

impl<'a> TranscriptMessage<'a> {
    pub(super) fn content(&self) -> Result<MessageContent<'a>, MappingRefusal> {
        let content = self.content.ok_or_else(|| MappingRefusal::new("a message without content"))?.get();
        let read = if content.starts_with('"') {
            serde_json::from_str(content).map(MessageContent::Text)
        } else {
            serde_json::from_str(content).map(MessageContent::Blocks)
        };
        read.map_err(|error| within("content", &error))
    }
}

/// Returns the text of a tool's result: itself, or its texts joined. Pictures and the like have none.
pub(super) fn result_text(content: Option<&RawValue>) -> Result<String, MappingRefusal> {
    let Some(content) = content.map(RawValue::get) else { return Ok(String::new()) };
    let read = if content.starts_with('"') {
        serde_json::from_str::<String>(content)
    } else {
        serde_json::from_str::<Vec<Block<'_>>>(content).map(|blocks| {
            let texts: Vec<String> = blocks.into_iter().filter_map(|block| block.text).collect();
            texts.join("\n")
        })
    };
    read.map_err(|error| within("a tool result", &error))
}

fn within(what: &str, error: &serde_json::Error) -> MappingRefusal {
    let text = error.to_string();
    MappingRefusal::new(format!("{what}: {}", text.split(" at line ").next().unwrap_or_default()))
}
