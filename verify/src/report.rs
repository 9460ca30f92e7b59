//! The report of a verification.

use std::time::Duration;

use bitacora_formats::{Generation, LedgerId, Micros, Position, SegmentHeader, SegmentNumber};

use super::archives::{ArchivesChecked, LedgerArchives};
use super::assurance::{Assurance, VerifierEvidence};
use super::cosigned::{CosignedChecked, CosignedHeads, FrameEndLocation};
use super::declared::DeclaredLoss;
use super::fault::{Fault, Gap};
use super::folder::LedgerFolder;
use super::heads::FoundHeads;
use super::ledger_head::Head;
use super::notice::Notice;
use super::parts::PartCounts;
use super::segment::CheckedSegment;
use super::tree::FoundTree;

/// The report of a verification, up to the fault if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The ledger of the folder.
    pub ledger: Option<LedgerId>,
    /// Its generation, by the last segment.
    pub generation: Option<Generation>,
    /// The beginnings of the generations that were met; each after the first is a declared loss. Of many, the last ones.
    pub generations: Vec<GenerationStart>,
    /// The first of its signing keys, as a verifier key. A verifier that trusts it trusts all.
    pub first_key: Option<String>,
    /// The size of the checked segment files, zeros behind the last frame included.
    pub bytes: u64,
    /// The number of segments that hold events.
    pub segments: u64,
    /// The number of written segments that there were to check.
    pub segments_planned: u64,
    /// The number of those that are valid from their first byte to their last, whatever is beside or in them.
    pub segments_passed: u64,
    /// The number of released segments, of which only links are left: their events are archived.
    pub released_segments: u64,
    /// The archives; `None` where there is neither a known one nor a released segment.
    pub archives: Option<ArchivesChecked>,
    /// The number of segments made ahead and never written.
    pub blank_segments: usize,
    /// The number of other files beside the segments, which were ignored.
    pub other_files: usize,
    /// The number of frames.
    pub frames: u64,
    /// The number of events.
    pub events: u64,
    /// The number of verified signatures.
    pub signatures: u64,
    /// The time of the first frame.
    pub first_time: Option<Micros>,
    /// The time of the last frame.
    pub last_time: Option<Micros>,
    /// The last position with its hashes.
    pub head: Option<Head>,
    /// The checks with keys; `None` without keys.
    pub contents: Option<ContentsChecked>,
    /// The leaves in clear beside the segments; `None` if nobody asked.
    pub leaves: Option<LeavesChecked>,
    /// The tree heads beside the segments; `None` where the allowed signers are unknown.
    pub heads: Option<HeadsChecked>,
    /// The cosigned heads beside the segments; `None` where they were not checked.
    pub cosigned: Option<CosignedChecked>,
    /// The confirmation by evidence from outside the folder.
    pub assurance: Assurance,
    /// The first fault.
    pub fault: Option<Fault>,
    /// The necessary checks that could not be made.
    pub gaps: Vec<Gap>,
    /// Removals of expired content that are under way, or whose record was lost. They change no verdict.
    pub notices: Vec<Notice>,
    /// The duration.
    pub elapsed: Duration,
}

/// A generation and its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationStart {
    /// The generation.
    pub generation: Generation,
    /// Its first position.
    pub first_position: u64,
    /// The head that it continues, with the chain hash that its first segment names: after the footer, where the
    /// segment before has one. `None` at the ledger's beginning.
    pub before: Option<Head>,
    /// The loss that its first event declares; `None` where that was not opened, and for a generation that begins with none.
    pub declared: Option<DeclaredLoss>,
}

impl GenerationStart {
    /// Returns the generation of the segment with this header, if it is the first one of it.
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

    /// Returns `true` if it began with a loss.
    #[must_use]
    pub fn follows_loss(&self) -> bool {
        self.generation > Generation::FIRST
    }
}

/// The checks with keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentsChecked {
    /// The number of events whose records were opened, and gave the same tree.
    pub events: u64,
    /// The number of streams, each without a gap.
    pub streams: usize,
    /// The sealed parts of events about data subjects.
    pub parts: PartCounts,
}

