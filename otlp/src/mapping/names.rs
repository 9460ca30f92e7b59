//! Names of attributes, by meaning: the newest GenAI convention first, then older ones, then those of coding agents.

pub(super) const OPERATION: &[&str] = &["gen_ai.operation.name"];
pub(super) const TOOL: &[&str] = &["gen_ai.tool.name", "tool_name", "function_name"];
pub(super) const CALL: &[&str] = &["gen_ai.tool.call.id", "tool_use_id", "call_id"];
pub(super) const SESSION: &[&str] = &["gen_ai.conversation.id", "session.id", "conversation.id"];
pub(super) const AGENT: &[&str] = &["gen_ai.agent.name"];
pub(super) const AGENT_ID: &[&str] = &["gen_ai.agent.id"];
pub(super) const MODEL: &[&str] = &["gen_ai.request.model", "model"];
pub(super) const PROVIDER: &[&str] = &["gen_ai.provider.name", "gen_ai.system"];
pub(super) const INPUT_TOKENS: &[&str] =
    &["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "input_tokens", "input_token_count"];
pub(super) const OUTPUT_TOKENS: &[&str] =
    &["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "output_tokens", "output_token_count"];
pub(super) const CACHE_READ_TOKENS: &[&str] = &[
    "gen_ai.usage.cache_read.input_tokens",
    "cache_read_tokens",
    "cached_content_token_count",
    "cached_token_count",
];
pub(super) const CACHE_WRITE_TOKENS: &[&str] =
    &["gen_ai.usage.cache_creation.input_tokens", "cache_creation_tokens"];
pub(super) const COST_MICRO_USD: &[&str] = &["cost_usd_micros"];
pub(super) const COST_USD: &[&str] = &["cost_usd"];
pub(super) const DURATION_MS: &[&str] = &["duration_ms"];
pub(super) const SUCCESS: &[&str] = &["success"];
pub(super) const ERROR_TYPE: &[&str] = &["error.type", "error_type"];
pub(super) const DECISION: &[&str] = &["decision"];
pub(super) const DECIDED_BY: &[&str] = &["source"];
pub(super) const EVENT_NAME: &[&str] = &["event.name"];

/// The beginning of all GenAI attributes and log events.
pub(super) const GEN_AI: &str = "gen_ai.";
/// The beginnings of coding agents' own names.
pub(super) const CODING_AGENTS: [&str; 3] = ["claude_code.", "codex.", "gemini_cli."];
