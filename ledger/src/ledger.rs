//! The handle everyone holds: append, read, follow, ask, close.

pub(crate) mod content;
pub(crate) mod control_files;
pub(crate) mod lost_end;
pub(crate) mod replay_progress;
pub(crate) mod status;
pub(crate) mod visit;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitacora_formats::{
    After, Keyring, LeafEntry, LedgerId, LedgerName, Micros, Position, StreamVersion, TreeHash, VerifierKey,
};
use bitacora_governance::Governance;
use tokio::sync::{oneshot, watch};

use crate::append::pending::PendingAppend;
use crate::dedup::id_tables::look_up_failed;
use crate::erasure::recall::bar_erased;
use crate::heads::signer_handle::PublishedHead;
use crate::host::environment::Environment;
use crate::ledger::status::Status;
use crate::limits::{MAX_CONDITION_SCAN_EVENTS, MAX_LEDGER_EVENTS};
use crate::loss::DeclaredLoss;
use crate::open_error::OpenError;
use crate::opening::creation;
use crate::opening::creation::CreateError;
use crate::opening::for_writing;
use crate::opening::loss_record;
use crate::opening::open_ledger::{CloseError, OpenLedger};
use crate::opening::reading;
use crate::opening::snapshot_open;
use crate::options::Options;
use crate::query::{EventPage, Filter, PageEnd, ReadFrom, ReadQuery, StoredEvent, TakeEvent};
use crate::read::log_fold;
use crate::read::log_reader::LogReader;
use crate::read::page::PageBuilder;
use crate::read::proofs::{ConsistencyProof, InclusionProof, TreeReader};
use crate::read_error::ReadError;
use crate::receipt::Head;
use crate::segments::GapSide;
use crate::segments::census::SegmentCensus;
use crate::shared_state::SharedState;
use crate::submission::append_error::AppendError;
use crate::submission::inbox::{Lane, SequencerCommand};
use crate::submission::messages::QueuedRequest;
use crate::submission::prepare::{PreparedRequest, RequestOrigin, check_condition_position};
use crate::submission::request::{AppendCondition, AppendRequest};
use crate::tables::fold::Fold;
use crate::writer_state::WriterState;

/// A ledger, open in this process. Cheap to clone; the last clone that goes closes it.
#[derive(Clone)]
pub struct Ledger {
    pub(crate) inner: Arc<OpenLedger>,
}

impl Ledger {
    /// Makes a ledger in `folder`, which must not exist; its parent must. Position 1 is `ledger.created`.
    ///
    /// # Errors
    /// Nothing is left under the name then.
    pub fn create(
        environment: &Environment,
        folder: &Path,
        name: &LedgerName,
        keyring: &Keyring,
        options: &Options,
    ) -> Result<LedgerId, CreateError> {
        creation::create(environment, folder, name, keyring, options)
    }

    /// Opens the ledger in `folder` for writing: proves the log from its first byte, cuts at most one torn write, begins
    /// a new epoch. Damage that is no torn write leaves the ledger read-only, serving what is proven.
    ///
    /// # Errors
    /// A missing ledger, another process that has it, a keyring that is not its own, a disk that fails.
    pub fn open(
        environment: &Environment,
        folder: &Path,
        keyring: Arc<Keyring>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let own = Arc::clone(&keyring);
        let opened = for_writing::open(environment, folder, keyring, options);
        let say_begun = |error| loss_record::name_declared_loss(&*environment.disk, folder, &own, error);
        let opened = opened.map_err(say_begun);
        opened.map(|inner| Self { inner: Arc::new(inner) })
    }

    /// Opens a ledger that has less than its tree heads and its anchor say, or other events: a generation begins with what is
    /// left, its first event says what was lost, and the anchor is moved to it.
    ///
    /// # Errors
    /// As [`Ledger::open`], and [`OpenError::NothingLost`]. After [`OpenError::Unrecorded`], as after a crash, the ledger takes
    /// no appends until the same is called again, which goes on with what was declared.
    pub fn declare_loss(
        environment: &Environment,
        folder: &Path,
        keyring: Arc<Keyring>,
        options: Options,
    ) -> Result<(Self, DeclaredLoss), OpenError> {
        let own = Arc::clone(&keyring);
        let declared = for_writing::declare_loss(environment, folder, keyring, options);
        let say_begun = |error| loss_record::name_declared_loss(&*environment.disk, folder, &own, error);
        let (inner, loss) = declared.map_err(say_begun)?;
        Ok((Self { inner: Arc::new(inner) }, loss))
    }

