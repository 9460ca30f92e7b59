//! Segments are passed over side by side, and what they pass with is joined in their order. One that does not pass, or
//! does not go on from the one before, is walked over again in its turn: so findings do not depend on who was faster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{
    Decompressor, Generation, LEAF_ENTRY_BYTES, LedgerId, MAX_SEGMENT_HEADER_BYTES, Position, SegmentEnd,
    SegmentHeader, SegmentNumber, is_all_zeros,
};

use super::assurance::{Brought, Claimed, KnownHead};
use super::behind;
use super::checks::{Checks, Found, Workspace, decompressors, usual_threads};
use super::claims::{Claims, Stopping};
use super::cosigned::{CosignedHeads, PlacedEnd};
use super::declared::{UncheckedLoss, undeclared};
use super::fault::{Checked, Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, shown, shown_leaves};
use super::frames::Openers;
use super::heads::{FoundHeads, HeadsExpected};
use super::history::History;
use super::idle::{IdleThreads, Passing};
use super::level::StoredLevel;
use super::pass::pass;
use super::plan::{NoPlan, Plan};
use super::report::{ContentsChecked, HeadsChecked, LeavesChecked, Report};
use super::segment::{CheckedSegment, walk};
use super::signers::Signers;
use super::streams::{Place, Streams};
use super::tree::level_fault;
use super::{LeavesWanted, Progress, VerifyOptions};

/// Threads that pass over segments at most.
const MAX_THREADS: usize = 64;

/// In the place of a ledger's id where nobody knows it: of no ledger, since ids are random.
const UNKNOWN: LedgerId = LedgerId([0; 16]);

/// A segment and what it passed with.
type Passed = (SegmentNumber, Option<CheckedSegment>);

pub(super) fn run(folder: &LedgerFolder<'_>, options: &VerifyOptions<'_>) -> Report {
    let mut report = Report::default();
    let plan = match Plan::make(folder, options.patience) {
        Ok(plan) => plan,
        Err(NoPlan::Fault(fault)) => return Report { fault: Some(fault), ..report },
        Err(NoPlan::Unreadable(path, error)) => {
            report.gaps.push((path, error).into());
            return report;
        }
    };
    report.segments_planned = plan.last.0.into();
    (report.blank_segments, report.other_files) = (plan.blank, plan.strangers);
    // After the plan: the note is written before any segment that needs it.
    let (signers, gap) = match Signers::read(folder, options.keyring) {
        Ok(read) => read,
        Err(fault) => return Report { fault: Some(fault), ..report },
    };
    report.gaps.extend(gap);
    let chain = signers.chain().cloned();
    let name = options.name.and_then(|name| name.parse().ok());
    let ledger = ledger_in(folder);
    let claimed = Claimed {
        name: name.as_ref(),
        ledger: ledger.unwrap_or(UNKNOWN),
        // Nobody knows whose folder it is without its first segment: then nothing is compared with what was brought.
        chain: chain.as_ref().filter(|_| ledger.is_some()),
    };
    if ledger.is_none() {
        report.gaps.extend(options.known_heads.iter().map(not_compared));
    }
    let kept = (options.trusted, options.known_heads);
    let brought = Brought::compare(&claimed, kept, options.witnesses, &mut report);
    let brought = match brought {
        Ok(brought) => brought,
        Err(fault) => return Report { fault: Some(fault), ..report },
    };
    if let Some(progress) = options.progress {
        progress.expect(plan.bytes);
    }
    let cosigned = CosignedHeads::read(folder, plan.last, &claimed, options.witnesses, &mut report.gaps);
    let sizes = cosigned.sizes_with(brought.sizes());
    let heads = HeadsExpected { name: name.as_ref(), sizes: &sizes };
    let ends = check_segments(folder, options, &plan, (signers, heads), &mut report);
    if let Some(chain) = claimed.chain.filter(|_| report.fault.is_none() && !report.ended_early()) {
        behind::look(folder, report.last_segment(), chain, &mut report);
    }
    report.settle(folder, brought, cosigned, &ends);
    report
}

