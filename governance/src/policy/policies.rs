//! Every version of the policy, and the one that is active.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bitacora_vocabulary::{CallBounds, DimensionPart, KeyLife, PolicyPublished, PolicyTimes, TrustRules};
use serde::{Deserialize, Serialize};

use crate::limits::MAX_POLICIES;
use crate::policy::{Policy, WorkspaceRules};
use crate::refusal::{ReactorRefusal, RefusalCode};

/// A version of the policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyVersion {
    /// The document as it was published.
    pub document: Arc<PolicyPublished>,
    /// `true` if it was taken out of use.
    pub retired: bool,
}

/// All versions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "StoredPolicies", into = "StoredPolicies")]
pub struct Policies {
    versions: BTreeMap<u64, PolicyVersion>,
    active: Option<ActiveVersion>,
}

/// The bounds of runs and sessions where no policy sets them.
static SHIPPED_BOUNDS: LazyLock<CallBounds> = LazyLock::new(CallBounds::default);

/// The version that calls are judged by.
#[derive(Debug, Clone)]
struct ActiveVersion {
    version: u64,
    trust: TrustRules,
    key_life_s: Option<KeyLife>,
    bounds: CallBounds,
    times: PolicyTimes,
    /// `None` where it cannot be read, so that everything is denied.
    policy: Option<Arc<Policy>>,
}

/// The versions as they are written in snapshots.
#[derive(Serialize, Deserialize)]
struct StoredPolicies {
    versions: Vec<(u64, PolicyVersion)>,
    active: Option<u64>,
}

impl Policies {
    /// Returns all versions, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &PolicyVersion)> {
        self.versions.iter().map(|(version, policy)| (*version, policy))
    }

    /// Returns one version.
    #[must_use]
    pub fn get(&self, version: u64) -> Option<&PolicyVersion> {
        self.versions.get(&version)
    }

    /// Returns the version that calls are judged by.
    #[must_use]
    pub fn active_version(&self) -> Option<u64> {
        self.active.as_ref().map(|active| active.version)
    }

    /// Returns the number that the next version is published under.
    #[must_use]
    pub fn next_version(&self) -> u64 {
        self.versions.last_key_value().map_or(1, |(version, _)| version.saturating_add(1))
    }

    /// Returns the version that calls are judged by, without the others.
    pub(crate) fn active_alone(&self) -> Self {
        let active = self.active.clone();
        let version = active.as_ref().and_then(|active| self.versions.get_key_value(&active.version));
        let versions = version.into_iter().map(|(number, version)| (*number, version.clone())).collect();
        Self { versions, active }
    }

    /// Returns the active one, ready to judge.
    pub(crate) fn active(&self) -> Option<&Policy> {
        self.active.as_ref().and_then(|active| active.policy.as_deref())
    }

    /// Returns the numbers that trust is computed with: the active policy's, or the shipped ones.
    pub(crate) fn trust_rules(&self) -> TrustRules {
        self.active.as_ref().map_or_else(TrustRules::v2, |active| active.trust)
    }

    /// Returns the lifetime of an idempotency key that is used now, where the active policy sets it.
    pub(crate) fn key_life_s(&self) -> Option<KeyLife> {
        self.active.as_ref().and_then(|active| active.key_life_s)
    }

    /// Returns the bounds of runs and sessions: the active policy's, or the shipped ones.
    pub(crate) fn bounds(&self) -> &CallBounds {
        self.active.as_ref().map_or(&SHIPPED_BOUNDS, |active| &active.bounds)
    }

    /// Returns the times of people and calls that the active policy sets.
    pub(crate) fn times(&self) -> PolicyTimes {
        self.active.as_ref().map(|active| active.times).unwrap_or_default()
    }

    /// Returns the workspace of a call that names this working folder, by the active policy's rules or the shipped ones.
    pub(crate) fn workspace_of(&self, cwd: Option<&str>) -> Option<DimensionPart> {
        self.workspace_rules().workspace_of(cwd)
    }

    fn workspace_rules(&self) -> &WorkspaceRules {
        match self.active() {
            Some(policy) => policy.workspace_rules(),
            None => WorkspaceRules::shipped(),
        }
    }

    /// Checks that a version may be published as the next one.
    pub(crate) fn may_publish(&self, published: &PolicyPublished) -> Result<(), ReactorRefusal> {
        let next = self.next_version();
        if published.version != next {
            let reason = format!("the next version of the policy is {next}, not {}", published.version);
            return Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        }
        if self.versions.len() >= MAX_POLICIES {
            return Err(ReactorRefusal::new(
                RefusalCode::StateFull,
                "there are too many versions of the policy",
            ));
        }
        Ok(())
    }

    /// Checks that a version may be activated.
    pub(crate) fn may_activate(&self, version: u64) -> Result<(), ReactorRefusal> {
        match self.versions.get(&version) {
            Some(policy) if policy.retired => Err(ReactorRefusal::new(
                RefusalCode::NoSuchPolicy,
                format!("version {version} of the policy was retired; publish it anew"),
            )),
            Some(_) => Ok(()),
            None => Err(no_such_policy(version)),
        }
    }

    /// Checks that a version may be retired.
    pub(crate) fn may_retire(&self, version: u64) -> Result<(), ReactorRefusal> {
        if self.active_version() == Some(version) {
            let reason = format!("version {version} of the policy is active; activate another one first");
            return Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        }
        self.versions.get(&version).map(|_| ()).ok_or_else(|| no_such_policy(version))
    }

    pub(crate) fn apply_published(&mut self, published: PolicyPublished) {
        let version = PolicyVersion { document: Arc::new(published), retired: false };
        self.versions.insert(version.document.version, version);
    }

    pub(crate) fn apply_activated(&mut self, version: u64) {
        self.active = self.versions.get(&version).map(|policy| ActiveVersion::of(&policy.document));
    }

    pub(crate) fn apply_retired(&mut self, version: u64) {
        if let Some(policy) = self.versions.get_mut(&version) {
            policy.retired = true;
        }
    }
}

impl ActiveVersion {
    fn of(document: &PolicyPublished) -> Self {
        let PolicyPublished { version, trust, key_life_s, times, .. } = *document;
        let times = times.unwrap_or_default();
        let bounds = document.bounds.clone().unwrap_or_default();
        let policy = Policy::compile(&document.rules, &trust);
        let policy = policy.and_then(|policy| policy.with_settings(document.settings())).ok();
        Self { version, trust, key_life_s, bounds, times, policy: policy.map(Arc::new) }
    }
}

impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        self.versions == other.versions && self.active_version() == other.active_version()
    }
}

impl From<StoredPolicies> for Policies {
    fn from(stored: StoredPolicies) -> Self {
        let mut policies = Self { versions: stored.versions.into_iter().collect(), active: None };
        if let Some(version) = stored.active {
            policies.apply_activated(version);
        }
        policies
    }
}

impl From<Policies> for StoredPolicies {
    fn from(policies: Policies) -> Self {
        let active = policies.active_version();
        Self { versions: policies.versions.into_iter().collect(), active }
    }
}

fn no_such_policy(version: u64) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::NoSuchPolicy, format!("there is no version {version} of the policy"))
}
