//! The bodies of the newest frames, still open: whoever follows the ledger reads them without the disk and without a key.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use bitacora_formats::Position;

use crate::limits::RECENT_BODY_BYTES;
use crate::segments::{FramePlace, Segment};

/// A frame whose body is in clear.
#[derive(Clone)]
pub(crate) struct OpenFrame {
    pub(crate) segment: Arc<Segment>,
    pub(crate) place: FramePlace,
    pub(crate) body: Arc<Vec<u8>>,
}

/// The last frames that became durable, without a gap, up to [`RECENT_BODY_BYTES`] of bodies and always the newest one.
#[derive(Default)]
pub(crate) struct RecentFrames {
    frames: RwLock<Frames>,
}

#[derive(Default)]
struct Frames {
    queue: VecDeque<OpenFrame>,
    bytes: usize,
}

impl RecentFrames {
    /// This frame became durable, right after the one given before.
    pub(crate) fn push(&self, frame: OpenFrame) {
        let mut frames = self.frames.write().unwrap_or_else(PoisonError::into_inner);
        frames.bytes += frame.body.len();
        frames.queue.push_back(frame);
        while frames.bytes > RECENT_BODY_BYTES && frames.queue.len() > 1 {
            let Some(oldest) = frames.queue.pop_front() else { break };
            frames.bytes -= oldest.body.len();
        }
    }

    /// The frame that holds `position`, if it is one of them.
    pub(crate) fn holding(&self, position: Position) -> Option<OpenFrame> {
        let frames = self.frames.read().unwrap_or_else(PoisonError::into_inner);
        let after = frames.queue.partition_point(|frame| frame.place.header.first_position <= position);
        let frame = frames.queue.get(after.checked_sub(1)?)?;
        (frame.place.header.last_position() >= position).then(|| frame.clone())
    }
}
