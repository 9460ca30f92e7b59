//! A policy as somebody wrote it: read strictly, with each problem at its rule.

use bitacora_formats::check_json;
use bitacora_vocabulary::{
    BoundedList, CallBounds, ExitCodeGlobs, FileGuard, KeyLife, MAX_RULES, PolicyDocument, PolicyTimes, Rule,
    TrustRules, UnregisteredTools, Workspaces,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PolicyError;

/// The document before its rules are looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "struct Outline")]
struct RawPolicy<'a> {
    #[serde(borrow)]
    rules: Vec<&'a RawValue>,
    trust: TrustRules,
    #[serde(default)]
    key_life_s: Option<KeyLife>,
    #[serde(default)]
    bounds: Option<CallBounds>,
    #[serde(default)]
    times: Option<PolicyTimes>,
    #[serde(default)]
    exit_codes_count: Option<ExitCodeGlobs>,
    #[serde(default)]
    unregistered: Option<UnregisteredTools>,
    #[serde(default)]
    files: Option<FileGuard>,
    #[serde(default)]
    workspaces: Option<Workspaces>,
}

/// Reads a policy's JSON: an object of `rules`, `trust` and any settings.
///
/// # Errors
/// Text that is no I-JSON, a member that policies do not have, or a rule that cannot be read; that rule is named.
pub fn parse_policy(json: &[u8]) -> Result<PolicyDocument, PolicyError> {
    check_json(json)?;
    let raw: RawPolicy<'_> =
        serde_json::from_slice(json).map_err(|error| PolicyError::Document(one_line(&error)))?;
    if raw.rules.len() > MAX_RULES {
        return Err(PolicyError::TooManyRules);
    }
    let rules =
        (1..).zip(&raw.rules).map(|(number, text)| read_rule(number, text)).collect::<Result<_, _>>()?;
    let rules = BoundedList::new(rules).map_err(|_| PolicyError::TooManyRules)?;
    let RawPolicy {
        rules: _,
        trust,
        key_life_s,
        bounds,
        times,
        exit_codes_count,
        unregistered,
        files,
        workspaces,
    } = raw;
    Ok(PolicyDocument {
        rules,
        trust,
        key_life_s,
        bounds,
        times,
        exit_codes_count,
        unregistered,
        files,
        workspaces,
    })
}

fn read_rule(number: usize, text: &RawValue) -> Result<Rule, PolicyError> {
    /// The part of a malformed rule that an error can name.
    #[derive(Deserialize)]
    struct RuleName {
        id: String,
    }
    serde_json::from_str(text.get()).map_err(|error| PolicyError::Rule {
        number,
        id: serde_json::from_str(text.get()).ok().map(|RuleName { id }| id),
        problem: one_line(&error),
    })
}

/// Returns the error without characters that a terminal would obey: a text of the document may stand in it.
fn one_line(error: &serde_json::Error) -> String {
    error.to_string().escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'")
}
