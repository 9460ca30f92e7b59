//! Tried calls by what they have in common: their tool, their agent, their day.

use std::collections::BTreeMap;

use bitacora_api::ChangedGroup;
use bitacora_vocabulary::Verdict;

use crate::limits::{MAX_WHAT_IF_DAYS, MAX_WHAT_IF_GROUPS};

/// Tried calls by one property. There are no more groups than tried calls.
#[derive(Default)]
pub(super) struct TriedGroups(BTreeMap<String, ChangedGroup>);

impl TriedGroups {
    /// Counts a call with its verdicts, the old and the new one.
    pub(super) fn count(&mut self, name: &str, (before, after): (Verdict, Verdict)) {
        if !self.0.contains_key(name) {
            let group = ChangedGroup { name: name.to_owned(), calls: 0, stricter: 0, milder: 0 };
            self.0.insert(name.to_owned(), group);
        }
        let Some(group) = self.0.get_mut(name) else { return };
        group.calls += 1;
        group.stricter += u64::from(after > before);
        group.milder += u64::from(after < before);
    }

    /// Returns the groups with other verdicts, those with the most first.
    pub(super) fn most_changed(&self) -> Vec<ChangedGroup> {
        let changed = |group: &ChangedGroup| group.stricter + group.milder;
        let mut groups: Vec<_> = self.0.values().filter(|group| changed(group) > 0).cloned().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(changed(group)));
        groups.truncate(MAX_WHAT_IF_GROUPS);
        groups
    }

    /// Returns the groups in the order of their names, the last of too many.
    pub(super) fn newest(&self) -> Vec<ChangedGroup> {
        self.0.values().skip(self.0.len().saturating_sub(MAX_WHAT_IF_DAYS)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_ordered_by_their_changes_and_days_by_their_date() {
        let mut groups = TriedGroups::default();
        for (name, before, after) in [
            ("2026-01-02", Verdict::Allow, Verdict::Deny),
            ("2026-01-01", Verdict::Allow, Verdict::Allow),
            ("2026-01-03", Verdict::Review, Verdict::Allow),
            ("2026-01-03", Verdict::Review, Verdict::Deny),
        ] {
            groups.count(name, (before, after));
        }
        let changed: Vec<_> = groups
            .most_changed()
            .into_iter()
            .map(|group| (group.name, group.stricter, group.milder))
            .collect();
        assert_eq!(changed, [("2026-01-03".to_owned(), 1, 1), ("2026-01-02".to_owned(), 1, 0)]);
        assert_eq!(groups.newest().len(), 3);
        for day in 0..200 {
            groups.count(&format!("2027-{day:03}"), (Verdict::Allow, Verdict::Deny));
        }
        assert_eq!(
            (groups.most_changed().len(), groups.newest().len()),
            (MAX_WHAT_IF_GROUPS, MAX_WHAT_IF_DAYS)
        );
        assert_eq!(groups.newest().last().unwrap().name, "2027-199");
    }
}
