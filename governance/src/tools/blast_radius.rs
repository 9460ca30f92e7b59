//! The damage that a call may do, and the verdict that it demands.

use bitacora_vocabulary::{BlastRadius, Verdict};

/// Returns the greater of the tool's registered radius and the one that the agent requests.
#[must_use]
pub fn effective_blast_radius(registered: BlastRadius, requested: Option<BlastRadius>) -> BlastRadius {
    requested.map_or(registered, |requested| registered.max(requested))
}

/// Returns the best possible verdict: a critical call is never made without a person.
#[must_use]
pub fn best_verdict(radius: BlastRadius) -> Verdict {
    match radius {
        BlastRadius::Low | BlastRadius::Medium | BlastRadius::High => Verdict::Allow,
        BlastRadius::Critical => Verdict::Review,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [BlastRadius; 4] =
        [BlastRadius::Low, BlastRadius::Medium, BlastRadius::High, BlastRadius::Critical];

    #[test]
    fn the_greater_of_both_holds_and_a_request_lowers_nothing() {
        for (at, registered) in ALL.into_iter().enumerate() {
            assert_eq!(effective_blast_radius(registered, None), registered);
            for (other, requested) in ALL.into_iter().enumerate() {
                let greater = ALL[at.max(other)];
                assert_eq!(effective_blast_radius(registered, Some(requested)), greater);
            }
        }
    }

    #[test]
    fn critical_is_never_better_than_review() {
        assert_eq!(ALL.map(best_verdict), [Verdict::Allow, Verdict::Allow, Verdict::Allow, Verdict::Review]);
    }
}
