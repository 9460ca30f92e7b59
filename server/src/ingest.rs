//! Uploads of any length: lines appended chunk by chunk, and acknowledged while more of them come.
//!
//! Each chunk is an append of its own, so the upload as a whole is not atomic: it is durable up to the last line that was
//! acknowledged. Chunks keep their order, and several are on their way at once. Bytes are read only if there is room for them.

mod acknowledgements;
mod body_decoder;
mod lines;
mod submission;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use bitacora_ledger::{AppendError, AppendReceipt};
use bitacora_projector::IndexedLedger;
use http_body_util::BodyExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::acknowledgements::{Acknowledgement, AcknowledgementSender};
pub(crate) use self::body_decoder::{BodyDecoder, Step};
use self::lines::{Chunk, LineBuffer};
use self::submission::{ChunkRest, Outcome, SentLines, Submission, submit};
use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::{ContentEncoding, MAX_ZSTD_WINDOW_LOG, cut_off, undecodable};
use crate::http::phase::Phase;
use crate::http::pool::PoolPart;
use crate::limits::{
    HTTP_BUFFER_BYTES, INGEST_AHEAD_BYTES, INGEST_CHUNK_BYTES, INGEST_CHUNK_LINES, INGEST_CHUNKS_AHEAD,
    INGEST_EVENT_BYTES, INGEST_FIRST_PAUSE, INGEST_QUEUE_WAIT, INGEST_RECEIPT_BYTES, INGEST_STEP_BYTES,
    PLACE_WAIT, UPLOAD_STALL,
};
use crate::metrics::GaugeGuard;
use crate::problem::{Code, Problem, SideEffects};

/// Bytes of a decompressor of zstd: its window, twice a block, and its tables.
const ZSTD_BYTES: usize = (1 << MAX_ZSTD_WINDOW_LOG) + 512 * 1024;
/// Bytes of a decompressor of gzip.
const GZIP_BYTES: usize = 64 * 1024;
/// Bytes of an upload's lines that were not taken yet, with the copy that growing makes.
const GATHERED_BYTES: usize = 2 * (INGEST_AHEAD_BYTES + INGEST_STEP_BYTES);
/// Bytes of everything else: a piece of the connection, a chunk that is parsed, and one that is sealed. The events of a chunk, and the
/// receipts of those that wait for the disk, are part of it.
const INGEST_FIXED_BYTES: usize = HTTP_BUFFER_BYTES
    + 2 * INGEST_CHUNK_BYTES
    + INGEST_CHUNK_LINES * (INGEST_EVENT_BYTES + INGEST_CHUNKS_AHEAD * INGEST_RECEIPT_BYTES);

/// An upload under way.
pub(crate) struct Ingest {
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    stream: Option<Arc<str>>,
    phase: watch::Receiver<Phase>,
    body: Body,
    decoder: BodyDecoder,
    buffer: LineBuffer,
    input: Input,
    /// The chunk that is being parsed and sealed: one at a time, since they keep their order.
    submission: Option<JoinHandle<Submission>>,
    /// A chunk that is sent again once the ledger's queue, which is full, has had a rest.
    busy: Option<DecompressionWork>,
    /// The chunks that wait for the disk, in order.
    sent: VecDeque<SentLines>,
    teller: AcknowledgementSender,
    /// Bytes that it holds however long its lines are.
    fixed_bytes: usize,
    /// Room for all that it holds; more is taken for lines that are longer than usual.
    memory: PoolPart,
    place: PoolPart,
    /// The time at which its peer has let it wait for too long, if others need its place.
    piece_due: Instant,
    _count: GaugeGuard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// More may be decompressed.
    Ready,
    /// The next piece must come first.
    Starved,
    Ended,
}

struct DecompressionWork {
    chunk: Chunk,
    since: Instant,
    pause: Duration,
    /// The end of this pause.
    until: Instant,
}

/// The next event of an upload.
enum IngestEvent {
    Piece(Option<Bytes>),
    Submitted(Submission),
    /// The oldest of those that wait for the disk.
    Durable(Result<Option<AppendReceipt>, AppendError>),
    Rested,
}

impl Ingest {
    /// Takes a place and memory for an upload.
    pub(crate) async fn new(
        api: Arc<Api>,
        caller: Caller,
        ledger: IndexedLedger,
        stream: Option<String>,
        encoding: Option<ContentEncoding>,
        body: Body,
    ) -> Result<Self, Problem> {
        let place = api.ingests.take(caller.key(), 1, PLACE_WAIT).await;
        let place = place.map_err(|_| {
            let detail = "too many uploads at once; try again, or send requests of up to 1,000 events";
            Problem::new(Code::Overloaded, detail).with_retry_after(1)
        })?;
        let fixed_bytes = INGEST_FIXED_BYTES + decompressor_bytes(encoding);
        let memory = api.uploads.take(caller.key(), fixed_bytes + GATHERED_BYTES, PLACE_WAIT).await;
        let memory = memory.map_err(|_| no_memory())?;
        Ok(Self {
            phase: api.phase(),
            stream: stream.map(Into::into),
            body,
            decoder: BodyDecoder::new(encoding).map_err(|error| undecodable(&error))?,
            buffer: LineBuffer::default(),
            input: Input::Starved,
            submission: None,
            busy: None,
            sent: VecDeque::new(),
            teller: AcknowledgementSender::default(),
            _count: api.metrics.ingest(),
            api,
            caller,
            ledger,
            fixed_bytes,
            memory,
            place,
            piece_due: Instant::now() + UPLOAD_STALL,
        })
    }

