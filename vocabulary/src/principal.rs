//! `principal.*`: the principals of a ledger, with their roles and the hashes of their tokens.
//!
//! Only the hash of a token is ever recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, EventData, Name, Note, Sha256Text};

/// Hex digits of a token's hash that name its holder in events.
const ACTOR_DIGITS: usize = 12;

/// The rights of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does work: reads, appends, asks before its calls.
    Agent,
    /// Governs agents as well.
    Operator,
    /// Governs the ledger as well, and its principals.
    Admin,
    /// Reads, and writes nothing.
    Auditor,
    /// Collects the metrics of the service, and reads no event.
    Metrics,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] = [Self::Agent, Self::Operator, Self::Admin, Self::Auditor, Self::Metrics];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Auditor => "auditor",
            Self::Metrics => "metrics",
        }
    }
}

/// `principal.created`: from here on, a caller that shows the token is this principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalCreated {
    /// Its id, by which it is revoked.
    pub principal: Name,
    /// The role.
    pub role: Role,
    /// A description of the principal, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// In role `agent` the agent's name, which stands in all that it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<BoundedText<1024>>,
    /// SHA-256 of the token.
    pub token_hash: Sha256Text,
    /// Governed time, in microseconds since 1970, from which on the token is not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// `principal.revoked`: its token is not taken any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalRevoked {
    /// The principal's id.
    pub principal: Name,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// `principal.expired`: its time was over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalExpired {
    /// The principal's id.
    pub principal: Name,
}

impl PrincipalCreated {
    /// Returns the actor that events name: the role, and the first 12 hex digits of the token's hash.
    #[must_use]
    pub fn actor(&self) -> String {
        let digits = self.token_hash.as_str().get(..ACTOR_DIGITS).unwrap_or_default();
        format!("{}:{digits}", self.role.as_str())
    }
}

impl EventData for PrincipalCreated {
    const KIND: &'static str = "principal.created";
    const VERSION: u32 = 1;
}

impl EventData for PrincipalRevoked {
    const KIND: &'static str = "principal.revoked";
    const VERSION: u32 = 1;
}

impl EventData for PrincipalExpired {
    const KIND: &'static str = "principal.expired";
    const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    #[test]
    fn a_principal_is_named_by_its_role_and_its_tokens_hash() {
        for role in Role::ALL {
            let text = format!(r#"{{"principal":"p","role":"{}","token_hash":"{HASH}"}}"#, role.as_str());
            let created: PrincipalCreated = serde_json::from_str(&text).unwrap();
            assert_eq!(created.role, role);
            assert_eq!(created.actor(), format!("{}:9f86d081884c", role.as_str()));
            assert_eq!(serde_json::to_string(&created).unwrap(), text);
        }
    }

    #[test]
    fn a_role_that_is_none_and_a_hash_that_is_none_are_refused() {
        for text in [
            format!(r#"{{"principal":"p","role":"root","token_hash":"{HASH}"}}"#),
            format!(r#"{{"principal":"p","token_hash":"{HASH}"}}"#),
            r#"{"principal":"p","role":"admin","token_hash":"bt_secret"}"#.to_owned(),
            r#"{"principal":"p","role":"admin"}"#.to_owned(),
        ] {
            assert!(serde_json::from_str::<PrincipalCreated>(&text).is_err(), "{text}");
        }
    }
}
