//! The one thread that gives events their places.
//! It drains what waits, stages it, has it compressed, and hands sealed frames on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use bitacora_formats::Micros;
use bitacora_formats::limits::MAX_FRAME_OVERHEAD_BYTES;

use crate::append::admission::Admission;
use crate::append::commits::{Commit, FrameCommit};
use crate::append::committer::CommitterHandle;
use crate::append::compressor::CompressionQueue;
use crate::append::frame_batch::FrameBatch;
use crate::append::live_segment::LiveSegment;
use crate::append::service_events::ServiceEvent;
use crate::host::clock_watch::{ClockJump, ClockWatch};
use crate::limits::{EARLY_COMPRESSION_BYTES, FRAME_TARGET_BYTES, RESERVED_TAIL_BYTES};
use crate::retention::counted_time::ThisOpening;
use crate::segment_preallocator::NextSegment;
use crate::shared_state::SharedState;
use crate::shared_state::counters::SharedCounters;
use crate::submission::append_error::AppendError;
use crate::submission::compressed_body::CompressedBody;
use crate::submission::inbox::{InboxContents, SequencerCommand};
use crate::submission::messages::{QueuedRequest, RequestAnswer};
use crate::submission::prepare::PreparedRequest;
use crate::tables::table_writer::Backlog;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// Owns the staged state. Everything it tells anyone goes through the committer, in order.
pub(crate) struct Sequencer {
    shared: Arc<SharedState>,
    commits: Sender<Commit>,
    committer: CommitterHandle,
    admission: Admission,
    batch: FrameBatch,
    compression: CompressionQueue,
    live: LiveSegment,
    /// The largest frame that an empty segment always has room for, in bytes.
    frame_bytes: usize,
    read_only: Option<ReadOnlyReason>,
    clock: ClockWatch,
    /// A jump of the clock that the log does not say yet: nothing is admitted before it.
    jump: Option<ClockJump>,
}

impl Sequencer {
    pub(crate) fn new(
        shared: Arc<SharedState>,
        commits: Sender<Commit>,
        committer: CommitterHandle,
        admission: Admission,
        compression: CompressionQueue,
        live: LiveSegment,
        frame_bytes: usize,
    ) -> Self {
        let shown_last = Micros(admission.last_time().0.saturating_sub(admission.clock_offset()));
        let clock = ClockWatch::new(&*shared.environment.clock, shown_last);
        let now = Micros(shared.environment.clock.now().0.saturating_add(admission.clock_offset()));
        let opening = ThisOpening {
            epoch: live.epoch(),
            next: admission.next_position(),
            end_before: admission.last_time(),
            time: now.max(admission.last_time()),
        };
        shared.opening_time.begin(&*shared.environment.clock, opening);
        Self {
            shared,
            commits,
            committer,
            admission,
            batch: FrameBatch::default(),
            compression,
            live,
            frame_bytes,
            read_only: None,
            clock,
            jump: None,
        }
    }

    /// The body of the sequencer's thread; ends when the ledger closes, after all that waited was answered.
    pub(crate) fn run(mut self) {
        loop {
            let mail = self.shared.write.inbox.wait(!self.batch.is_empty() && !self.compression.is_away());
            let closing = mail.closing;
            let nothing_waits = mail.requests.is_empty();
            self.work(mail);
            if closing && nothing_waits && self.batch.is_empty() && !self.compression.is_away() {
                break;
            }
        }
        self.end_segment(&FrameBatch::default());
    }

    fn work(&mut self, mail: InboxContents) {
        self.notice_room();
        self.take_compressed();
        for queued in mail.requests {
            while let Some(reserved) = self.shared.write.inbox.take_reserved() {
                self.stage(reserved);
            }
            self.stage(queued);
            if self.compression.is_away() {
                self.take_compressed();
            }
            if self.batch.body_bytes() >= FRAME_TARGET_BYTES || self.compressor_is_idle() {
                self.flush();
            }
        }
        for command in mail.commands {
            self.obey(command);
        }
        if mail.closing {
            self.flush();
            self.settle_compression();
        } else if self.compressor_is_idle()
            || (!self.compression.is_away() && self.shared.write.inbox.committer_is_idle())
        {
            self.flush();
        }
    }

