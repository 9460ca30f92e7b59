//! The parallel passes over segments, joined in order.
//! So findings do not depend on which thread was faster.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use bitacora_formats::{
    Decompressor, Epoch, LedgerId, MAX_SEGMENT_HEADER_BYTES, Position, ReleasedSegment, SegmentEnd,
    SegmentHeader, SegmentNumber, SigningChain,
};

use super::archives::{self, ArchiveChecks, LedgerArchives};
use super::assurance::{ClaimedIdentity, VerifierEvidence};
use super::checks::{Checks, Workspace, decompressors};
use super::cosigned::{CosignedHeads, FrameEndLocation};
use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, SHOWN_ARCHIVES, shown_released};
use super::frames::Openers;
use super::genesis::Genesis;
use super::heads::{HeadsExpected, ReleasedHead};
use super::heads_past_end;
use super::helpers::{IdleThreads, PassGuard};
use super::level::{CompletingFrame, StoredLevel};
use super::options::{KnownHead, LeafCheck, Progress, VerifyOptions};
use super::plan::{PlanError, SegmentPlan};
use super::released::{LinksError, ReleasedSegments};
use super::removal_check::{OpenedExtent, RemovalFindings, sha256};
use super::report::{ContentsChecked, HeadsChecked, LeavesChecked, Report};
use super::segment_check::check_segment;
use super::segment_join::{SegmentFindings, SegmentJoin};
use super::signers::Signers;
use super::streams::{EventLocation, Streams};
use super::tree::level_fault;
use super::work_queue::{QueueStopGuard, SegmentQueue, usual_threads};

/// The most threads that pass over segments.
const MAX_THREADS: usize = 64;

/// The id in the place of an unknown ledger's: of no ledger, since ids are random.
const UNKNOWN: LedgerId = LedgerId([0; 16]);

/// The end of a verification that goes no further, with the reason for the report.
enum Stop {
    Fault(Fault),
    Gap(Gap),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<PlanError> for Stop {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Fault(fault) => Self::Fault(fault),
            PlanError::Unreadable(path, error) => Self::Gap((path, error).into()),
        }
    }
}

impl From<LinksError> for Stop {
    fn from(error: LinksError) -> Self {
        match error {
            LinksError::Fault(fault) => Self::Fault(fault),
            LinksError::Gap(gap) => Self::Gap(gap),
        }
    }
}

pub(super) fn run(folder: &LedgerFolder<'_>, options: &VerifyOptions<'_>) -> Report {
    let mut report = Report::default();
    match verify_folder(folder, options, &mut report) {
        Ok(()) => {}
        Err(Stop::Fault(fault)) => report.fault = Some(fault),
        Err(Stop::Gap(gap)) => report.gaps.push(gap),
    }
    report
}

/// Checks in the order in which each step rests on the ones before: plan, signers, what the verifier knows, released segments, archives,
/// segments.
fn verify_folder(
    folder: &LedgerFolder<'_>,
    options: &VerifyOptions<'_>,
    report: &mut Report,
) -> Result<(), Stop> {
    let plan = SegmentPlan::make(folder, options.patience)?;
    report.segments_planned = (plan.last.0 - plan.first.0 + 1).into();
    (report.blank_segments, report.other_files) = (plan.blank, plan.strangers);
    // After the plan: the note is written before any segment that needs it.
    let (mut signers, gap) = Signers::read(folder, options.keyring)?;
    report.gaps.extend(gap);
    let chain = signers.chain().cloned();
    let name = options.name.and_then(|name| name.parse().ok());
    let ledger = ledger_in(folder, &plan);
    let claimed = ClaimedIdentity {
        name: name.as_ref(),
        ledger: ledger.unwrap_or(UNKNOWN),
        // Nobody knows whose folder it is without its first segment: then nothing is compared with what was brought.
        chain: chain.as_ref().filter(|_| ledger.is_some()),
    };
    if ledger.is_none() {
        report.gaps.extend(options.known_heads.iter().map(not_compared));
    }
    let known = (options.trusted, options.known_heads);
    let evidence = VerifierEvidence::compare(&claimed, known, options.witnesses, report)?;
    if !options.trusted.is_empty() {
        signers.vouch_for_note();
    }
    if let Some(progress) = options.progress {
        progress.expect(plan.bytes);
    }
    let released = ReleasedSegments::check(folder, &plan, &mut signers)?;
    released.headers.iter().for_each(|header| report.count_released(header));
    report.gaps.extend(released.gaps.iter().cloned());
    let heads = released.heads(folder, (name.as_ref(), chain.as_ref()), &mut report.gaps)?;
    let sizes = sorted_sizes(&heads, evidence.sizes());
    let (archives, streams) = read_archives(
        folder,
        options,
        (claimed.ledger, chain.as_ref()),
        (&released, &sizes, &heads),
        report,
    )?;
    compare_heads(&heads, &archives)?;
    let before = PriorState { archives: &archives, end: released.end, streams, ledger: claimed.ledger };
    let ends = (plan.first, plan.last);
    let cosigned = CosignedHeads::read(folder, ends, &claimed, options.witnesses, &mut report.gaps);
    let sizes = cosigned.sizes_with(evidence.sizes());
    let heads = HeadsExpected { name: name.as_ref(), sizes: &sizes };
    let ends = check_segments(folder, options, (&plan, before), (signers, heads), report);
    if let Some(chain) = claimed.chain.filter(|_| report.fault.is_none() && !report.ended_early()) {
        heads_past_end::look(folder, report.last_segment(), chain, report);
    }
    report.settle(folder, evidence, cosigned, (&ends, &archives));
    Ok(())
}

