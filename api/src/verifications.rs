//! Verifications of a ledger's files by the service itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The last verifications since the service started.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct VerificationList {
    /// The newest first.
    pub verifications: Vec<VerificationAnswer>,
}

/// A verification, under way or ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationAnswer {
    /// Its id.
    #[schema(example = "v1")]
    pub verification: String,
    /// `running`, `ended`, or `failed` where it could not be made.
    #[schema(example = "running")]
    pub state: String,
    /// The name of whoever started it.
    pub by: String,
    /// The time of its start.
    pub started: String,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Bytes of segments to check.
    pub bytes: u64,
    /// Bytes checked until now.
    pub bytes_checked: u64,
    /// The outcome, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<VerificationResult>,
}

/// The outcome of a verification.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationResult {
    /// `verified`, `alone`, `incomplete`, `another` or `invalid`.
    #[schema(example = "verified")]
    pub verdict: String,
    /// The exit code that `bitacora verify` has for it.
    #[schema(example = 0)]
    pub exit_code: u8,
    /// The last position that was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Events whose frames are valid.
    pub events: u64,
    /// Frames.
    pub frames: u64,
    /// Segments.
    pub segments: u64,
    /// Signatures that were verified.
    pub signatures: u64,
    /// Events whose leaves give the roots in their frames.
    pub leaves: u64,
    /// Signed tree heads beside the segments.
    pub heads: u64,
    /// The first fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Checks that could not be made, and heads that the history does not extend.
    pub gaps: Vec<String>,
}
