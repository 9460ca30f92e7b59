//! The flow of imported events, from the reading thread through the lanes into the ledger.

use std::io;
use std::thread;
use std::time::Duration;

use bitacora_formats::printable;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::append_channel::{AppendChannel, ImportTarget};
use super::batches::{EventBatch, Item, LANES, RecordLocation};
use super::event_draft::EventDraft;
use super::lane::{Lane, LaneOutcome, RejectedEvent, SharedRequestSize};
use super::reader::ImportPlan;
use super::records::ReadProgress;
use super::summary;
use super::tally::ImportTally;
use super::totals::ImportTotals;

/// Requests that wait for their lane. Memory is bounded by these and those in flight.
const REQUESTS_AHEAD: usize = 1;
/// The capacity of the channel of landed requests.
const NEWS_AHEAD: usize = 64;
/// The most rejected events that are listed.
const MAX_REJECTED: usize = 10_000;
/// The time that requests in flight get after an interruption.
const UNDER_WAY_PATIENCE: Duration = Duration::from_secs(3);

/// One import.
pub struct ImportFlow<P> {
    progress: P,
    /// The ledger's answers so far.
    pub landed: ImportTotals,
    /// The tally of the files, once all of them are imported.
    pub tally: Option<ImportTally>,
}

/// A listener for the progress of an import.
pub trait ImportProgress: ReadProgress + Clone + Send + 'static {
    /// Takes in the number of events acknowledged so far.
    fn events(&self, events: u64);
}

/// The interruptions of an import by its user.
pub trait Interruption {
    /// Waits for the next one.
    fn next(&mut self) -> impl Future<Output = ()>;
}

/// The reason why an import did not come to its end. Events acknowledged before stay.
#[derive(Debug, thiserror::Error)]
pub enum ImportError<M> {
    /// A request was not acknowledged.
    #[error("{0}")]
    Missed(M),
    /// The reading thread ended early.
    #[error("the reading thread ended early")]
    Reading,
    /// No thread reads.
    #[error("no thread to read with: {0}")]
    NoThread(io::Error),
    /// The report of unmapped lines could not be written.
    #[error("{0}")]
    Reporting(io::Error),
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
}

type ChannelMiss<T> = <<T as ImportTarget>::Channel as AppendChannel>::Miss;

/// The description of the import in its own events.
pub struct ImportDescription<'a> {
    /// The mapping from records to events.
    pub mapping: &'a str,
    /// Set when it is to count towards trust.
    pub accept: bool,
}

/// The end of a lane: the number of its retries, and its result.
type LaneEnd<M> = (u64, Result<(), M>);

impl<P: ImportProgress> ImportFlow<P> {
    /// Returns an import of nothing yet.
    pub fn new(progress: P) -> Self {
        Self { progress, landed: ImportTotals::default(), tally: None }
    }

    /// Imports everything, then records the import, and its acceptance where `accept` is set. An interruption ends it
    /// soon; answers to requests in flight are still taken in.
    ///
    /// # Errors
    /// An [`ImportError`]; what was acknowledged stays.
    pub async fn run<T: ImportTarget>(
        &mut self,
        plan: ImportPlan,
        tally: ImportTally,
        target: &T,
        description: &ImportDescription<'_>,
        interruption: &mut impl Interruption,
    ) -> Result<(), ImportError<ChannelMiss<T>>> {
        let tally = self.carry(plan, tally, target, interruption).await?;
        tokio::select! {
            done = self.conclude(tally, target, description) => done,
            () = interruption.next() => Err(ImportError::Interrupted),
        }
    }

    /// Appends all events to the ledger, and returns the tally of the files.
    async fn carry<T: ImportTarget>(
        &mut self,
        plan: ImportPlan,
        tally: ImportTally,
        target: &T,
        interruption: &mut impl Interruption,
    ) -> Result<ImportTally, ImportError<ChannelMiss<T>>> {
        let (news, mut heard) = mpsc::channel(NEWS_AHEAD);
        let (stop, stopped) = watch::channel(false);
        let mut lanes = JoinSet::new();
        let mut doors = Vec::with_capacity(LANES);
        let size = SharedRequestSize::default();
        for _ in 0..LANES {
            let (door, batches) = mpsc::channel(REQUESTS_AHEAD);
            doors.push(door);
            let lane = Lane::new(target.channel(), size.clone());
            lanes.spawn(run_lane(lane, batches, news.clone(), stopped.clone()));
        }
        drop(news);
        let read = read(plan, tally, doors, &self.progress).map_err(ImportError::NoThread)?;
        let is_interrupted = tokio::select! {
            () = self.take_all(&mut heard) => false,
            () = interruption.next() => true,
        };
        if is_interrupted {
            stop.send_replace(true);
            self.landed.unheard = timeout(UNDER_WAY_PATIENCE, self.take_all(&mut heard)).await.is_err();
            return Err(ImportError::Interrupted);
        }
        let mut missed = None;
        while let Some(ended) = lanes.join_next().await {
            let (retries, ended) = ended.map_err(|_| ImportError::Reading)?;
            self.landed.retries += retries;
            missed = missed.or(ended.err());
        }
        let tally = read.await.map_err(|_| ImportError::Reading)?;
        if let Some(miss) = missed {
            // The tally of a partly read import says nothing of the files.
            return Err(ImportError::Missed(miss));
        }
        // Of what is read nothing fails by itself; the one thing written is the report.
        tally.map_err(ImportError::Reporting)
    }

