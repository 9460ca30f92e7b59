//! How much damage a call may do, and what that demands.

use bitacora_formats::vocabulary::{BlastRadius, Verdict};

/// What holds for a call: the greater of what the registry says of the tool and what the agent says of the call.
#[must_use]
pub fn effective_blast_radius(registered: BlastRadius, requested: Option<BlastRadius>) -> BlastRadius {
    requested.map_or(registered, |requested| registered.max(requested))
}

/// The best verdict there can be: what is critical is never done without a person.
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
