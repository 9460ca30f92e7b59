//! What a verification has seen and found.

use std::time::Duration;

use bitacora_formats::{
    ChainHash, Generation, LedgerId, Micros, Position, SegmentHeader, SegmentNumber, TreeHash,
};

use super::archives::{Archives, ArchivesChecked};
use super::assurance::{Assurance, Brought};
use super::cosigned::{CosignedChecked, CosignedHeads, PlacedEnd};
use super::declared::DeclaredLoss;
use super::fault::{Fault, Gap};
use super::folder::LedgerFolder;
use super::heads::FoundHeads;
use super::parts::PartCounts;
use super::segment::CheckedSegment;
use super::tree::FoundTree;

/// What a verification has seen and found, up to the fault if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The ledger that the folder is of.
    pub ledger: Option<LedgerId>,
    /// Its generation, by the last segment.
    pub generation: Option<Generation>,
    /// Where each generation begins that was met; one after the first is a declared loss. Of many the last ones.
    pub generations: Vec<BegunGeneration>,
    /// The first of its signing keys, as a verifier key; who knows it to be right knows all.
    pub first_key: Option<String>,
    /// Bytes of segment files checked, zeros behind the last frame included.
    pub bytes: u64,
    /// Segments that hold events.
    pub segments: u64,
    /// Written segments that there were to check.
    pub segments_planned: u64,
    /// Those of them that hold from their first byte to their last, whatever lies beside or in them.
    pub segments_passed: u64,
    /// Segments of which only links are left: their events are archived.
    pub released_segments: u64,
    /// The archives; `None` where there is neither one that is known nor a released segment.
    pub archives: Option<ArchivesChecked>,
    /// Segments made ahead and never written.
    pub blank_segments: usize,
    /// Files beside the segments that are none, and were not looked at.
    pub other_files: usize,
    /// Frames.
    pub frames: u64,
    /// Events.
    pub events: u64,
    /// Signatures verified.
    pub signatures: u64,
    /// The time of the first frame.
    pub first_time: Option<Micros>,
    /// The time of the last frame.
    pub last_time: Option<Micros>,
    /// Where the ledger stands.
    pub head: Option<Head>,
    /// What was checked with keys; `None` without.
    pub contents: Option<ContentsChecked>,
    /// What lies in clear beside the segments, for the tree; `None` if nobody asked.
    pub leaves: Option<LeavesChecked>,
    /// The tree heads beside the segments; `None` where nobody knows who may sign them.
    pub heads: Option<HeadsChecked>,
    /// The cosigned heads beside the segments; `None` where they were not looked at.
    pub cosigned: Option<CosignedChecked>,
    /// What memory outside of the folder confirms.
    pub assurance: Assurance,
    /// The first thing that is not what it must be.
    pub fault: Option<Fault>,
    /// What had to be checked and could not be.
    pub gaps: Vec<Gap>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A generation, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunGeneration {
    /// The generation.
    pub generation: Generation,
    /// Its first position.
    pub first_position: u64,
    /// What it goes on from, with the chain hash that its first segment names: after the footer, where the segment before has one.
    /// `None` at the ledger's beginning.
    pub before: Option<Head>,
    /// The loss that its first event declares; `None` where that was not opened, and of a generation that begins with none.
    pub declared: Option<DeclaredLoss>,
}

impl BegunGeneration {
    /// The generation of the segment with this header, if it is the first one of it.
    fn of(header: &SegmentHeader) -> Self {
        let before = header.frontier.size();
        let before = (before > 0).then(|| Head {
            position: before,
            hash: header.previous.hash,
            tree_root: header.frontier.root(),
        });
        let (generation, first_position) = (header.generation, header.first_position.get());
        Self { generation, first_position, before, declared: None }
    }

    /// Whether it began with a loss.
    #[must_use]
    pub fn follows_loss(&self) -> bool {
        self.generation > Generation::FIRST
    }
}

/// The last position, and what commits to all up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last position.
    pub position: u64,
    /// The chain hash after the last frame.
    pub hash: ChainHash,
    /// The root of the tree over all events.
    pub tree_root: TreeHash,
}

/// What was checked with keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentsChecked {
    /// Events whose records were opened, and made the tree again.
    pub events: u64,
    /// Streams, each without a gap.
    pub streams: usize,
    /// The sealed parts of events about data subjects.
    pub parts: PartCounts,
}

/// Ranges of absent leaves that are told one by one.
const MAX_ABSENT_RANGES: usize = 64;

