//! The streams: within a segment, and from each segment to the next, their versions have no gap.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bitacora_formats::{Position, StreamKey};

use super::fault::FaultKind;

/// The most streams whose versions are followed; a ledger has no more. Tests of this file reach fewer.
const MAX_STREAMS: usize = if cfg!(test) { 8 } else { 1 << 22 };

/// The streams of one segment.
#[derive(Default)]
pub(super) struct SegmentStreams {
    spans: HashMap<StreamKey, StreamSpan>,
}

/// A stream's events in one segment.
struct StreamSpan {
    first_version: u64,
    last_version: u64,
    /// The place of the first of them.
    location: EventLocation,
}

/// An event's position, and the offset of its frame in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventLocation {
    pub(super) position: Position,
    pub(super) offset: u64,
}

impl SegmentStreams {
    /// Takes in the next event of a stream.
    pub(super) fn follow(
        &mut self,
        stream: StreamKey,
        found: u64,
        location: EventLocation,
    ) -> Result<(), FaultKind> {
        let room = self.spans.len() < MAX_STREAMS;
        match self.spans.entry(stream) {
            Entry::Occupied(mut span) => {
                let span = span.get_mut();
                let expected = span.last_version.saturating_add(1);
                span.last_version = found;
                same(expected, found)
            }
            Entry::Vacant(span) if room => {
                span.insert(StreamSpan { first_version: found, last_version: found, location });
                Ok(())
            }
            Entry::Vacant(_) => Err(FaultKind::Streams { max: MAX_STREAMS }),
        }
    }
}

/// The streams of a ledger, with the version that each has reached.
#[derive(Default)]
pub(super) struct Streams {
    versions: HashMap<StreamKey, u64>,
    /// Set when earlier events were not checked: then a stream may begin with any version.
    has_hole: bool,
}

impl Streams {
    /// Returns the streams after events that were not all checked.
    pub(super) fn after_hole(self) -> Self {
        Self { has_hole: true, ..self }
    }

    /// Continues with the streams of the next segment, up to the first event that is not the next one of its stream.
    pub(super) fn go_on(&mut self, segment: &SegmentStreams) -> Result<(), (EventLocation, FaultKind)> {
        let mut fault = None;
        let mut new = Vec::new();
        for (stream, span) in &segment.spans {
            let known = self.versions.get(stream).copied();
            if known.is_none() {
                new.push(span.location);
            }
            let begins = if self.has_hole { span.first_version } else { 1 };
            let expected = known.map_or(begins, |known| known.saturating_add(1));
            self.versions.insert(*stream, span.last_version);
            if let Err(kind) = same(expected, span.first_version) {
                keep_first(&mut fault, span.location, kind);
            }
        }
        let too_many = self.versions.len().saturating_sub(MAX_STREAMS);
        if too_many > 0 {
            new.sort_unstable();
            if let Some(location) = new.len().checked_sub(too_many).and_then(|first| new.get(first)) {
                keep_first(&mut fault, *location, FaultKind::Streams { max: MAX_STREAMS });
            }
        }
        fault.map_or(Ok(()), Err)
    }

    pub(super) fn count(&self) -> usize {
        self.versions.len()
    }
}

fn keep_first(fault: &mut Option<(EventLocation, FaultKind)>, location: EventLocation, kind: FaultKind) {
    if fault.as_ref().is_none_or(|(first, _)| location < *first) {
        *fault = Some((location, kind));
    }
}

fn same(expected: u64, found: u64) -> Result<(), FaultKind> {
    if expected == found { Ok(()) } else { Err(FaultKind::StreamVersion { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(position: u64) -> EventLocation {
        EventLocation { position: Position::new(position).unwrap(), offset: position * 100 }
    }

    fn segment(events: &[(u8, u64, u64)]) -> SegmentStreams {
        let mut streams = SegmentStreams::default();
        for (stream, version, position) in events {
            streams.follow(StreamKey([*stream; 16]), *version, location(*position)).unwrap();
        }
        streams
    }

    #[test]
    fn a_stream_goes_on_from_segment_to_segment() {
        let mut streams = Streams::default();
        streams.go_on(&segment(&[(1, 1, 1), (2, 1, 2), (1, 2, 3)])).unwrap();
        streams.go_on(&segment(&[(1, 3, 4), (3, 1, 5)])).unwrap();
        assert_eq!(streams.count(), 3);
    }

    #[test]
    fn the_first_event_that_is_not_the_next_one_is_told() {
        for _ in 0..8 {
            let mut streams = Streams::default();
            streams.go_on(&segment(&[(1, 1, 1), (2, 1, 2), (4, 1, 3)])).unwrap();
            let (found, kind) =
                streams.go_on(&segment(&[(1, 2, 4), (3, 2, 5), (2, 1, 6), (4, 9, 7)])).unwrap_err();
            assert_eq!((found, kind), (location(5), FaultKind::StreamVersion { expected: 1, found: 2 }));
        }
    }

    #[test]
    fn within_a_segment_a_version_that_is_not_the_next_one_is_told() {
        for (found, expected) in [(2, true), (1, false), (3, false), (0, false)] {
            let followed = segment(&[(1, 1, 1)]).follow(StreamKey([1; 16]), found, location(2));
            let fault = FaultKind::StreamVersion { expected: 2, found };
            assert_eq!(followed, if expected { Ok(()) } else { Err(fault) });
        }
    }

    #[test]
    fn a_segment_has_no_more_streams_than_are_followed() {
        let mut streams = SegmentStreams::default();
        for stream in (1..).take(MAX_STREAMS) {
            streams.follow(StreamKey([stream; 16]), 1, location(stream.into())).unwrap();
        }
        assert_eq!(streams.follow(StreamKey([1; 16]), 2, location(50)), Ok(()));
        let one_more = streams.follow(StreamKey([50; 16]), 1, location(51));
        assert_eq!(one_more, Err(FaultKind::Streams { max: MAX_STREAMS }));
    }

    #[test]
    fn of_too_many_streams_the_first_that_has_no_room_is_told() {
        let most: Vec<_> = (1..=7).map(|stream| (stream, 1, u64::from(stream))).collect();
        let three_more = [(1, 2, 8), (8, 1, 9), (9, 1, 10), (10, 1, 11)];
        for _ in 0..8 {
            let mut streams = Streams::default();
            streams.go_on(&segment(&most)).unwrap();
            streams.go_on(&segment(&three_more[..2])).unwrap();
            assert_eq!(streams.count(), MAX_STREAMS);

            let mut streams = Streams::default();
            streams.go_on(&segment(&most)).unwrap();
            let too_many = streams.go_on(&segment(&three_more));
            assert_eq!(too_many, Err((location(10), FaultKind::Streams { max: MAX_STREAMS })));
        }
    }

    #[test]
    fn of_two_faults_in_one_event_its_version_is_told() {
        let mut streams = Streams::default();
        streams
            .go_on(&segment(&(1..=8).map(|stream| (stream, 1, u64::from(stream))).collect::<Vec<_>>()))
            .unwrap();
        let found = streams.go_on(&segment(&[(9, 2, 9)]));
        assert_eq!(found, Err((location(9), FaultKind::StreamVersion { expected: 1, found: 2 })));
    }
}