/// Returns the sizes of trees at which the archives must give a root.
fn sorted_sizes(heads: &[ReleasedHead], known: &[u64]) -> Vec<u64> {
    let mut sizes: Vec<u64> = heads.iter().map(|head| head.size).chain(known.iter().copied()).collect();
    sizes.sort_unstable();
    sizes
}

/// Compares the heads of released segments with the archives that hold their events.
fn compare_heads(heads: &[ReleasedHead], archives: &LedgerArchives) -> Result<(), Fault> {
    for head in heads {
        if let Some(event) = archives.commitments.get(&head.position()) {
            head.check_event(*event)?;
        }
        if let Some(root) = archives.root_at(head.size) {
            head.check_root(root)?;
        }
    }
    Ok(())
}

/// The state before the segments that are here.
struct PriorState<'a> {
    archives: &'a LedgerArchives,
    end: Option<SegmentEnd>,
    streams: Streams,
    ledger: LedgerId,
}

/// Checks the archives against the released segments' links, and opens them where there are keys.
fn read_archives(
    folder: &LedgerFolder<'_>,
    options: &VerifyOptions<'_>,
    (ledger, chain): (LedgerId, Option<&SigningChain>),
    (released, sizes, heads): (&ReleasedSegments, &[u64], &[ReleasedHead]),
    report: &mut Report,
) -> Result<(LedgerArchives, Streams), Fault> {
    let (store, progress) = (options.archives, options.progress);
    let checks = ArchiveChecks { folder, store, ledger, chain, progress };
    let (mut archives, files) = LedgerArchives::read(checks, released.through, &mut report.gaps)?;
    for header in &released.headers {
        archives.check_header(header).map_err(|kind| {
            let first = header.first_position;
            Fault::at(shown_released(header.number), 0, first, None, kind)
        })?;
    }
    archives.checked.released_segments = released.headers.len() as u64;
    let mut streams = Streams::default();
    if let Some(keyring) = options.keyring {
        let signing_key = released.headers.first().map(|header| header.signing_public);
        let signers = keyring.signing_chain();
        let genesis = signing_key.as_ref().map(|signing_key| Genesis {
            ledger,
            signing_key,
            signers,
            name: options.name,
        });
        let counted = (archives.are_whole(), &mut archives.checked);
        let headed = heads.iter().map(ReleasedHead::position).collect();
        let (keys, wanted) = ((keyring, genesis), (sizes, &headed));
        let opened = archives::open(&files, keys, wanted, checks, counted, &mut report.gaps)?;
        (archives.made_roots, archives.erased) = (opened.made_roots, opened.erased);
        archives.removals = opened.removals;
        archives.commitments = opened.commitments;
        let fault = |(location, kind): (EventLocation, FaultKind)| {
            Fault::at(SHOWN_ARCHIVES.to_owned(), 0, location.position, Some(location.position), kind)
        };
        // They begin with the first event: no stream has another version before it. Where not all of them were opened, nothing is
        // known of the streams.
        if opened.is_whole {
            streams.go_on(&opened.streams).map_err(fault)?;
        } else {
            streams = streams.after_hole();
        }
    }
    let checked = archives.checked;
    report.archives = (checked.manifests > 0 || checked.released_through > 0).then_some(checked);
    Ok((archives, streams))
}

