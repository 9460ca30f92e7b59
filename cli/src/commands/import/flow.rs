//! The flow of imported events, from the reading thread through the lanes into the ledger.

use std::io;
use std::thread;
use std::time::Duration;

use bitacora_formats::LedgerName;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::totals::Totals;
use super::{ImportFailure, summary};
use crate::error::CommandError;
use crate::import::EventDraft;
use crate::import::{
    EventBatch, ImportPlan, ImportTally, Item, LANES, Lane, LaneOutcome, RecordLocation, RejectedEvent,
    SharedRequestSize,
};
use crate::ledger_access::access::Access;
use crate::ledger_access::append_retry::{AppendOutcome, Delivery, Miss};
use crate::ledger_access::interrupt::{InterruptError, Interrupts};
use crate::terminal::output::printable;
use crate::terminal::progress::ImportBar;

/// Requests that wait for their lane. Memory is bounded by these and those in flight.
const REQUESTS_AHEAD: usize = 1;
/// The capacity of the channel of landed requests.
const NEWS_AHEAD: usize = 64;
/// The most rejected events that are listed.
const MAX_REJECTED: usize = 10_000;
/// The time that requests in flight get after an interruption.
const UNDER_WAY_PATIENCE: Duration = Duration::from_secs(3);

/// One import.
pub(super) struct Flow {
    bar: ImportBar,
    pub(super) landed: Totals,
    pub(super) tally: Option<ImportTally>,
}

/// The description of the import in its own events.
pub(super) struct ImportDescription<'a> {
    /// The mapping from records to events.
    pub(super) mapping: &'a str,
    /// Set when it is to count towards trust.
    pub(super) accept: bool,
}

/// The end of a lane: the number of its retries, and its result.
type LaneEnd = (u64, Result<(), Miss>);

impl Flow {
    pub(super) fn new(bar: ImportBar) -> Self {
        Self { bar, landed: Totals::default(), tally: None }
    }

    pub(super) fn clear(&self) {
        self.bar.clear();
    }

    /// Imports everything, then records the import, and its acceptance where `accept` is set. An interruption ends it
    /// soon; answers to requests in flight are still taken in.
    pub(super) async fn run(
        &mut self,
        plan: ImportPlan,
        tally: ImportTally,
        way: (&Access, &LedgerName),
        description: &ImportDescription<'_>,
        has_answered: bool,
        interrupts: &mut Interrupts,
    ) -> Result<(), CommandError> {
        let tally = self.carry(plan, tally, way, has_answered, interrupts).await?;
        tokio::select! {
            done = self.conclude(tally, way, description) => done,
            () = interrupts.next() => Err(InterruptError.into()),
        }
    }

    /// Appends all events to the ledger, and returns the tally of the files.
    async fn carry(
        &mut self,
        plan: ImportPlan,
        tally: ImportTally,
        (access, ledger): (&Access, &LedgerName),
        has_answered: bool,
        interrupts: &mut Interrupts,
    ) -> Result<ImportTally, CommandError> {
        let (news, mut heard) = mpsc::channel(NEWS_AHEAD);
        let (stop, stopped) = watch::channel(false);
        let mut lanes = JoinSet::new();
        let mut doors = Vec::with_capacity(LANES);
        let size = SharedRequestSize::default();
        for _ in 0..LANES {
            let (door, batches) = mpsc::channel(REQUESTS_AHEAD);
            doors.push(door);
            let delivery = Delivery::new(access, ledger, None).known_to_answer(has_answered);
            let lane = Lane::new(delivery, size.clone());
            lanes.spawn(run_lane(lane, batches, news.clone(), stopped.clone()));
        }
        drop(news);
        let read = read(plan, tally, doors, &self.bar)?;
        let is_interrupted = tokio::select! {
            () = self.take_all(&mut heard) => false,
            () = interrupts.next() => true,
        };
        if is_interrupted {
            stop.send_replace(true);
            self.landed.unheard = timeout(UNDER_WAY_PATIENCE, self.take_all(&mut heard)).await.is_err();
            return Err(InterruptError.into());
        }
        let mut missed = None;
        while let Some(ended) = lanes.join_next().await {
            let (retries, ended) = ended.map_err(|_| ImportFailure::Reading)?;
            self.landed.retries += retries;
            missed = missed.or(ended.err());
        }
        let tally = read.await.map_err(|_| ImportFailure::Reading)?;
        if let Some(miss) = missed {
            // The tally of a partly read import says nothing of the files.
            return Err(ImportFailure::Missed(Box::new(miss)).into());
        }
        tally.map_err(|source| {
            // Of what is read nothing fails by itself; the one thing written is the report.
            ImportFailure::Reporting(source).into()
        })
    }

