//! A thread that compresses one frame's body while the sequencer places the events of the next.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SendError, Sender};

use bitacora_formats::Compressor;
use bitacora_formats::limits::MAX_FRAME_OVERHEAD_BYTES;

use crate::append::frame_batch::FrameBatch;
use crate::limits::{COMPRESS_AHEAD_BYTES, MAX_BODIES_AHEAD};
use crate::submission::compressed_body::CompressedBody;
use crate::submission::inbox::Inbox;

/// The sequencer's side: it compresses small bodies itself where no larger one is before them, and has the compressor compress
/// the others.
pub(crate) struct CompressionQueue {
    compressor: Compressor,
    bodies: Sender<Vec<u8>>,
    /// In their order; at most [`MAX_BODIES_AHEAD`].
    away: VecDeque<QueuedBatch>,
}

/// A batch whose body the compressor has.
struct QueuedBatch {
    batch: FrameBatch,
    body_bytes: usize,
}

impl CompressionQueue {
    pub(crate) fn new(compressor: Compressor, bodies: Sender<Vec<u8>>) -> Self {
        Self { compressor, bodies, away: VecDeque::with_capacity(MAX_BODIES_AHEAD) }
    }

    pub(crate) fn is_away(&self) -> bool {
        !self.away.is_empty()
    }

    /// Returns `true` if the compressor takes no more before one came back.
    pub(crate) fn is_full(&self) -> bool {
        self.away.len() >= MAX_BODIES_AHEAD
    }

    /// The most bytes of their segments that the batches the compressor has can take: what is stored of a body is no larger.
    pub(crate) fn away_bytes(&self) -> usize {
        self.away.iter().map(|away| away.body_bytes + MAX_FRAME_OVERHEAD_BYTES).sum()
    }

    /// The batches that the compressor has, in their order.
    pub(crate) fn away(&self) -> impl Iterator<Item = &FrameBatch> {
        self.away.iter().map(|away| &away.batch)
    }

    /// Gives the body to the compressor, which must not be full, and keeps the batch until then. A small one comes back at once
    /// if none is before it.
    pub(crate) fn begin(&mut self, batch: FrameBatch, body: Vec<u8>) -> Option<(FrameBatch, CompressedBody)> {
        let body_bytes = body.len();
        if body_bytes < COMPRESS_AHEAD_BYTES && self.away.is_empty() {
            return Some((batch, CompressedBody::new(&mut self.compressor, body)));
        }
        match self.bodies.send(body) {
            Ok(()) => {
                self.away.push_back(QueuedBatch { batch, body_bytes });
                None
            }
            Err(SendError(body)) if self.away.is_empty() => {
                Some((batch, CompressedBody::new(&mut self.compressor, body)))
            }
            Err(SendError(body)) => {
                // The compressor is gone, and why comes back in the place of an earlier body: this one is given up with it.
                let body_bytes = body.len();
                self.away.push_back(QueuedBatch { batch, body_bytes });
                None
            }
        }
    }

    /// The batch whose body is back: the first of those that are away.
    pub(crate) fn end(&mut self) -> Option<FrameBatch> {
        self.away.pop_front().map(|away| away.batch)
    }

    /// Drops the batches that are away.
    pub(crate) fn give_up(&mut self) {
        self.away.clear();
    }
}

/// The body of the compressor's thread; ends when the sequencer is gone.
pub(crate) fn run(inbox: &Inbox, mut compressor: Compressor, bodies: &Receiver<Vec<u8>>) {
    for body in bodies {
        let compressed = catch_unwind(AssertUnwindSafe(|| CompressedBody::new(&mut compressor, body)));
        let failed = compressed.is_err();
        inbox.put_compressed(compressed.map_err(|_| "compressing a frame panicked".to_owned()));
        if failed {
            return;
        }
    }
}