fn check_segments(
    folder: &LedgerFolder<'_>,
    options: &VerifyOptions<'_>,
    (plan, before): (&SegmentPlan, PriorState<'_>),
    (signers, heads): (Signers, HeadsExpected<'_>),
    report: &mut Report,
) -> Vec<FrameEndLocation> {
    let threads = options.threads.map_or_else(usual_threads, std::num::NonZero::get).min(MAX_THREADS);
    let mut memory = Vec::new();
    let openers = options.keyring.map(|keyring| {
        match decompressors(threads + 1) {
            Ok(decompressors) => memory = decompressors,
            Err(gap) => report.gaps.push(gap),
        }
        Openers::new(keyring, options.name, folder, before.ledger)
    });
    report.contents = options.keyring.map(|_| ContentsChecked::default());
    if let Some(openers) = &openers {
        openers.parts().add_erased(&before.archives.erased);
        openers.add_removals(before.archives.removals.clone());
    }
    let can_open = openers.as_ref().filter(|_| !memory.is_empty());
    let idle = IdleThreads::new(threads);
    let chain = signers.chain().cloned();
    let leaves = options.leaves != LeafCheck::None;
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
        archives: before.archives,
        signers: chain.as_ref(),
        heads,
        openers: can_open,
        idle: Some(&idle).filter(|_| threads > 1),
    };
    report.leaves = checks.leaves.then(LeavesChecked::default);
    report.heads = checks.signers.map(|_| HeadsChecked::default());
    if let Some(level) = &level
        && let Err(fault) = archived_level(level, &before)
    {
        report.fault = Some(fault);
        return Vec::new();
    }
    let mut workspaces = workspaces(threads + 1, memory);
    let own = workspaces.pop().unwrap_or_else(|| Workspace::new(None));
    let mut joining =
        SegmentJoin::begin(plan, options, signers, (checks, own), (before.end, before.streams), &mut *report);
    let queue = SegmentQueue::new(plan.first, plan.last, u32::try_from(2 * threads).unwrap_or(u32::MAX));
    thread::scope(|scope| {
        let (send, passed) = channel();
        for workspace in workspaces {
            let (send, queue, checks, passing) = (send.clone(), &queue, &checks, PassGuard(&idle));
            scope.spawn(move || pass_claimed(queue, checks, passing, workspace, options.progress, &send));
        }
        drop(send);
        let _stopping = QueueStopGuard(&queue);
        joining.run(&queue, &passed);
    });
    let (ends, part_gap, epoch) = joining.found();
    if let (Some(level), Some(head), Some(epoch), None) = (&level, report.head, epoch, &report.fault) {
        let ended = level.end(head.position, epoch);
        report.fault = ended.err().map(|(first, wrong)| level_fault(first, wrong));
    }
    if options.leaves == LeafCheck::All {
        report.gaps.extend(report.leaves.as_ref().and_then(LeavesChecked::gap));
    }
    report.gaps.extend(part_gap.map(Arc::unwrap_or_clone));
    if let Some(openers) = can_open {
        compare_removals((folder, openers), before.archives, report);
    }
    ends
}

/// Compares what is gone, or there again, with the removals that events record.
fn compare_removals(
    (folder, openers): (&LedgerFolder<'_>, &Openers<'_>),
    archives: &LedgerArchives,
    report: &mut Report,
) {
    report.gaps.extend(openers.parts().lost());
    report.gaps.extend(openers.parts().back());
    if report.fault.is_some() {
        return;
    }
    let are_segments_opened =
        !report.ended_early() && report.contents.is_some_and(|contents| contents.events == report.events);
    let opened = match report.gaps.is_empty() {
        true => OpenedExtent::Whole,
        false if are_segments_opened => OpenedExtent::Behind(archives.released_through()),
        false => OpenedExtent::Part,
    };
    let digest_now = |range| folder.manifest(range).ok().map(|bytes| sha256(&bytes));
    let mut removals = openers.take_removals();
    if let Some((head, generation)) = report.head.zip(report.generation) {
        removals.losses.extend(openers.unrecorded_loss(generation, head.position));
    }
    match removals.check(archives.manifests(), opened, digest_now) {
        Ok(RemovalFindings { gaps, notices }) => {
            report.gaps.extend(gaps);
            report.notices = notices;
        }
        Err(fault) => report.fault = Some(fault),
    }
}

/// Checks that the stored level is that of the archives too. Segments that are here complete the groups that end in them, and tell
/// which of these an opening has stored; of the others the last released segment does.
fn archived_level(level: &StoredLevel, before: &PriorState<'_>) -> Result<(), Fault> {
    let epoch = before.end.as_ref().map_or(Epoch(u32::MAX), |end| end.epoch);
    for group in before.archives.groups() {
        let first = Position::new(group.positions().0).unwrap_or(Position::FIRST);
        let is_released = group.positions().1 <= before.archives.released_through();
        let checked = match is_released {
            true => level.check(group, CompletingFrame { first, epoch }),
            false => level.compare(group).map(drop),
        };
        checked.map_err(|wrong| level_fault(first, wrong))?;
    }
    Ok(())
}

/// Returns the ledger in the header of its first segment, or in that segment's `.released` file, if it can be read. The
/// header is checked later.
fn ledger_in(folder: &LedgerFolder<'_>, plan: &SegmentPlan) -> Option<LedgerId> {
    if plan.first > SegmentNumber::FIRST {
        let released = folder.load_released(SegmentNumber::FIRST).ok()?;
        return ReleasedSegment::parse(&released).ok().map(|released| released.header.ledger);
    }
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

/// Passes over the remaining segments, until there are none or the check has ended; then helps the threads that still pass.
fn pass_claimed(
    queue: &SegmentQueue,
    checks: &Checks<'_>,
    passing: PassGuard<'_>,
    mut workspace: Workspace,
    progress: Option<&dyn Progress>,
    passed: &Sender<SegmentFindings>,
) {
    let _stopping = QueueStopGuard(queue);
    while let Some(number) = queue.claim() {
        if queue.are_all_out() {
            passing.0.expect();
        }
        let segment = check_segment(number, checks, &mut workspace, progress);
        if passed.send((number, segment)).is_err() {
            return;
        }
    }
    drop(passing);
    checks.help(&mut workspace.frames);
}
