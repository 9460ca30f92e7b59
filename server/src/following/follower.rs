//! One follower: what it has seen, and what it is told next.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use bitacora_formats::After;
use bitacora_ledger::{Filter, From, ReadQuery};
use bitacora_projector::IndexedLedger;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::Speaks;
use super::messages::{self, Chunk};
use super::tail::{Found, Tail};
use crate::access::Caller;
use crate::api::Api;
use crate::connection::Phase;
use crate::limits::{FOLLOW_PAGE_EVENTS, FOLLOW_RETRY};
use crate::metrics::Counted;
use crate::problem::{Code, Problem};

/// Tells its peer of everything that matches, once and in order, at the pace of the peer.
pub(crate) struct Follower {
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    filter: Filter,
    tail: Arc<Tail>,
    reached: watch::Receiver<After>,
    phase: watch::Receiver<Phase>,
    /// Everything up to here was looked at; what of it matches was told, or waits in `chunks`.
    seen: After,
    /// The last id that the peer was given.
    told: After,
    /// Read from the log and not told yet: messages, and the id of the last of them.
    chunks: VecDeque<(Bytes, After)>,
    reading: Option<Reading>,
    /// What must be seen before the peer is told that it has caught up; `None` once it was.
    behind: Option<After>,
    /// When it last told something, and whether it was kept from telling more since.
    told_at: Option<Instant>,
    ended: bool,
    _count: Counted,
    _place: OwnedSemaphorePermit,
}

/// A page on its way: its messages, and how far the log was looked at.
type Reading = Pin<Box<dyn Future<Output = Result<(VecDeque<(Bytes, After)>, After), Problem>> + Send>>;

impl Follower {
    /// Begins past a position, unless too many follow already.
    pub(crate) fn new(
        api: Arc<Api>,
        caller: Caller,
        ledger: IndexedLedger,
        filter: Filter,
        after: After,
    ) -> Result<Self, Problem> {
        let Ok(place) = Arc::clone(&api.followers).try_acquire_owned() else {
            let detail = "too many follow already; try again, or read pages with `wait`";
            return Err(Problem::new(Code::Overloaded, detail).with_retry_after(1));
        };
        let tail = api.tails.of(&ledger);
        Ok(Self {
            reached: tail.watch(),
            tail,
            phase: api.phase(),
            behind: Some(ledger.head().position.into()),
            _count: api.metrics.follower(),
            api,
            caller,
            ledger,
            filter,
            seen: after,
            told: after,
            chunks: VecDeque::new(),
            reading: None,
            told_at: None,
            ended: false,
            _place: place,
        })
    }

    fn has_more(&self) -> bool {
        !self.chunks.is_empty() || self.seen < self.tail.reached()
    }

    /// Waits until there is something to say, at the latest until a heartbeat is due.
    async fn say(&mut self, heartbeat: Instant) -> Bytes {
        loop {
            if *self.phase.borrow() > Phase::Serving {
                self.ended = true;
                return messages::closing(self.told, FOLLOW_RETRY).into();
            }
            if let Some((bytes, last)) = self.chunks.pop_front() {
                self.told = last;
                return bytes;
            }
            if Instant::now() >= heartbeat {
                return self.heartbeat();
            }
            match self.tail.find(self.seen) {
                Found::Batch(batch) => {
                    let said = batch.messages(self.seen, &self.filter);
                    self.seen = batch.last();
                    if let Some((bytes, last)) = said {
                        self.told = last;
                        return bytes;
                    }
                }
                Found::Edge if self.behind.is_some_and(|goal| self.seen >= goal) => {
                    self.behind = None;
                    self.told = self.seen;
                    return messages::caught_up(self.seen).into();
                }
                Found::Edge => self.wait(heartbeat).await,
                Found::Behind => {
                    if let Err(problem) = self.read_on(heartbeat).await {
                        self.ended = true;
                        return messages::failed(&problem).into();
                    }
                }
            }
        }
    }

    /// Nothing to tell: the peer hears that we are there, and how far we are.
    fn heartbeat(&mut self) -> Bytes {
        if self.told >= self.seen {
            return Bytes::from_static(messages::HEARTBEAT);
        }
        self.told = self.seen;
        messages::mark(self.seen).into()
    }

    async fn wait(&mut self, heartbeat: Instant) {
        tokio::select! {
            // The tail lives as long as we hold it, the phase as long as the service.
            _ = self.reached.changed() => (),
            _ = self.phase.changed() => (),
            () = tokio::time::sleep_until(heartbeat) => (),
        }
    }

    /// Reads a page of the log, or goes on waiting for the one that is on its way.
    async fn read_on(&mut self, heartbeat: Instant) -> Result<(), Problem> {
        self.behind.get_or_insert_with(|| self.ledger.head().position.into());
        let reading = match &mut self.reading {
            Some(reading) => reading,
            None => {
                let (api, ledger) = (Arc::clone(&self.api), self.ledger.clone());
                let query = ReadQuery {
                    from: From::After(self.seen),
                    until: None,
                    limit: FOLLOW_PAGE_EVENTS,
                    filter: self.filter.clone(),
                };
                self.reading.insert(Box::pin(read_page(api, ledger, query)))
            }
        };
        let read = tokio::select! {
            read = reading.as_mut() => read,
            _ = self.phase.changed() => return Ok(()),
            () = tokio::time::sleep_until(heartbeat) => return Ok(()),
        };
        self.reading = None;
        (self.chunks, self.seen) = read?;
        Ok(())
    }
}

impl Speaks for Follower {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let Some(told_at) = self.told_at else {
            self.told_at = Some(Instant::now());
            return Some(messages::retry(FOLLOW_RETRY).into());
        };
        if told_at.elapsed() > self.api.limits.patience.lag && self.has_more() {
            self.ended = true;
            self.api.metrics.lagged.inc();
            return Some(messages::lagged(self.told).into());
        }
        let said = self.say(told_at + self.api.limits.patience.heartbeat).await;
        // Whose token has ended meanwhile hears that, and nothing else any more.
        if let Err(problem) = self.caller.still_holds(&self.api) {
            self.ended = true;
            return Some(messages::failed(&problem).into());
        }
        self.told_at = Some(Instant::now());
        Some(said)
    }
}

async fn read_page(
    api: Arc<Api>,
    ledger: IndexedLedger,
    query: ReadQuery,
) -> Result<(VecDeque<(Bytes, After)>, After), Problem> {
    let (chunks, reached) = api
        .read_in_turn(move || {
            let page = ledger.read(&query)?;
            let reached = match page.next {
                Some(From::After(after)) => after,
                Some(From::Before(_)) | None => page.head.position.into(),
            };
            Ok((messages::chunks(&page.events), reached))
        })
        .await?;
    let mut held = VecDeque::with_capacity(chunks.len());
    for Chunk { bytes, last, .. } in chunks {
        held.push_back((api.answers.hold(bytes).await, last.into()));
    }
    Ok((held, reached))
}
