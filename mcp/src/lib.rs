//! A gate between an MCP client and an MCP server, and a server of questions about the ledger.
//!
//! The proxy hands every message on, except for calls of tools. A call is handed on once the ledger has allowed it; a person may be
//! waited for. It reads the client's messages strictly and writes them anew, so the server gets what was decided about and no more.
//! Definitions of tools are recorded as they are first seen, and calls of a tool that is defined otherwise are held.
//!
//! This crate may not know the ledger or the service's files. It writes to no stream but those of the session, and stderr.

mod answer;
mod call;
mod definitions;
mod error;
mod frame;
mod gate;
mod http_upstream;
mod json_text;
mod limits;
mod lines;
mod process;
mod proxy;
mod questions;
mod service;
mod sse;
mod tool_name;
mod upstream;

pub use definitions::definition_version;
pub use error::McpError;
pub use gate::{Gate, GateSettings, spool_name, working_folder};
pub use http_upstream::UpstreamUrl;
pub use limits::LONGEST_WAIT;
pub use process::ServerCommand;
pub use proxy::{new_session, run_proxy};
pub use questions::{QuestionSettings, run_questions};
pub use service::Service;
pub use tool_name::{ServerName, stream_of_tool};
pub use upstream::UpstreamAddress;