/// Generations whose beginnings are told one by one.
const MAX_GENERATIONS: usize = 64;

/// The leaves that lie beside the segments: with them the tree is made again without keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeavesChecked {
    /// Events whose leaves make the roots in their frames.
    pub events: u64,
    /// Events whose leaves are not there.
    pub absent_events: u64,
    /// Where, from the first position to the last; of many gaps the first ones.
    pub absent: Vec<(u64, u64)>,
    /// Bytes behind the leaves of the last frame: of frames that came while it was read, or that a copy does not have.
    pub bytes_ahead: u64,
}

impl LeavesChecked {
    /// That not all were there.
    pub(super) fn gap(&self) -> Option<Gap> {
        let (first_position, _) = *self.absent.first()?;
        Some(Gap::NoLeaves { events: self.absent_events, first_position })
    }

    /// Takes in the leaves of a segment that ends before `next`.
    pub(super) fn add(&mut self, found: &FoundTree, next: Position) {
        self.events += found.events;
        self.bytes_ahead += found.bytes_ahead;
        let first = found.absent_from.unwrap_or(next).get();
        let last = next.get() - 1;
        if first > last {
            return;
        }
        self.absent_events += last - first + 1;
        let room = self.absent.len() < MAX_ABSENT_RANGES;
        match self.absent.last_mut() {
            Some((_, before)) if *before + 1 == first => *before = last,
            _ if room => self.absent.push((first, last)),
            _ => {}
        }
    }
}

/// The signed tree heads beside the segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeadsChecked {
    /// Heads that one of the ledger's keys signed, of the root that a frame states.
    pub heads: u64,
    /// Those of them whose event stands in the tree and names the chain hash of stored bytes.
    pub events: u64,
    /// Segments without any.
    pub segments_without: u64,
    /// The size of the last one; 0 where there is none.
    pub last_size: u64,
}

impl HeadsChecked {
    /// Takes in a segment's heads.
    pub(super) fn add(&mut self, found: &FoundHeads) {
        self.heads += found.heads;
        self.events += found.events;
        self.segments_without += u64::from(found.last_size.is_none());
        self.last_size = found.last_size.unwrap_or(self.last_size);
    }
}

/// What a verification comes to, the worse the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All is what it must be, and a key and a tree head that the verifier brought stand behind it.
    Confirmed,
    /// All is what it must be, as far as the folder alone can tell.
    Alone,
    /// Something that had to be checked could not be.
    Incomplete,
    /// All that was read is what it must be, and it is not the history that the verifier remembers.
    Diverged,
    /// Something is not what it must be.
    Invalid,
}

