//! The ledger's threads and their names, as the system shows them.

use std::thread;

/// The most bytes of a thread's name that Linux shows.
const MAX_NAME_BYTES: usize = 15;

/// A thread of the ledger. Its name is `bitacora-` and its job in at most six letters: Linux shows 15 bytes of a name, and cuts off the
/// rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LedgerThread {
    Sequencer,
    Compressor,
    Committer,
    SegmentPreallocator,
    DuplicateReceipts,
    TableWriter,
    HeadSigner,
    WitnessPublisher,
    /// One question to one witness.
    WitnessPoll,
    BackgroundScrub,
    /// The helper of a filtered read.
    FrameOpener,
}

impl LedgerThread {
    const fn name(self) -> &'static str {
        match self {
            Self::Sequencer => "bitacora-seq",
            Self::Compressor => "bitacora-zstd",
            Self::Committer => "bitacora-commit",
            Self::SegmentPreallocator => "bitacora-alloc",
            Self::DuplicateReceipts => "bitacora-dedup",
            Self::TableWriter => "bitacora-tables",
            Self::HeadSigner => "bitacora-signer",
            Self::WitnessPublisher => "bitacora-cosign",
            Self::WitnessPoll => "bitacora-poll",
            Self::BackgroundScrub => "bitacora-scrub",
            Self::FrameOpener => "bitacora-opener",
        }
    }

    /// Returns the builder of the thread.
    pub(crate) fn builder(self) -> thread::Builder {
        let name = self.name();
        debug_assert!(name.len() <= MAX_NAME_BYTES, "{name} would be cut off");
        thread::Builder::new().name(name.to_owned())
    }
}
