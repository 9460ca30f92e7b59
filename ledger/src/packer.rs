//! A thread that compresses one frame's body while the sequencer gives places to the events of the next.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, Sender};

use bitacora_formats::{Codec, Compressor};

use crate::batch::Batch;
use crate::limits::PACK_AHEAD_BYTES;
use crate::shared::Shared;

/// A frame's body, and how it will be encrypted.
pub(crate) struct Packed {
    pub(crate) body: Vec<u8>,
    pub(crate) codec: Codec,
    /// The compressed body; `None` where it is stored as it is.
    compressed: Option<Vec<u8>>,
}

impl Packed {
    pub(crate) fn new(compressor: &mut Compressor, body: Vec<u8>) -> Self {
        let (codec, bytes) = compressor.compress(&body);
        let compressed = (codec != Codec::Stored).then(|| bytes.to_vec());
        Self { body, codec, compressed }
    }

    /// What is encrypted.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.compressed.as_deref().unwrap_or(&self.body)
    }
}

/// The sequencer's side: it compresses small bodies itself, and has the packer compress one large one at a time.
pub(crate) struct Packing {
    compressor: Compressor,
    bodies: Sender<Vec<u8>>,
    away: Option<Away>,
}

/// A batch whose body the packer has.
struct Away {
    batch: Batch,
    body_bytes: usize,
}

impl Packing {
    pub(crate) fn new(compressor: Compressor, bodies: Sender<Vec<u8>>) -> Self {
        Self { compressor, bodies, away: None }
    }

    pub(crate) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Bytes of the body that the packer has; what is stored of it is no larger.
    pub(crate) fn away_bytes(&self) -> usize {
        self.away.as_ref().map_or(0, |away| away.body_bytes)
    }

    /// Gives the body to the packer, which must have none, and keeps the batch until then. A small one comes back at once.
    pub(crate) fn begin(&mut self, batch: Batch, body: Vec<u8>) -> Option<(Batch, Packed)> {
        let body_bytes = body.len();
        if body_bytes < PACK_AHEAD_BYTES {
            return Some((batch, Packed::new(&mut self.compressor, body)));
        }
        match self.bodies.send(body) {
            Ok(()) => {
                self.away = Some(Away { batch, body_bytes });
                None
            }
            Err(SendError(body)) => Some((batch, Packed::new(&mut self.compressor, body))),
        }
    }

    /// The batch whose body is back.
    pub(crate) fn end(&mut self) -> Option<Batch> {
        self.away.take().map(|away| away.batch)
    }
}

/// The body of the packer's thread; ends when the sequencer is gone.
pub(crate) fn run(shared: &Arc<Shared>, mut compressor: Compressor, bodies: &Receiver<Vec<u8>>) {
    for body in bodies {
        let packed = catch_unwind(AssertUnwindSafe(|| Packed::new(&mut compressor, body)));
        let failed = packed.is_err();
        shared.inbox.put_packed(packed.map_err(|_| "compressing a frame panicked".to_owned()));
        if failed {
            return;
        }
    }
}
