//! The thread that signs tree heads: the ledger's statements of itself, for others to remember.
//!
//! For each head, in this order: the event `ledger.headed` is appended and is durable; the frames written since the head before are read
//! back from the disk and checked; the head is signed; its note is durable beside the segment; the anchor is moved; then it is published.
//! So an auditor with a head of this ledger can hold every byte under it against the ledger.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{
    ChainHead, HeadEntry, LedgerOrigin, Position, Secret, SegmentEnd, SegmentNumber, TreeHead, service_source,
};
use tokio::sync::oneshot;

use crate::append::service_events::ServiceEvent;
use crate::heads::anchor::{Anchor, AnchorError};
use crate::heads::head_files::LiveHeads;
use crate::heads::signer_handle::PublishedHead;
use crate::options::HeadOptions;
use crate::shared_state::SharedState;
use crate::signing::history_check::HistoryCheck;
use crate::signing::known_heads::{AnchoredNote, size_of};
use crate::signing::put_aside;
use crate::signing::read_back::{BackReader, ReadBack, is_gone};
use crate::submission::append_error::AppendError;
use crate::submission::inbox::{Lane, SequencerCommand};
use crate::submission::messages::QueuedRequest;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// The report of an anchor that has held a head of this ledger and no longer does. That is not another copy's doing. Most likely another disk
/// is in its place, or none, so nothing is written there.
const FORGOTTEN: &str =
    "the anchor remembers nothing of a ledger that has tree heads; if its disk is not mounted, mount it";

/// The most doublings of the pause between two tries.
const MAX_DOUBLINGS: u32 = 6;

/// The head signer's share of an opening.
pub(crate) struct HeadSignerStart {
    pub(crate) options: HeadOptions,
    pub(crate) origin: LedgerOrigin,
    /// The end of the last segment of the epoch before.
    pub(crate) before: SegmentEnd,
    /// The anchor's memory.
    pub(crate) anchored: AnchoredNote,
    /// `true` if an anchor that remembers nothing has nothing to remember yet; `false` if it has lost its memory then.
    pub(crate) may_begin_anchor: bool,
    /// The last head that was published before, if it still is the ledger's.
    pub(crate) latest: Option<PublishedHead>,
}

/// The reasons for which no head was made.
#[derive(Debug, thiserror::Error)]
enum HeadFailure {
    #[error("the event before it was not appended: {0}")]
    Append(#[from] AppendError),
    #[error("reading back: {0}")]
    ReadBack(io::Error),
    #[error("the ledger is not what it has to be")]
    Wrong,
    #[error("keeping it: {0}")]
    Keep(io::Error),
}

/// Tells other threads what is known before the thread runs.
pub(crate) fn begin(shared: &SharedState, start: &HeadSignerStart) {
    let verifier_key = start.origin.keys(shared.keyring.signing_chain()).pop();
    let anchored = start.options.anchor.as_ref().map(|_| start.anchored.size());
    shared.heads.signer.begin(verifier_key, start.latest.clone(), anchored);
}

/// The body of the thread; ends after the last head.
pub(crate) fn run(shared: &SharedState, start: HeadSignerStart) {
    let HeadSignerStart { options, origin, before, anchored, may_begin_anchor, latest } = start;
    let heads = LiveHeads::new(Arc::clone(&shared.environment.disk), &shared.folder, shared.id);
    let covered = latest.as_ref().map_or(0, |head| head.size);
    let reader = BackReader::new(shared, before);
    let mut signer = HeadSigner {
        shared,
        options,
        origin,
        heads,
        reader,
        anchored,
        may_begin_anchor,
        attempted: None,
        covered,
        made_at: shared.environment.clock.passed(),
        unkept: None,
        read_through: 0,
        failures: 0,
    };
    loop {
        let is_last = shared.heads.signer.wait(signer.pause());
        // A head that could not be kept before covers less than there is by now, and after the last one no other comes.
        let turns = if is_last && signer.unkept.is_some() { 2 } else { 1 };
        (0..turns).for_each(|_| signer.take_turn());
        if is_last {
            return;
        }
    }
}

/// A head that is signed and not durable yet.
struct UnsavedHead {
    segment: SegmentNumber,
    head: TreeHead,
    entry: HeadEntry,
}

/// Makes one head after the other.
struct HeadSigner<'a> {
    shared: &'a SharedState,
    options: HeadOptions,
    origin: LedgerOrigin,
    heads: LiveHeads,
    reader: BackReader,
    /// The anchor's memory, as far as is known.
    anchored: AnchoredNote,
    may_begin_anchor: bool,
    /// The note that was sent to the anchor without an answer: the anchor may remember it.
    attempted: Option<String>,
    /// Events under the last head.
    covered: u64,
    /// The time at which the last head was made or this opening began, by [`crate::host::clock::Clock::passed`].
    made_at: Duration,
    unkept: Option<UnsavedHead>,
    /// The last position that was read back.
    read_through: u64,
    /// The failed attempts to make a head since the last success.
    failures: u32,
}