    /// Opens the ledger in `folder` for reading: nothing in the folder is changed, and no lock is taken, so that another
    /// process may be writing. The handle sees what was durable then, up to the first damage; it takes no appends.
    ///
    /// # Errors
    /// A ledger that was made under another name, where one is given; a missing ledger, a keyring that is not its own, a first segment that is damaged, a disk that fails.
    pub fn open_for_reading(
        environment: &Environment,
        folder: &Path,
        keyring: Arc<Keyring>,
        name: Option<&LedgerName>,
    ) -> Result<Self, OpenError> {
        let read = reading::open(environment, folder, keyring, name, None)?;
        bar_erased(&read.inner.shared, (None, name), read.generation)?;
        Ok(Self { inner: Arc::new(read.inner) })
    }

    /// Opens the ledger in `folder` for questions, as [`Ledger::open_for_reading`] does. Loads the state that decides, if the options ask
    /// for one. Compares the ledger with the anchor's memory under this name, and leaves that memory as it is.
    ///
    /// # Errors
    /// As [`Ledger::open_for_reading`]; also [`OpenError::RolledBack`] for a ledger that is not the one which the anchor remembers,
    /// [`OpenError::Anchor`] where one that has to answer does not.
    pub fn open_for_questions(
        environment: &Environment,
        folder: &Path,
        keyring: &Arc<Keyring>,
        name: &LedgerName,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let inner = snapshot_open::open(environment, folder, keyring, Some(name), options)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a ledger whose disk turned out not to have frames that were acknowledged, and puts them back from quarantine to their places.
    /// They are believed where the log with them is whole and goes on further, and agrees with what others remember of the ledger.
    ///
    /// # Errors
    /// As [`Ledger::open`], and [`OpenError::NothingToPutBack`]; nothing was changed then.
    pub fn put_back(
        environment: &Environment,
        folder: &Path,
        keyring: Arc<Keyring>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let opened = for_writing::put_back(environment, folder, keyring, options);
        opened.map(|inner| Self { inner: Arc::new(inner) })
    }

    /// Returns the part that governs the ledger and answers questions about it; `None` without governance.
    #[must_use]
    pub fn governance(&self) -> Option<&Arc<Governance>> {
        self.inner.shared.governance.as_ref()
    }

    /// Sends events on their way into the log. The work that needs no order is done here, on the caller's thread.
    ///
    /// # Errors
    /// A refusal without effect. Once this has returned `Ok`, the outcome is the pending append's.
    pub fn append(&self, request: AppendRequest<'_>) -> Result<PendingAppend, AppendError> {
        self.append_in(Lane::Ordinary, request)
    }

    /// As [`Self::append`], in the lane that is reserved for what somebody waits for, such as a decision before a call: however
    /// much else waits, it neither fills this lane nor comes before it.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn append_ahead(&self, request: AppendRequest<'_>) -> Result<PendingAppend, AppendError> {
        self.append_in(Lane::Reserved, request)
    }

    fn append_in(&self, lane: Lane, request: AppendRequest<'_>) -> Result<PendingAppend, AppendError> {
        self.check_open()?;
        if self.head().position.get() >= MAX_LEDGER_EVENTS {
            return Err(AppendError::LedgerFull { max: MAX_LEDGER_EVENTS });
        }
        let condition = request.condition.clone();
        let mut prepared = self.shared().write.preparer.prepare(request, RequestOrigin::Client)?;
        if let Some(condition) = condition {
            self.search_behind_window(&condition, &mut prepared)?;
        }
        let keys = prepared.events.iter().map(|event| &event.key);
        prepared.looked_up = self.shared().write.ids.look_up(keys).map_err(|error| look_up_failed(&error))?;
        self.submit(lane, prepared)
    }

    fn submit(&self, lane: Lane, mut prepared: PreparedRequest) -> Result<PendingAppend, AppendError> {
        let ids = std::mem::take(&mut prepared.ids);
        let commitments = prepared.events.iter().map(|event| event.commitment);
        let events = ids.into_iter().zip(commitments).collect();
        let (reply, outcome) = oneshot::channel();
        self.shared().write.inbox.put(QueuedRequest { request: prepared, reply }, lane)?;
        Ok(PendingAppend::new(Arc::clone(self.shared()), outcome, events))
    }

    pub(crate) fn check_open(&self) -> Result<(), AppendError> {
        match self.shared().write.writer() {
            WriterState::Ready => Ok(()),
            WriterState::ReadOnly(reason) => Err(AppendError::ReadOnly(reason)),
            WriterState::Poisoned(what) => Err(AppendError::Poisoned(what)),
            WriterState::Closing | WriterState::Closed => Err(AppendError::Closing),
        }
    }