    /// Begins; the answer's body tells of it.
    pub(crate) fn begin(self) -> Body {
        let body = Body::new(self.teller.body());
        tokio::spawn(self.run());
        body
    }

    async fn run(mut self) {
        match self.append_all().await {
            Ok(()) => self.teller.end(&self.ledger.head()),
            Err(failure) => {
                let problem = self.settle(failure).await;
                self.teller.fail(&problem);
            }
        }
    }

    async fn append_all(&mut self) -> Result<(), IngestFailure> {
        loop {
            self.decode().await?;
            self.begin_submission()?;
            let is_idle = self.submission.is_none() && self.busy.is_none() && self.sent.is_empty();
            if self.input == Input::Ended && is_idle && !self.buffer.has_lines() {
                return Ok(());
            }
            match self.next().await? {
                IngestEvent::Piece(piece) => {
                    self.decoder.push(piece);
                    self.piece_due = Instant::now() + UPLOAD_STALL;
                    self.input = Input::Ready;
                }
                IngestEvent::Submitted(submitted) => self.take(submitted)?,
                IngestEvent::Durable(outcome) => self.acknowledge_oldest(outcome)?,
                IngestEvent::Rested => {
                    self.caller.still_holds(&self.api.authenticator)?;
                    if let Some(DecompressionWork { chunk, .. }) = &self.busy {
                        self.submission = Some(self.submit(chunk.clone()));
                    }
                }
            }
        }
    }

    /// Decompresses and looks for lines for as long as there is room and something to decompress.
    async fn decode(&mut self) -> Result<(), Problem> {
        while self.input == Input::Ready && self.buffer.has_room() {
            let step = self.decoder.step(self.buffer.bytes_mut()).map_err(|error| undecodable(&error))?;
            self.buffer.scan();
            if let Some(line) = self.buffer.endless_line() {
                let detail = "the line is longer than any event may be";
                return Err(Problem::new(Code::RequestTooLarge, detail).at_line(line));
            }
            // A long line lies here while another one is being appended.
            let wanted = self.fixed_bytes + 2 * self.buffer.capacity();
            self.memory.grow_to(wanted, PLACE_WAIT).await.map_err(|_| no_memory())?;
            match step {
                Step::More => tokio::task::consume_budget().await,
                Step::Starved => self.input = Input::Starved,
                Step::End => {
                    self.buffer.end();
                    self.input = Input::Ended;
                }
            }
        }
        Ok(())
    }

    /// Sends the next chunk: a full one, or all that is there when nothing else is going on. A caller whose token has ended meanwhile sends
    /// no more.
    fn begin_submission(&mut self) -> Result<(), Problem> {
        let is_free =
            self.submission.is_none() && self.busy.is_none() && self.sent.len() < INGEST_CHUNKS_AHEAD;
        let is_due = self.sent.is_empty()
            || self.input == Input::Ended
            || self.buffer.has_chunk()
            || !self.buffer.has_room();
        if is_free && is_due {
            self.caller.still_holds(&self.api.authenticator)?;
            self.submission = self.buffer.take().map(|chunk| self.submit(chunk));
        }
        Ok(())
    }

    /// Parses and seals where it may block.
    fn submit(&self, chunk: Chunk) -> JoinHandle<Submission> {
        let (caller, ledger, stream) = (self.caller.clone(), self.ledger.clone(), self.stream.clone());
        tokio::task::spawn_blocking(move || submit(&caller, ledger.ledger(), stream.as_deref(), &chunk))
    }

    async fn next(&mut self) -> Result<IngestEvent, Problem> {
        let may_read = self.input == Input::Starved && self.buffer.has_room();
        let is_waiting = may_read && self.submission.is_none() && self.busy.is_none() && self.sent.is_empty();
        for part in [&self.place, &self.memory] {
            match is_waiting {
                true => part.pace().waits_until(self.piece_due),
                false => part.pace().moves(),
            }
        }
        let resting = self.busy.as_ref().filter(|_| self.submission.is_none()).map(|busy| busy.until);
        tokio::select! {
            outcome = durable(self.sent.front_mut()) => Ok(IngestEvent::Durable(outcome)),
            submitted = joined(self.submission.as_mut()) => {
                self.submission = None;
                submitted.map(IngestEvent::Submitted)
            }
            () = rested(resting) => Ok(IngestEvent::Rested),
            () = self.place.give_way_requested() => Err(gives_way()),
            () = self.memory.give_way_requested() => Err(gives_way()),
            piece = self.body.frame(), if may_read => match piece {
                None => Ok(IngestEvent::Piece(None)),
                Some(Ok(frame)) => Ok(IngestEvent::Piece(Some(frame.into_data().unwrap_or_default()))),
                Some(Err(error)) => Err(cut_off(&error)),
            },
            _ = self.phase.wait_for(|phase| *phase > Phase::Serving) => {
                let detail = "the service ends; send the lines that were not acknowledged again";
                Err(Problem::new(Code::Closing, detail).with_retry_after(1))
            }
        }
    }

