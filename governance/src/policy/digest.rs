//! The digest of a policy.

use std::fmt;
use std::str::FromStr;

use bitacora_vocabulary::{PolicySettings, Rule, Sha256Text, TrustRules};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// SHA-256 over the RFC 8785 JSON of a policy's `rules`, `trust` and those of its other settings that it has. Two policies with the
/// same digest judge alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PolicyDigest([u8; 32]);

/// A text is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a policy's digest; it is written as 64 lower-case hex digits")]
pub struct PolicyDigestError;

impl PolicyDigest {
    /// Computes the digest of rules, trust parameters and the other settings of a policy.
    #[must_use]
    pub fn of(rules: &[&Rule], trust: &TrustRules, settings: &PolicySettings) -> Self {
        let mut text = Vec::new();
        let mut policy = serde_json::json!({ "rules": rules, "trust": trust });
        if let (Some(members), Value::Object(settings)) =
            (policy.as_object_mut(), serde_json::json!(settings))
        {
            members.extend(settings);
        }
        write_canonical(&policy, &mut text);
        Self(Sha256::digest(&text).into())
    }
}

/// Appends a value as RFC 8785 has it, as far as policies go: names of members are ASCII, and numbers are
/// integers.
fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            out.push(b'{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_scalar(&Value::from(name.as_str()), out);
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        Value::Array(entries) => {
            out.push(b'[');
            for (index, value) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(value, out);
            }
            out.push(b']');
        }
        scalar => write_scalar(scalar, out),
    }
}

/// Appends a text, an integer, a bool or null: these the library writes as RFC 8785 has them.
fn write_scalar(scalar: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(scalar.to_string().as_bytes());
}

impl fmt::Display for PolicyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Sha256Text::of_digest(&self.0).as_str())
    }
}

impl fmt::Debug for PolicyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyDigest({self})")
    }
}

impl FromStr for PolicyDigest {
    type Err = PolicyDigestError;

    fn from_str(text: &str) -> Result<Self, PolicyDigestError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(PolicyDigestError),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 32];
        if !rest.is_empty() || pairs.len() != bytes.len() {
            return Err(PolicyDigestError);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for PolicyDigest {
    type Error = PolicyDigestError;

    fn try_from(text: String) -> Result<Self, PolicyDigestError> {
        text.parse()
    }
}

impl From<PolicyDigest> for String {
    fn from(digest: PolicyDigest) -> Self {
        digest.to_string()
    }
}