impl Report {
    /// What it comes to. No signature verified is no verification.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.fault.is_some() {
            Verdict::Invalid
        } else if !self.assurance.divergences.is_empty() {
            Verdict::Diverged
        } else if !self.gaps.is_empty() || self.signatures == 0 || self.events == 0 {
            Verdict::Incomplete
        } else if self.assurance.is_given() {
            Verdict::Confirmed
        } else {
            Verdict::Alone
        }
    }

    /// Whether the reading ended before the last segment did: then nothing is known of what lies behind.
    pub(super) fn ended_early(&self) -> bool {
        self.gaps.iter().any(|gap| matches!(gap, Gap::Unreadable { .. }))
    }

    /// The last segment that was read.
    pub(super) fn last_segment(&self) -> SegmentNumber {
        SegmentNumber(u32::try_from(self.released_segments + self.segments).unwrap_or(u32::MAX))
    }

    /// Holds what the verifier brought against a ledger without a fault.
    pub(super) fn settle(
        &mut self,
        folder: &LedgerFolder<'_>,
        brought: Brought,
        cosigned: CosignedHeads,
        (ends, archives): (&[PlacedEnd], &Archives),
    ) {
        let (Some(head), Some(generation), None) = (self.head, self.generation, &self.fault) else { return };
        let of_leaves = self.leaves.as_ref().is_some_and(|leaves| leaves.events == self.events);
        let of_records = self.contents.is_some_and(|contents| contents.events == self.events);
        self.assurance.whole_tree = (of_leaves || of_records) && archives.are_whole();
        brought.hold((head, generation), (ends, archives), self);
        // Where the reading ended early, a head may be of what was not read.
        if self.heads.is_some() && !self.ended_early() {
            cosigned.hold(folder, (head, generation), ends, self);
        }
    }

    /// Takes in a segment of which only links are left.
    pub(super) fn count_released(&mut self, header: &SegmentHeader) {
        self.ledger = Some(header.ledger);
        self.begin(BegunGeneration::of(header));
        self.released_segments += 1;
        // The certificate, and the link that the next segment goes on from.
        self.signatures += 2;
    }

    /// Takes in a segment, or as much of it as holds.
    pub(super) fn count(&mut self, segment: &CheckedSegment) {
        self.ledger = Some(segment.header.ledger);
        self.begin(BegunGeneration::of(&segment.header));
        self.bytes += segment.file_bytes;
        self.segments += 1;
        self.frames += segment.frames;
        self.events += segment.events();
        self.signatures += segment.signatures;
        self.first_time = self.first_time.or(segment.first_time);
        if let Some(hash) = segment.head_hash {
            let end = &segment.end;
            self.last_time = Some(end.time);
            self.head = Some(Head { position: end.tree_size, hash, tree_root: end.tree_root });
        }
    }

    /// Keeps where a generation begins, if it is not the one before.
    fn begin(&mut self, begun: BegunGeneration) {
        if self.generation.replace(begun.generation) == Some(begun.generation) {
            return;
        }
        if self.generations.len() >= MAX_GENERATIONS {
            self.generations.remove(0);
        }
        self.generations.push(begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    /// The leaves of events of which those from `absent_from` on have none.
    fn leaves(events: u64, absent_from: Option<u64>) -> FoundTree {
        FoundTree { events, absent_from: absent_from.map(position), bytes_ahead: 3, cut: None, gap: None }
    }

    #[test]
    fn nothing_that_was_not_looked_at_is_a_pass() {
        let some = Report { signatures: 2, events: 1, ..Report::default() };
        assert_eq!(some.verdict(), Verdict::Alone);
        for nothing in [Report { signatures: 0, ..some.clone() }, Report { events: 0, ..some }] {
            assert_eq!(nothing.verdict(), Verdict::Incomplete);
        }
    }

    #[test]
    fn absent_leaves_are_counted_all_and_told_in_ranges() {
        let mut checked = LeavesChecked::default();
        // Positions 1 to 4 have leaves, 5 to 9 have none: of two segments, and of one event of a third.
        checked.add(&leaves(4, Some(5)), position(7));
        checked.add(&leaves(0, Some(7)), position(9));
        checked.add(&leaves(0, Some(9)), position(10));
        assert_eq!((&*checked.absent, checked.absent_events), (&[(5, 9)][..], 5));
        checked.add(&leaves(2, None), position(12));
        checked.add(&leaves(1, Some(13)), position(14));
        assert_eq!(checked.absent, [(5, 9), (13, 13)]);
        assert_eq!((checked.events, checked.absent_events, checked.bytes_ahead), (7, 6, 15));
        assert_eq!(checked.gap(), Some(Gap::NoLeaves { events: 6, first_position: 5 }));
        assert_eq!(LeavesChecked::default().gap(), None);
    }

    #[test]
    fn of_many_ranges_of_absent_leaves_the_first_ones_are_told() {
        let mut checked = LeavesChecked::default();
        for number in 0..70 {
            checked.add(&leaves(1, Some(2 + 2 * number)), position(3 + 2 * number));
        }
        let told: Vec<_> = (0..64).map(|number| (2 + 2 * number, 2 + 2 * number)).collect();
        assert_eq!((checked.absent, checked.absent_events), (told, 70));
    }

    #[test]
    fn of_many_generations_the_last_ones_are_told_each_with_where_it_begins() {
        let mut report = Report::default();
        let begun = |number: u32, first_position| {
            let generation = Generation(number);
            BegunGeneration { generation, first_position, before: None, declared: None }
        };
        for number in 1..=70 {
            let first = u64::from(number) * 10;
            report.begin(begun(number, first));
            report.begin(begun(number, first + 5));
        }
        let told: Vec<_> = (7..=70).map(|number| begun(number, u64::from(number) * 10)).collect();
        assert_eq!((report.generation, report.generations), (Some(Generation(70)), told));
    }

    #[test]
    fn every_generation_but_the_first_follows_a_loss() {
        for (number, follows_loss) in [(1, false), (2, true), (3, true)] {
            let generation = Generation(number);
            let begun = BegunGeneration { generation, first_position: 1, before: None, declared: None };
            assert_eq!(begun.follows_loss(), follows_loss, "generation {number}");
        }
    }
}