    /// Records the import, and its acceptance where `accept` is set.
    async fn conclude<T: ImportTarget>(
        &mut self,
        tally: ImportTally,
        target: &T,
        description: &ImportDescription<'_>,
    ) -> Result<(), ImportError<ChannelMiss<T>>> {
        // An import of nothing is none. What tells of one is the same for the same files, and so there once.
        if tally.events > 0 {
            let digest = tally.name(description.mapping);
            self.landed.recorded = self.append_own(&tally.event(description.mapping), target).await?;
            if self.landed.recorded {
                self.landed.counts_since = target.counts_since(&digest).await;
            }
            self.landed.accepted = self.landed.counts_since.is_some();
            self.landed.digest = Some(digest);
        }
        let is_whole = self.landed.rejected == 0 && summary::fault(&tally).is_none();
        if description.accept && is_whole && self.landed.recorded && !self.landed.accepted {
            self.landed.accepted = self.append_own(&tally.acceptance(description.mapping), target).await?;
        }
        self.tally = Some(tally);
        Ok(())
    }

    /// Appends an event about this import; returns whether it is there.
    async fn append_own<T: ImportTarget>(
        &mut self,
        event: &EventDraft,
        target: &T,
    ) -> Result<bool, ImportError<ChannelMiss<T>>> {
        let location = RecordLocation { file: "the import's own event".into(), number: 1 };
        let item = Item { location, id: event.id.clone(), json: event.to_json().into_bytes() };
        let mut lane = Lane::new(target.channel(), SharedRequestSize::default());
        let mut outcomes = Vec::new();
        let ended = lane.land(EventBatch(vec![item]), &mut outcomes).await;
        self.landed.retries += lane.retries();
        let is_there = matches!(outcomes.as_slice(), [LaneOutcome::Acknowledged { .. }]);
        outcomes.into_iter().for_each(|landed| self.take(landed));
        ended.map_err(ImportError::Missed)?;
        Ok(is_there)
    }

    /// Takes in the landed requests until all lanes have ended.
    async fn take_all(&mut self, heard: &mut mpsc::Receiver<LaneOutcome>) {
        while let Some(landed) = heard.recv().await {
            self.take(landed);
        }
    }

    fn take(&mut self, landed: LaneOutcome) {
        let totals = &mut self.landed;
        match landed {
            LaneOutcome::Acknowledged { acknowledgement: delivered, bytes } => {
                totals.created += delivered.created;
                totals.duplicates += delivered.duplicates;
                totals.derived += delivered.derived;
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
        self.progress.events(self.landed.created + self.landed.duplicates);
    }
}

/// Lands every batch of a lane. Ends with the first batch that finds no way in, or after the current one when it is stopped.
async fn run_lane<C: AppendChannel>(
    mut lane: Lane<C>,
    mut batches: mpsc::Receiver<EventBatch>,
    news: mpsc::Sender<LaneOutcome>,
    mut stopped: watch::Receiver<bool>,
) -> LaneEnd<C::Miss> {
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

fn read<P: ImportProgress>(
    plan: ImportPlan,
    tally: ImportTally,
    doors: Vec<mpsc::Sender<EventBatch>>,
    progress: &P,
) -> io::Result<oneshot::Receiver<io::Result<ImportTally>>> {
    let (done, read) = oneshot::channel();
    let progress = progress.clone();
    thread::Builder::new().name("bitacora-import".to_owned()).spawn(move || {
        let read = plan.run(tally, &doors, &progress);
        drop(doors);
        // An interrupted import does not wait for it.
        let _unheard = done.send(read).is_err();
    })?;
    Ok(read)
}