fn check_segments(
    folder: &LedgerFolder<'_>,
    options: &VerifyOptions<'_>,
    plan: &Plan,
    (signers, heads): (Signers, HeadsExpected<'_>),
    report: &mut Report,
) -> Vec<PlacedEnd> {
    let threads = options.threads.map_or_else(usual_threads, std::num::NonZero::get).min(MAX_THREADS);
    let mut memory = Vec::new();
    let openers = options.keyring.map(|keyring| {
        match decompressors(threads + 1) {
            Ok(decompressors) => memory = decompressors,
            Err(gap) => report.gaps.push(gap),
        }
        Openers::new(keyring, options.name, folder, ledger_in(folder).unwrap_or(UNKNOWN))
    });
    report.contents = options.keyring.map(|_| ContentsChecked::default());
    let can_open = openers.as_ref().filter(|_| !memory.is_empty());
    let idle = IdleThreads::new(threads);
    let chain = signers.chain().cloned();
    let leaves = options.leaves != LeavesWanted::None;
    let level = match StoredLevel::open(folder) {
        Ok(level) => level.filter(|_| leaves),
        Err(gap) => {
            report.gaps.extend(leaves.then_some(gap));
            None
        }
    };
    let checks = Checks {
        folder,
        every_signature: options.every_signature,
        leaves,
        level: level.as_ref(),
        signers: chain.as_ref(),
        heads,
        openers: can_open,
        idle: Some(&idle).filter(|_| threads > 1),
    };
    report.leaves = checks.leaves.then(LeavesChecked::default);
    report.heads = checks.signers.map(|_| HeadsChecked::default());
    let mut workspaces = workspaces(threads + 1, memory);
    let own = workspaces.pop().unwrap_or_else(|| Workspace::new(None));
    let mut joining = Joining {
        folder,
        options,
        plan,
        signers,
        checks: Checks { idle: None, ..checks },
        workspace: own,
        end: None,
        streams: Streams::default(),
        leaves_behind: None,
        history: History::new(folder),
        ends: Vec::new(),
        part_gap: None,
        report: &mut *report,
    };
    let claims = Claims::new(plan.last, u32::try_from(2 * threads).unwrap_or(u32::MAX));
    thread::scope(|scope| {
        let (send, passed) = channel();
        for workspace in workspaces {
            let (send, claims, checks, passing) = (send.clone(), &claims, &checks, Passing(&idle));
            scope.spawn(move || pass_claimed(claims, checks, passing, workspace, options.progress, &send));
        }
        drop(send);
        let _stopping = Stopping(&claims);
        joining.run(&claims, &passed);
    });
    let (part_gap, ends) = (joining.part_gap, joining.ends);
    if let (Some(level), Some(head), None) = (&level, report.head, &report.fault) {
        let ended = level.end(head.position);
        report.fault = ended.err().map(|(first, wrong)| level_fault(first, wrong));
    }
    if options.leaves == LeavesWanted::All {
        report.gaps.extend(report.leaves.as_ref().and_then(LeavesChecked::gap));
    }
    report.gaps.extend(part_gap.map(Arc::unwrap_or_clone));
    ends
}

/// The ledger by the header of its first segment, if that can be read; whether it holds is found when it is checked.
fn ledger_in(folder: &LedgerFolder<'_>) -> Option<LedgerId> {
    let start = folder.load_start(SegmentNumber::FIRST, MAX_SEGMENT_HEADER_BYTES).ok()?;
    SegmentHeader::parse(&start).ok().map(|header| header.ledger)
}

fn not_compared(known: &KnownHead) -> Gap {
    let what = "whose ledger this is stands in its first segment, whose header could not be read".to_owned();
    Gap::KnownHead { file: known.file.clone(), what }
}

fn workspaces(count: usize, decompressors: Vec<Decompressor>) -> Vec<Workspace> {
    let some = decompressors.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    some.take(count).map(Workspace::new).collect()
}

/// Passes over whatever segments are left, until there are none or nobody wants more; then helps those that still do.
fn pass_claimed(
    claims: &Claims,
    checks: &Checks<'_>,
    passing: Passing<'_>,
    mut workspace: Workspace,
    progress: Option<&dyn Progress>,
    passed: &Sender<Passed>,
) {
    let _stopping = Stopping(claims);
    while let Some(number) = claims.claim() {
        if claims.are_all_out() {
            passing.0.expect();
        }
        let segment = pass(number, checks, &mut workspace, progress);
        if passed.send((number, segment)).is_err() {
            return;
        }
    }
    drop(passing);
    checks.help(&mut workspace.frames);
}

/// Whether a segment's file holds nothing; one that is longer than it can be was made by nobody.
fn is_unwritten(segment: &[u8]) -> bool {
    segment.len() <= MAX_SEGMENT_BYTES && is_all_zeros(segment)
}

/// More leaves than events. In a segment that another one goes on from that is a fault: it is ended, with or without a footer.
/// If none goes on from it, its frames may be what is missing.
fn leaves_behind(segment: &CheckedSegment) -> Option<Fault> {
    let (number, found) = (segment.number, segment.found.tree.bytes_ahead);
    let expected = (segment.events() + 1) * LEAF_ENTRY_BYTES as u64;
    let kind = FaultKind::LeavesBytes { expected, found: expected + found };
    let fault = Fault::at(shown_leaves(number), expected, segment.end.next_position, None, kind);
    (found > 0).then_some(fault)
}

/// Everything that goes from one segment to the next.
struct Joining<'a> {
    folder: &'a LedgerFolder<'a>,
    options: &'a VerifyOptions<'a>,
    plan: &'a Plan,
    signers: Signers,
    /// For segments that are walked over again.
    checks: Checks<'a>,
    workspace: Workspace,
    /// Where the chain stands.
    end: Option<SegmentEnd>,
    streams: Streams,
    /// What is wrong with the leaves of the segment before if this one goes on from it.
    leaves_behind: Option<Fault>,
    /// Where the segments lie that heads may name frames of.
    history: History<'a>,
    /// Where frames end that cosigned heads and the verifier's own ones name.
    ends: Vec<PlacedEnd>,
    /// Why the first part that could not be opened was not.
    part_gap: Option<Arc<Gap>>,
    report: &'a mut Report,
}

