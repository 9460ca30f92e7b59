//! Forged streams: versions with a gap or twice, in a segment and from one to the next.

use bitacora_verify::{FaultKind, Verdict};

use super::begun;
use crate::sample::event;

#[test]
fn a_stream_with_a_gap_or_a_version_twice_is_found() {
    for (second, expected) in [(3, 2), (1, 2)] {
        let mut forger = begun();
        forger.honest(event("1", "s"), 1);
        forger.honest(event("2", "s"), second);
        assert_eq!(forger.found(), (FaultKind::StreamVersion { expected, found: second }, 3));
    }
}

#[test]
fn a_stream_with_a_gap_between_two_segments_is_found() {
    for (second, expected) in [(2, None), (3, Some(2)), (1, Some(2))] {
        let mut forger = begun();
        forger.honest(event("1", "s"), 1);
        forger.honest(event("1", "t"), 1);
        let mut forger = forger.roll();
        forger.honest(event("2", "t"), 2);
        forger.honest(event("2", "s"), second);
        forger.honest(event("1", "u"), 1);
        match expected {
            None => assert_eq!(forger.verify().verdict(), Verdict::Alone),
            Some(expected) => {
                assert_eq!(forger.found(), (FaultKind::StreamVersion { expected, found: second }, 5));
            }
        }
    }
}

#[test]
fn of_two_gaps_in_streams_the_first_one_is_told_whichever_segment_it_begins_in() {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    let mut forger = forger.roll();
    forger.honest(event("2", "s"), 3);
    forger.honest(event("1", "t"), 1);
    forger.honest(event("2", "t"), 3);
    assert_eq!(forger.found(), (FaultKind::StreamVersion { expected: 2, found: 3 }, 3));
}
