//! The join of the segments' findings, in order.
//! A segment that does not pass, or does not continue the one before, is walked over again in its turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{
    Epoch, Generation, LEAF_ENTRY_BYTES, Position, SegmentEnd, SegmentHeader, SegmentNumber, is_all_zeros,
};

use super::checks::{Checks, FrameFindings, Workspace};
use super::cosigned::FrameEndLocation;
use super::declared::{UncheckedLoss, undeclared};
use super::fault::{EvidenceKind, Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, shown, shown_leaves};
use super::heads::FoundHeads;
use super::history::History;
use super::options::VerifyOptions;
use super::plan::SegmentPlan;
use super::report::Report;
use super::segment::{CheckedSegment, walk};
use super::signers::Signers;
use super::streams::{EventLocation, Streams};
use super::work_queue::SegmentQueue;

/// A segment with its findings.
pub(super) type SegmentFindings = (SegmentNumber, Option<CheckedSegment>);

/// The state that is carried from one segment to the next.
pub(super) struct SegmentJoin<'a> {
    folder: &'a LedgerFolder<'a>,
    options: &'a VerifyOptions<'a>,
    plan: &'a SegmentPlan,
    signers: Signers,
    /// The checks for segments that are walked over again.
    checks: Checks<'a>,
    workspace: Workspace,
    /// The end of the chain.
    end: Option<SegmentEnd>,
    streams: Streams,
    /// A fault in the leaves of the segment before, if this one continues it.
    leaves_behind: Option<Fault>,
    /// The first cut leaves, with the epoch of their segment: a fault if a later epoch has begun.
    leaves_cut: Option<(Epoch, Fault)>,
    /// The places of the segments whose frames heads may name.
    history: History<'a>,
    /// The ends of frames that cosigned heads and the verifier's own ones name.
    ends: Vec<FrameEndLocation>,
    /// The reason why the first unopened part was not opened.
    part_gap: Option<Arc<Gap>>,
    report: &'a mut Report,
}

/// The end of the check: its fault or gap is in the report.
struct CheckEnd;

