//! The limit of open files and connections of this process.

use bitacora_server::ServerLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The descriptors of a service besides its connections: mostly segments and tables of its ledgers.
const OWN_DESCRIPTORS: u64 = 4_096;

/// Raises the limit so that these connections can be open, as far as the system allows without privileges. Where it
/// allows fewer, the number of connections is lowered to fit beside the service's own files. Then a connection too many
/// is refused with an answer, and no ledger lacks a descriptor for its next segment.
pub fn allow_connections(limits: &mut ServerLimits) {
    let wanted = limits.max_connections as u64 + OWN_DESCRIPTORS;
    if let Some(new) = raised(getrlimit(Resource::Nofile), wanted)
        && let Err(error) = setrlimit(Resource::Nofile, new)
    {
        tracing::warn!(%error, wanted, "the limit of open files could not be raised");
    }
    let allowed = getrlimit(Resource::Nofile).current;
    let connections = connections_within(allowed, limits.max_connections);
    if connections < limits.max_connections {
        tracing::warn!(
            wanted,
            allowed,
            connections,
            "fewer connections are served than configured; raise the hard limit of open files (`ulimit -Hn`)"
        );
        limits.max_connections = connections;
        limits.max_followers = limits.max_followers.min(connections / 2);
    }
}

/// Returns the number of connections for this many descriptors. At least half of these are the service's own.
fn connections_within(allowed: Option<u64>, wanted: usize) -> usize {
    let Some(allowed) = allowed else { return wanted };
    let left = allowed - OWN_DESCRIPTORS.min(allowed.div_ceil(2));
    wanted.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1)
}

/// Returns the limit to ask for; `None` where the present one is enough. `None` in a limit's fields means no limit.
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
    fn connections_follow_the_descriptors_that_there_are() {
        assert_eq!(connections_within(None, 2_048), 2_048);
        assert_eq!(connections_within(Some(8_192), 2_048), 2_048);
        assert_eq!(connections_within(Some(5_000), 2_048), 2_048);
        assert_eq!(connections_within(Some(4_096), 2_048), 2_048);
        assert_eq!(connections_within(Some(1_024), 2_048), 512);
        assert_eq!(connections_within(Some(1_024), 100), 100);
        assert_eq!(connections_within(Some(1), 2_048), 1);
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
