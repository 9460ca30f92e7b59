//! The policy and the tools that come with the program, beside those of a ledger.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::PolicyDifferences;

/// The starter of the service beside a ledger's policy and tools.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StarterAnswer {
    /// The relation of the active policy to the starter: `current`, `outdated` (an earlier starter), `own`, or `none` where none is active.
    #[schema(example = "outdated")]
    pub state: String,
    /// The digest of the starter's policy.
    pub digest: String,
    /// The starter's policy, as `bitacora policy starter` writes it.
    #[schema(value_type = Object)]
    pub document: Box<RawValue>,
    /// The version that calls are judged by.
    #[schema(example = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The differences of the starter's policy from the active one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<PolicyDifferences>,
    /// Each tool of the starter.
    pub tools: Vec<StarterToolAnswer>,
}

/// A tool of the starter beside the registry.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StarterToolAnswer {
    /// Its name.
    pub tool: String,
    /// The server that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The state of the registration: `current`, `outdated` (an earlier starter's; an upgrade changes it), `new` (nothing yet; an upgrade
    /// registers it), `own` and `absent` (revoked, or never registered), which an upgrade leaves alone.
    #[schema(example = "outdated")]
    pub state: String,
    /// The starter's registration.
    #[schema(value_type = Object)]
    pub document: Box<RawValue>,
    /// The ledger's registration, where it is another one.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registered: Option<Box<RawValue>>,
}

/// The record of an upgrade to the starter.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StarterUpgradeAnswer {
    /// The position of its event; absent where nothing was missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The version that calls are judged by now.
    #[schema(example = "2")]
    pub version: String,
    /// `true`: that version was published by this upgrade.
    pub published: bool,
    /// `true`: that version was activated by this upgrade.
    pub activated: bool,
    /// The tools that were registered or changed.
    pub tools: Vec<StarterToolUpgrade>,
}

/// A tool that an upgrade registered or changed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StarterToolUpgrade {
    /// Its name.
    pub tool: String,
    /// The server that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `registered` or `changed`.
    #[schema(example = "changed")]
    pub status: String,
}