impl<'a> SegmentJoin<'a> {
    /// Begins before the first segment that is here. Takes the checks for segments that are walked over again, and the
    /// state of chain and streams after the released ones.
    pub(super) fn begin(
        plan: &'a SegmentPlan,
        options: &'a VerifyOptions<'a>,
        signers: Signers,
        (checks, workspace): (Checks<'a>, Workspace),
        (end, streams): (Option<SegmentEnd>, Streams),
        report: &'a mut Report,
    ) -> Self {
        Self {
            folder: checks.folder,
            options,
            plan,
            signers,
            checks: Checks { idle: None, ..checks },
            workspace,
            end,
            streams,
            leaves_behind: None,
            leaves_cut: None,
            history: History::new(checks.folder),
            ends: Vec::new(),
            part_gap: None,
            report,
        }
    }

    /// Takes in every segment in its turn, up to the first that ends it.
    pub(super) fn run(&mut self, queue: &SegmentQueue, passed: &Receiver<SegmentFindings>) {
        let mut early = BTreeMap::new();
        for number in (self.plan.first.0..=self.plan.last.0).map(SegmentNumber) {
            let segment = loop {
                if let Some(segment) = early.remove(&number) {
                    break segment;
                }
                // Only a thread that has come to grief sends nothing; then its panic is passed on.
                let Ok((number, segment)) = passed.recv() else { return };
                early.insert(number, segment);
            };
            if self.join(number, segment).is_err() {
                return;
            }
            queue.taken_in(number);
        }
        if let Some((missing, end)) = self.plan.missing.zip(self.end) {
            self.report.fault = Some(missing.fault(end.next_position));
            return;
        }
        self.report.fault = self.checks.archives.check_links(&self.history).err();
    }

    /// Returns the ends of frames that heads name, the gap of a part that was not opened, and the last epoch. They are
    /// not in the report yet.
    pub(super) fn found(self) -> (Vec<FrameEndLocation>, Option<Arc<Gap>>, Option<Epoch>) {
        (self.ends, self.part_gap, self.end.map(|end| end.epoch))
    }

    fn join(&mut self, number: SegmentNumber, passed: Option<CheckedSegment>) -> Result<(), CheckEnd> {
        let passed = passed.filter(|segment| segment.goes_on_from(self.end.as_ref()));
        let (segment, fault) = match passed {
            Some(segment) => (Some(segment), None),
            None => self.walk_again(number)?,
        };
        let Some(segment) = segment else { return self.ended(fault) };
        if let Some(fault) = self.leaves_behind.take() {
            return self.ended(Some(fault));
        }
        if let Some((_, fault)) = self.leaves_cut.take_if(|(epoch, _)| *epoch < segment.header.epoch) {
            return self.ended(Some(fault));
        }
        if let Err(fault) = self.signers.check(shown(number), &segment.header) {
            return self.ended(Some(fault));
        }
        if let Err(kind) = self.checks.archives.check_header(&segment.header) {
            return self.ended(Some(Fault::at(shown(number), 0, segment.header.first_position, None, kind)));
        }
        self.end = Some(segment.end);
        self.report.assurance.signed_by = self.signers.last();
        self.report.count(&segment);
        if fault.as_ref().is_none_or(|fault| fault.kind.checks() != EvidenceKind::Segment) {
            self.report.segments_passed += 1;
        }
        let fault = self.take_in(segment, fault);
        self.ended(fault)
    }

    /// Walks over a segment that does not pass, or does not continue the chain.
    ///
    /// The last segment may be written to at this moment, and heads may be added to the one before it. A reader can
    /// meet half a frame or half a head, or a whole frame before the one that precedes it. So there a fault counts only
    /// once it has stayed.
    fn walk_again(
        &mut self,
        number: SegmentNumber,
    ) -> Result<(Option<CheckedSegment>, Option<Fault>), CheckEnd> {
        let (patience, is_last) = (self.options.patience, number == self.plan.last);
        let mut retries = patience.retries;
        loop {
            let heads = self.checks.read_heads(number);
            let bytes = match self.folder.load(number) {
                // An opening has removed its torn first write, and the file is blank again: the ledger ends before it.
                Ok(bytes) if is_last && self.end.is_some() && is_unwritten(&bytes) => {
                    return Ok((None, None));
                }
                Ok(bytes) => bytes,
                Err(error) => {
                    self.report.gaps.push((self.folder.path_of(number), error).into());
                    return Err(CheckEnd);
                }
            };
            let (segment, fault) =
                walk((number, heads), &bytes, self.end.as_ref(), &self.checks, &mut self.workspace.frames);
            let may_be_under_way = fault.as_ref().is_some_and(|fault| is_last || fault.torn);
            if !may_be_under_way || retries == 0 {
                return Ok((segment, fault));
            }
            retries -= 1;
            thread::sleep(patience.pause);
        }
    }

    /// Takes in the contents of a segment's frames. Returns the first fault, of `fault` and any in the streams.
    fn take_in(&mut self, segment: CheckedSegment, fault: Option<Fault>) -> Option<Fault> {
        let SegmentHeader { generation, epoch, .. } = segment.header;
        let number = segment.number;
        let begins = EventLocation {
            position: segment.header.first_position,
            offset: segment.header.stored_bytes() as u64,
        };
        if let Some(leaves) = &mut self.report.leaves {
            leaves.add(&segment.found.tree, segment.end.next_position);
        }
        self.leaves_behind = fault.is_none().then(|| leaves_behind(&segment)).flatten();
        self.history.add(segment.past());
        let FrameFindings { contents, key_gap, tree, heads } = segment.found;
        self.report.gaps.extend(tree.gap);
        if let Some(cut) = tree.cut {
            self.leaves_cut.get_or_insert((epoch, cut));
        }
        let fault = self.take_in_heads((number, generation), heads, fault);
        if key_gap.is_some() {
            // Later segments may open again, but the streams have a hole.
            self.checks.openers = None;
            self.report.gaps.extend(key_gap);
        }
        let (Some(contents), Some(_), Some(report)) =
            (contents, self.checks.openers, &mut self.report.contents)
        else {
            return fault;
        };
        let broken = self.streams.go_on(&contents.streams).err();
        report.events += contents.events;
        report.streams = self.streams.count();
        report.parts.add(contents.parts.counts);
        self.part_gap = self.part_gap.take().or(contents.parts.gap);
        let undeclared = match contents.events {
            // Nothing is known of the first event where its frame does not hold.
            0 => None,
            _ => self.take_in_declared(begins.position, contents.declared).err().map(|kind| (begins, kind)),
        };
        let [undeclared, broken] = [undeclared, broken].map(|found| {
            found.map(|(location, kind)| {
                Fault::at(shown(number), location.offset, location.position, Some(location.position), kind)
            })
        });
        [undeclared, broken, fault].into_iter().flatten().min_by_key(|fault| fault.first_position)
    }

    /// Takes in the loss that the first event of a segment declares; at the beginning of a generation it must declare one.
    fn take_in_declared(
        &mut self,
        first: Position,
        declared: Option<UncheckedLoss>,
    ) -> Result<(), FaultKind> {
        let Self { report, checks, .. } = self;
        let Some(ledger) = report.ledger else { return Ok(()) };
        let begun = report.generations.last_mut().filter(|begun| begun.first_position == first.get());
        let Some((begun, before)) = begun.and_then(|begun| begun.before.map(|before| (begun, before))) else {
            return Ok(());
        };
        let declared = declared.ok_or_else(|| undeclared(begun.generation))?;
        let checked = declared.check((ledger, begun.generation), &before, checks.signers)?;
        begun.declared = Some(checked);
        Ok(())
    }

    /// Takes in the tree heads of a segment, and looks up the earlier frames that their events name.
    fn take_in_heads(
        &mut self,
        (number, generation): (SegmentNumber, Generation),
        heads: FoundHeads,
        fault: Option<Fault>,
    ) -> Option<Fault> {
        if let Some(report) = &mut self.report.heads {
            report.add(&heads);
        }
        let placed = |end| FrameEndLocation { segment: number, generation, end };
        self.ends.extend(heads.ends.into_iter().map(placed));
        self.report.gaps.extend(heads.gap);
        // Without keys, no archive gives the chain hash of a released frame.
        let through = self.checks.archives.released_through();
        let mut named_here = heads.named_before.iter().filter(|named| named.headed.size.get() > through);
        let named =
            named_here.find_map(|named| named.check(number, self.history.hash_at(named.headed.size)).err());
        fault.or(named)
    }

    fn ended(&mut self, fault: Option<Fault>) -> Result<(), CheckEnd> {
        self.report.fault = fault;
        if self.report.fault.is_some() { Err(CheckEnd) } else { Ok(()) }
    }
}

/// Returns `true` if a segment's file holds only zeros. A file longer than any segment was not made ahead.
fn is_unwritten(segment: &[u8]) -> bool {
    segment.len() <= MAX_SEGMENT_BYTES && is_all_zeros(segment)
}

/// Returns the fault of more leaves than events. In a segment that another one continues it is a fault: the segment is
/// ended, with or without a footer. Otherwise its frames may be what is missing.
fn leaves_behind(segment: &CheckedSegment) -> Option<Fault> {
    let (number, found) = (segment.number, segment.found.tree.bytes_ahead);
    let expected = (segment.events() + 1) * LEAF_ENTRY_BYTES as u64;
    let kind = FaultKind::LeavesBytes { expected, found: expected + found };
    let fault = Fault::at(shown_leaves(number), expected, segment.end.next_position, None, kind);
    (found > 0).then_some(fault)
}
