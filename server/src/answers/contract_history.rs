//! Contracts as they were checked, and rollbacks.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What is known of one contract.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContractShown {
    /// Its name; `-` for checks that name none.
    #[schema(example = "edit")]
    pub contract: String,
    /// How often it was defined; 0 for one that only checks name.
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
    /// Which one it is of the contract's, from 1.
    pub version: u64,
    /// Where it stands.
    pub position: String,
    /// When.
    pub time: String,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// How much damage a breach can do.
    #[schema(example = "low")]
    pub blast_radius: String,
    /// What has to hold before: checks with a `type` and `params`.
    #[schema(value_type = Vec<Object>)]
    pub pre: Vec<Value>,
    /// What has to hold after.
    #[schema(value_type = Vec<Object>)]
    pub post: Vec<Value>,
    /// What is done, in order, where it does not.
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

/// What was found where a contract was checked.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractCheckAnswer {
    /// Where it stands.
    pub position: String,
    /// When.
    pub time: String,
    /// The contract, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The version of its definition then; 0 where there was none.
    pub version: u64,
    /// `pre` or `post`.
    #[schema(example = "post")]
    pub phase: String,
    /// Whether everything that it tells passed, and everything was made that the contract asks for.
    pub holds: bool,
    /// How many checks were made.
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
    /// Who ran the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What it counted for trust: `error`; absent where it counted nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<String>,
    /// Where that stands.
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
    /// Where it was asked for; where nobody asked, where it was made.
    pub position: String,
    /// When.
    pub time: String,
    /// `asked`, `approved`, `rejected`, `expired`, `withdrawn` or `executed`.
    #[schema(example = "asked")]
    pub state: String,
    /// The approval; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The position of what did not hold: a check, or the outcome that told of one.
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
    /// What was said to it; absent while nobody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RollbackWord>,
    /// What was done, the last time; absent while nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<RollbackExecution>,
}

/// What was said to a rollback.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackWord {
    /// Where.
    pub position: String,
    /// When.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    pub resolution: String,
    /// Who said it.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A rollback that was made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollbackExecution {
    /// Where it stands.
    pub position: String,
    /// When.
    pub time: String,
    /// `ok`, `partial` or `error`.
    #[schema(example = "ok")]
    pub status: String,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The node.
    pub node: String,
    /// Its steps.
    pub steps: u64,
    /// The kinds of those that failed.
    pub failed: Vec<String>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often it was tried, this time included.
    pub tries: u64,
}
