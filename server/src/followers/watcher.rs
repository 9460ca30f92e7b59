//! One replica that is kept fresh: the state that concerns its executor, then the changes to it.
//!
//! A message is the difference between two copies of the published state, never an event. It reaches nobody who has no part in it, however
//! it came about. Copies share all that did not change, so finding the difference takes about as long as there is of it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use bitacora_formats::{After, Micros, Position};
use bitacora_governance::{
    CutProgress, Executor, Governance, REACTOR_VERSION, REPLICA_FORM, ReplicaBegin, ReplicaNews, StateCopy,
};
use bitacora_ledger::Head;
use bitacora_projector::IndexedLedger;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::event_stream::messages;
use crate::followers::event_follower::place_given_up;
use crate::followers::follow_body::MessageSource;
use crate::http::phase::Phase;
use crate::http::pool::PoolPart;
use crate::limits::{
    FOLLOW_RETRY, FOLLOW_STALL, POLICY_CACHE_HEARTBEAT, POLICY_CACHE_PACE, WATCH_PIECE_BYTES,
};
use crate::metrics::GaugeGuard;
use crate::problem::{Code, Problem};
use crate::requests::listing::unwritable;

/// A state that the peer is told of. All that was durable at `time`, and up to `position`, is in it.
#[derive(Clone)]
pub(crate) struct WatchedState {
    pub(crate) copy: Arc<StateCopy>,
    pub(crate) position: Position,
    pub(crate) time: Micros,
}

impl WatchedState {
    /// As it is now.
    ///
    /// # Errors
    /// There is more of it than is handed out.
    pub(crate) fn now(api: &Api, ledger: &IndexedLedger, governance: &Governance) -> Result<Self, Problem> {
        // In this order: what was durable at that time, and up to that position, is in the copy.
        let (time, head) = (api.ledgers.time_in(ledger.ledger()), ledger.head().position);
        let copy = governance.copy();
        let position = copy.through.map_or(head, |through| through.max(head));
        let counts = copy.state.counts();
        let dimensions = counts.dimensions.max(counts.breakers);
        let most = api.limits.max_policy_cache_dimensions;
        if dimensions > most {
            let detail = format!(
                "the state has {dimensions} dimensions; up to {most} are handed out: ask the ledger about each call \
                 instead"
            );
            return Err(Problem::new(Code::StateTooLarge, detail));
        }
        Ok(Self { copy, position, time })
    }

    /// Returns the facts of the first message.
    ///
    /// # Errors
    /// Only those that the caller has had before.
    pub(crate) fn begin(
        ledger: &IndexedLedger,
        executor: &Executor,
        caller: &Caller,
    ) -> Result<ReplicaBegin, Problem> {
        Ok(ReplicaBegin {
            ledger: ledger.id().to_string(),
            rules: REACTOR_VERSION,
            form: REPLICA_FORM,
            executor: executor.clone(),
            is_bound: caller.agent_for(None)?.is_some(),
        })
    }
}

/// Tells its peer what concerns an executor, at the pace of the peer.
pub(crate) struct Watcher {
    api: Arc<Api>,
    caller: Caller,
    ledger: IndexedLedger,
    governance: Arc<Governance>,
    executor: Arc<Executor>,
    heads: watch::Receiver<Head>,
    phase: watch::Receiver<Phase>,
    /// The state that the peer has, once it has one.
    sent: Option<WatchedState>,
    /// The state that the peer is being told of, and how far.
    sending: Option<(WatchedState, CutProgress)>,
    /// The time of the last message; `None` before the first one.
    sent_at: Option<Instant>,
    ended: bool,
    /// `true` once somebody else needs its place.
    gives_way: bool,
    _count: GaugeGuard,
    place: PoolPart,
}

impl Watcher {
    /// Begins, unless too many follow already.
    pub(crate) async fn new(
        api: Arc<Api>,
        caller: Caller,
        ledger: IndexedLedger,
        governance: Arc<Governance>,
        executor: Executor,
    ) -> Result<Self, Problem> {
        let place = api.place_to_wait(&caller).await?;
        // Before the state is looked at: what comes after is heard of.
        let heads = ledger.watch_head();
        let first = WatchedState::now(&api, &ledger, &governance)?;
        Ok(Self {
            heads,
            phase: api.phase(),
            _count: api.metrics.follower(),
            sending: Some((first, CutProgress::default())),
            sent: None,
            sent_at: None,
            ended: false,
            gives_way: false,
            executor: Arc::new(executor),
            api,
            caller,
            ledger,
            governance,
            place,
        })
    }

