//! The frame under construction: what was staged since the last one, and the answers that rest on it.

use bitacora_formats::{BodyMark, BodyWriter, Commitment, EventKey, Micros, StreamKey};

use crate::stream_tips::Tip;
use crate::submission::messages::RequestAnswer;

/// Requests staged for the next frame, and answers that wait for it.
pub(crate) struct FrameBatch {
    pub(crate) body: BodyWriter,
    /// The time of the frame; set with its first event.
    pub(crate) time: Micros,
    /// One for each event, in order.
    pub(crate) commitments: Vec<Commitment>,
    /// The identity of each event, in order.
    pub(crate) keys: Vec<EventKey>,
    /// `true`: something in it governs, so that its length is hidden.
    pub(crate) is_governed: bool,
    /// The tip each event left its stream at, in order.
    pub(crate) tips: Vec<(StreamKey, Tip)>,
    pub(crate) answers: Vec<RequestAnswer>,
}

/// A place in a batch to go back to when a request is dropped.
pub(crate) struct Mark {
    body: BodyMark,
    events: usize,
}

impl Default for FrameBatch {
    fn default() -> Self {
        Self {
            body: BodyWriter::new(),
            time: Micros(0),
            commitments: Vec::new(),
            keys: Vec::new(),
            is_governed: false,
            tips: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl FrameBatch {
    /// An empty batch with as much room as this one took, so that filling it moves nothing.
    pub(crate) fn with_the_same_room(&self) -> Self {
        let events = self.commitments.len();
        Self {
            body: BodyWriter::with_capacity(self.body.len()),
            time: Micros(0),
            commitments: Vec::with_capacity(events),
            keys: Vec::with_capacity(events),
            is_governed: false,
            tips: Vec::with_capacity(events),
            answers: Vec::with_capacity(self.answers.len()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && !self.has_events()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.commitments.is_empty()
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { body: self.body.mark(), events: self.commitments.len() }
    }

    pub(crate) fn drop_after(&mut self, mark: &Mark) {
        self.body.truncate_to(mark.body);
        self.commitments.truncate(mark.events);
        self.keys.truncate(mark.events);
        self.tips.truncate(mark.events);
    }
}
