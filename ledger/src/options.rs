//! The options of a ledger's opening.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::limits::{
    MAX_FRAME_BODY_BYTES, MAX_FRAME_OVERHEAD_BYTES, MAX_REQUEST_BYTES, MAX_REQUEST_ENTRIES, MAX_SEGMENT_BYTES,
};
use bitacora_formats::{LedgerName, Position};

use crate::heads::anchor::Anchor;
use crate::heads::witness::Witnesses;
use crate::host::scrub_progress::ScrubOptions;
use crate::limits::{
    ENTRY_BYTES, MAX_DERIVED_BYTES, MAX_QUEUE_BYTES, MIN_SEGMENT_BYTES, RESERVED_TAIL_BYTES,
};
use bitacora_governance::{Governance, REACTOR_VERSION, Reactor};

/// The options of an opening. The defaults are those of the service.
#[derive(Clone)]
pub struct Options {
    /// The name that the ledger must have been made under; `None` takes any. Its folder is no proof of its name.
    pub name: Option<LedgerName>,
    /// The size a segment is made with, in bytes.
    pub segment_bytes: u64,
    /// The largest request, in bytes of its encoded records.
    pub request_bytes: usize,
    /// Bytes of requests that may wait for the sequencer.
    pub queue_bytes: usize,
    /// The zstd level of frames, 1 to 3.
    pub compression_level: i32,
    /// The delay of the proof of old segments after the opening: the caller who waited for the ledger reads a cold disk first.
    pub proof_delay: Duration,
    /// The pace of the scrub's rounds over the log, after that proof; `None` makes none.
    pub scrub: Option<ScrubOptions>,
    /// The options of tree heads; `None` signs none, and asks nobody whether the ledger is the one that was.
    pub heads: Option<HeadOptions>,
    /// The reactor that derives events from admitted ones; none by default.
    pub governing: ReactorChoice,
    /// The last position in the archives of its history. No loss is declared of archived events.
    pub archived: Option<Position>,
}

/// The reactors that derive events from admitted ones.
#[derive(Clone, Default)]
pub enum ReactorChoice {
    /// Nothing: a log, and no more.
    #[default]
    Nothing,
    /// The reactor by which the service decides.
    Governance,
    /// This.
    By(Arc<dyn Reactor>),
}

impl ReactorChoice {
    /// The version of the reactor, 0 for none.
    pub(crate) fn version(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Governance => REACTOR_VERSION,
            Self::By(reactor) => reactor.version(),
        }
    }

    /// The reactor of one ledger, and its governance if it has one.
    pub(crate) fn begin(&self) -> (Option<Arc<dyn Reactor>>, Option<Arc<Governance>>) {
        match self {
            Self::Nothing => (None, None),
            Self::Governance => {
                let governance = Arc::new(Governance::default());
                (Some(Arc::clone(&governance) as Arc<dyn Reactor>), Some(governance))
            }
            Self::By(reactor) => (Some(Arc::clone(reactor)), None),
        }
    }
}

/// The time without events after which another tree head is signed.
pub const IDLE_HEADS_EVERY: Duration = Duration::from_secs(60 * 60);

/// The signing of tree heads, and the anchor that remembers them.
#[derive(Debug, Clone)]
pub struct HeadOptions {
    /// The interval between heads while events arrive. One more is signed at each segment's end and when the ledger closes.
    pub every: Duration,
    /// The time after the last head at which another is signed although no event arrived, so that silence shows. An auditor without a
    /// newer head than that knows that the ledger does not run, or withholds its heads.
    pub idle_every: Duration,
    /// The anchor that remembers the last head.
    pub anchor: Option<Arc<dyn Anchor>>,
    /// `true` if nothing is taken while the anchor cannot be reached.
    pub anchor_required: bool,
    /// `true` if the anchor may begin with a ledger that has tree heads already, or replace bytes that are no tree head at all. Otherwise
    /// an anchor that remembers nothing of such a ledger has lost its memory, or is not the right one.
    pub anchor_is_new: bool,
    /// Others who cosign them, if any.
    pub witnesses: Option<Witnesses>,
}

impl Default for HeadOptions {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            idle_every: IDLE_HEADS_EVERY,
            anchor: None,
            anchor_required: false,
            anchor_is_new: false,
            witnesses: None,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: None,
            segment_bytes: MAX_SEGMENT_BYTES as u64,
            request_bytes: MAX_REQUEST_BYTES,
            queue_bytes: MAX_QUEUE_BYTES,
            compression_level: 1,
            proof_delay: Duration::from_secs(2),
            scrub: None,
            heads: Some(HeadOptions::default()),
            governing: ReactorChoice::default(),
            archived: None,
        }
    }
}

impl Options {
    /// Segments and requests small enough that tests roll often, 256 KiB and 32 KiB; no delays and no tree heads.
    #[must_use]
    pub fn small() -> Self {
        let (segment_bytes, request_bytes) = (256 * 1024, 32 * 1024);
        Self { segment_bytes, request_bytes, proof_delay: Duration::ZERO, heads: None, ..Self::default() }
    }

    /// The largest frame body: what is staged at once always fits an empty segment, uncompressed.
    pub(crate) fn frame_body_bytes(&self) -> usize {
        let room = self.segment_bytes - RESERVED_TAIL_BYTES - MAX_FRAME_OVERHEAD_BYTES as u64;
        usize::try_from(room).unwrap_or(usize::MAX).min(MAX_FRAME_BODY_BYTES)
    }

    /// Record bytes that the reactor may derive from one request.
    pub(crate) fn derived_bytes(&self) -> usize {
        self.request_bytes.min(MAX_DERIVED_BYTES)
    }

    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        let (min, max) = (MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES as u64);
        if !(min..=max).contains(&self.segment_bytes) {
            return Err(OptionsError::SegmentBytes { found: self.segment_bytes, min, max });
        }
        let least = (self.request_bytes + self.derived_bytes() + MAX_REQUEST_ENTRIES * ENTRY_BYTES) as u64
            + RESERVED_TAIL_BYTES
            + MAX_FRAME_OVERHEAD_BYTES as u64;
        if self.request_bytes > MAX_REQUEST_BYTES || self.segment_bytes < least {
            return Err(OptionsError::RequestBytes {
                request: self.request_bytes,
                segment: self.segment_bytes,
                least,
            });
        }
        Ok(())
    }
}

/// Options that do not fit each other or a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The segment size is out of range.
    #[error("segments of {found} bytes: take {min} to {max}")]
    SegmentBytes {
        /// The size that was asked for.
        found: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A request of the configured size would not fit a segment.
    #[error(
        "requests of {request} bytes do not fit segments of {segment} bytes; take segments of at least {least}"
    )]
    RequestBytes {
        /// The largest request.
        request: usize,
        /// The segment.
        segment: u64,
        /// The least segment for such requests.
        least: u64,
    },
}
