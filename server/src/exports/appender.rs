//! The records of an export on their way into the ledger, chunk by chunk.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use bitacora_api::paths::percent_encoded;
use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::{AppendError, AppendReceipt, AppendRequest, PendingAppend, ReceiptStatus};
use bitacora_otlp::{Encoding, ExportAnswer, MappedRecord, RecordFault, Signal, Telemetry, check, for_each};
use bitacora_projector::IndexedLedger;
use tokio::time::Instant;

use super::receiver::ReceivedExport;
use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::lanes::gave_way;
use crate::limits::{
    EXPORT_CHUNK_BYTES, EXPORT_CHUNK_EVENTS, EXPORT_CHUNKS_AHEAD, EXPORT_FIRST_PAUSE, EXPORT_QUEUE_WAIT,
};
use crate::metrics::ExportOutcome;
use crate::problem::{Code, Problem};

/// The beginning of the source of telemetry; the sender follows. No client writes under it by other ways, so none can take
/// the identity of another's spans.
const SOURCE_PREFIX: &str = "urn:bitacora:otlp:";

/// Appends the records of an export and waits until they are durable. Blocks.
pub(crate) fn append_export(
    api: &Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    signal: Signal,
    encoding: Encoding,
    export: ReceivedExport,
) -> Result<ExportAnswer, Problem> {
    let ReceivedExport { bytes, place, memory } = export;
    check(signal, encoding, &bytes).map_err(|error| malformed(&error))?;
    let mut appender = ExportAppender {
        source: format!("{SOURCE_PREFIX}{}", percent_encoded(caller.caller())),
        agent: caller.agent_for(None)?.map(str::to_owned),
        api,
        caller,
        ledger,
        chunk: Vec::new(),
        chunk_bytes: 0,
        ids: HashSet::new(),
        sent: VecDeque::new(),
        answer: ExportAnswer::default(),
        parts: [place, memory],
    };
    let mut failure = None;
    let walked = for_each(signal, encoding, &bytes, |record| match appender.take(record) {
        Ok(()) => ControlFlow::Continue(()),
        Err(problem) => {
            failure = Some(problem);
            ControlFlow::Break(())
        }
    });
    walked.map_err(|error| malformed(&error))?;
    let ended = failure.map_or(Ok(()), Err).and_then(|()| appender.send_chunk());
    // What was sent is waited for, also behind a failure: its memory is the export's until then.
    let settled = appender.settle();
    ended.and(settled).map(|()| appender.answer)
}

fn malformed(error: &bitacora_otlp::MalformedRequest) -> Problem {
    Problem::new(Code::BadBody, error.to_string())
}

struct ExportAppender<'x> {
    api: &'x Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    source: String,
    /// The token's agent, if it is an agent's.
    agent: Option<String>,
    chunk: Vec<Telemetry>,
    chunk_bytes: usize,
    /// The ids of the chunk.
    ids: HashSet<String>,
    /// Chunks that wait for the disk, in order.
    sent: VecDeque<(Vec<Telemetry>, PendingAppend)>,
    answer: ExportAnswer,
    /// The export's place and memory.
    parts: [crate::http::pool::PoolPart; 2],
}

