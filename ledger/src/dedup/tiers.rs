//! The choice of tables to merge: few tables keep lookups cheap, few merges keep writes few.
//! No identity is written over and over.

use std::ops::Range;

/// Fewer tables are not merged.
const MIN_MERGE: usize = 4;
/// More tables are not read side by side.
const MAX_MERGE: usize = 8;
/// Tables past which a merge is done even if it writes one large table anew for the sake of small ones.
const MAX_TABLES: usize = 24;

/// Returns the neighbours to merge next, given the sizes of all tables in order.
///
/// None of them is larger than the others together. So after each merge an identity lies in a table of at least twice the size. It is
/// written at most about log2 of all identities times. Of several choices the cheapest is taken.
pub(crate) fn next_merge(sizes: &[u64]) -> Option<Range<usize>> {
    let windows = (MIN_MERGE..=MAX_MERGE).flat_map(|length| {
        let starts = 0..sizes.len().saturating_sub(length - 1);
        starts.map(move |start| start..start + length)
    });
    let total = |window: &Range<usize>| sizes.get(window.clone()).unwrap_or_default().iter().sum::<u64>();
    let largest = |window: &Range<usize>| sizes.get(window.clone()).unwrap_or_default().iter().max().copied();
    let is_even = |window: &Range<usize>| largest(window).is_some_and(|largest| largest <= total(window) / 2);
    let even = windows.clone().filter(is_even).min_by_key(total);
    even.or_else(|| windows.filter(|_| sizes.len() > MAX_TABLES).min_by_key(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_neighbours_of_about_the_same_size_are_merged() {
        assert_eq!(next_merge(&[]), None);
        assert_eq!(next_merge(&[5, 5, 5]), None);
        assert_eq!(next_merge(&[5, 5, 5, 5]), Some(0..4));
        assert_eq!(next_merge(&[100, 5, 6, 4, 5]), Some(1..5));
        assert_eq!(next_merge(&[100, 5, 6, 4]), None);
        assert_eq!(next_merge(&[100, 1, 100, 2, 1]), Some(0..4), "a small one between large ones");
        assert_eq!(next_merge(&[0, 0, 0, 0]), Some(0..4), "empty ones");
    }

    #[test]
    fn tables_stay_few_and_each_identity_is_written_a_few_times() {
        /// The size of the next table, as a function of its number: full segments, restarts, and both.
        type Arrival = fn(u64) -> u64;
        let arrivals: [(&str, Arrival); 4] = [
            ("full segments", |_| 100_000),
            ("restarts", |_| 3),
            ("a restart after each segment", |number| if number % 2 == 0 { 100_000 } else { 3 }),
            ("all sizes", |number| 10_u64.pow(u32::try_from((number * 7919) % 6).unwrap())),
        ];
        for (what, size) in arrivals {
            let (mut sizes, mut added, mut written, mut most) = (Vec::new(), 0, 0, 0);
            for number in 0..5_000 {
                sizes.push(size(number));
                added += size(number);
                written += size(number);
                while let Some(window) = next_merge(&sizes) {
                    assert!((MIN_MERGE..=MAX_MERGE).contains(&window.len()));
                    let total = sizes[window.clone()].iter().sum();
                    written += total;
                    sizes.splice(window, [total]);
                }
                most = most.max(sizes.len());
            }
            assert_eq!(sizes.iter().sum::<u64>(), added);
            assert!(most <= MAX_TABLES, "{what}: {most} tables");
            assert!(written / added <= 12, "{what}: written {} times", written / added);
        }
    }
}
