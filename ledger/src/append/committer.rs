//! The thread that owns the live segment's file: writes a frame, syncs it, publishes it, acknowledges.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, Sender};
use std::time::Instant;

use bitacora_formats::{FrameHeader, StreamKey};

use crate::append::commits::{Commit, EndedSegment, FrameCommit};
use crate::host::key_map::KeyMap;
use crate::host::lock_order::{LockRank, OrderedMutex};
use crate::segment_preallocator::BlankSegment;
use crate::segments::FrameEntry;
use crate::segments::recent_frames::OpenFrame;
use crate::shared_state::SharedState;
use crate::stream_tips::Tip;
use crate::submission::append_error::AppendError;
use crate::submission::inbox::Inbox;
use crate::submission::messages::{IncompleteAnswer, Reply, RequestAnswer, RequestPlacement, give};
use crate::tables::fold::RecordedFrame;
use crate::tables::reactor_state::ReactorProjection;
use crate::tables::snapshots::StateAtEnd;
use crate::tables::tip_tables::EndedState;
use crate::tree::leaves::LiveLeaves;
use crate::unproven_writes::{UnprovenBacklog, WritesEnded};

/// The reason to write nothing after the disk lost earlier frames.
const NOT_ON_DISK: &str = "the disk does not have what was written to it before";

/// The committer, shared by its own thread and the sequencer's, which uses it when a lone caller waits. The holder of the lock commits.
/// Steps are taken in the order in which they were handed over, since the sequencer takes one only when none is left.
#[derive(Clone)]
pub(crate) struct CommitterHandle(Arc<OrderedMutex<Committer>>);

impl CommitterHandle {
    pub(crate) fn new(committer: Committer) -> Self {
        Self(Arc::new(OrderedMutex::new(LockRank::Committer, committer)))
    }

    /// The body of the committer's thread; ends when the sequencer is gone.
    pub(crate) fn run(&self, commits: &Receiver<Commit>) {
        for commit in commits {
            self.take(commit);
        }
    }

    /// Takes one step on the calling thread.
    pub(crate) fn take(&self, commit: Commit) {
        // It panicked half-way through a step: what reached the disk is unknown.
        let mut committer = self.0.lock_after_panic(|committer| committer.dead = true);
        committer.take(commit);
    }
}

/// Owns the live file. After the first failed write or sync it is dead: it syncs nothing and acknowledges nothing.
pub(crate) struct Committer {
    shared: Arc<SharedState>,
    projection: Option<ReactorProjection>,
    duplicates: Sender<IncompleteAnswer>,
    live: Option<BlankSegment>,
    leaves: LiveLeaves,
    /// Tips of the streams in the live segment.
    tips: KeyMap<StreamKey, Tip>,
    dead: bool,
}

impl Committer {
    pub(crate) fn new(
        shared: Arc<SharedState>,
        projection: Option<ReactorProjection>,
        duplicates: Sender<IncompleteAnswer>,
    ) -> Self {
        let leaves = LiveLeaves::new(Arc::clone(&shared.environment.disk), &shared.folder, shared.id);
        Self { shared, projection, duplicates, live: None, leaves, tips: KeyMap::default(), dead: false }
    }

    fn take(&mut self, commit: Commit) {
        match commit {
            Commit::Frame(frame) => self.frame(*frame),
            Commit::Answers(answers) => {
                self.shared.write.inbox.commit_ends();
                self.answer(answers);
            }
            Commit::EndSegment(ended) => {
                self.end_segment(*ended);
                self.shared.write.inbox.commit_ends();
            }
        }
    }

    fn frame(&mut self, mut frame: FrameCommit) {
        let begins = frame.begins.is_some();
        if let Some(blank) = frame.begins.take() {
            self.live = Some(blank);
        }
        if !self.dead
            && let Err(error) = self.make_durable(&frame)
        {
            self.die("a frame", &error);
        }
        if self.dead {
            self.shared.write.inbox.commit_ends();
            self.answer(frame.answers);
            return;
        }
        if begins {
            self.leaves.begin(frame.segment.number, frame.first);
        }
        self.leaves.append(frame.head.time, &frame.commitments);
        self.publish(&mut frame, begins);
        self.shared.write.inbox.commit_ends();
        self.answer(frame.answers);
        self.shared.read.announce();
    }

    /// Returned `Ok` ⇒ the frame, and the segment header before it if any, survive any crash, and the file still stands
    /// under its name. A crash in between leaves the frame whole, torn or absent, with zeros behind it.
    ///
    /// Syscalls: `pwrite64`, `fdatasync`, two `statx`.
    fn make_durable(&self, frame: &FrameCommit) -> io::Result<()> {
        let live = self.live.as_ref().ok_or(io::ErrorKind::NotFound)?;
        self.announce_write(live, frame.offset, &frame.bytes)?;
        live.file.write_all_at(&frame.bytes, frame.offset)?;
        let began = Instant::now();
        live.file.sync_data()?;
        self.shared.write.counters.sync_took(began.elapsed());
        self.check_name(live)?;
        // Meanwhile the disk may have turned out not to have what it was given before.
        if self.shared.write.is_poisoned() { Err(io::Error::other(NOT_ON_DISK)) } else { Ok(()) }
    }

    /// Keeps in memory what is written next, until it was read back.
    fn announce_write(&self, live: &BlankSegment, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let announced = self.shared.write.unproven.push(live.number, offset, bytes);
        if announced.map_err(|WritesEnded| io::Error::other(NOT_ON_DISK))? == UnprovenBacklog::Much {
            self.shared.heads.signer.is_due();
        }
        Ok(())
    }

