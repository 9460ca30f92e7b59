//! The policy that is tried: a published one, or one from a document.

use bitacora_governance::{Policy, State};
use bitacora_vocabulary::{
    BoundedList, CallBounds, ExitCodeGlobs, FileGuard, KeyLife, MAX_RULES, PolicySettings, PolicyTimes, Rule,
    TrustRules, UnregisteredTools, Workspaces,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::ReplayError;

/// A policy in a document. Other parts of a publication say nothing about calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    rules: BoundedList<Rule, 0, MAX_RULES>,
    trust: Option<TrustRules>,
    key_life_s: Option<KeyLife>,
    bounds: Option<CallBounds>,
    times: Option<PolicyTimes>,
    exit_codes_count: Option<ExitCodeGlobs>,
    unregistered: Option<UnregisteredTools>,
    files: Option<FileGuard>,
    workspaces: Option<Workspaces>,
    #[serde(rename = "version")]
    _version: Option<IgnoredAny>,
    #[serde(rename = "digest")]
    _digest: Option<IgnoredAny>,
    #[serde(rename = "parent")]
    _parent: Option<IgnoredAny>,
    #[serde(rename = "author")]
    _author: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
}

/// Returns a policy that was published, ready to judge; `state` knows the versions.
///
/// # Errors
/// [`ReplayError::NoSuchPolicy`], [`ReplayError::Policy`].
pub fn published_policy(state: &State, version: u64) -> Result<Policy, ReplayError> {
    let found = state.all_policies().get(version).ok_or(ReplayError::NoSuchPolicy(version))?;
    let document = &found.document;
    compile(&document.rules, &document.trust, document.settings())
}

/// Parses a policy as a publication has it, ready to judge.
///
/// # Errors
/// [`ReplayError::Policy`].
pub fn parse_policy(json: &str) -> Result<Policy, ReplayError> {
    let file: PolicyFile =
        serde_json::from_str(json).map_err(|error| ReplayError::Policy(error.to_string()))?;
    let settings = PolicySettings {
        key_life_s: file.key_life_s,
        bounds: file.bounds,
        times: file.times,
        exit_codes_count: file.exit_codes_count,
        unregistered: file.unregistered,
        files: file.files,
        workspaces: file.workspaces,
    };
    compile(&file.rules, &file.trust.unwrap_or(TrustRules::v2()), settings)
}

fn compile(rules: &[Rule], trust: &TrustRules, settings: PolicySettings) -> Result<Policy, ReplayError> {
    let policy = Policy::compile(rules, trust)
        .and_then(|policy| policy.with_settings(settings))
        .and_then(|policy| policy.check_zones().map(|()| policy));
    policy.map_err(|error| ReplayError::Policy(error.to_string()))
}
