//! The result of trying a policy: changed verdicts, and the calls' outcomes.

use std::collections::BTreeMap;

use bitacora_formats::Position;
use bitacora_governance::{DryRun, Policy, WhatIf};
use bitacora_vocabulary::Verdict;

use crate::watched_calls::{OutcomeCounts, RejectionCounts};

/// The most positions that are named of one line of a table.
const MAX_LINE_EXAMPLES: usize = 8;
/// The most tools, agents and days that get a line each; further ones are counted as [`OTHERS`].
const MAX_LINES: usize = 1_000;
/// The line for everything without a line of its own.
const OTHERS: &str = "(others)";

/// The tried policy, and the calls that it was tried on.
pub struct TrialContext<'a> {
    /// The policy's name for people.
    pub name: &'a str,
    /// The policy.
    pub policy: &'a Policy,
    /// The position after which the tried calls were decided.
    pub after: u64,
    /// The position up to which they were decided.
    pub to: Position,
}

/// The result of trying a policy.
#[derive(Default)]
pub struct Trial {
    /// The number of calls by old and new verdict.
    pub(crate) run: DryRun,
    /// The calls that cannot be judged: their inputs are not recorded, or they were decided by rules that this program does not have.
    pub(crate) unjudged: u64,
    /// Of them those whose content expired.
    pub(crate) expired_decisions: u64,
    /// Requests, outcomes and answers whose content expired: what became of their calls is not known.
    pub(crate) expired_others: u64,
    pub(crate) by_tool: TrialGroups,
    pub(crate) by_agent: TrialGroups,
    pub(crate) by_day: TrialGroups,
    /// The newest calls with another verdict, the newest first.
    pub(crate) examples: Vec<TrialExample>,
    /// The outcomes of the calls with another verdict.
    pub(crate) outcomes: OutcomeCounts,
    /// The rejected ones of all calls.
    pub(crate) rejections: RejectionCounts,
}

/// Calls grouped by a common property.
#[derive(Default)]
pub(crate) struct TrialGroups(pub(crate) BTreeMap<String, TrialRow>);

/// The changes that a policy makes to some calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrialRow {
    pub(crate) calls: u64,
    pub(crate) stricter: u64,
    pub(crate) milder: u64,
    /// The positions of the first decisions that would change.
    pub(crate) examples: Vec<u64>,
}

impl TrialRow {
    pub(crate) fn changed(&self) -> u64 {
        self.stricter + self.milder
    }
}

/// A call with another verdict.
#[derive(Debug, Clone)]
pub(crate) struct TrialExample {
    pub(crate) position: Position,
    pub(crate) call: String,
    pub(crate) agent: Option<String>,
    pub(crate) found: WhatIf,
}

impl Trial {
    /// Returns the number of judged calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.run.changes.iter().map(|change| change.calls).sum()
    }

    /// Returns the number of calls with another verdict.
    #[must_use]
    pub fn changed(&self) -> u64 {
        let changed = self.run.changes.iter().filter(|change| change.earlier != change.later);
        changed.map(|change| change.calls).sum()
    }

    pub(crate) fn uncertain(&self) -> u64 {
        self.run.changes.iter().map(|change| change.uncertain).sum()
    }
}

impl TrialGroups {
    /// Counts a call in the group of this name.
    pub(crate) fn count(&mut self, name: &str, position: u64, (before, after): (Verdict, Verdict)) {
        let is_known = self.0.contains_key(name) || self.0.len() < MAX_LINES;
        let line = self.0.entry(if is_known { name } else { OTHERS }.to_owned()).or_default();
        line.calls += 1;
        line.stricter += u64::from(after > before);
        line.milder += u64::from(after < before);
        if after != before && line.examples.len() < MAX_LINE_EXAMPLES {
            line.examples.push(position);
        }
    }

    /// Returns the groups with changes, most changes first.
    pub(crate) fn changed_most(&self) -> Vec<(&str, &TrialRow)> {
        let groups = self.0.iter().filter(|(_, row)| row.changed() > 0);
        let mut changed: Vec<_> = groups.map(|(name, row)| (name.as_str(), row)).collect();
        changed.sort_by_key(|(_, row)| std::cmp::Reverse(row.changed()));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_bounded_and_those_with_the_most_changes_come_first() {
        let mut groups = TrialGroups::default();
        for number in 0..MAX_LINES + 2 {
            groups.count(&format!("{number:04}"), 1, (Verdict::Allow, Verdict::Allow));
        }
        assert_eq!(groups.0.len(), MAX_LINES + 1);
        assert_eq!(groups.0.get(OTHERS).map(|row| row.calls), Some(2));
        for (name, position) in [("0003", 7), ("0001", 8), ("0001", 9)] {
            groups.count(name, position, (Verdict::Review, Verdict::Deny));
        }
        groups.count("0003", 10, (Verdict::Review, Verdict::Review));
        let changed: Vec<_> =
            groups.changed_most().into_iter().map(|(name, row)| (name, row.examples.clone())).collect();
        assert_eq!(changed, [("0001", vec![8, 9]), ("0003", vec![7])]);
    }
}