/// The most ranges of absent leaves that are listed.
const MAX_ABSENT_RANGES: usize = 64;

/// The most generations whose beginnings are listed.
const MAX_GENERATIONS: usize = 64;

/// The leaves beside the segments, from which the tree is rebuilt without keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeavesChecked {
    /// The number of events whose leaves give the roots in their frames.
    pub events: u64,
    /// The number of events whose leaves are missing.
    pub absent_events: u64,
    /// The ranges of missing leaves, from the first position to the last; of many, the first ones.
    pub absent: Vec<(u64, u64)>,
    /// The number of bytes behind the leaves of the last frame: of frames that were written meanwhile, or that a copy does not have.
    pub bytes_ahead: u64,
}

impl LeavesChecked {
    /// Returns the gap of missing leaves.
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
    /// The number of heads that one of the ledger's keys signed, with the root that a frame states.
    pub heads: u64,
    /// The number of those whose event is in the tree and names the chain hash of stored bytes.
    pub events: u64,
    /// The number of segments without any.
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

/// The verdict of a verification, the worse the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything is valid, and a key and a tree head that the verifier brought confirm it.
    Confirmed,
    /// Everything is valid, as far as the folder alone can show.
    Alone,
    /// Something that had to be checked could not be.
    Incomplete,
    /// Everything that was read is valid, and it is not the history that the verifier remembers.
    Diverged,
    /// Something is invalid.
    Invalid,
}

impl Verdict {
    /// Returns the exit code that a program ends with, as `docs/exit_codes.md` has it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Confirmed => 0,
            Self::Alone => 10,
            Self::Diverged => 30,
            Self::Invalid => 40,
            Self::Incomplete => 50,
        }
    }
}

impl Report {
    /// Returns the verdict. Without a verified signature there is no verification.
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

    /// Returns `true` if the reading ended before the last segment did: then nothing is known of the rest.
    pub(super) fn ended_early(&self) -> bool {
        self.gaps.iter().any(|gap| matches!(gap, Gap::Unreadable { .. }))
    }

    /// Returns the last segment that was read.
    pub(super) fn last_segment(&self) -> SegmentNumber {
        SegmentNumber(u32::try_from(self.released_segments + self.segments).unwrap_or(u32::MAX))
    }

    /// Compares the verifier's keys and heads with a ledger without a fault.
    pub(super) fn settle(
        &mut self,
        folder: &LedgerFolder<'_>,
        evidence: VerifierEvidence,
        cosigned: CosignedHeads,
        (ends, archives): (&[FrameEndLocation], &LedgerArchives),
    ) {
        let (Some(head), Some(generation), None) = (self.head, self.generation, &self.fault) else { return };
        let of_leaves = self.leaves.as_ref().is_some_and(|leaves| leaves.events == self.events);
        let of_records = self.contents.is_some_and(|contents| contents.events == self.events);
        self.assurance.whole_tree = (of_leaves || of_records) && archives.are_whole();
        evidence.hold((head, generation), (ends, archives), self);
        // If the reading ended early, a head may be of events that were not read.
        if self.heads.is_some() && !self.ended_early() {
            cosigned.hold(folder, (head, generation), ends, self);
        }
    }

    /// Takes in a released segment, of which only links are left.
    pub(super) fn count_released(&mut self, header: &SegmentHeader) {
        self.ledger = Some(header.ledger);
        self.begin(GenerationStart::of(header));
        self.released_segments += 1;
        // The certificate, and the link that the next segment goes on from.
        self.signatures += 2;
    }

    /// Takes in a segment, or its valid part.
    pub(super) fn count(&mut self, segment: &CheckedSegment) {
        self.ledger = Some(segment.header.ledger);
        self.begin(GenerationStart::of(&segment.header));
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

    /// Notes the beginning of a generation, if it is a new one.
    fn begin(&mut self, begun: GenerationStart) {
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

    /// Returns the leaves of events of which those from `absent_from` on have none.
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
            GenerationStart { generation, first_position, before: None, declared: None }
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
            let begun = GenerationStart { generation, first_position: 1, before: None, declared: None };
            assert_eq!(begun.follows_loss(), follows_loss, "generation {number}");
        }
    }
}
