//! `bitacora mcp serve`: a server of questions about an agent's own calls. It gets resources with the agent's token, and posts nothing.

mod tools;

use bitacora_api::paths;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};

use self::tools::{TOOLS, ToolAnswer};
use crate::call::ToolCall;
use crate::error::{McpError, ServiceFailure};
use crate::frame::{ClientMessage, Id, TOOLS_CALL, error_answer};
use crate::json_text::compact;
use crate::limits::DECISION_PATIENCE;
use crate::lines::{Line, next_line};
use crate::service::Service;

/// Versions of the protocol with a handshake, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version without one.
const STATELESS_VERSION: &str = "2026-07-28";
/// The codes of JSON-RPC.
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
/// The words by which a model knows the server.
const INSTRUCTIONS: &str = "Answers about the tool calls of this agent: why one was denied, what is allowed, what happened. It changes nothing.";

/// The session and the run that questions are about by default.
#[derive(Debug, Clone, Default)]
pub struct QuestionSettings {
    /// The session.
    pub session: Option<String>,
    /// The run.
    pub run: Option<String>,
}

/// The server of questions.
struct Questions {
    service: Service,
    settings: QuestionSettings,
    /// The agent of the token, once it was asked for.
    agent: Option<String>,
}

/// Answers questions on this process's standard streams until the client ends.
///
/// # Errors
/// The streams cannot be read or written.
pub async fn run_questions(service: Service, settings: QuestionSettings) -> Result<(), McpError> {
    let mut questions = Questions { service, settings, agent: None };
    let mut lines = BufReader::new(tokio::io::stdin());
    let mut out = tokio::io::stdout();
    loop {
        let answer = match next_line(&mut lines).await? {
            Line::End => return Ok(()),
            Line::TooLong => Some(error_answer(None, -32600, "the message is too long")),
            Line::Whole(line) => match ClientMessage::parse(&line) {
                Ok(ClientMessage::Request { id, method, params }) => {
                    Some(questions.answer(&id, &method, params.as_deref()).await)
                }
                Ok(_) => None,
                Err(bad) => Some(error_answer(bad.id.as_ref(), bad.code, &bad.why)),
            },
        };
        if let Some(answer) = answer {
            out.write_all(format!("{answer}\n").as_bytes()).await?;
            out.flush().await?;
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
}

impl Questions {
    async fn answer(&mut self, id: &Id, method: &str, params: Option<&str>) -> String {
        let stateless =
            params.is_some_and(|params| params.contains("io.modelcontextprotocol/protocolVersion"));
        let result = match method {
            "initialize" => initialized(params),
            "server/discover" => discovered(),
            "ping" => json!({}),
            "tools/list" => listed(),
            TOOLS_CALL => match ToolCall::parse(params) {
                Ok(call) => match self.called(&call).await {
                    Some(answer) => result_of(answer),
                    None => {
                        return error_answer(
                            Some(id),
                            INVALID_PARAMS,
                            &format!("there is no tool {:?}", call.name),
                        );
                    }
                },
                Err(why) => return error_answer(Some(id), INVALID_PARAMS, &why),
            },
            _ => return error_answer(Some(id), METHOD_NOT_FOUND, "this server has no such method"),
        };
        written(id, result, stateless)
    }

    /// Returns the agent whose token asks.
    async fn agent(&mut self) -> Result<Option<String>, ServiceFailure> {
        if self.agent.is_none() {
            let path = self.service.path(paths::POLICY_CACHE, &[]);
            let answer: Value = self.service.get(&path, DECISION_PATIENCE).await?;
            self.agent = answer.pointer("/executor/agent").and_then(Value::as_str).map(str::to_owned);
        }
        Ok(self.agent.clone())
    }
}

fn initialized(params: Option<&str>) -> Value {
    let wanted: Option<InitializeParams> = params.and_then(|params| serde_json::from_str(params).ok());
    let known =
        wanted.and_then(|wanted| VERSIONS.into_iter().find(|version| *version == wanted.protocol_version));
    json!({
        "protocolVersion": known.unwrap_or("2025-11-25"),
        "capabilities": {"tools": {}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [STATELESS_VERSION],
        "capabilities": {"tools": {}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
        "cacheScope": "private",
        "ttlMs": 0,
    })
}

fn server_info() -> Value {
    json!({"name": "bitacora", "version": env!("CARGO_PKG_VERSION")})
}

fn listed() -> Value {
    let tools = TOOLS.iter().map(|tool| {
        let properties: serde_json::Map<String, Value> = tool
            .arguments
            .iter()
            .map(|(name, description)| {
                ((*name).to_owned(), json!({"type": "string", "description": description}))
            })
            .collect();
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"type": "object", "properties": properties, "additionalProperties": false},
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    });
    let tools: Vec<Value> = tools.collect();
    json!({"tools": tools, "cacheScope": "private", "ttlMs": 0})
}

fn result_of(answer: ToolAnswer) -> Value {
    let is_error = answer.is_err();
    let text = answer.unwrap_or_else(|why| why);
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

/// Writes a result. Clients of 2026-07-28 expect a member more; those before do not know those of its caches.
fn written(id: &Id, mut result: Value, stateless: bool) -> String {
    if let Some(members) = result.as_object_mut() {
        if stateless {
            members.insert("resultType".to_owned(), "complete".into());
        } else {
            members.remove("cacheScope");
            members.remove("ttlMs");
        }
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", compact(&result.to_string()))
}
