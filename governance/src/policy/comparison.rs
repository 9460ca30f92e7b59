//! Two policies beside each other: the differences in their text, and in their verdicts.

use std::collections::BTreeMap;
use std::fmt;

use bitacora_vocabulary::{Rule, Verdict};
use serde::{Deserialize, Serialize};

use super::Policy;

/// Examples of one change of verdicts that a dry run keeps.
pub const MAX_DRY_RUN_EXAMPLES: usize = 16;

/// The differences in the text of a later policy. Rules are told by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDiff {
    /// Rules that are new.
    pub added: Vec<String>,
    /// Rules that are gone.
    pub removed: Vec<String>,
    /// Rules of which anything but their place is different.
    pub changed: Vec<String>,
    /// Rules that have another place among those that both policies have.
    pub moved: Vec<String>,
    /// `true` if trust is judged by other numbers.
    pub trust_changed: bool,
    /// `true` if idempotency keys have another lifetime.
    pub key_life_changed: bool,
    /// `true` if the bounds of runs and sessions are others.
    pub bounds_changed: bool,
    /// `true`: people or calls have another time.
    #[serde(default)]
    pub times_changed: bool,
    /// `true` if the exit codes of other programs count.
    pub exit_codes_changed: bool,
    /// `true` if calls of tools that nobody registered get another verdict.
    pub unregistered_changed: bool,
    /// `true` if the guarded files are others.
    pub files_changed: bool,
    /// `true` if projects are told apart otherwise.
    #[serde(default)]
    pub workspaces_changed: bool,
}

impl PolicyDiff {
    /// Returns the differences of `later`.
    #[must_use]
    pub fn between(earlier: &Policy, later: &Policy) -> Self {
        let by_id = |policy: &Policy| -> BTreeMap<String, Rule> {
            policy.rules().map(|rule| (rule.id.to_string(), rule.clone())).collect()
        };
        let (before, after) = (by_id(earlier), by_id(later));
        let ids = |policy: &Policy, others: &BTreeMap<String, Rule>, shared: bool| -> Vec<String> {
            let ids = policy.rules().map(|rule| rule.id.to_string());
            ids.filter(|id| others.contains_key(id) == shared).collect()
        };
        let kept = ids(later, &before, true);
        let order = ids(earlier, &after, true);
        Self {
            added: ids(later, &before, false),
            removed: ids(earlier, &after, false),
            changed: kept.iter().filter(|id| before.get(*id) != after.get(*id)).cloned().collect(),
            moved: kept
                .iter()
                .zip(&order)
                .filter(|(now, then)| now != then)
                .map(|(now, _)| now.clone())
                .collect(),
            trust_changed: earlier.trust() != later.trust(),
            key_life_changed: earlier.key_life_s() != later.key_life_s(),
            bounds_changed: earlier.bounds() != later.bounds(),
            times_changed: earlier.settings().times != later.settings().times,
            exit_codes_changed: earlier.settings().exit_codes_count != later.settings().exit_codes_count,
            unregistered_changed: earlier.unregistered() != later.unregistered(),
            files_changed: earlier.settings().files != later.settings().files,
            workspaces_changed: earlier.workspaces() != later.workspaces(),
        }
    }

    /// Returns `true` if both have the same text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for PolicyDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [('+', &self.added), ('-', &self.removed), ('~', &self.changed), ('>', &self.moved)];
        for (mark, ids) in lists {
            for id in ids {
                writeln!(f, "{mark} {}", id.escape_debug())?;
            }
        }
        if self.trust_changed {
            writeln!(f, "~ trust parameters")?;
        }
        let settings = [
            ("key life", self.key_life_changed),
            ("bounds", self.bounds_changed),
            ("times", self.times_changed),
            ("exit codes", self.exit_codes_changed),
            ("unregistered tools", self.unregistered_changed),
            ("files", self.files_changed),
            ("workspaces", self.workspaces_changed),
        ];
        settings.iter().filter(|(_, changed)| *changed).try_for_each(|(what, _)| writeln!(f, "~ {what}"))
    }
}

/// The verdicts of two policies on the same calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRun {
    /// Each pair of an earlier and a later verdict that came up, in the order of verdicts.
    pub changes: Vec<VerdictChange>,
}

/// The number of calls for which one verdict became another one, or stayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictChange {
    /// The earlier policy's verdict.
    pub earlier: Verdict,
    /// The later policy's verdict.
    pub later: Verdict,
    /// The number of calls.
    pub calls: u64,
    /// The number of those for which either policy had to assume a fact that is not known.
    pub uncertain: u64,
    /// The positions of the first [`MAX_DRY_RUN_EXAMPLES`].
    pub examples: Vec<u64>,
}

impl DryRun {
    /// Counts one call: the earlier and the later verdict, and whether nothing had to be assumed for either.
    pub fn count(&mut self, position: u64, (earlier, later): (Verdict, Verdict), certain: bool) {
        let known = self.changes.binary_search_by_key(&(earlier, later), |c| (c.earlier, c.later));
        let at = known.unwrap_or_else(|at| {
            let new = VerdictChange { earlier, later, calls: 0, uncertain: 0, examples: Vec::new() };
            self.changes.insert(at, new);
            at
        });
        let Some(change) = self.changes.get_mut(at) else { return };
        change.calls = change.calls.saturating_add(1);
        change.uncertain = change.uncertain.saturating_add(u64::from(!certain));
        if change.examples.len() < MAX_DRY_RUN_EXAMPLES {
            change.examples.push(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::TrustRules;

    use super::*;

    fn policy(rules: &str, trust: TrustRules) -> Policy {
        Policy::compile(&serde_json::from_str::<Vec<Rule>>(rules).unwrap(), &trust).unwrap()
    }

    fn rule(id: &str, action: &str) -> String {
        format!(r#"{{"id": "{id}", "match": {{"tool": "{id}"}}, "action": "{action}", "reason": "r"}}"#)
    }

    #[test]
    fn a_diff_tells_what_was_written_differently() {
        let rules = |list: &[String]| format!("[{}]", list.join(","));
        let before = rules(&[rule("a", "deny"), rule("b", "allow"), rule("c", "deny"), rule("d", "deny")]);
        let after = rules(&[rule("a", "deny"), rule("c", "deny"), rule("b", "review"), rule("e", "deny")]);
        let (before, after) = (policy(&before, TrustRules::v1()), policy(&after, TrustRules::v2()));
        let diff = PolicyDiff::between(&before, &after);
        assert_eq!(diff.to_string(), "+ e\n- d\n~ b\n> c\n> b\n~ trust parameters\n");
        assert!(PolicyDiff::between(&before, &before).is_empty());
    }

    #[test]
    fn a_dry_run_counts_what_would_be_said_and_what_is_not_sure() {
        let mut run = DryRun::default();
        for position in 1..=60 {
            let later = if position % 3 == 1 { Verdict::Allow } else { Verdict::Deny };
            run.count(position, (Verdict::Allow, later), position % 3 != 0);
        }
        let [same, stricter] = run.changes.as_slice() else { panic!("{run:?}") };
        assert_eq!(
            (same.earlier, same.later, same.calls, same.uncertain),
            (Verdict::Allow, Verdict::Allow, 20, 0)
        );
        assert_eq!((stricter.earlier, stricter.later), (Verdict::Allow, Verdict::Deny));
        assert_eq!((stricter.calls, stricter.uncertain), (40, 20));
        assert_eq!(stricter.examples.len(), MAX_DRY_RUN_EXAMPLES);
        assert_eq!(stricter.examples.first(), Some(&2));
    }
}
