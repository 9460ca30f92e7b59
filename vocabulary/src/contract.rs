//! Contracts: conditions before and after a step, and the rollback if one does not hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlastRadius, BoundedList, EventData, FreeText, JsonObject, Name};

/// Checks before, checks after, and steps of a rollback that one contract has; as many each.
pub const MAX_CONTRACT_PARTS: usize = 64;

/// `contract.defined`: a contract has these parts from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractDefined {
    /// Its name.
    pub contract: Name,
    /// The checks that must hold before.
    pub pre: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// The checks that must hold after.
    pub post: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// The steps of a rollback, in order, if a check does not hold.
    pub rollback: BoundedList<ContractPart, 0, MAX_CONTRACT_PARTS>,
    /// The damage that a breach can do.
    pub blast_radius: BlastRadius,
}

/// A check or a step of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractPart {
    /// The kind of check or step.
    #[serde(rename = "type")]
    pub kind: Name,
    /// The parameters.
    #[serde(default)]
    pub params: JsonObject,
}

/// `contract.checked`: the results of its checks.
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
    /// The results of the checks.
    pub checks: BoundedList<CheckResult, 0, MAX_CONTRACT_PARTS>,
}

/// The time of a check: before or after the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContractPhase {
    /// Before the step.
    Pre,
    /// After it.
    Post,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The kind of check.
    #[serde(rename = "type")]
    pub kind: Name,
    /// The parameters.
    #[serde(default)]
    pub params: JsonObject,
    /// `true` if it held.
    pub passed: bool,
    /// The finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FreeText>,
}

/// `rollback.executed`: the answer to a breach.
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
    /// The extent to which the effects were undone.
    pub status: RollbackStatus,
    /// The steps that were taken, in order.
    pub steps: BoundedList<CheckResult, 0, MAX_CONTRACT_PARTS>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// The extent of a rollback.
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
