//! Warnings about parts of a valid policy that are probably mistakes.

use std::collections::BTreeMap;
use std::fmt;

use bitacora_vocabulary::{RuleMatch, Verdict};
use serde::Serialize;

use super::compiled_rule::CompiledRule;
use super::{GlobPattern, Policy};

/// A probable mistake. Not every mistake is found.
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
    /// Finds probable mistakes: rules behind a broader one, where their texts show it, and a first rule that denies every call.
    #[must_use]
    pub fn warnings(&self) -> Vec<PolicyWarning> {
        let mut warnings = Vec::new();
        let mut seen: BTreeMap<String, Vec<&CompiledRule>> = BTreeMap::new();
        let mut catch_alls: Vec<&CompiledRule> = Vec::new();
        for (index, compiled) in self.rules.iter().enumerate() {
            let rule = &compiled.rule;
            let alike = seen.entry(serde_json::to_string(&rule.matches).unwrap_or_default()).or_default();
            let mut before = catch_alls.iter().chain(&*alike);
            if let Some(behind) = before.find(|first| !first.leaves_any_to(compiled)) {
                let (rule, behind) = (rule.id.to_string(), behind.rule.id.to_string());
                warnings.push(PolicyWarning::Unreachable { rule, behind });
                continue;
            }
            if compiled.is_about_everything() {
                if index == 0 && rule.action == Verdict::Deny {
                    warnings.push(PolicyWarning::DeniesEverything { rule: rule.id.to_string() });
                }
                catch_alls.push(compiled);
            }
            alike.push(compiled);
        }
        warnings
    }
}

impl CompiledRule {
    /// Returns `true` if it has no condition, or only one for any tool.
    fn is_about_everything(&self) -> bool {
        let matches = &self.rule.matches;
        let tool_alone = RuleMatch { tool: matches.tool.clone(), ..RuleMatch::default() };
        let every_tool =
            self.tool.as_deref().is_none_or(|globs| globs.iter().any(GlobPattern::is_everything));
        *matches == tool_alone && every_tool
    }

    /// Returns `true` if it leaves some calls to a rule behind it with the same conditions or more. An allowing rule leaves those
    /// of servers that it does not name, and those of tools that have to be named in full.
    fn leaves_any_to(&self, later: &Self) -> bool {
        let is_same = self.rule.matches == later.rule.matches && self.rule.action == later.rule.action;
        if self.rule.action != Verdict::Allow || is_same {
            return false;
        }
        let is_exact = |glob: &GlobPattern| glob.exact().is_some();
        let has_globs = self.tool.as_deref().is_some_and(|globs| !globs.iter().all(is_exact));
        let names_more = later.tool.as_deref().is_none_or(|globs| globs.iter().any(is_exact));
        let allows = later.rule.action == Verdict::Allow;
        let leaves_servers = !self.names_server() && (!allows || later.names_server());
        leaves_servers || has_globs && (!allows || names_more)
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
    use bitacora_vocabulary::{Rule, TrustRules};

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
    fn what_an_allow_leaves_to_others_is_left_to_the_rules_behind_it() {
        let behind = |rule: &str, first: &str| {
            vec![format!(
                "rule `{rule}` never decides: `{first}` before it matches all that it does; move it up, or leave it out"
            )]
        };
        let pair = |first: (&'static str, &'static str), second: (&'static str, &'static str)| {
            warnings(&[("a", first.0, first.1), ("b", second.0, second.1)])
        };
        let (all, x) = ("{}", r#"{"tool": "x"}"#);
        // Tools of servers, and tools that have to be named, are none of theirs.
        for (first, second) in [
            ((all, "allow"), (all, "review")),
            ((all, "allow"), (x, "deny")),
            ((all, "allow"), (r#"{"server": "s"}"#, "allow")),
            ((x, "allow"), (x, "review")),
            ((r#"{"tool": "*"}"#, "allow"), (x, "allow")),
            ((r#"{"tool": "x*", "server": "*"}"#, "allow"), (r#"{"tool": "x*", "server": "*"}"#, "review")),
        ] {
            assert!(pair(first, second).is_empty(), "{first:?} {second:?}");
        }
        for (first, second) in [
            ((all, "allow"), (x, "allow")),
            ((x, "allow"), (x, "allow")),
            ((r#"{"tool": "x", "server": "s"}"#, "allow"), (r#"{"tool": "x", "server": "s"}"#, "deny")),
        ] {
            assert_eq!(pair(first, second), behind("b", "a"), "{first:?} {second:?}");
        }
        let third = [("a", "{}", "allow"), ("b", "{}", "review"), ("c", r#"{"server": "s"}"#, "allow")];
        assert_eq!(warnings(&third), behind("c", "b"));
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