impl HeadSigner<'_> {
    fn take_turn(&mut self) {
        if !self.may_sign() {
            self.look_after_damage();
            return;
        }
        if self.shared.read.head().position.get() > self.covered || self.is_silent() {
            self.make_head();
        } else if self.attempted.is_some() {
            self.anchor_again();
        }
    }

    /// Reads back what was written before damage was found. Where the disk lacks it, memory is put aside: it would be lost at the end of the
    /// process, since no head is signed that it would be read back for.
    fn look_after_damage(&mut self) {
        let head = self.shared.read.head().position;
        if !self.shared.write.is_corrupt() || head.get() <= self.read_through.max(self.covered) {
            return;
        }
        match self.read_back(head) {
            Ok(read) => self.shared.write.unproven.is_on_disk(read.segment, read.end),
            Err(error) => {
                tracing::error!(%error, "what was written before damage was found could not be read back");
            }
        }
        self.read_through = head.get();
    }

    /// Returns `true` where no head was made for so long that one is due without an event. It begins with an event of its own, so
    /// appends have to be taken.
    fn is_silent(&self) -> bool {
        let silent_for = self.shared.environment.clock.passed().saturating_sub(self.made_at);
        silent_for >= self.options.idle_every && matches!(self.shared.write.writer(), WriterState::Ready)
    }

    /// Returns `true` if the ledger is right as far as is known; otherwise nothing is signed or given out.
    fn may_sign(&self) -> bool {
        let writer = self.shared.write.writer();
        !matches!(writer, WriterState::Poisoned(_)) && !writer.is_wrong()
    }

    fn make_head(&mut self) {
        match self.try_head() {
            Ok(head) => {
                self.failures = 0;
                self.covered = head.size;
                self.made_at = self.shared.environment.clock.passed();
                // An anchor may take seconds, in which damage can be found.
                if self.may_sign() && self.anchor(&head.note) && self.may_sign() {
                    self.shared.heads.signer.publish(head);
                }
            }
            Err(HeadFailure::Wrong) => {}
            Err(error) => {
                self.shared.heads.signer.head_failed();
                if self.failures == 0 {
                    tracing::error!(%error, "no tree head could be signed; it is tried again");
                }
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    fn try_head(&mut self) -> Result<PublishedHead, HeadFailure> {
        let unkept = match self.unkept.take() {
            Some(unkept) => unkept,
            None => self.sign()?,
        };
        if let Err(error) = self.heads.add(unkept.segment, &unkept.entry) {
            // Kept next time: another event for it would be one more each time.
            self.unkept = Some(unkept);
            return Err(HeadFailure::Keep(error));
        }
        if self.heads.is_full() {
            self.shared.write.inbox.command(SequencerCommand::EndSegment);
        }
        let UnsavedHead { head, entry, .. } = unkept;
        Ok(PublishedHead { size: head.size, root: head.root, note: entry.note })
    }

    fn sign(&mut self) -> Result<UnsavedHead, HeadFailure> {
        let (position, blind, record) = self.append_headed()?;
        let ReadBack { segment, size, root, end, .. } = self.read_back(position)?;
        self.shared.write.unproven.is_on_disk(segment, end);
        if !self.may_sign() {
            return Err(HeadFailure::Wrong);
        }
        let head = TreeHead { origin: self.origin.clone(), size: size.get(), root };
        let note = head.sign(&self.shared.keyring);
        Ok(UnsavedHead { segment, head, entry: HeadEntry { position, blind, record, note } })
    }

    /// Reads back the bytes that were written, and asks once more where the disk does not have them. After the second failure nothing more
    /// is acknowledged, and the bytes still in memory go to quarantine.
    fn read_back(&mut self, position: Position) -> Result<ReadBack, HeadFailure> {
        let shared = self.shared;
        let read = self.reader.read_through(shared, position);
        let read = read.or_else(|error| match is_gone(&error) {
            true => self.reader.read_through(shared, position),
            false => Err(error),
        });
        if let Ok(read) = &read {
            self.read_through = read.size.get();
        }
        read.map_err(|error| {
            if is_gone(&error) {
                put_aside::end_appends(shared, self.origin.generation, &error);
            }
            HeadFailure::ReadBack(error)
        })
    }

    /// Returns the pause before the next head. It grows after each failure, since each try may append an event.
    fn pause(&self) -> Duration {
        self.options.every.saturating_mul(1 << self.failures.min(MAX_DOUBLINGS))
    }

    /// Appends the event that names the stored bytes; where it stands, its blind and its record. Returned `Ok` ⇒ durable.
    fn append_headed(&self) -> Result<(Position, Secret, Vec<u8>), AppendError> {
        let shared = self.shared;
        let head = shared.read.head();
        let next = head.position.next().ok_or(AppendError::Closing)?;
        let headed = ChainHead { size: head.position, hash: head.hash };
        let request = ServiceEvent::Headed(headed).prepare(&shared.write.preparer, shared.id, next)?;
        let event = request.events.first().ok_or(AppendError::EmptyRequest)?;
        let record = request.record(event).to_vec();
        let id = request.ids.first().map(String::as_str).unwrap_or_default();
        let (blind, _) = shared.write.preparer.keys().identity(&service_source(shared.id), id);
        let (reply, outcome) = oneshot::channel();
        shared.write.inbox.put(QueuedRequest { request, reply }, Lane::Ordinary)?;
        let accepted = outcome.blocking_recv().unwrap_or(Err(AppendError::Unknown))?;
        let placed = accepted.placed.first().ok_or(AppendError::Unknown)?;
        Ok((placed.position, blind, record))
    }

    /// Has the anchor remember a head; whether it may be given out. One that an anchor contradicts may not: somebody has
    /// another one of that size, or a larger one.
    fn anchor(&mut self, note: &str) -> bool {
        let Some(anchor) = self.options.anchor.clone() else { return true };
        match self.swap(&*anchor, note) {
            Ok(()) => self.anchored(note),
            Err(AnchorFailure::Waiting(what)) => self.wait_for_anchor(note, what),
            Err(AnchorFailure::Diverged(what)) => {
                self.refuse(what);
                return false;
            }
        }
        true
    }

    fn swap(&mut self, anchor: &dyn Anchor, note: &str) -> Result<(), AnchorFailure> {
        let name = &self.origin.name;
        if self.anchored == AnchoredNote::Unknown {
            let anchored = self.compare(anchor.load(name)?)?;
            if anchored.is_none() && !self.may_begin_anchor {
                return Err(AnchorFailure::Waiting(FORGOTTEN.to_owned()));
            }
            self.anchored = AnchoredNote::Known(anchored);
        }
        let AnchoredNote::Known(expected) = &self.anchored else { return Ok(()) };
        match anchor.swap(name, expected.as_deref(), note) {
            Err(AnchorError::Moved { found: Some(found), .. }) if self.was_attempted(&found) => {
                anchor.swap(name, Some(&found), note)
            }
            Err(AnchorError::Moved { found: None, expected: Some(_), .. }) => {
                return Err(AnchorFailure::Waiting(FORGOTTEN.to_owned()));
            }
            swapped => swapped,
        }?;
        Ok(())
    }

    /// Returns `true` if a try without an answer left a head that the anchor was not known to remember. Any of several such tries may
    /// have been the last to take effect. A head beyond the known one that is on this history is this opening's own: another copy would
    /// have recorded its own opening first.
    fn was_attempted(&self, found: &str) -> bool {
        self.attempted.is_some()
            && size_of(found) > self.anchored.size()
            && self.compare(Some(found.to_owned())).is_ok()
    }

    /// Returns the anchor's memory, if this ledger still agrees with it.
    fn compare(&self, note: Option<String>) -> Result<Option<String>, AnchorFailure> {
        let shared = self.shared;
        let (ledger, generation, head) = (shared.id, self.origin.generation, shared.read.head());
        let history = HistoryCheck { ledger, generation, head, signers: shared.keyring.signing_chain() };
        let compared =
            note.as_deref().map(|note| history.check(note, |last| shared.read.segments.holding(last)));
        compared.transpose().map_err(|error| AnchorFailure::Diverged(error.to_string()))?;
        Ok(note)
    }

    fn anchor_again(&mut self) {
        if let Some(note) = self.shared.heads.signer.latest().map(|head| head.note.clone()) {
            self.anchor(&note);
        }
    }

    fn anchored(&mut self, note: &str) {
        self.anchored = AnchoredNote::Known(Some(note.to_owned()));
        if self.attempted.take().is_some() {
            tracing::info!("the anchor remembers the last tree head again");
        }
        self.shared.heads.signer.anchor_moved(size_of(note));
        self.shared.write.anchor_is_back();
        self.shared.erasures.remember_pending();
    }

    /// Another copy of the ledger has moved the anchor: two would go on from one history.
    fn refuse(&self, what: String) {
        tracing::error!(what, "the anchor remembers another history; nothing more is taken");
        self.shared.write.set_writer(WriterState::ReadOnly(ReadOnlyReason::Diverged(what)));
    }

    fn wait_for_anchor(&mut self, note: &str, what: String) {
        if self.attempted.replace(note.to_owned()).is_none() {
            tracing::warn!(what, "the anchor could not be moved; it is tried again");
        }
        let passed = self.shared.environment.clock.passed();
        self.shared.heads.signer.anchor_failed(passed);
        if self.options.anchor_required {
            self.shared.write.set_writer(WriterState::ReadOnly(ReadOnlyReason::NoAnchor(what)));
        }
    }
}

/// The reasons for which the anchor does not remember a head.
enum AnchorFailure {
    /// It remembers another history.
    Diverged(String),
    /// It cannot tell, or not now.
    Waiting(String),
}

impl From<AnchorError> for AnchorFailure {
    fn from(error: AnchorError) -> Self {
        match error {
            AnchorError::Moved { .. } | AnchorError::Damaged { .. } => Self::Diverged(error.to_string()),
            AnchorError::Unreachable { .. } => Self::Waiting(error.to_string()),
        }
    }
}

impl AnchoredNote {
    /// Events under the head that the anchor remembers; 0 where that is not known.
    fn size(&self) -> u64 {
        match self {
            Self::Known(Some(note)) => size_of(note),
            _ => 0,
        }
    }
}
