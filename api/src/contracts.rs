//! Contracts: conditions that hold before and after a step.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Contracts.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContractList {
    /// By their names.
    pub contracts: Vec<ContractAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A contract, as it was defined last.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractAnswer {
    /// Its name.
    #[schema(example = "edit")]
    pub contract: String,
    /// The preconditions: checks with a `type` and `params`.
    #[schema(value_type = Vec<Object>)]
    pub pre: Vec<Box<RawValue>>,
    /// The postconditions, in the same form.
    #[schema(value_type = Vec<Object>)]
    pub post: Vec<Box<RawValue>>,
    /// The steps of the rollback, in order, for a breach.
    #[schema(value_type = Vec<Object>)]
    pub rollback: Vec<Box<RawValue>>,
    /// The damage that a breach can do.
    #[schema(example = "low")]
    pub blast_radius: String,
}
