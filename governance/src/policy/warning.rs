//! What is probably not meant in a policy that can be taken.

use std::collections::BTreeMap;
use std::fmt;

use bitacora_formats::vocabulary::{RuleMatch, Verdict};
use serde::Serialize;

use super::Policy;

/// What is probably not meant. Not everything that is not meant is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum PolicyWarning {
    /// A rule that stands behind one that matches every call, or every call that it matches: it never decides.
    Unreachable {
        /// The rule.
        rule: String,
        /// The one in front of it.
        behind: String,
    },
    /// Every call is denied by one rule. It is taken all the same: operators' acts are no tool calls, and stay possible.
    DeniesEverything {
        /// The rule.
        rule: String,
    },
}

impl Policy {
    /// What is probably not meant: rules behind a broader one, where that is plain from how both are written, and a first rule that
    /// denies every call.
    #[must_use]
    pub fn warnings(&self) -> Vec<PolicyWarning> {
        let mut warnings = Vec::new();
        let everything = RuleMatch::default();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut catch_all: Option<String> = None;
        for (index, rule) in self.rules().enumerate() {
            let id = rule.id.to_string();
            let key = serde_json::to_string(&rule.matches).unwrap_or_default();
            if let Some(behind) = catch_all.as_ref().or_else(|| seen.get(&key)) {
                warnings.push(PolicyWarning::Unreachable { rule: id, behind: behind.clone() });
                continue;
            }
            let tool_alone = RuleMatch { tool: rule.matches.tool.clone(), ..RuleMatch::default() };
            let compiled = self.rules.get(index).and_then(|rule| rule.tool.as_deref());
            let every_tool = compiled.is_none_or(|globs| globs.iter().any(super::GlobPattern::is_everything));
            if rule.matches == everything || (rule.matches == tool_alone && every_tool) {
                if index == 0 && rule.action == Verdict::Deny {
                    warnings.push(PolicyWarning::DeniesEverything { rule: id.clone() });
                }
                catch_all = Some(id.clone());
            }
            seen.insert(key, id);
        }
        warnings
    }
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { rule, behind } => write!(
                f,
                "rule `{}` never decides: `{}` before it matches all that it does; move it up, or leave it out",
                rule.escape_debug(),
                behind.escape_debug()
            ),
            Self::DeniesEverything { rule } => {
                write!(f, "rule `{}` denies every call; operators' acts stay possible", rule.escape_debug())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::vocabulary::{Rule, TrustRules};

    use super::*;

    fn warnings(rules: &[(&str, &str, &str)]) -> Vec<String> {
        let rule = |(id, matching, action): &(&str, &str, &str)| -> Rule {
            let text =
                format!(r#"{{"id": "{id}", "match": {matching}, "action": "{action}", "reason": "r"}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let rules: Vec<_> = rules.iter().map(rule).collect();
        let policy = Policy::compile(&rules, &TrustRules::v2()).unwrap();
        policy.warnings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_behind_a_broader_one_is_told() {
        let behind = |rule: &str, first: &str| {
            format!(
                "rule `{rule}` never decides: `{first}` before it matches all that it does; move it up, or leave it out"
            )
        };
        let same = [("a", r#"{"tool": "x"}"#, "deny"), ("b", r#"{"tool": "x"}"#, "allow")];
        assert_eq!(warnings(&same), [behind("b", "a")]);
        let all = [("a", r#"{"tool": ["x", "*"]}"#, "review"), ("b", r#"{"tool": "y"}"#, "deny")];
        assert_eq!(warnings(&all), [behind("b", "a")]);
        let fine = [
            ("a", r#"{"tool": "x"}"#, "deny"),
            ("b", r#"{"tool": "*", "agent": "c"}"#, "allow"),
            ("c", "{}", "deny"),
        ];
        assert!(warnings(&fine).is_empty());
    }

    #[test]
    fn a_policy_that_denies_everything_is_taken_and_told() {
        assert_eq!(
            warnings(&[("a", "{}", "deny")]),
            ["rule `a` denies every call; operators' acts stay possible"]
        );
        assert!(warnings(&[("a", "{}", "review")]).is_empty());
    }
}
