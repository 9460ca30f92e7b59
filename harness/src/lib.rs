//! The dialects of coding agents: what a harness tells its hooks, and what it reads of their answers.
//!
//! A *harness* is the program that runs an agent: Claude Code, Codex, Gemini CLI, Cursor. Each runs hooks before and after a
//! tool call, with JSON of its own. This crate reads that JSON as a [`HookInput`] and writes a [`HookVerdict`] in the
//! harness's words. It has no I/O and no clock, and it decides nothing.

mod answer;
mod claude;
mod claude_settings;
mod claude_variables;
mod codex;
mod cursor;
mod dialect;
mod error;
mod event;
mod gemini;
mod gemini_settings;
mod limits;
mod request;
mod setting_kind;
mod settings;
mod settings_difference;
mod settings_form;
mod shared_json;
#[cfg(test)]
mod tests;

pub use answer::{HookVerdict, NO_OPINION};
pub use dialect::{Dialect, UnknownDialect};
pub use error::HookError;
pub use event::{HookEvent, HookInput, Subagent, ToolCall, ToolEnd, ToolStatus};
pub use limits::{MAX_CALL_BYTES, MAX_NAME_BYTES, MAX_REASON_BYTES};
pub use request::{decide_request, outcome_request, pairing_digest};
pub use setting_kind::UnlistedMember;
pub use settings::{HookEntry, SettingsError, has_hooks, without_hooks};
pub use settings_difference::SettingsDifference;
