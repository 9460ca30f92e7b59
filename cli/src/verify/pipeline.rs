//! Reading, walking and opening, each segment one stage behind the other, so that at most one lies between two stages.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use bitacora_formats::{SegmentEnd, SegmentNumber, is_all_zeros};

use super::contents::Contents;
use super::fault::{Fault, Gap};
use super::folder::LedgerFolder;
use super::plan::{NoPlan, Plan};
use super::report::Report;
use super::segment::{WalkedSegment, walk};
use super::signers::Signers;
use super::{Progress, VerifyOptions};

/// Segments that may wait between two stages; each stage holds one more.
const WAITING_SEGMENTS: usize = 0;

type Loaded = (SegmentNumber, io::Result<Vec<u8>>);

/// What the walk ended with.
#[derive(Default)]
struct Walked {
    fault: Option<Fault>,
    gap: Option<Gap>,
}

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
    (report.blank_segments, report.other_files) = (plan.blank, plan.strangers);
    // After the plan: the note is written before any segment that needs it.
    let (signers, gap) = match Signers::read(folder, options.keyring) {
        Ok(read) => read,
        Err(fault) => return Report { fault: Some(fault), ..report },
    };
    report.gaps.extend(gap);
    if let Some(progress) = options.progress {
        progress.expect(plan.bytes);
    }
    check_segments(folder, options, &plan, signers, &mut report);
    report
}

fn check_segments(
    folder: &LedgerFolder<'_>,
    options: &VerifyOptions<'_>,
    plan: &Plan,
    signers: Signers,
    report: &mut Report,
) {
    let mut contents = options.keyring.map(|keyring| Contents::new(keyring, options.name, folder.path()));
    thread::scope(|scope| {
        let (load, loaded) = sync_channel(WAITING_SEGMENTS);
        let (walked, walks) = sync_channel(WAITING_SEGMENTS);
        // At most one for each stage and one between them.
        let (give_back, spare) = channel();
        scope.spawn(move || load_complete(folder, plan.last, &load, &spare));
        let mut walker = Walker { folder, options, plan, signers, end: None };
        let walking = scope.spawn(move || walker.run(&loaded, &walked));
        report.fault = take(walks, contents.as_mut(), options.progress, &give_back, report);
        // The stages before have ended: nobody takes what they would give.
        let Walked { fault, gap } = walking.join().unwrap_or_else(|panic| resume_unwind(panic));
        report.fault = report.fault.take().or(fault);
        report.gaps.extend(gap);
    });
    if let Some(contents) = contents {
        contents.into_report(report);
    }
}

/// Takes the walked segments in order, up to the first fault in their contents.
fn take(
    walks: Receiver<WalkedSegment>,
    mut contents: Option<&mut Contents<'_>>,
    progress: Option<&dyn Progress>,
    give_back: &Sender<Vec<u8>>,
    report: &mut Report,
) -> Option<Fault> {
    for segment in walks {
        report.count(&segment);
        if let Some(contents) = &mut contents
            && let Err(fault) = contents.check(&segment)
        {
            return Some(fault);
        }
        if let Some(progress) = progress {
            progress.advance(segment.file_bytes());
        }
        // The loader may have ended: then nobody needs it.
        let _ended = give_back.send(segment.into_bytes()).is_err();
    }
    None
}

/// Reads every segment before the last one; ends when nobody wants more.
fn load_complete(
    folder: &LedgerFolder<'_>,
    last: SegmentNumber,
    loaded: &SyncSender<Loaded>,
    spare: &Receiver<Vec<u8>>,
) {
    for number in (1..last.0).map(SegmentNumber) {
        let bytes = folder.load_into(number, spare.try_recv().unwrap_or_default());
        let failed = bytes.is_err();
        if loaded.send((number, bytes)).is_err() || failed {
            return;
        }
    }
}

/// The second stage: it holds the chain.
struct Walker<'a> {
    folder: &'a LedgerFolder<'a>,
    options: &'a VerifyOptions<'a>,
    plan: &'a Plan,
    signers: Signers,
    /// Where the chain stands.
    end: Option<SegmentEnd>,
}

impl Walker<'_> {
    fn run(&mut self, loaded: &Receiver<Loaded>, walked: &SyncSender<WalkedSegment>) -> Walked {
        for (number, bytes) in loaded {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(error) => return self.unreadable(number, error),
            };
            let (segment, fault) = self.walk(number, bytes);
            // The opener has stopped; what it found comes before whatever is found here.
            if !self.pass_on(segment, walked) {
                return Walked::default();
            }
            if fault.is_some() {
                return Walked { fault, gap: None };
            }
        }
        let ended = self.walk_last(walked);
        if ended.fault.is_some() || ended.gap.is_some() {
            return ended;
        }
        let missing = self.plan.missing.zip(self.end);
        Walked { fault: missing.map(|(missing, end)| missing.fault(end.next_position)), gap: None }
    }

    /// The last segment may be written to at this moment. A reader can meet half a frame, or a frame whole and the one
    /// before it not yet: so damage counts only once it has stayed.
    fn walk_last(&mut self, walked: &SyncSender<WalkedSegment>) -> Walked {
        let (number, patience) = (self.plan.last, self.options.patience);
        let mut attempt = 0;
        loop {
            let (segment, fault) = match self.folder.load(number) {
                // An opening has removed its torn first write, and the file is blank again: the ledger ends before it.
                Ok(bytes) if self.end.is_some() && is_all_zeros(&bytes) => return Walked::default(),
                Ok(bytes) => self.walk(number, bytes),
                Err(error) => return self.unreadable(number, error),
            };
            if fault.is_none() || attempt >= patience.retries {
                self.pass_on(segment, walked);
                return Walked { fault, gap: None };
            }
            attempt += 1;
            thread::sleep(patience.pause);
        }
    }

    fn walk(&mut self, number: SegmentNumber, bytes: Vec<u8>) -> (Option<WalkedSegment>, Option<Fault>) {
        let (segment, fault) = walk(number, bytes, self.end.as_ref(), self.options.every_signature);
        if let Some(segment) = &segment
            && let Err(kind) = self.signers.check(&segment.header)
        {
            let first = segment.header.first_position;
            return (None, Some(segment.fault(0, first, None, kind)));
        }
        (segment, fault)
    }

    /// Whether somebody took it.
    fn pass_on(&mut self, segment: Option<WalkedSegment>, walked: &SyncSender<WalkedSegment>) -> bool {
        let Some(segment) = segment else { return true };
        self.end = Some(segment.end);
        walked.send(segment).is_ok()
    }

    fn unreadable(&self, number: SegmentNumber, error: io::Error) -> Walked {
        Walked { fault: None, gap: Some((self.folder.path_of(number), error).into()) }
    }
}