    /// Returns `true` if the compressor has nothing to do although enough is staged for a frame that makes good use of its sync.
    fn compressor_is_idle(&self) -> bool {
        !self.compression.is_away() && self.batch.body_bytes() >= EARLY_COMPRESSION_BYTES
    }

    /// Seals the batches whose bodies have come back compressed.
    fn take_compressed(&mut self) {
        while let Some(compressed) = self.shared.write.inbox.take_compressed() {
            self.finish(compressed);
        }
    }

    /// Waits for the bodies that are being compressed, and seals their batches.
    fn settle_compression(&mut self) {
        while self.compression.is_away() {
            self.await_compressed();
        }
    }

    /// Waits for the first of the bodies that are being compressed, and seals its batch.
    fn await_compressed(&mut self) {
        let compressed = self.shared.write.inbox.wait_for_compressed();
        self.finish(compressed);
    }

    fn finish(&mut self, compressed: Result<CompressedBody, String>) {
        let Some(batch) = self.compression.end() else { return };
        match compressed {
            Ok(compressed) => self.seal(batch, compressed),
            Err(what) => self.give_up(what),
        }
    }

    fn obey(&mut self, command: SequencerCommand) {
        match command {
            SequencerCommand::EndSegment => {
                self.flush();
                self.settle_compression();
                self.end_segment(&FrameBatch::default());
            }
            SequencerCommand::ReadOnly(true) => self.stop_taking(ReadOnlyReason::Operator),
            SequencerCommand::ReadOnly(false) => {
                if self.read_only == Some(ReadOnlyReason::Operator) {
                    self.resume();
                }
            }
        }
    }

    fn stage(&mut self, queued: QueuedRequest) {
        let QueuedRequest { request, reply } = queued;
        let outcome = self.report_clock_jump().and_then(|()| self.make_room(&request)).and_then(|()| {
            let time = self.frame_time();
            self.admission.admit(&request, time, &mut self.batch)
        });
        match &outcome {
            Ok(_) => SharedCounters::add(&self.shared.write.counters.redactions, request.redactions),
            Err(_) => SharedCounters::add(&self.shared.write.counters.refused, 1),
        }
        self.batch.answers.push(RequestAnswer { reply, outcome });
        self.shared.write.window_after.store(self.admission.window_after(), Ordering::Relaxed);
    }

    /// Looks at the clock before a frame takes its time from it. Returned `Ok` ⇒ a jump stands in the log ahead of what is
    /// admitted next.
    fn report_clock_jump(&mut self) -> Result<(), AppendError> {
        if !self.batch.has_events()
            && let Some(jump) = self.clock.look(&*self.shared.environment.clock)
        {
            tracing::warn!(
                from = jump.from.0,
                to = jump.to.0,
                "the clock jumped; calls are denied until an operator accepts it"
            );
            let from = self.jump.map_or(jump.from, |earlier| earlier.from);
            self.jump = Some(ClockJump { from, ..jump });
        }
        let Some(jump) = self.jump else { return Ok(()) };
        let next = self.admission.next_position();
        let request =
            ServiceEvent::ClockJumped(jump).prepare(&self.shared.write.preparer, self.shared.id, next)?;
        self.make_room(&request)?;
        let time = self.frame_time();
        self.admission.admit(&request, time, &mut self.batch)?;
        self.jump = None;
        Ok(())
    }

    /// Returns one time for all events of a frame, never before that of the frame before it: what the clock shows, ahead by the
    /// offset of the correction that was accepted last. A jump that the log does not say yet voids the offset.
    fn frame_time(&mut self) -> Micros {
        if !self.batch.has_events() {
            let offset = if self.jump.is_some() { 0 } else { self.admission.clock_offset() };
            let now = Micros(self.shared.environment.clock.now().0.saturating_add(offset));
            self.batch.time = now.max(self.admission.last_time());
        }
        self.batch.time
    }