    fn take(&mut self, submitted: Submission) -> Result<(), IngestFailure> {
        self.sent.extend(submitted.sent);
        match submitted.rest {
            ChunkRest::Nothing => self.busy = None,
            ChunkRest::Refused(problem) => return Err(problem.into()),
            ChunkRest::Busy(chunk) => {
                let (since, pause) = self
                    .busy
                    .as_ref()
                    .map_or((Instant::now(), INGEST_FIRST_PAUSE), |busy| (busy.since, 2 * busy.pause));
                if since.elapsed() > INGEST_QUEUE_WAIT {
                    let problem = Problem::from(AppendError::QueueFull { retry_after_s: 1 });
                    return Err(problem.at_line(chunk.first).into());
                }
                self.busy = Some(DecompressionWork { chunk, since, pause, until: Instant::now() + pause });
            }
        }
        Ok(())
    }

    fn acknowledge_oldest(
        &mut self,
        outcome: Result<Option<AppendReceipt>, AppendError>,
    ) -> Result<(), IngestFailure> {
        let Some(sent) = self.sent.pop_front() else { return Ok(()) };
        match outcome {
            Ok(appended) => {
                if let Some(appended) = &appended {
                    self.api.metrics.count_append(self.ledger.ledger(), appended);
                }
                self.teller.acknowledge(Acknowledgement::of(sent.last, appended.as_ref()));
                Ok(())
            }
            Err(error) => {
                let line = sent.line_of(&error);
                Err(IngestFailure { problem: Problem::from(error).at_line(line), is_of_the_ledger: true })
            }
        }
    }

    /// Sends nothing more. Chunks that were sent are waited for, so that the last word is the truth.
    async fn settle(&mut self, mut failure: IngestFailure) -> Problem {
        if let Some(submission) = self.submission.take()
            && let Ok(submitted) = submission.await
        {
            self.sent.extend(submitted.sent);
        }
        let mut kept_behind = false;
        while !self.sent.is_empty() {
            let outcome = durable(self.sent.front_mut()).await;
            if failure.is_of_the_ledger {
                // Lines behind the one that failed: not acknowledged, since there is a gap before them.
                kept_behind |= matches!(outcome, Ok(Some(_)));
                self.sent.pop_front();
            } else if let Err(earlier) = self.acknowledge_oldest(outcome) {
                failure = earlier;
            }
        }
        if kept_behind && !failure.problem.is_unknown() {
            return failure.problem.with_side_effects(SideEffects::Committed);
        }
        failure.problem
    }
}

/// The reason for which an upload ends early.
struct IngestFailure {
    problem: Problem,
    /// `true` if the ledger refused lines that others had followed already.
    is_of_the_ledger: bool,
}

impl From<Problem> for IngestFailure {
    fn from(problem: Problem) -> Self {
        Self { problem, is_of_the_ledger: false }
    }
}

/// Bytes that a decompressor holds.
pub(crate) fn decompressor_bytes(encoding: Option<ContentEncoding>) -> usize {
    match encoding {
        None => 0,
        Some(ContentEncoding::Gzip) => GZIP_BYTES,
        Some(ContentEncoding::Zstd) => ZSTD_BYTES,
    }
}

fn no_memory() -> Problem {
    let detail = "too much of uploads is held at once; try again, or send requests of up to 1,000 events";
    Problem::new(Code::Overloaded, detail).with_retry_after(1)
}

/// The last line of an upload that gives way. Acknowledged lines stay.
fn gives_way() -> Problem {
    let detail = "others need the place of this upload; send the lines that were not acknowledged again";
    Problem::new(Code::Overloaded, detail).with_retry_after(1)
}

/// The outcome of the chunk that was sent first; never ready where there is none.
async fn durable(oldest: Option<&mut SentLines>) -> Result<Option<AppendReceipt>, AppendError> {
    match oldest {
        None => std::future::pending().await,
        Some(sent) => match &mut sent.outcome {
            Outcome::Empty => Ok(None),
            Outcome::Durable(appended) => Ok(Some(appended.clone())),
            Outcome::Pending(pending) => pending.await.map(Some),
        },
    }
}

async fn rested(until: Option<Instant>) {
    match until {
        None => std::future::pending().await,
        Some(until) => tokio::time::sleep_until(until).await,
    }
}

async fn joined(submission: Option<&mut JoinHandle<Submission>>) -> Result<Submission, Problem> {
    match submission {
        None => std::future::pending().await,
        Some(submission) => submission
            .await
            .map_err(|_| Problem::new(Code::Internal, "the upload failed on a defect; repeat it")),
    }
}
