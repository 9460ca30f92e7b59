//! The segment being written: it seals batches into frames and knows how much room is left.

use std::sync::Arc;

use bitacora_formats::{
    ChainTip, Epoch, FOOTER_BYTES, FrameOpener, FramePlan, FrameSealer, Frontier, Generation, LedgerId,
    Micros, Position, SegmentEnd, SegmentPlan, leaf_hash, seal_segment_header,
};

use crate::append::commits::{EndedSegment, FrameCommit};
use crate::append::frame_batch::FrameBatch;
use crate::limits::MAX_SEGMENT_EVENTS;
use crate::receipt::Head;
use crate::segment_preallocator::BlankSegment;
use crate::segments::Segment;
use crate::shared_state::SharedState;
use crate::submission::compressed_body::CompressedBody;

/// Seals frames one after another, in the live segment or at the start of the next one.
pub(crate) struct LiveSegment {
    generation: Generation,
    epoch: Epoch,
    frontier: Frontier,
    /// The time of the last frame.
    time: Micros,
    /// The tip that the next link builds on.
    tip: ChainTip,
    current: Option<CurrentSegment>,
}

/// The segment that has a header by now.
struct CurrentSegment {
    sealer: FrameSealer,
    segment: Arc<Segment>,
    /// Not handed to the committer yet, together with the header's bytes.
    unwritten: Option<(BlankSegment, Vec<u8>)>,
    offset: u64,
    bytes: u64,
    events: u64,
}

/// The state of a ledger at its opening.
pub(crate) struct LiveSegmentStart {
    pub(crate) generation: Generation,
    pub(crate) epoch: Epoch,
    pub(crate) frontier: Frontier,
    pub(crate) time: Micros,
    pub(crate) tip: ChainTip,
}

impl LiveSegment {
    pub(crate) fn new(start: LiveSegmentStart) -> Self {
        let LiveSegmentStart { generation, epoch, frontier, time, tip } = start;
        Self { generation, epoch, frontier, time, tip, current: None }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns `true` if the live segment has room for a frame of this stored size, its footer and `reserve` more.
    pub(crate) fn fits(&self, frame: u64, reserve: u64) -> bool {
        let room = |current: &CurrentSegment| current.bytes.saturating_sub(current.offset);
        self.current.as_ref().is_some_and(|live| frame + FOOTER_BYTES as u64 + reserve <= room(live))
    }

    /// Returns `true` if the live segment has taken as many events as a segment may.
    pub(crate) fn is_full_of_events(&self) -> bool {
        self.current.as_ref().is_some_and(|live| live.events >= MAX_SEGMENT_EVENTS)
    }

    /// Encrypts, chains and signs the batch. Without a live segment it begins one, from the preallocator.
    pub(crate) fn seal(
        &mut self,
        shared: &SharedState,
        batch: FrameBatch,
        compressed: CompressedBody,
    ) -> Result<FrameCommit, String> {
        let first = batch.tips.first().map(|(_, tip)| tip.position).ok_or("a frame without events")?;
        let last = batch.tips.last().map(|(_, tip)| tip.position).ok_or("a frame without events")?;
        if self.current.is_none() {
            self.current = Some(self.begin(shared, first, batch.time)?);
        }
        let current = self.current.as_mut().ok_or("no live segment")?;
        let mut position = Some(first);
        let mut groups = Vec::new();
        for commitment in &batch.commitments {
            let here = position.ok_or("positions ran out")?;
            groups.extend(self.frontier.push_grouping(leaf_hash(here, batch.time, commitment)));
            position = here.next();
        }
        let (begins, mut bytes) = current.unwritten.take().map_or((None, Vec::new()), |(b, h)| (Some(b), h));
        let header_bytes = bytes.len() as u64;
        let plan = FramePlan {
            first,
            count: u32::try_from(batch.commitments.len()).map_err(|_| "too many events in a frame")?,
            time: batch.time,
            tree_size: self.frontier.size(),
            tree_root: self.frontier.root(),
        };
        self.tip = compressed.seal(&mut current.sealer, plan, &mut bytes)?;
        self.time = batch.time;
        let offset = current.offset;
        current.offset += bytes.len() as u64;
        if current.offset > current.bytes {
            return Err(format!(
                "a frame that ends {} bytes past its segment",
                current.offset - current.bytes
            ));
        }
        current.events += batch.commitments.len() as u64;
        let head = Head { position: last, hash: self.tip.hash, time: batch.time, tree_root: plan.tree_root };
        Ok(FrameCommit {
            begins,
            bytes,
            offset,
            segment: Arc::clone(&current.segment),
            frame_offset: offset + header_bytes,
            first,
            count: plan.count,
            commitments: batch.commitments,
            groups,
            tree: self.frontier.clone(),
            body: Arc::new(compressed.body),
            tips: batch.tips,
            head,
            answers: batch.answers,
        })
    }

    fn begin(&self, shared: &SharedState, first: Position, time: Micros) -> Result<CurrentSegment, String> {
        let blank = shared.write.preallocator.take().ok_or("no blank segment is ready")?;
        let mut entropy_error = None;
        let mut random = |bytes: &mut [u8]| {
            if let Err(error) = shared.environment.entropy.fill(bytes) {
                entropy_error = Some(error);
            }
        };
        let plan = SegmentPlan {
            ledger: shared.id,
            generation: self.generation,
            epoch: self.epoch,
            number: blank.number,
            first_position: first,
            created: time,
            frontier: &self.frontier,
            tip: self.tip,
        };
        let mut header = Vec::new();
        let sealer = seal_segment_header(plan, &shared.keyring, &mut random, &mut header)
            .map_err(|error| error.to_string())?;
        if let Some(error) = entropy_error {
            return Err(format!("no random bytes for a segment's key: {error}"));
        }
        let opener = FrameOpener::new(sealer.segment_key());
        let segment = Arc::new(Segment::new(blank.number, first, Arc::clone(&blank.file), opener));
        Ok(CurrentSegment {
            sealer,
            segment,
            bytes: blank.bytes,
            unwritten: Some((blank, header)),
            offset: 0,
            events: 0,
        })
    }

    /// Ends the live segment, if one was written to.
    pub(crate) fn end(&mut self, ledger: LedgerId) -> Result<Option<EndedSegment>, String> {
        let Some(current) = self.current.take() else { return Ok(None) };
        let CurrentSegment { sealer, offset, segment, .. } = current;
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        self.tip = sealer.footer(&mut footer).map_err(|error| error.to_string())?;
        let end = SegmentEnd {
            ledger,
            generation: self.generation,
            epoch: self.epoch,
            number: segment.number,
            next_position: Position::new(self.frontier.size() + 1).ok_or("positions ran out")?,
            time: self.time,
            tree_size: self.frontier.size(),
            tree_root: self.frontier.root(),
            tip: self.tip,
        };
        Ok(Some(EndedSegment { footer, offset, end, frontier: self.frontier.clone() }))
    }
}
