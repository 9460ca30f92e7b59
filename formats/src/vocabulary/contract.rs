//! Contracts: what must hold before and after a step, and what is done where it does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlastRadius, BoundedList, EventData, JsonObject, Name, Words};

/// Checks before, checks after, and steps of a rollback that one contract has; as many each.
pub const MAX_CONTRACT_PARTS: usize = 64;

/// `contract.defined`: a contract has these parts from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractDefined {
    /// Its name.
    pub contract: Name,
    /// What must hold before.
    pub pre: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// What must hold after.
    pub post: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// What is done, in order, where it does not.
    pub rollback: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// How much damage a breach can do.
    pub blast_radius: BlastRadius,
}

/// A check or a step of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractPart {
    /// What kind.
    #[serde(rename = "type")]
    pub kind: Name,
    /// With what.
    #[serde(default)]
    pub params: JsonObject,
}

/// `contract.checked`: what its checks found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractChecked {
    /// The contract, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Name>,
    /// The call it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
    /// The run.
    pub run: Name,
    /// The node.
    pub node: Name,
    /// Before or after.
    pub phase: ContractPhase,
    /// What was found.
    pub checks: BoundedList<CheckResult, 0, MAX_CONTRACT_PARTS>,
}

/// When a check is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContractPhase {
    /// Before the step.
    Pre,
    /// After it.
    Post,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// What kind of check.
    #[serde(rename = "type")]
    pub kind: Name,
    /// With what.
    #[serde(default)]
    pub params: JsonObject,
    /// Whether it held.
    pub passed: bool,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Words>,
}

/// `rollback.executed`: what a breach was answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RollbackExecuted {
    /// The contract that was broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Name>,
    /// The call that is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
    /// The run.
    pub run: Name,
    /// The node.
    pub node: Name,
    /// Whether everything was undone.
    pub status: RollbackStatus,
    /// What was done, in order.
    pub steps: BoundedList<CheckResult, 0, MAX_CONTRACT_PARTS>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
}

/// How far a rollback came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackStatus {
    /// Everything is undone.
    Ok,
    /// Some of it.
    Partial,
    /// Nothing.
    Error,
}

impl EventData for ContractDefined {
    const KIND: &'static str = "contract.defined";
    const VERSION: u32 = 1;
}

impl EventData for ContractChecked {
    const KIND: &'static str = "contract.checked";
    const VERSION: u32 = 1;
}

impl EventData for RollbackExecuted {
    const KIND: &'static str = "rollback.executed";
    const VERSION: u32 = 1;
}
