//! Contracts as they were checked, and rollbacks.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The history of one contract in numbers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContractShown {
    /// Its name; `-` for checks that name none.
    #[schema(example = "edit")]
    pub contract: String,
    /// The number of its definitions; 0 for one that only checks name.
    #[schema(example = 2)]
    pub version: u64,
    /// Checks that were made by it.
    #[schema(example = 12)]
    pub checks: u64,
    /// Those among them that did not hold.
    #[schema(example = 1)]
    pub failed: u64,
    /// The first event that names it.
    pub first: String,
    /// The last one.
    pub last: String,
    /// Its newest hundred definitions, the newest first.
    pub definitions: Vec<ContractDefinitionAnswer>,
}

/// One definition of a contract.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractDefinitionAnswer {
    /// The number of this definition among the contract's, from 1.
    pub version: u64,
    /// The position of the definition.
    pub position: String,
    /// The time of the definition.
    pub time: String,
    /// The actor that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The damage that a breach can do.
    #[schema(example = "low")]
    pub blast_radius: String,
    /// The preconditions: checks with a `type` and `params`.
    #[schema(value_type = Vec<Object>)]
    pub pre: Vec<Value>,
    /// The postconditions, in the same form.
    #[schema(value_type = Vec<Object>)]
    pub post: Vec<Value>,
    /// The steps of the rollback, in order, for a breach.
    #[schema(value_type = Vec<Object>)]
    pub rollback: Vec<Value>,
}

/// Checks of a contract.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContractCheckList {
    /// The newest first.
    pub checks: Vec<ContractCheckAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The result of one check of a contract.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractCheckAnswer {
    /// The position of the check.
    pub position: String,
    /// The time of the check.
    pub time: String,
    /// The contract, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The version of its definition then; 0 where there was none.
    pub version: u64,
    /// `pre` or `post`.
    #[schema(example = "post")]
    pub phase: String,
    /// `true` if every check that it tells passed, and every check was made that the contract asks for.
    pub holds: bool,
    /// The number of checks that were made.
    pub made: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// The kinds of those that the contract asks for and nobody made.
    pub missing: Vec<String>,
    /// The call it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The run.
    pub run: String,
    /// The node.
    pub node: String,
    /// The agent that ran the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The outcome that it counted as for trust: `error`; absent where it counted nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<String>,
    /// The position of that observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_at: Option<String>,
    /// The position of the rollback that was asked for because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<String>,
}

/// Rollbacks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackList {
    /// The newest first.
    pub rollbacks: Vec<RollbackAnswered>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A rollback that was asked for, or made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackAnswered {
    /// The position of the request for it; where nobody asked, of its execution.
    pub position: String,
    /// The time of that event.
    pub time: String,
    /// `pending`, `approved`, `rejected`, `expired`, `withdrawn` or `executed`.
    #[schema(example = "pending")]
    pub state: String,
    /// The approval; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The position of the breach: a check, or the outcome that told of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The contract, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The call that is to be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Its tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The answer to it; absent while there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RollbackWord>,
    /// The last execution; absent while there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<RollbackExecution>,
}

/// The answer to a rollback.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackWord {
    /// The position of the answer.
    pub position: String,
    /// The time of the answer.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    pub resolution: String,
    /// The actor of the answer.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A rollback that was made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackExecution {
    /// The position of the execution.
    pub position: String,
    /// The time of the execution.
    pub time: String,
    /// `ok`, `partial` or `error`.
    #[schema(example = "ok")]
    pub status: String,
    /// The actor that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The node.
    pub node: String,
    /// Its steps.
    pub steps: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// The reason, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of tries, this one included.
    pub tries: u64,
}
