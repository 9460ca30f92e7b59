//! A cache of open frames: the newest ones, and those that readers opened last.
//! Followers of the ledger read the newest without the disk and without a key. A page most often begins in the frame where another has
//! ended.

use std::collections::VecDeque;
use std::sync::Arc;

use bitacora_formats::Position;

use crate::host::lock_order::{OrderedMutex, OrderedRwLock};
use crate::limits::{MAX_REVISITED_BODY_BYTES, MAX_REVISITED_FRAMES, RECENT_BODY_BYTES};
use crate::segments::{FrameEntry, Segment};

/// A frame whose body is in clear.
#[derive(Clone)]
pub(crate) struct OpenFrame {
    pub(crate) segment: Arc<Segment>,
    pub(crate) place: FrameEntry,
    pub(crate) body: Arc<Vec<u8>>,
}

/// The last frames that became durable, without a gap, up to [`RECENT_BODY_BYTES`] of bodies and always the newest one.
#[derive(Default)]
pub(crate) struct RecentFrames {
    frames: OrderedRwLock<FrameQueue>,
}

#[derive(Default)]
struct FrameQueue {
    queue: VecDeque<OpenFrame>,
    bytes: usize,
}

impl RecentFrames {
    /// This frame became durable, right after the one given before.
    pub(crate) fn push(&self, frame: OpenFrame) {
        let mut frames = self.frames.write();
        frames.bytes += frame.body.len();
        frames.queue.push_back(frame);
        while frames.bytes > RECENT_BODY_BYTES && frames.queue.len() > 1 {
            let Some(oldest) = frames.queue.pop_front() else { break };
            frames.bytes -= oldest.body.len();
        }
    }

    /// The frame that holds `position`, if it is one of them.
    pub(crate) fn holding(&self, position: Position) -> Option<OpenFrame> {
        let frames = self.frames.read();
        let after = frames.queue.partition_point(|frame| frame.place.header.first_position <= position);
        let frame = frames.queue.get(after.checked_sub(1)?)?;
        (frame.place.header.last_position() >= position).then(|| frame.clone())
    }
}

/// The frames that readers opened last, each of at most [`MAX_REVISITED_BODY_BYTES`], as many as
/// [`MAX_REVISITED_FRAMES`].
#[derive(Default)]
pub(crate) struct RevisitedFrames {
    frames: OrderedMutex<VecDeque<OpenFrame>>,
}

impl RevisitedFrames {
    pub(crate) fn push(&self, frame: &OpenFrame) {
        if frame.body.len() > MAX_REVISITED_BODY_BYTES {
            return;
        }
        let mut frames = self.frames.lock();
        frames.truncate(MAX_REVISITED_FRAMES - 1);
        frames.push_front(frame.clone());
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.frames.lock().clear();
    }

    /// The frame that holds `position`, if it is one of them.
    pub(crate) fn holding(&self, position: Position) -> Option<OpenFrame> {
        let frames = self.frames.lock();
        let holds = |frame: &&OpenFrame| {
            let header = &frame.place.header;
            header.first_position <= position && position <= header.last_position()
        };
        frames.iter().find(holds).cloned()
    }
}
