//! Policies of trusted logs and witnesses, and of how many witnesses are enough.
//!
//! The text follows c2sp.org/tlog-policy. Layout: `docs/formats/witness_policy.md`.

mod text;

use crate::cosignature::{WitnessKey, WitnessKeyError};
use crate::limits::{MAX_POLICY_BYTES, MAX_POLICY_LINES};
use crate::note::{VerifierKey, VerifierKeyError};

/// An error in the text of a policy of witnesses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WitnessPolicyError {
    /// More text than a policy can have.
    #[error("not a policy of witnesses: {bytes} bytes; at most {MAX_POLICY_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// The last line is not whole, so that something may be missing.
    #[error("the policy's last line does not end in a newline; obtain it whole, or end the line")]
    Unended,
    /// A byte that no line may have.
    #[error("line {line} of the policy: a control character other than tab; remove it")]
    ControlCharacter {
        /// The line, from 1.
        line: usize,
    },
    /// A line of another kind.
    #[error("line {line} of the policy: it begins with none of 'log', 'witness', 'group' and 'quorum'")]
    Keyword {
        /// The line, from 1.
        line: usize,
    },
    /// Too few or too many words.
    #[error("line {line} of the policy: '{form}' expected")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The form that the line must have.
        form: &'static str,
    },
    /// A log's key that is none.
    #[error("line {line} of the policy: {error}")]
    LogKey {
        /// The line, from 1.
        line: usize,
        /// The problem with the key.
        error: VerifierKeyError,
    },
    /// A witness's key that is none.
    #[error("line {line} of the policy: {error}")]
    WitnessKey {
        /// The line, from 1.
        line: usize,
        /// The problem with the key.
        error: WitnessKeyError,
    },
    /// A key that an earlier line has.
    #[error("line {line} of the policy: an earlier line has the same public key; one must be counted once")]
    SameKey {
        /// The line, from 1.
        line: usize,
    },
    /// The name that means that no witness is asked for.
    #[error("line {line} of the policy: 'none' names no witness and no group")]
    None {
        /// The line, from 1.
        line: usize,
    },
    /// A name that an earlier line has.
    #[error("line {line} of the policy: '{name}' is named by an earlier line")]
    SameName {
        /// The line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// A name that no earlier line has.
    #[error("line {line} of the policy: no line before it names '{name}'")]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// A member of two groups, or twice of one.
    #[error("line {line} of the policy: '{name}' is a member already; it may count in one group, once")]
    Counted {
        /// The line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// A group that asks for none of its members, or for more than it has.
    #[error("line {line} of the policy: 'all', 'any', or a number from 1 to its {members} members expected")]
    Threshold {
        /// The line, from 1.
        line: usize,
        /// The number of members.
        members: usize,
    },
    /// More than a policy can have.
    #[error("line {line} of the policy: more than {MAX_POLICY_LINES} logs, witnesses or groups")]
    TooMany {
        /// The line, from 1.
        line: usize,
    },
    /// Two quorums.
    #[error("line {line} of the policy: a second quorum; there must be one")]
    SecondQuorum {
        /// The line, from 1.
        line: usize,
    },
    /// No quorum.
    #[error("the policy has no line 'quorum <name>'; without one nothing says how many witnesses are enough")]
    NoQuorum,
}

/// A log that somebody trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLog {
    /// The key it signs with, under its origin as the name.
    pub key: VerifierKey,
    /// The URL of the log. Its meaning is up to the caller.
    pub url: Option<String>,
}

/// A witness that somebody trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyWitness {
    /// Its name in the policy, which means nothing outside.
    pub name: String,
    /// The key it cosigns with.
    pub key: WitnessKey,
    /// Its submission prefix.
    pub url: Option<String>,
}

/// A member of a group or quorum: a line of a witness or of a group, by its number among those, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PolicyMember {
    Witness(usize),
    Group(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct WitnessGroup {
    threshold: usize,
    /// Lines before this one.
    members: Vec<PolicyMember>,
}

/// The trusted logs and witnesses, and the number of witnesses that is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessPolicy {
    logs: Vec<PolicyLog>,
    witnesses: Vec<PolicyWitness>,
    groups: Vec<WitnessGroup>,
    /// `None` where no witness is asked for.
    quorum: Option<PolicyMember>,
}

impl WitnessPolicy {
    /// Reads a policy. Names are compared byte by byte, whatever text they are.
    ///
    /// # Errors
    /// A [`WitnessPolicyError`] for the first thing that is wrong.
    pub fn parse(policy: &[u8]) -> Result<Self, WitnessPolicyError> {
        text::parse(policy)
    }

    /// The logs, in their order; there may be none.
    #[must_use]
    pub fn logs(&self) -> &[PolicyLog] {
        &self.logs
    }

    /// The witnesses, in their order, those that count for nothing too.
    #[must_use]
    pub fn witnesses(&self) -> &[PolicyWitness] {
        &self.witnesses
    }

    /// The keys of the witnesses, in their order.
    #[must_use]
    pub fn witness_keys(&self) -> Vec<WitnessKey> {
        self.witnesses.iter().map(|witness| witness.key.clone()).collect()
    }

    /// Returns `true` if any cosignature is asked for. It is not with `quorum none`, which every note meets.
    #[must_use]
    pub fn asks_for_witnesses(&self) -> bool {
        self.quorum.is_some()
    }

    /// Returns `true` if cosignatures of the witnesses with these keys are enough. Unknown keys do not count, and a
    /// repeated key counts once.
    #[must_use]
    pub fn is_met<'a>(&self, by: impl IntoIterator<Item = &'a WitnessKey>) -> bool {
        let mut cosigned = vec![false; self.witnesses.len()];
        for key in by {
            let place = self.witnesses.iter().position(|witness| witness.key == *key);
            if let Some(cosigned) = place.and_then(|place| cosigned.get_mut(place)) {
                *cosigned = true;
            }
        }
        // A group has members before it alone, so one pass decides all of them.
        let mut met: Vec<bool> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let counting = group.members.iter().filter(|member| counts(**member, &cosigned, &met)).count();
            met.push(counting >= group.threshold);
        }
        self.quorum.is_none_or(|quorum| counts(quorum, &cosigned, &met))
    }
}

fn counts(counted: PolicyMember, cosigned: &[bool], met: &[bool]) -> bool {
    let place = match counted {
        PolicyMember::Witness(place) => cosigned.get(place),
        PolicyMember::Group(place) => met.get(place),
    };
    place.copied().unwrap_or(false)
}

#[cfg(test)]
mod tests;
