//! Sums by groups, in bounded memory.

use std::collections::BTreeMap;

/// The most groups of a report. What is of further groups is counted together.
pub const MAX_REPORT_GROUPS: usize = 10_000;
/// The name of what is counted together.
const OTHERS: &str = "(others)";
/// The mark of a part that is not recorded.
pub(crate) const MISSING: &str = "-";

/// Sums by the names of their groups.
#[derive(Debug)]
pub(crate) struct GroupSums<const PARTS: usize, S>(BTreeMap<[String; PARTS], S>);

impl<const PARTS: usize, S> Default for GroupSums<PARTS, S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<const PARTS: usize, S: Default> GroupSums<PARTS, S> {
    /// Returns the sum of this group.
    pub(crate) fn of(&mut self, group: [&str; PARTS]) -> &mut S {
        let group = group.map(str::to_owned);
        let is_full = self.0.len() >= MAX_REPORT_GROUPS && !self.0.contains_key(&group);
        let group = if is_full { std::array::from_fn(|_| OTHERS.to_owned()) } else { group };
        self.0.entry(group).or_default()
    }

    /// Returns the groups, sorted by their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[String; PARTS], &S)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_past_the_limit_are_counted_together() {
        let mut sums = GroupSums::<1, u64>::default();
        for number in 0..MAX_REPORT_GROUPS + 5 {
            *sums.of([&number.to_string()]) += 1;
        }
        *sums.of(["7"]) += 1;
        assert_eq!(sums.iter().count(), MAX_REPORT_GROUPS + 1);
        assert_eq!((*sums.of([OTHERS]), *sums.of(["7"])), (5, 2));
    }
}
