//! Keys of a ledger, as far as they are public.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The public keys of a ledger, and the ages of what they are of, as far as the service knows.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeysAnswer {
    /// The key that signed tree heads are verified with, as c2sp.org/signed-note writes it; absent where the ledger signs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier_key: Option<String>,
    /// The Ed25519 key that signed answers are verified with, hexadecimal.
    pub answer_key: String,
    /// The signing keys, the first one first; the last signs. Each is endorsed by the one before.
    pub signing_keys: Vec<SigningKeyAnswer>,
    /// The note of the signing keys, for verifiers.
    pub signing_keys_note: String,
    /// The id of the key-encryption key that wraps new segments' keys.
    pub encryption_key: String,
    /// The number of key-encryption keys that the service holds.
    pub encryption_keys: u64,
    /// The number of key-encryption keys that were taken offline.
    pub retired_encryption_keys: u64,
    /// The number of the opening for writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// The time of that opening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    /// The time at which the ledger was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
}

/// A signing key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SigningKeyAnswer {
    /// Its number, from 1.
    pub number: u32,
    /// The Ed25519 public key, hexadecimal.
    pub key: String,
}
