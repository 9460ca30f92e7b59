//! The check that an archive is of the folder's own history.
//! Archives of a history that was given up are no source for losses of this one.

use bitacora_archive_format::{ArchiveRange, SegmentLink};
use bitacora_ledger::{KnownSegments, SegmentStart};

/// Returns `true` where an archive of this range, in which these segments began, is of the history whose segments are known. Within a
/// generation a ledger has one history. So they differ where a generation begins in one of them alone.
pub(crate) fn is_of_history(range: ArchiveRange, links: &[SegmentLink], known: &KnownSegments) -> bool {
    let starts: Vec<&SegmentStart> = known.segments.iter().map(|segment| &segment.start).collect();
    let begun = starts.iter().zip(starts.iter().skip(1));
    let begun = begun.filter(|(before, start)| {
        // Behind a segment that is not known, a generation may have begun earlier.
        before.number.next() == Some(start.number) && before.generation != start.generation
    });
    let is_named = |start: &SegmentStart| {
        links.iter().any(|link| (link.first, link.generation) == (start.first_position, start.generation))
    };
    begun.map(|(_, start)| *start).filter(|start| range.contains(start.first_position)).all(is_named)
        && links.iter().all(|link| is_possible(link, &starts))
}

/// Returns `true` where the segment of this link may lie between those that are known.
fn is_possible(link: &SegmentLink, starts: &[&SegmentStart]) -> bool {
    let behind = starts.partition_point(|start| start.first_position <= link.first);
    let before = behind.checked_sub(1).and_then(|before| starts.get(before));
    let is_at = |start: &&SegmentStart| start.first_position == link.first;
    before.is_none_or(|start| match is_at(start) {
        true => start.generation == link.generation,
        false => start.generation <= link.generation,
    }) && starts.get(behind).is_none_or(|start| link.generation <= start.generation)
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{ChainHash, Epoch, Frontier, Generation, KekId, Position, SegmentNumber};
    use bitacora_ledger::KnownSegment;

    use super::*;

    fn at(position: u64) -> Position {
        Position::new(position).unwrap()
    }

    /// Segments by number, first position and generation.
    fn known(segments: &[(u32, u64, u32)]) -> KnownSegments {
        let segment = |(number, first, generation): &(u32, u64, u32)| KnownSegment {
            start: SegmentStart {
                number: SegmentNumber(*number),
                generation: Generation(*generation),
                epoch: Epoch(*number),
                first_position: at(*first),
                previous: ChainHash([0; 32]),
            },
            tree: Frontier::new(),
            kek: KekId([0; 8]),
            is_released: false,
        };
        let segments = segments.iter().map(segment).collect();
        KnownSegments { ledger: None, segments, released_through: None }
    }

    fn links(links: &[(u32, u64, u32)]) -> Vec<SegmentLink> {
        let link = |(number, first, generation): &(u32, u64, u32)| SegmentLink {
            number: SegmentNumber(*number),
            first: at(*first),
            epoch: Epoch(*number),
            generation: Generation(*generation),
            hash: ChainHash([1; 32]),
        };
        links.iter().map(link).collect()
    }

    fn range(first: u64, last: u64) -> ArchiveRange {
        ArchiveRange::new(first, last).unwrap()
    }

    #[test]
    fn what_reaches_past_the_end_of_a_history_is_of_it() {
        let log = known(&[(1, 1, 1), (2, 200, 1)]);
        for reach in [&[(1, 1, 1)][..], &[(1, 1, 1), (2, 200, 1), (3, 400, 1)], &[(1, 1, 1), (3, 400, 2)]] {
            assert!(is_of_history(range(1, 512), &links(reach), &log), "{reach:?}");
        }
    }

    #[test]
    fn what_was_given_up_is_of_another_history() {
        let log = known(&[(1, 1, 1), (2, 200, 1), (3, 400, 2), (4, 500, 2)]);
        let is_of =
            |first, last, named: &[(u32, u64, u32)]| is_of_history(range(first, last), &links(named), &log);
        assert!(!is_of(257, 512, &[]), "its generation went on");
        assert!(!is_of(257, 512, &[(3, 400, 1)]));
        assert!(!is_of(257, 512, &[(3, 410, 1), (4, 500, 2)]));
        assert!(
            is_of(257, 512, &[(3, 400, 2)]),
            "a segment of a restored ledger began where no archive says"
        );
        assert!(is_of(1, 256, &[(1, 1, 1)]) && is_of(513, 768, &[]));
        assert!(!is_of(513, 768, &[(9, 600, 1)]), "an older generation behind a newer one");
    }

    #[test]
    fn behind_a_segment_that_is_not_known_a_generation_may_have_begun_earlier() {
        let log = known(&[(1, 1, 1), (4, 500, 2)]);
        assert!(is_of_history(range(257, 512), &links(&[(3, 400, 2)]), &log));
        assert!(!is_of_history(range(257, 512), &links(&[(3, 400, 3)]), &log));
    }
}
