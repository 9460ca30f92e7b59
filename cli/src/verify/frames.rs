//! Opening the frames of a walked segment, on as many threads as the machine has cores.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bitacora_formats::{
    Commitment, Decompressor, Entry, FrameHeader, FrameOpener, LedgerKeys, Position, Record, StoredFrame,
    StreamKey, TreeHash, decode_body, decode_record, leaf_hash,
};

use super::fault::{Fault, FaultKind};
use super::genesis::{Genesis, check_genesis};
use super::parts::{PartCounts, Parts};
use super::segment::WalkedSegment;

/// Frames that one thread opens at least: below it a thread costs more than it gains.
const MIN_FRAMES_A_THREAD: usize = 8;

/// What opens a segment's frames, shared by the threads.
#[derive(Clone, Copy)]
pub(super) struct Openers<'a> {
    pub(super) opener: &'a FrameOpener,
    pub(super) keys: &'a LedgerKeys,
    pub(super) parts: &'a Parts,
    pub(super) genesis: Genesis<'a>,
}

/// What is left of a frame once it was opened.
pub(super) struct OpenedFrame {
    pub(super) offset: u64,
    pub(super) header: FrameHeader,
    pub(super) events: Vec<OpenedEvent>,
    pub(super) parts: PartCounts,
}

/// What the order of events is checked by.
pub(super) struct OpenedEvent {
    pub(super) leaf: TreeHash,
    pub(super) stream: StreamKey,
    pub(super) stream_version: u64,
}

/// Opens every frame, in order up to the first one that is not what it must be, which is the last value then.
pub(super) fn open_frames(
    segment: &WalkedSegment,
    openers: Openers<'_>,
    decompressors: &mut [Decompressor],
) -> Vec<Result<OpenedFrame, Fault>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let threads = segment.frame_count().div_ceil(MIN_FRAMES_A_THREAD).max(1);
    let work = |decompressor: &mut Decompressor| {
        let mut opened = Vec::new();
        // Indexes are taken in order, so whatever comes before a failure is opened too.
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((offset, frame)) = segment.frame(index) else { break };
            let result = openers.open(segment, offset, &frame, decompressor);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            opened.push((index, result));
        }
        opened
    };
    let mut opened: Vec<(usize, Result<OpenedFrame, Fault>)> = thread::scope(|scope| {
        let workers: Vec<_> = decompressors
            .iter_mut()
            .take(threads)
            .map(|decompressor| scope.spawn(|| work(decompressor)))
            .collect();
        let joined =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect()
    });
    opened.sort_unstable_by_key(|(index, _)| *index);
    opened.into_iter().map(|(_, result)| result).collect()
}

impl Openers<'_> {
    fn open(
        &self,
        segment: &WalkedSegment,
        offset: u64,
        frame: &StoredFrame<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<OpenedFrame, Fault> {
        let header = *frame.header();
        let (first, last) = (header.first_position, header.last_position());
        let fault = |kind| segment.fault(offset, first, Some(last), kind);
        let body = self.opener.open_body(frame, decompressor).map_err(|error| fault(error.into()))?;
        let body = decode_body(&body, header.count).map_err(|error| fault(error.into()))?;
        let mut opened = OpenedFrame {
            offset,
            header,
            events: Vec::with_capacity(header.count as usize),
            parts: PartCounts::default(),
        };
        let positions = (0..).map_while(|distance| first.plus(distance));
        for (position, entry) in positions.zip(body.entries()) {
            let event = self.event(position, &header, entry, &mut opened.parts);
            let event = event.map_err(|kind| segment.fault(offset, position, Some(position), kind))?;
            opened.events.push(event);
        }
        Ok(opened)
    }

    fn event(
        &self,
        position: Position,
        header: &FrameHeader,
        entry: &Entry<'_>,
        parts: &mut PartCounts,
    ) -> Result<OpenedEvent, FaultKind> {
        let record = decode_record(entry.record).map_err(FaultKind::Record)?;
        self.parts.check(&record, entry.part, parts)?;
        if position == Position::FIRST {
            check_genesis(&record, self.genesis)?;
        }
        let commitment = self.commitment(&record, entry.record);
        Ok(OpenedEvent {
            leaf: leaf_hash(position, header.time, &commitment),
            stream: self.keys.stream_key(&record.stream),
            stream_version: entry.stream_version.get(),
        })
    }

    fn commitment(&self, record: &Record<'_>, bytes: &[u8]) -> Commitment {
        self.keys.commitment(&record.source, &record.id, bytes)
    }
}
