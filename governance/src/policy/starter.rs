//! The policy for coding agents that a new ledger may begin with.

/// Its JSON, as [`parse_policy`](super::parse_policy) reads it; each rule says in its `comment` why it is there.
pub const STARTER_POLICY: &str = include_str!("../../starter/policy.json");

#[cfg(test)]
mod tests;