    /// Returned `Ok` ⇒ what is staged and this much more can be written without asking the disk for space.
    fn make_room(&mut self, request: &PreparedRequest) -> Result<(), AppendError> {
        match self.shared.write.writer() {
            WriterState::Poisoned(what) => return Err(AppendError::Poisoned(what)),
            WriterState::ReadOnly(reason @ (ReadOnlyReason::Corrupt(_) | ReadOnlyReason::Diverged(_))) => {
                return Err(AppendError::ReadOnly(reason));
            }
            _ => {}
        }
        if let Some(reason) = &self.read_only {
            return Err(AppendError::ReadOnly(reason.clone()));
        }
        if let Backlog::Stuck(what) = self.shared.write.table_writer.backlog() {
            let reason = ReadOnlyReason::NoIdTable(what);
            self.stop_taking(reason.clone());
            return Err(AppendError::ReadOnly(reason));
        }
        loop {
            let needed = self.admission.worst_case(&self.batch, request);
            if needed > self.frame_bytes && self.batch.has_events() {
                self.flush();
                continue;
            }
            let before = self.compression.away_bytes();
            if self.live.fits((needed + before) as u64, RESERVED_TAIL_BYTES) {
                return Ok(());
            }
            // Near the end of a segment it must be known what is left of it.
            if self.compression.is_away() {
                self.await_compressed();
                continue;
            }
            match self.shared.write.preallocator.outlook() {
                NextSegment::Ready => return Ok(()),
                NextSegment::Making => self.shared.write.inbox.wait_for_segment(),
                NextSegment::Failed(reason) => {
                    self.stop_taking(reason.clone());
                    return Err(AppendError::ReadOnly(reason));
                }
            }
        }
    }