/// Nothing after this is checked: the fault or gap is in the report.
struct Ended;

impl Joining<'_> {
    fn run(&mut self, claims: &Claims, passed: &Receiver<Passed>) {
        let mut early = BTreeMap::new();
        for number in (1..=self.plan.last.0).map(SegmentNumber) {
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
            claims.taken_in(number);
        }
        if let Some((missing, end)) = self.plan.missing.zip(self.end) {
            self.report.fault = Some(missing.fault(end.next_position));
        }
    }

    fn join(&mut self, number: SegmentNumber, passed: Option<CheckedSegment>) -> Result<(), Ended> {
        let passed = passed.filter(|segment| segment.goes_on_from(self.end.as_ref()));
        let (segment, fault) = match passed {
            Some(segment) => (Some(segment), None),
            None => self.walk_again(number)?,
        };
        let Some(segment) = segment else { return self.ended(fault) };
        if let Some(fault) = self.leaves_behind.take() {
            return self.ended(Some(fault));
        }
        if let Err(kind) = self.signers.check(&segment.header) {
            return self.ended(Some(Fault::at(shown(number), 0, segment.header.first_position, None, kind)));
        }
        self.end = Some(segment.end);
        self.report.assurance.signed_by = self.signers.last();
        self.report.count(&segment);
        if fault.as_ref().is_none_or(|fault| fault.kind.checks() != Checked::Segment) {
            self.report.segments_passed += 1;
        }
        let fault = self.take_in(segment, fault);
        self.ended(fault)
    }

    /// Walks over a segment that does not pass, or not from here.
    ///
    /// The last one may be written to at this moment. A reader can meet half a frame, or a frame whole and the one before it
    /// not yet: so there a fault counts only once it has stayed.
    fn walk_again(
        &mut self,
        number: SegmentNumber,
    ) -> Result<(Option<CheckedSegment>, Option<Fault>), Ended> {
        let (patience, is_last) = (self.options.patience, number == self.plan.last);
        let mut retries = if is_last { patience.retries } else { 0 };
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
                    return Err(Ended);
                }
            };
            let (segment, fault) =
                walk((number, heads), &bytes, self.end.as_ref(), &self.checks, &mut self.workspace.frames);
            if fault.is_none() || retries == 0 {
                return Ok((segment, fault));
            }
            retries -= 1;
            thread::sleep(patience.pause);
        }
    }

    /// Takes in what the frames of a segment hold. Gives the fault that comes first, of `fault` and any in the streams.
    fn take_in(&mut self, segment: CheckedSegment, fault: Option<Fault>) -> Option<Fault> {
        let (number, generation) = (segment.number, segment.header.generation);
        let begins =
            Place { position: segment.header.first_position, offset: segment.header.stored_bytes() as u64 };
        if let Some(leaves) = &mut self.report.leaves {
            leaves.add(&segment.found.tree, segment.end.next_position);
        }
        self.leaves_behind = fault.is_none().then(|| leaves_behind(&segment)).flatten();
        self.history.add(&segment);
        let Found { contents, key_gap, tree, heads } = segment.found;
        self.report.gaps.extend(tree.gap);
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
            found.map(|(place, kind)| {
                Fault::at(shown(number), place.offset, place.position, Some(place.position), kind)
            })
        });
        [undeclared, broken, fault].into_iter().flatten().min_by_key(|fault| fault.first_position)
    }

    /// Takes in the loss that the first event of a segment declares: where a generation begins, it has to.
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

    /// Takes in the tree heads of a segment; what their events name in segments before it is looked up.
    fn take_in_heads(
        &mut self,
        (number, generation): (SegmentNumber, Generation),
        heads: FoundHeads,
        fault: Option<Fault>,
    ) -> Option<Fault> {
        if let Some(report) = &mut self.report.heads {
            report.add(&heads);
        }
        let placed = |end| PlacedEnd { segment: number, generation, end };
        self.ends.extend(heads.ends.into_iter().map(placed));
        self.report.gaps.extend(heads.gap);
        let named = heads
            .named_before
            .iter()
            .find_map(|named| named.check(number, self.history.hash_at(named.headed.size)).err());
        fault.or(named)
    }

    fn ended(&mut self, fault: Option<Fault>) -> Result<(), Ended> {
        self.report.fault = fault;
        if self.report.fault.is_some() { Err(Ended) } else { Ok(()) }
    }
}
