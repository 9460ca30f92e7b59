//! The tools of coding agents that a new ledger may begin with.

/// JSON: an array of documents, each as `tool.registered` records it.
pub const STARTER_TOOLS: &str = include_str!("../../../starter/tools.json");