    /// Has what is staged compressed, and seals what was compressed before it: frames keep the order of their events.
    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        if !self.batch.has_events() {
            // They rest on all that was staged before.
            self.settle_compression();
            let answers = std::mem::take(&mut self.batch).answers;
            self.hand_over(Commit::Answers(answers));
            return;
        }
        if self.compression.is_full() {
            self.await_compressed();
        }
        let next = self.batch.with_the_same_room();
        let mut batch = std::mem::replace(&mut self.batch, next);
        match std::mem::take(&mut batch.body).finish() {
            Ok(body) => {
                if let Some((batch, compressed)) = self.compression.begin(batch, body) {
                    self.seal(batch, compressed);
                }
            }
            Err(error) => self.give_up(error.to_string()),
        }
    }

    /// Encrypts, chains and signs a batch, and hands it on as soon as the committer takes more.
    fn seal(&mut self, batch: FrameBatch, mut compressed: CompressedBody) {
        let next_is_ready = matches!(self.shared.write.preallocator.outlook(), NextSegment::Ready);
        if batch.is_governed {
            compressed.pad();
        }
        let stored =
            |compressed: &CompressedBody| (compressed.bytes().len() + MAX_FRAME_OVERHEAD_BYTES) as u64;
        if !next_is_ready && !self.live.fits(stored(&compressed), RESERVED_TAIL_BYTES) {
            // The room that is left is for what has to be said yet.
            compressed.unpad();
        }
        if !self.live.fits(stored(&compressed), 0) || (self.live.is_full_of_events() && next_is_ready) {
            self.end_segment(&batch);
        }
        match self.live.seal(&self.shared, batch, compressed) {
            Ok(frame) => self.commit(frame),
            Err(what) => self.give_up(what),
        }
        let durable = self.shared.read.head().position;
        self.admission.settle(durable);
    }

    /// Gives up the staged events, which cannot be sealed. No caller was told of them, and nothing may follow them. The answers dropped
    /// here tell their callers that the outcome is unknown.
    fn give_up(&mut self, what: String) {
        tracing::error!(what, "a frame could not be sealed; nothing more is acknowledged until a restart");
        self.shared.write.poison(what);
        self.batch = FrameBatch::default();
        self.compression.give_up();
    }

    /// Hands a frame over; where its caller is alone, commits it here: waking another thread would take longer than all
    /// that could be staged meanwhile.
    fn commit(&self, frame: FrameCommit) {
        let is_alone = frame.answers.len() <= 1 && self.shared.write.inbox.is_quiet();
        let commit = Commit::Frame(Box::new(frame));
        if is_alone {
            self.shared.write.inbox.commit_begins();
            self.committer.take(commit);
        } else {
            self.hand_over(commit);
        }
    }

    fn hand_over(&self, commit: Commit) {
        self.shared.write.inbox.wait_for_committer();
        self.shared.write.inbox.commit_begins();
        if self.commits.send(commit).is_err() {
            self.shared.write.poison("the committer ended early".to_owned());
            self.shared.write.inbox.commit_ends();
        }
    }

    /// Ends the live segment; `next` is sealed, but not written yet.
    fn end_segment(&mut self, next: &FrameBatch) {
        match self.live.end(self.shared.id) {
            Ok(Some(ended)) => {
                let unwritten = [next, &self.batch].into_iter().chain(self.compression.away());
                self.admission.end_segment(&ended.end, unwritten);
                self.hand_over(Commit::EndSegment(Box::new(ended)));
            }
            Ok(None) => {}
            Err(what) => self.give_up(what),
        }
    }

    /// Takes no appends from now on, and says so in the log, in the room kept for it.
    fn stop_taking(&mut self, reason: ReadOnlyReason) {
        if self.read_only.as_ref() == Some(&reason) {
            return;
        }
        tracing::warn!(%reason, "the ledger is read-only");
        self.shared.write.set_writer(WriterState::ReadOnly(reason.clone()));
        self.record(&ServiceEvent::ReadOnly { reason: &reason });
        self.read_only = Some(reason);
    }

    /// Takes appends again when a want of space, or of tables, is over.
    fn notice_room(&mut self) {
        let waits_for_space =
            matches!(self.read_only, Some(ReadOnlyReason::DiskFull | ReadOnlyReason::NoSegment(_)));
        let waits_for_tables = matches!(self.read_only, Some(ReadOnlyReason::NoIdTable(_)));
        if (waits_for_space && matches!(self.shared.write.preallocator.outlook(), NextSegment::Ready))
            || (waits_for_tables && self.shared.write.table_writer.is_keeping_up())
        {
            self.resume();
        }
    }

    fn resume(&mut self) {
        self.read_only = None;
        self.shared.write.set_writer(WriterState::Ready);
        self.record(&ServiceEvent::Writable);
        tracing::info!("the ledger takes appends again");
    }

    /// Appends an event of the service's own if it fits what is left; the log lacks it otherwise, as the trace says. Behind
    /// what could not be sealed nothing is appended.
    fn record(&mut self, event: &ServiceEvent<'_>) {
        self.settle_compression();
        if matches!(self.shared.write.writer(), WriterState::Poisoned(_)) {
            return;
        }
        let next = self.admission.next_position();
        let Ok(request) = event.prepare(&self.shared.write.preparer, self.shared.id, next) else { return };
        let needed = self.admission.worst_case(&self.batch, &request) as u64;
        let ready = matches!(self.shared.write.preallocator.outlook(), NextSegment::Ready);
        if !ready && !self.live.fits(needed, 0) {
            tracing::warn!(kind = event.kind(), "no room is left to record this");
            return;
        }
        let time = self.frame_time();
        if let Err(error) = self.admission.admit(&request, time, &mut self.batch) {
            tracing::warn!(kind = event.kind(), %error, "this could not be recorded");
        }
    }
}