    /// An unlinked or replaced file takes writes and syncs, and keeps nothing that a restart would find.
    fn check_name(&self, live: &BlankSegment) -> io::Result<()> {
        let (open, named) = (live.file.identity()?, self.shared.environment.disk.identity(&live.path)?);
        if open.is_same_file(&named) && named.bytes == live.bytes {
            return Ok(());
        }
        Err(io::Error::other("the live segment was replaced or cut behind the writer's back"))
    }

    /// In this order: the reactor's projection, what readers may open, the tree, the head.
    fn publish(&mut self, frame: &mut FrameCommit, begins: bool) {
        if let Some(projection) = &mut self.projection {
            let FrameCommit { first, count, body, head, .. } = &*frame;
            projection.fold_frame(&RecordedFrame { first: *first, count: *count, time: head.time, body });
        }
        let frame_bytes = frame.offset + frame.bytes.len() as u64 - frame.frame_offset;
        frame.segment.note_frame(frame.first, frame.frame_offset, frame_bytes);
        self.keep_open(frame);
        if begins {
            self.shared.read.segments.add(Arc::clone(&frame.segment));
        }
        // Of events of one stream in a row only the last one counts.
        let runs = frame.tips.chunk_by(|(one, _), (next, _)| one == next);
        let newest = runs.filter_map(<[_]>::last).copied();
        self.tips.extend(newest.clone());
        self.shared.read.publish_tips(newest);
        self.shared.write.counters.frame_synced(u64::from(frame.count), frame.bytes.len(), frame.body.len());
        self.shared.read.tree.publish(std::mem::take(&mut frame.groups), std::mem::take(&mut frame.tree));
        self.shared.read.set_head(frame.head);
    }

    /// Keeps the frame open for the ledger's followers, which read it next.
    fn keep_open(&self, frame: &FrameCommit) {
        let before = usize::try_from(frame.frame_offset - frame.offset).unwrap_or(usize::MAX);
        let header = frame.bytes.get(before..).and_then(|bytes| FrameHeader::parse(bytes).ok());
        let Some(header) = header else { return };
        let place = FrameEntry::stored(frame.frame_offset, &header);
        let segment = Arc::clone(&frame.segment);
        self.shared.read.recent.push(OpenFrame { segment, place, body: Arc::clone(&frame.body) });
    }

    fn answer(&self, answers: Vec<RequestAnswer>) {
        for RequestAnswer { reply, outcome } in answers {
            match outcome {
                _ if self.dead => give(reply, Err(AppendError::Unknown)),
                Ok(accepted) if accepted.has_duplicates() => self.complete(reply, accepted),
                outcome => give(reply, outcome),
            }
        }
    }

    /// Has the original receipts of duplicates read back, then answered.
    fn complete(&self, reply: Reply, accepted: RequestPlacement) {
        if let Err(SendError(incomplete)) = self.duplicates.send(IncompleteAnswer { reply, accepted }) {
            give(incomplete.reply, Err(AppendError::Unknown));
        }
    }

    fn end_segment(&mut self, ended: EndedSegment) {
        let EndedSegment { footer, offset, end, frontier } = ended;
        let Some(live) = self.live.take() else { return };
        if self.dead {
            return;
        }
        let written = self.announce_write(&live, offset, &footer);
        let written = written.and_then(|()| live.file.write_all_at(&footer, offset));
        let written = written.and_then(|()| live.file.sync_data());
        if let Err(error) = written.and_then(|()| self.check_name(&live)) {
            self.die("a segment's footer", &error);
            return;
        }
        // Everything is durable by now; zeros that stay behind the footer only take space.
        let bytes = offset + footer.len() as u64;
        if let Err(error) = live.file.set_len(bytes).and_then(|()| live.file.sync_all()) {
            tracing::warn!(path = %live.path.display(), %error, "an ended segment could not be trimmed");
        }
        self.shared.heads.signer.is_due();
        if let Some(leaves) = self.leaves.end() {
            self.shared.read.tree.segment_ended(leaves);
        }
        let (table_writer, tips) = (&self.shared.write.table_writer, std::mem::take(&mut self.tips));
        if let Some(projection) = &self.projection
            && table_writer.wants_snapshot(&end, self.shared.write.inbox.is_closing())
        {
            table_writer.keep_snapshot(StateAtEnd { end, state: projection.to_save() });
        }
        table_writer.segment_ended(EndedState { first: end.number, end, frontier, tips });
    }

    fn die(&mut self, what: &str, error: &io::Error) {
        self.dead = true;
        tracing::error!(%error, "writing {what} failed; nothing more is acknowledged until a restart");
        self.shared.write.poison(format!("writing {what}: {error}"));
    }
}

/// Refuses all commits after the committer failed: writes nothing, and tells every caller so.
pub(crate) fn refuse_all(inbox: &Inbox, commits: &Receiver<Commit>) {
    inbox.commit_ends();
    for commit in commits {
        let answers = match commit {
            Commit::Frame(frame) => frame.answers,
            Commit::Answers(answers) => answers,
            Commit::EndSegment(_) => Vec::new(),
        };
        answers.into_iter().for_each(|answer| give(answer.reply, Err(AppendError::Unknown)));
        inbox.commit_ends();
    }
}
