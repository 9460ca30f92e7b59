//! One follower: the position that it has seen, and its next message.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use bitacora_formats::After;
use bitacora_ledger::{Filter, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::event_stream::messages::{self, Chunk};
use crate::event_stream::tail::{Tail, TailLookup};
use crate::followers::follow_body::MessageSource;
use crate::http::phase::Phase;
use crate::http::pool::PoolPart;
use crate::limits::{FOLLOW_PAGE_BYTES, FOLLOW_PAGE_EVENTS, FOLLOW_RETRY, FOLLOW_STALL, PLACE_WAIT};
use crate::metrics::GaugeGuard;
use crate::problem::{Code, Problem};

/// Tells its peer of everything that matches, once and in order, at the pace of the peer.
pub(crate) struct EventFollower {
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    filter: Filter,
    tail: Arc<Tail>,
    reached: watch::Receiver<After>,
    phase: watch::Receiver<Phase>,
    /// Everything up to here was looked at; what of it matches was told, or waits in `chunks`.
    scanned: After,
    /// The last id that the peer was given.
    sent: After,
    /// Read from the log and not told yet: messages, and the id of the last of them.
    chunks: VecDeque<(Vec<u8>, After)>,
    /// The memory that they take.
    page: Option<PoolPart>,
    reading: Option<PendingPage>,
    /// The position that must be seen before the peer is told that it has caught up; `None` once it was told.
    behind: Option<After>,
    /// The time at which it last told something; `None` before the first message.
    sent_at: Option<Instant>,
    ended: bool,
    /// `true` once somebody else needs its place.
    gives_way: bool,
    _count: GaugeGuard,
    place: PoolPart,
}

/// A page of the log as messages, the memory that they take, and how far the log was looked at.
struct FollowPage {
    chunks: VecDeque<(Vec<u8>, After)>,
    memory: PoolPart,
    reached: After,
}

/// A page on its way.
type PendingPage = Pin<Box<dyn Future<Output = Result<FollowPage, Problem>> + Send>>;

impl EventFollower {
    /// Begins past a position, unless too many follow already.
    pub(crate) async fn new(
        api: Arc<Api>,
        caller: Caller,
        ledger: IndexedLedger,
        filter: Filter,
        after: After,
    ) -> Result<Self, Problem> {
        let place = api.place_to_wait(&caller).await?;
        let tail = api.tails.of(ledger.ledger());
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
            scanned: after,
            sent: after,
            chunks: VecDeque::new(),
            page: None,
            reading: None,
            sent_at: None,
            ended: false,
            gives_way: false,
            place,
        })
    }

    fn has_more(&self) -> bool {
        !self.chunks.is_empty() || self.scanned < self.tail.reached()
    }

    /// Waits until there is something to say, at the latest until a heartbeat is due.
    async fn next_message(&mut self, heartbeat: Instant) -> Bytes {
        loop {
            if self.gives_way {
                self.ended = true;
                return messages::failed(&place_given_up()).into();
            }
            if *self.phase.borrow() > Phase::Serving {
                self.ended = true;
                return messages::closing(self.sent, FOLLOW_RETRY).into();
            }
            if let Some((bytes, last)) = self.chunks.pop_front() {
                self.sent = last;
                let memory = self.page.as_mut().map(|page| page.split(bytes.len()));
                self.page = self.page.take().filter(|_| !self.chunks.is_empty());
                return memory.map_or_else(Bytes::new, |memory| memory.held_by(bytes));
            }
            if Instant::now() >= heartbeat {
                return self.heartbeat();
            }
            match self.tail.find(self.scanned) {
                TailLookup::Batch(batch) => {
                    let found = batch.messages(self.scanned, &self.filter);
                    if let Some((bytes, last)) = found {
                        let lag = self.api.limits.patience.lag;
                        let taken = self.api.follow_pages.take(self.caller.key(), bytes.len(), lag).await;
                        let Ok(memory) = taken else {
                            self.ended = true;
                            return messages::lagged(self.sent).into();
                        };
                        (self.scanned, self.sent) = (batch.last(), last);
                        return memory.held_by(bytes);
                    }
                    self.scanned = batch.last();
                }
                TailLookup::Edge if self.ledger.lost_end().is_some() => {
                    self.ended = true;
                    let fault = self.ledger.lost_end().map(|fault| fault.to_string()).unwrap_or_default();
                    return messages::failed(&Problem::new(Code::Corrupt, fault)).into();
                }
                TailLookup::Edge if self.behind.is_some_and(|goal| self.scanned >= goal) => {
                    self.behind = None;
                    self.sent = self.scanned;
                    return messages::caught_up(self.scanned).into();
                }
                TailLookup::Edge => self.wait(heartbeat).await,
                TailLookup::Behind => {
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
        if self.sent >= self.scanned {
            return Bytes::from_static(messages::HEARTBEAT);
        }
        self.sent = self.scanned;
        messages::mark(self.scanned).into()
    }

    async fn wait(&mut self, heartbeat: Instant) {
        tokio::select! {
            // The tail lives as long as we hold it, the phase as long as the service.
            _ = self.reached.changed() => (),
            _ = self.phase.changed() => (),
            () = self.place.give_way_requested() => self.gives_way = true,
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
                    from: ReadFrom::After(self.scanned),
                    until: None,
                    limit: FOLLOW_PAGE_EVENTS,
                    filter: self.filter.clone(),
                };
                self.reading.insert(Box::pin(read_page(api, self.caller.clone(), ledger, query)))
            }
        };
        let read = tokio::select! {
            read = reading.as_mut() => read,
            _ = self.phase.changed() => return Ok(()),
            () = self.place.give_way_requested() => {
                self.gives_way = true;
                return Ok(());
            }
            () = tokio::time::sleep_until(heartbeat) => return Ok(()),
        };
        self.reading = None;
        let FollowPage { chunks, memory, reached } = read?;
        (self.chunks, self.page, self.scanned) = (chunks, Some(memory), reached);
        Ok(())
    }

    /// Forgets what was read and not told. It is read again once the peer takes something.
    fn forget_page(&mut self) {
        self.chunks.clear();
        (self.page, self.scanned) = (None, self.sent);
    }
}