impl ExportAppender<'_> {
    fn take(&mut self, record: MappedRecord) -> Result<(), Problem> {
        match record {
            MappedRecord::Skipped => self.count(ExportOutcome::Skipped, 1),
            MappedRecord::Rejected(fault) => self.reject(fault),
            MappedRecord::Event(telemetry) => {
                // One of several deliveries within a request is enough.
                if !self.ids.insert(telemetry.id.clone()) {
                    self.count(ExportOutcome::Duplicate, 1);
                    return Ok(());
                }
                self.chunk_bytes += telemetry.data.len();
                self.chunk.push(*telemetry);
                if self.chunk.len() >= EXPORT_CHUNK_EVENTS || self.chunk_bytes >= EXPORT_CHUNK_BYTES {
                    return self.send_chunk();
                }
            }
        }
        Ok(())
    }

    fn reject(&mut self, fault: RecordFault) {
        self.answer.reject(fault);
        self.count(ExportOutcome::Rejected, 1);
    }

    fn count(&self, outcome: ExportOutcome, records: u64) {
        self.api.metrics.count_export(outcome, records);
    }

    /// Sends what is there. A caller whose token has ended meanwhile, or whose room others need, sends no more.
    fn send_chunk(&mut self) -> Result<(), Problem> {
        self.may_go_on()?;
        let chunk = std::mem::take(&mut self.chunk);
        self.chunk_bytes = 0;
        self.ids.clear();
        if chunk.is_empty() {
            return Ok(());
        }
        match self.submit(&chunk)? {
            Ok(pending) => self.sent.push_back((chunk, pending)),
            Err(error) => self.append_apart(&chunk, error)?,
        }
        while self.sent.len() > EXPORT_CHUNKS_AHEAD {
            self.await_oldest()?;
        }
        Ok(())
    }

    fn may_go_on(&mut self) -> Result<(), Problem> {
        self.caller.still_holds(&self.api.authenticator)?;
        if self.api.is_ending() {
            return Err(Problem::from(AppendError::Closing));
        }
        let mut nobody = Context::from_waker(Waker::noop());
        for part in &mut self.parts {
            if part.poll_give_way(&mut nobody).is_ready() {
                return Err(gave_way());
            }
        }
        Ok(())
    }

    /// Sends a chunk; a ledger whose queue is full is waited for, for a while.
    fn submit(&mut self, chunk: &[Telemetry]) -> Result<Result<PendingAppend, AppendError>, Problem> {
        let (since, mut pause) = (Instant::now(), EXPORT_FIRST_PAUSE);
        loop {
            match self.ledger.append(AppendRequest::of(self.events(chunk)?)) {
                Err(AppendError::QueueFull { retry_after_s }) => {
                    if since.elapsed() > EXPORT_QUEUE_WAIT {
                        return Err(AppendError::QueueFull { retry_after_s }.into());
                    }
                    self.may_go_on()?;
                    thread::sleep(pause);
                    pause *= 2;
                }
                outcome => return Ok(outcome),
            }
        }
    }

    fn events<'e>(&'e self, chunk: &'e [Telemetry]) -> Result<Vec<Event<'e>>, Problem> {
        chunk.iter().map(|telemetry| self.event(telemetry)).collect()
    }

    fn event<'e>(&'e self, telemetry: &'e Telemetry) -> Result<Event<'e>, Problem> {
        let mut event = Event::new(&*telemetry.id, &*self.source, telemetry.kind, &*telemetry.stream);
        event.time = telemetry.time.as_deref().map(Into::into);
        event.actor = Some(self.caller.caller().into());
        event.agent = self.agent.as_deref().or(telemetry.agent.as_deref()).map(Into::into);
        event.session = telemetry.session.as_deref().map(Into::into);
        event.run = telemetry.run.as_deref().map(Into::into);
        event.call = telemetry.call.as_deref().map(Into::into);
        event.traceparent = telemetry.traceparent.as_deref().map(Into::into);
        let json = Json::check(&*telemetry.data).map_err(|error| {
            Problem::new(Code::Internal, format!("a record became JSON that no event takes: {error}"))
        })?;
        event.data = Data::Json(json);
        Ok(event)
    }

    fn await_oldest(&mut self) -> Result<(), Problem> {
        let Some((chunk, pending)) = self.sent.pop_front() else { return Ok(()) };
        match pending.wait() {
            Ok(receipt) => self.acknowledge(&receipt),
            Err(error) => self.append_apart(&chunk, error)?,
        }
        Ok(())
    }

    /// Waits for all that was sent; the first failure is told.
    fn settle(&mut self) -> Result<(), Problem> {
        let mut settled = Ok(());
        while !self.sent.is_empty() {
            let outcome = self.await_oldest();
            settled = settled.and(outcome);
        }
        settled
    }

    fn acknowledge(&self, receipt: &AppendReceipt) {
        self.api.metrics.count_append(self.ledger.ledger(), receipt);
        let all = receipt.results.len() as u64;
        let created = receipt.results.iter().filter(|result| result.status == ReceiptStatus::Created);
        let created = created.count() as u64;
        self.count(ExportOutcome::Recorded, created);
        self.count(ExportOutcome::Duplicate, all - created);
    }

    /// Appends a chunk that was refused for some of its events, half by half: the others are good.
    fn append_apart(&mut self, chunk: &[Telemetry], error: AppendError) -> Result<(), Problem> {
        if !is_of_events(&error) {
            return Err(error.into());
        }
        if chunk.len() <= 1 {
            match error {
                // The first delivery stays.
                AppendError::IdReused { .. } => self.count(ExportOutcome::Duplicate, 1),
                error => {
                    self.answer.refuse(&error.to_string());
                    self.count(ExportOutcome::Rejected, 1);
                }
            }
            return Ok(());
        }
        let (first, second) = chunk.split_at(chunk.len() / 2);
        for half in [first, second] {
            self.may_go_on()?;
            let appended = self.submit(half)?.and_then(PendingAppend::wait);
            match appended {
                Ok(receipt) => self.acknowledge(&receipt),
                Err(error) => self.append_apart(half, error)?,
            }
        }
        Ok(())
    }
}

/// Returns `true` if an append is refused for its events, and some of them may pass without the others.
fn is_of_events(error: &AppendError) -> bool {
    matches!(
        error,
        AppendError::TooLarge { .. }
            | AppendError::Invalid { .. }
            | AppendError::Unencodable { .. }
            | AppendError::Schema { .. }
            | AppendError::ReservedType { .. }
            | AppendError::SecretName { .. }
            | AppendError::IdReused { .. }
            | AppendError::RepeatedId { .. }
    )
}
