//! The starter of this program beside a ledger's policy and tools.
//! It compares both with earlier starters, and finds the changes that an upgrade makes.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bitacora_vocabulary::{PolicyDocument, Sha256Text, ToolDocument};
use serde::Deserialize;

use crate::policy::{Policy, PolicyDigest, STARTER_POLICY, parse_policy};
use crate::state::State;
use crate::tools::compiled_tool::canonical_digest;
use crate::tools::registry::{RegisteredTool, STARTER_TOOLS, qualified_name};

/// The digests of every starter that was released, the oldest first. The last one is the starter of this program.
const RELEASED: &str = include_str!("../starter/released.json");

/// The policy and the tools that come with this program.
#[derive(Debug)]
pub struct Starter {
    /// The policy as it is written.
    pub document: PolicyDocument,
    /// The policy, ready to judge.
    pub policy: Policy,
    /// The tools, in the order of the file.
    pub tools: Vec<ToolDocument>,
}

/// A starter that was released, by digests.
#[derive(Debug, Clone, Deserialize)]
struct ReleasedStarter {
    /// The digest that [`Policy::digest`] gives.
    policy: PolicyDigest,
    /// SHA-256 over the RFC 8785 JSON of each tool, by its qualified name.
    tools: BTreeMap<String, Sha256Text>,
}

/// The relation of a ledger's active policy to the starter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StarterState {
    /// No policy is active.
    None,
    /// The starter of this program.
    Current,
    /// An earlier starter.
    Outdated,
    /// A policy that was never a starter.
    Own,
}

/// The relation of a ledger's registration to one of the starter's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StarterToolState {
    /// The same registration.
    Current,
    /// The registration of an earlier starter. An upgrade changes it.
    Outdated,
    /// Nothing, because the starter that the ledger follows does not have the tool. An upgrade registers it.
    New,
    /// A registration that was never a starter's. An upgrade leaves it alone.
    Own,
    /// Nothing: it was revoked, or never registered. An upgrade leaves it alone.
    Absent,
}

/// One tool of the starter beside the registry of a ledger.
#[derive(Debug, Clone)]
pub struct StarterTool {
    /// The starter's registration.
    pub document: &'static ToolDocument,
    /// The ledger's registration.
    pub registered: Option<Arc<RegisteredTool>>,
    /// The relation of the second to the first.
    pub state: StarterToolState,
}

impl StarterState {
    /// Returns the name by which interfaces call it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Current => "current",
            Self::Outdated => "outdated",
            Self::Own => "own",
        }
    }
}

impl StarterToolState {
    /// Returns the name by which interfaces call it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Outdated => "outdated",
            Self::New => "new",
            Self::Own => "own",
            Self::Absent => "absent",
        }
    }

    /// `true`: an upgrade records the starter's registration.
    #[must_use]
    pub const fn is_upgraded(self) -> bool {
        matches!(self, Self::Outdated | Self::New)
    }
}

impl Starter {
    /// Returns the starter of this program. `None` if the files within the program cannot be read, which a test rules out.
    #[must_use]
    pub fn shipped() -> Option<&'static Self> {
        static SHIPPED: LazyLock<Option<Starter>> = LazyLock::new(|| {
            let document = parse_policy(STARTER_POLICY.as_bytes()).ok()?;
            let policy = Policy::compile(&document.rules, &document.trust).ok()?;
            let policy = policy.with_settings(document.settings()).ok()?;
            Some(Starter { policy, document, tools: serde_json::from_str(STARTER_TOOLS).ok()? })
        });
        SHIPPED.as_ref()
    }
}

impl State {
    /// Returns the state of the active policy. It is known by its digest, computed anew: a recorded digest is its author's claim.
    #[must_use]
    pub fn starter_state(&self) -> StarterState {
        if self.all_policies().active_version().is_none() {
            return StarterState::None;
        }
        match (self.followed_starter(), released().last()) {
            (Some(followed), Some(newest)) if followed.policy == newest.policy => StarterState::Current,
            (Some(_), _) => StarterState::Outdated,
            (None, _) => StarterState::Own,
        }
    }

    /// Returns each tool of the starter beside the ledger's registration.
    #[must_use]
    pub fn starter_tools(&self) -> Vec<StarterTool> {
        let tools = Starter::shipped().map(|starter| starter.tools.as_slice()).unwrap_or_default();
        let followed = self.followed_starter();
        let beside_registered = |document: &'static ToolDocument| {
            let registered = self.tools().get(&document.tool, document.server.as_deref()).cloned();
            let state = tool_state(document, registered.as_deref(), followed);
            StarterTool { document, registered, state }
        };
        tools.iter().map(beside_registered).collect()
    }

    /// Returns the released starter that the active policy is.
    fn followed_starter(&self) -> Option<&'static ReleasedStarter> {
        let active = self.all_policies().active()?.digest();
        released().iter().find(|starter| starter.policy == active)
    }
}

fn tool_state(
    document: &ToolDocument,
    registered: Option<&RegisteredTool>,
    followed: Option<&ReleasedStarter>,
) -> StarterToolState {
    let name = qualified_name(&document.tool, document.server.as_deref());
    let Some(registered) = registered else {
        // A tool that the followed starter has was taken out by an operator, who is not overruled.
        let is_new = followed.is_some_and(|followed| !followed.tools.contains_key(&*name));
        return if is_new { StarterToolState::New } else { StarterToolState::Absent };
    };
    if registered.document == *document {
        return StarterToolState::Current;
    }
    let digest = tool_digest(&registered.document);
    let was_released = released().iter().any(|starter| starter.tools.get(&*name) == digest.as_ref());
    if digest.is_some() && was_released { StarterToolState::Outdated } else { StarterToolState::Own }
}

fn tool_digest(document: &ToolDocument) -> Option<Sha256Text> {
    canonical_digest(&serde_json::to_value(document).ok()?)
}

fn released() -> &'static [ReleasedStarter] {
    static ALL: LazyLock<Vec<ReleasedStarter>> =
        LazyLock::new(|| serde_json::from_str(RELEASED).unwrap_or_default());
    &ALL
}

#[cfg(test)]
mod tests;
