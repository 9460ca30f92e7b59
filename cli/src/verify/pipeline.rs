//! Segments are passed over side by side, and what they pass with is joined in their order: so findings do not depend on who
//! was faster.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use bitacora_formats::{Decompressor, LedgerId, MAX_SEGMENT_HEADER_BYTES, SegmentHeader, SegmentNumber};

use super::assurance::{Brought, Claimed, KnownHead};
use super::behind;
use super::checks::{Checks, Workspace, decompressors, usual_threads};
use super::claims::{Claims, Stopping};
use super::cosigned::{CosignedHeads, PlacedEnd};
use super::fault::Gap;
use super::folder::LedgerFolder;
use super::frames::Openers;
use super::heads::HeadsExpected;
use super::idle::{IdleThreads, Passing};
use super::joining::{Joining, Passed};
use super::level::StoredLevel;
use super::pass::pass;
use super::plan::{NoPlan, Plan};
use super::report::{ContentsChecked, HeadsChecked, LeavesChecked, Report};
use super::signers::Signers;
use super::tree::level_fault;
use super::{LeavesWanted, Progress, VerifyOptions};

/// Threads that pass over segments at most.
const MAX_THREADS: usize = 64;

/// In the place of a ledger's id where nobody knows it: of no ledger, since ids are random.
const UNKNOWN: LedgerId = LedgerId([0; 16]);

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
    let mut joining = Joining::begin(plan, options, signers, (checks, own), &mut *report);
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
    let (ends, part_gap) = joining.found();
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