    async fn next_message(&mut self, last: Instant) -> Result<Bytes, Problem> {
        loop {
            if self.gives_way {
                return Err(place_given_up());
            }
            if *self.phase.borrow() > Phase::Serving {
                self.ended = true;
                return Ok(messages::closing(self.sent_through(), FOLLOW_RETRY).into());
            }
            if let Some((to, progress)) = self.sending.take() {
                if let Some(message) = self.next_piece_message(to, progress).await? {
                    return Ok(message);
                }
                continue;
            }
            let heartbeat = last + POLICY_CACHE_HEARTBEAT;
            let is_news = self.heads.has_changed().unwrap_or(false);
            if is_news && last.elapsed() >= POLICY_CACHE_PACE || Instant::now() >= heartbeat {
                self.heads.mark_unchanged();
                let now = WatchedState::now(&self.api, &self.ledger, &self.governance)?;
                if self.sent.as_ref().is_some_and(|sent| sent.copy.through == now.copy.through) {
                    // Nothing that governs: the peer hears it with the next heartbeat.
                    if Instant::now() >= heartbeat {
                        let news = ReplicaNews::at(now.position, now.time);
                        self.sent = Some(now);
                        return message(&news).map(Into::into);
                    }
                } else {
                    self.sending = Some((now, CutProgress::default()));
                }
                continue;
            }
            let pause = if is_news { last + POLICY_CACHE_PACE } else { heartbeat };
            tokio::select! {
                _ = self.heads.changed(), if !is_news => self.heads.mark_changed(),
                _ = self.phase.changed() => (),
                () = self.place.give_way_requested() => self.gives_way = true,
                () = tokio::time::sleep_until(pause) => (),
            }
        }
    }

    /// The next piece of the state that the peer is being told of. `None` if nothing of it changed for the executor; that is told with the
    /// next heartbeat.
    async fn next_piece_message(
        &mut self,
        to: WatchedState,
        mut progress: CutProgress,
    ) -> Result<Option<Bytes>, Problem> {
        let is_first = progress == CutProgress::default();
        let most = WATCH_PIECE_BYTES.min(self.api.follow_pages.capacity());
        let wait = self.api.limits.patience.lag;
        let room = self.api.follow_pages.take(self.caller.key(), most, wait).await;
        let mut room = room.map_err(|_| place_given_up())?;
        let (before, state, executor) = (self.sent.clone(), to.clone(), Arc::clone(&self.executor));
        let (piece, further) = self
            .api
            .read_in_turn(move || {
                let before = before.as_ref().map(|before| &before.copy.state);
                let piece = state.copy.state.next_piece(before, &executor, &mut progress);
                let more = state.copy.state.has_more_pieces(before, progress);
                let news = ReplicaNews::at(state.position, state.time);
                let news =
                    piece.map(|piece| news.with(&piece)).transpose().map_err(|error| unwritable(&error))?;
                Ok((news, more.then_some(progress)))
            })
            .await?;
        let Some(mut news) = piece else {
            self.sent = Some(to);
            return Ok(None);
        };
        news.more = further.is_some();
        if is_first && self.sent.is_none() {
            news.begin = Some(WatchedState::begin(&self.ledger, &self.executor, &self.caller)?);
        }
        match further {
            Some(progress) => self.sending = Some((to, progress)),
            None => self.sent = Some(to),
        }
        let bytes = message(&news)?;
        room.shrink_to(bytes.len());
        Ok(Some(room.held_by(bytes)))
    }
}

fn message(news: &ReplicaNews) -> Result<Vec<u8>, Problem> {
    let json = serde_json::to_vec(news).map_err(|error| unwritable(&error))?;
    let kind = if news.patch.is_some() { "state" } else { "at" };
    let mut message = format!("event: {kind}\nid: {}\ndata: ", news.position).into_bytes();
    message.extend_from_slice(&json);
    message.extend_from_slice(b"\n\n");
    Ok(message)
}

impl MessageSource for Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let Some(sent_at) = self.sent_at else {
            self.sent_at = Some(Instant::now());
            return Some(messages::retry(FOLLOW_RETRY).into());
        };
        self.place.pace().moves();
        let message = self.next_message(sent_at).await;
        // A caller whose token has ended meanwhile hears that, and nothing else any more.
        let message = self.caller.still_holds(&self.api.authenticator).and(message);
        self.sent_at = Some(Instant::now());
        Some(message.unwrap_or_else(|problem| {
            self.ended = true;
            messages::failed(&problem).into()
        }))
    }

    async fn given_up(&mut self) -> Bytes {
        let sent_at = *self.sent_at.get_or_insert_with(Instant::now);
        self.place.pace().waits_until(sent_at + FOLLOW_STALL);
        let until = sent_at + self.patience();
        tokio::select! {
            () = self.place.give_way_requested() => return messages::failed(&place_given_up()).into(),
            () = tokio::time::sleep_until(until) => (),
        }
        self.api.metrics.lagged.inc();
        messages::lagged(self.sent_through()).into()
    }
}

impl Watcher {
    /// Returns the time that the peer may take for one message: something is always to be told.
    fn patience(&self) -> Duration {
        self.api.limits.patience.lag + POLICY_CACHE_HEARTBEAT
    }

    /// The position of the state that the peer has whole.
    fn sent_through(&self) -> After {
        self.sent.as_ref().map_or(After::START, |sent| sent.position.into())
    }
}
