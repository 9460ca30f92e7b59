//! The part of the shared state that readers use: durable events and what was derived of them.

use std::sync::Arc;

use bitacora_formats::StreamKey;
use tokio::sync::watch;

use crate::archive_tier::ArchiveTier;
use crate::host::lock_order::OrderedMutex;
use crate::log_fault::LogFault;
use crate::receipt::Head;
use crate::segments::Segments;
use crate::segments::decompressors::DecompressorPool;
use crate::segments::recent_frames::{RecentFrames, RevisitedFrames};
use crate::stream_tips::{DurableTips, Tip};
use crate::tree::Tree;

/// The durable state. The committer alone publishes to it; every thread reads it.
pub(crate) struct ReadSide {
    pub(crate) segments: Segments,
    /// The archives of released segments' frames.
    pub(crate) tier: Arc<dyn ArchiveTier>,
    pub(crate) recent: RecentFrames,
    pub(crate) revisited: RevisitedFrames,
    pub(crate) tips: DurableTips,
    pub(crate) tree: Tree,
    pub(crate) decompressors: DecompressorPool,
    head: OrderedMutex<Head>,
    heads: watch::Sender<Head>,
    /// The damage behind the head, of a ledger that is damaged before it too.
    lost_end: Option<LogFault>,
}

/// The parts of a [`ReadSide`] that an opening gives.
pub(crate) struct ReadParts {
    pub(crate) segments: Segments,
    pub(crate) tier: Arc<dyn ArchiveTier>,
    pub(crate) tips: DurableTips,
    pub(crate) tree: Tree,
    pub(crate) head: Head,
    pub(crate) lost_end: Option<LogFault>,
}

impl ReadSide {
    pub(crate) fn new(parts: ReadParts) -> Self {
        let ReadParts { segments, tier, tips, tree, head, lost_end } = parts;
        Self {
            segments,
            tier,
            recent: RecentFrames::default(),
            revisited: RevisitedFrames::default(),
            tips,
            tree,
            decompressors: DecompressorPool::default(),
            head: OrderedMutex::inner(head),
            heads: watch::Sender::new(head),
            lost_end,
        }
    }

    pub(crate) fn head(&self) -> Head {
        *self.head.lock()
    }

    /// Only the committer calls this, after a good sync.
    pub(crate) fn set_head(&self, head: Head) {
        *self.head.lock() = head;
    }

    /// Tells subscribers of the head, after the acknowledgements.
    pub(crate) fn announce(&self) {
        self.heads.send_replace(self.head());
    }

    pub(crate) fn watch_head(&self) -> watch::Receiver<Head> {
        self.heads.subscribe()
    }

    pub(crate) fn publish_tips(&self, tips: impl Iterator<Item = (StreamKey, Tip)>) {
        self.tips.write().extend(tips);
    }

    /// The tip of a stream among durable events.
    pub(crate) fn tip(&self, stream: &StreamKey) -> Option<Tip> {
        self.tips.read().get(stream).copied()
    }

    /// The damage that was found behind the head when the ledger was opened.
    pub(crate) fn lost_behind(&self) -> Option<&LogFault> {
        self.lost_end.as_ref()
    }
}
