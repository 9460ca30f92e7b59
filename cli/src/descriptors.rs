//! How many files and connections the system lets this process have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of a service besides its connections: segments and tables of its ledgers, most of all.
const OWN_DESCRIPTORS: u64 = 4_096;

/// Raises the limit so that so many connections can be open, as far as the system allows without privileges. Where it
/// allows fewer, connections past them wait at the system's door, and the trace says why.
pub(crate) fn allow_connections(connections: usize) {
    let wanted = connections as u64 + OWN_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let Some(new) = raised(limit, wanted) else { return };
    if let Err(error) = setrlimit(Resource::Nofile, new) {
        tracing::warn!(%error, wanted, "the limit of open files could not be raised");
    }
    if new.current.is_some_and(|current| current < wanted) {
        tracing::warn!(wanted, allowed = new.current, "fewer connections can be open than are configured");
    }
}

/// The limit to ask for; `None` where the present one is enough. No limit at all is `None` in its fields.
fn raised(limit: Rlimit, wanted: u64) -> Option<Rlimit> {
    let current = limit.current?;
    let reachable = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    (current < wanted).then_some(Rlimit { current: Some(reachable.max(current)), ..limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(current: Option<u64>, maximum: Option<u64>) -> Rlimit {
        Rlimit { current, maximum }
    }

    #[test]
    fn a_limit_is_raised_as_far_as_it_may_be_and_never_lowered() {
        assert_eq!(raised(limit(Some(1_024), None), 4_000).unwrap().current, Some(4_000));
        assert_eq!(raised(limit(Some(1_024), Some(2_000)), 4_000).unwrap().current, Some(2_000));
        assert_eq!(raised(limit(Some(1_024), Some(8_000)), 4_000).unwrap().maximum, Some(8_000));
        assert!(raised(limit(Some(8_000), None), 4_000).is_none());
        assert!(raised(limit(None, None), 4_000).is_none());
    }
}