    /// Records the import, and its acceptance where `accept` is set.
    async fn conclude(
        &mut self,
        tally: ImportTally,
        (access, ledger): (&Access, &LedgerName),
        description: &ImportDescription<'_>,
    ) -> Result<(), CommandError> {
        // An import of nothing is none. What tells of one is the same for the same files, and so there once.
        if tally.events > 0 {
            let digest = tally.name(description.mapping);
            self.landed.recorded = self.append_own(&tally.event(description.mapping), access, ledger).await?;
            if self.landed.recorded {
                self.landed.counts_since = access.import_counts_since(ledger, &digest).await;
            }
            self.landed.accepted = self.landed.counts_since.is_some();
            self.landed.digest = Some(digest);
        }
        let is_whole = self.landed.rejected == 0 && summary::fault(&tally).is_none();
        if description.accept && is_whole && self.landed.recorded && !self.landed.accepted {
            self.landed.accepted =
                self.append_own(&tally.acceptance(description.mapping), access, ledger).await?;
        }
        self.tally = Some(tally);
        Ok(())
    }

    /// Appends an event about this import; returns whether it is there.
    async fn append_own(
        &mut self,
        event: &EventDraft,
        access: &Access,
        ledger: &LedgerName,
    ) -> Result<bool, CommandError> {
        let location = RecordLocation { file: "the import's own event".into(), number: 1 };
        let item = Item { location, id: event.id.clone(), json: event.to_json().into_bytes() };
        let mut lane = Lane::new(Delivery::new(access, ledger, None), SharedRequestSize::default());
        let mut outcomes = Vec::new();
        let ended = lane.land(EventBatch(vec![item]), &mut outcomes).await;
        self.landed.retries += lane.retries();
        let is_there = matches!(outcomes.as_slice(), [LaneOutcome::Acknowledged { .. }]);
        outcomes.into_iter().for_each(|landed| self.take(landed));
        ended.map_err(|miss| ImportFailure::Missed(Box::new(miss)))?;
        Ok(is_there)
    }

    /// Takes in the landed requests until all lanes have ended.
    async fn take_all(&mut self, heard: &mut mpsc::Receiver<LaneOutcome<AppendOutcome>>) {
        while let Some(landed) = heard.recv().await {
            self.take(landed);
        }
    }

    fn take(&mut self, landed: LaneOutcome<AppendOutcome>) {
        let totals = &mut self.landed;
        match landed {
            LaneOutcome::Acknowledged { acknowledgement: delivered, bytes } => {
                let created = delivered.receipts.iter().filter(|receipt| receipt.is_new).count() as u64;
                totals.created += created;
                totals.duplicates += delivered.receipts.len() as u64 - created;
                totals.derived += delivered.derived as u64;
                totals.requests += 1;
                totals.sent_bytes += bytes;
                let head = (delivered.head_position, delivered.head_hash);
                let number = |head: &(String, String)| head.0.parse::<u64>().unwrap_or_default();
                if totals.head.as_ref().is_none_or(|known| number(known) < number(&head)) {
                    totals.head = Some(head);
                }
            }
            LaneOutcome::Rejected(rejected) => {
                totals.rejected += 1;
                totals.differing += u64::from(rejected.code == "id-reused");
                if totals.rejected_listed.len() < MAX_REJECTED {
                    let reason = printable(&rejected.reason);
                    totals.rejected_listed.push(RejectedEvent { reason, ..rejected });
                }
            }
        }
        self.bar.events(self.landed.created + self.landed.duplicates);
    }
}

/// Lands every batch of a lane. Ends with the first batch that finds no way in, or after the current one when it is stopped.
async fn run_lane(
    mut lane: Lane<Delivery>,
    mut batches: mpsc::Receiver<EventBatch>,
    news: mpsc::Sender<LaneOutcome<AppendOutcome>>,
    mut stopped: watch::Receiver<bool>,
) -> LaneEnd {
    loop {
        let next = tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => None,
            next = batches.recv() => next,
        };
        let Some(batch) = next else { break };
        let mut outcomes = Vec::new();
        let ended = lane.land(batch, &mut outcomes).await;
        for landed in outcomes {
            if news.send(landed).await.is_err() {
                return (lane.retries(), Ok(()));
            }
        }
        if ended.is_err() {
            return (lane.retries(), ended);
        }
    }
    (lane.retries(), Ok(()))
}

fn read(
    plan: ImportPlan,
    tally: ImportTally,
    doors: Vec<mpsc::Sender<EventBatch>>,
    bar: &ImportBar,
) -> Result<oneshot::Receiver<io::Result<ImportTally>>, CommandError> {
    let (done, read) = oneshot::channel();
    let bar = bar.clone();
    let started = thread::Builder::new().name("bitacora-import".to_owned()).spawn(move || {
        let read = plan.run(tally, &doors, &bar);
        drop(doors);
        // An interrupted import does not wait for it.
        let _unheard = done.send(read).is_err();
    });
    started.map_err(|source| ImportFailure::Unreadable(format!("no thread to read with: {source}")))?;
    Ok(read)
}