impl MessageSource for EventFollower {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let Some(sent_at) = self.sent_at else {
            self.sent_at = Some(Instant::now());
            return Some(messages::retry(FOLLOW_RETRY).into());
        };
        self.place.pace().moves();
        if let Some(page) = &self.page {
            page.pace().moves();
        }
        let message = self.next_message(sent_at + self.api.limits.patience.heartbeat).await;
        // A caller whose token has ended meanwhile hears that, and nothing else any more.
        if let Err(problem) = self.caller.still_holds(&self.api.authenticator) {
            self.ended = true;
            return Some(messages::failed(&problem).into());
        }
        self.sent_at = Some(Instant::now());
        Some(message)
    }

    /// The peer has not taken what was told last, and there is more. Others that need what it holds need not wait for its end.
    async fn given_up(&mut self) -> Bytes {
        let sent_at = *self.sent_at.get_or_insert_with(Instant::now);
        // A page that is on its way takes memory and would be of no use now.
        self.reading = None;
        let lag = tokio::time::sleep_until(sent_at + self.api.limits.patience.lag);
        tokio::pin!(lag);
        self.place.pace().waits_until(sent_at + FOLLOW_STALL);
        if let Some(page) = &self.page {
            page.pace().waits_until(sent_at + FOLLOW_STALL);
        }
        // After the time is over, whatever comes is too much.
        let mut is_late = false;
        while !(is_late && self.has_more()) {
            let page_wanted = async {
                match &mut self.page {
                    Some(page) => page.give_way_requested().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.place.give_way_requested() => return messages::failed(&place_given_up()).into(),
                () = page_wanted => self.forget_page(),
                () = &mut lag, if !is_late => is_late = true,
                changed = self.reached.changed(), if is_late => if changed.is_err() { break },
            }
        }
        self.api.metrics.lagged.inc();
        messages::lagged(self.sent).into()
    }
}

/// The problem of a follower that gives its place to others.
pub(super) fn place_given_up() -> Problem {
    let detail = "others need the place of this follower; come back later";
    Problem::new(Code::Overloaded, detail).with_retry_after(1)
}

/// Takes the memory for a page before it reads it.
async fn read_page(
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    query: ReadQuery,
) -> Result<FollowPage, Problem> {
    let mut memory = loop {
        // As long as it takes: heartbeats tell the peer that it is not forgotten.
        let most = FOLLOW_PAGE_BYTES.min(api.follow_pages.capacity());
        if let Ok(memory) = api.follow_pages.take(caller.key(), most, PLACE_WAIT).await {
            break memory;
        }
    };
    let (chunks, reached) = api
        .read_in_turn(move || {
            let page = ledger.read(&query)?;
            let reached = match page.next {
                Some(ReadFrom::After(after)) => after,
                Some(ReadFrom::Before(_)) | None => page.head.position.into(),
            };
            Ok((messages::chunks(&page.events), reached))
        })
        .await?;
    let chunks: VecDeque<_> =
        chunks.into_iter().map(|Chunk { bytes, last, .. }| (bytes, last.into())).collect();
    memory.shrink_to(chunks.iter().map(|(bytes, _): &(Vec<u8>, After)| bytes.len()).sum());
    Ok(FollowPage { chunks, memory, reached })
}