    /// Searches the log for a condition that reaches back over more than the sequencer remembers.
    fn search_behind_window(
        &self,
        condition: &AppendCondition,
        prepared: &mut PreparedRequest,
    ) -> Result<(), AppendError> {
        let head = self.head();
        check_condition_position(condition, head.position)?;
        let Some(checked) = &mut prepared.condition else { return Ok(()) };
        if condition.after.get() >= self.shared().write.window_after.load(Ordering::Relaxed) {
            return Ok(());
        }
        let span = head.position.get().saturating_sub(condition.after.get());
        if span > MAX_CONDITION_SCAN_EVENTS {
            return Err(AppendError::ConditionTooFar { span, max: MAX_CONDITION_SCAN_EVENTS });
        }
        let filter = Filter {
            kinds: condition.kinds.clone(),
            tag: condition.tags.first().cloned(),
            ..Filter::default()
        };
        let mut from = ReadFrom::After(condition.after);
        loop {
            let query =
                ReadQuery { from, until: Some(head.position), limit: usize::MAX, filter: filter.clone() };
            let page = self.read(&query).map_err(AppendError::LookUp)?;
            let has_all_tags = |event: &&StoredEvent<'_>| {
                condition.tags.iter().all(|tag| event.event.tags.iter().any(|t| t == tag))
            };
            if let Some(found) = page.events.iter().find(has_all_tags) {
                return Err(AppendError::ConditionFailed { position: found.position });
            }
            match page.next {
                Some(next) => from = next,
                None => break,
            }
        }
        checked.checked_through = head.position.get();
        Ok(())
    }

    /// The ledger's identity.
    #[must_use]
    pub fn id(&self) -> LedgerId {
        self.shared().id
    }

    /// The durable head.
    #[must_use]
    pub fn head(&self) -> Head {
        self.shared().read.head()
    }

    /// Tells of every new durable head, after those it acknowledges were told. A slow receiver sees the latest one.
    #[must_use]
    pub fn watch_head(&self) -> watch::Receiver<Head> {
        self.shared().read.watch_head()
    }

    /// The last version and position of a stream among durable events; `None` if it has no event.
    #[must_use]
    pub fn stream_tip(&self, stream: &str) -> Option<(StreamVersion, Position)> {
        let key = self.shared().write.preparer.keys().stream_key(stream);
        self.shared().read.tip(&key).map(|tip| (tip.version, tip.position))
    }

    /// A page of stored events. Blocks on the disk and opens frames: call it from a thread that may block.
    ///
    /// # Errors
    /// Damage or a disk error at the place that was read; other places can still be read.
    pub fn read(&self, query: &ReadQuery) -> Result<EventPage, ReadError> {
        query.collect(|query, take| self.read_each(query, take))
    }

    /// Reads a page as [`Self::read`] does, but of any number of events, each lent to `take` in its turn. A caller that only writes them
    /// somewhere else needs no copy.
    ///
    /// # Errors
    /// As [`Self::read`]; what was given away before is no page.
    pub fn read_each<'a>(
        &'a self,
        query: &ReadQuery,
        take: &'a mut TakeEvent<'a>,
    ) -> Result<PageEnd, ReadError> {
        let mut page = self.begin_page(query, take)?;
        if let Some(range) = page.remaining() {
            page.scan(if page.is_descending() { *range.start() } else { *range.end() })?;
        }
        Ok(page.finish())
    }

    /// A page to be made piece by piece, by one who knows where its events stand; they are lent to `take`.
    ///
    /// # Errors
    /// Damage or a disk error where times are looked up.
    pub fn begin_page<'a>(
        &'a self,
        query: &ReadQuery,
        take: &'a mut TakeEvent<'a>,
    ) -> Result<PageBuilder<'a>, ReadError> {
        PageBuilder::new(self.shared(), query, take)
    }

    /// Folds the durable events from after `after` up to `until` that concern a state into it, in order, until it has enough.
    /// Blocks as [`Self::read`] does.
    ///
    /// # Errors
    /// As [`Self::read`]; what was folded before stands.
    pub fn fold(&self, after: After, until: Position, into: &mut dyn Fold) -> Result<(), ReadError> {
        log_fold::fold(self.shared(), after, until, into)
    }

    /// Returns the tree's leaves for the durable events from position `group` × 256 + 1 on: `width` of them, up to 256. Blocks on the
    /// disk; opens no frame.
    ///
    /// # Errors
    /// [`ReadError::PastHead`] if not so many are durable, [`ReadError::TreeBehind`] where they are being made again.
    pub fn leaves(&self, group: u64, width: usize) -> Result<Vec<LeafEntry>, ReadError> {
        TreeReader::new(self.shared()).leaves(group, width)
    }

    /// A tile of the tree over all durable events, in the C2SP tlog-tiles layout: the first `width` of its up to 256 hashes.
    /// Blocks as [`Self::leaves`] does.
    ///
    /// # Errors
    /// As [`Self::leaves`].
    pub fn tile(&self, level: u32, index: u64, width: usize) -> Result<Vec<TreeHash>, ReadError> {
        TreeReader::new(self.shared()).tile(level, index, width)
    }

    /// Proves that the event at a position is in the tree of the first `size` events. Blocks as [`Self::leaves`] does.
    ///
    /// # Errors
    /// As [`Self::leaves`]; also [`ReadError::PastHead`] for a position past `size`.
    pub fn prove_inclusion(&self, position: Position, size: u64) -> Result<InclusionProof, ReadError> {
        TreeReader::new(self.shared()).inclusion(position, size)
    }

    /// Proves that the tree of the first `to` events begins with that of the first `from`. Blocks as [`Self::leaves`] does.
    ///
    /// # Errors
    /// As [`Self::leaves`]; also [`ReadError::PastHead`] where `from` is larger.
    pub fn prove_consistency(&self, from: u64, to: u64) -> Result<ConsistencyProof, ReadError> {
        TreeReader::new(self.shared()).consistency(from, to)
    }

    /// Returns the first position recorded at `time` or later; `None` where all that is durable is older. Where damage hides which one
    /// that is, the first one that is lost.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        self.shared().read.segments.first_at(time, GapSide::Before)
    }

    /// As [`Self::first_at`]; where damage hides which one that is, the first one behind what is lost. Everything before `time` lies
    /// before it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn first_certainly_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        self.shared().read.segments.first_at(time, GapSide::Behind)
    }

    /// The event at a position. Blocks as [`Self::read`] does.
    ///
    /// # Errors
    /// [`ReadError::PastHead`] if nothing stands there yet, or as [`Self::read`].
    pub fn event(&self, position: Position) -> Result<StoredEvent<'static>, ReadError> {
        LogReader::new(self.shared()).event(position)
    }

    /// Returns the state of the ledger.
    #[must_use]
    pub fn status(&self) -> Status {
        let shared = self.shared();
        let (queue_bytes, queue_requests) = shared.write.inbox.load();
        Status {
            writer: shared.write.writer(),
            head: shared.read.head(),
            queue_bytes,
            queue_requests,
            segments: shared.read.segments.len(),
            is_proven: shared.is_proven(),
            scrub: shared.scrub(),
            heads: shared.heads.signer.status(shared.environment.clock.passed()),
            witnessed: shared.heads.witnesses.status(shared.environment.clock.passed()),
            counters: shared.write.counters.snapshot(),
        }
    }

    /// Counts the segments on this disk. Reads the header of one frame.
    #[must_use]
    pub fn segment_census(&self) -> SegmentCensus {
        self.shared().read.segments.census()
    }

    /// The last tree head that was signed, durable and published; `None` until there is one.
    #[must_use]
    pub fn tree_head(&self) -> Option<Arc<PublishedHead>> {
        self.shared().heads.signer.latest()
    }

    /// The last tree head that a quorum of the witnesses cosigned, with the cosignatures; `None` until there is one, and without
    /// witnesses.
    #[must_use]
    pub fn witnessed_head(&self) -> Option<Arc<PublishedHead>> {
        self.shared().heads.witnesses.latest()
    }

    /// Returns the key that tree heads of this ledger are verified with, for callers that want it beforehand; `None` if it signs none.
    #[must_use]
    pub fn verifier_key(&self) -> Option<VerifierKey> {
        self.shared().heads.signer.verifier_key()
    }

    /// Ends the live segment, so that it gets its footer and the next event begins another one.
    pub fn end_segment(&self) {
        self.shared().write.inbox.command(SequencerCommand::EndSegment);
    }

    /// Stops taking appends, or takes them again. Appends that were taken are finished; reads go on.
    pub fn set_read_only(&self, read_only: bool) {
        self.shared().write.inbox.command(SequencerCommand::ReadOnly(read_only));
    }

    /// Takes nothing more, finishes what it has, writes the footer, syncs, and lets the folder go. Does nothing the second
    /// time.
    ///
    /// # Errors
    /// If the writer had stopped before; what was acknowledged is durable all the same, unless the reason says otherwise.
    pub fn close(&self) -> Result<(), CloseError> {
        self.inner.close()
    }

    pub(crate) fn shared(&self) -> &Arc<SharedState> {
        &self.inner.shared
    }
}
