//! The task that keeps a policy cache fresh: connects, takes in messages, and connects again.

use std::sync::Arc;
use std::time::Instant;

use bitacora_formats::Micros;
use bitacora_governance::{REACTOR_VERSION, REPLICA_FORM, Replica, ReplicaBegin, ReplicaNews, StatePatch};
use tokio::sync::watch;
use tokio::time::timeout;

use super::freshness::Freshness;
use super::news::{ServiceMessage, read_news};
use super::{CacheShared, CachedReplica, ReplicaState};
use crate::backoff::Backoff;
use crate::connection::{Connection, Pieces};
use crate::error::ClientError;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_PIECES, MAX_STATE_DIMENSIONS, NEWS_PATIENCE};
use crate::messages::Messages;

/// The reason why a connection is given up.
enum ConnectionEnd {
    /// A passing fault: another connection may get further.
    Passing(Option<ClientError>),
    /// A lasting fault: no connection will get further.
    ForGood(String),
    /// The service decides by other rules; it may be replaced by one that does not.
    OtherRules,
}

impl From<ClientError> for ConnectionEnd {
    fn from(error: ClientError) -> Self {
        if error.may_pass_later() { Self::Passing(Some(error)) } else { Self::ForGood(error.to_string()) }
    }
}

/// Keeps the cache fresh, until its last handle is gone.
pub(super) async fn keep(
    mut connection: Connection,
    path: String,
    shared: Arc<CacheShared>,
    mut ended: watch::Receiver<()>,
) {
    let mut backoff = Backoff::endless();
    loop {
        let mut has_told = false;
        let followed = tokio::select! {
            followed = follow(&mut connection, &path, &shared, &mut has_told) => followed,
            // Nobody has it any more: nothing is ever sent.
            _ = ended.changed() => return,
        };
        if has_told {
            backoff = Backoff::endless();
        }
        let asked = match followed {
            ConnectionEnd::ForGood(why) => {
                shared.change(|state| *state = ReplicaState::Ended(why.into()));
                return;
            }
            ConnectionEnd::Passing(error) => error.and_then(|error| error.requested_pause()),
            ConnectionEnd::OtherRules => None,
        };
        let pause = backoff.pause(asked).unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(pause) => (),
            _ = ended.changed() => return,
        }
    }
}

/// Takes in the messages of one connection, until it ends.
async fn follow(
    connection: &mut Connection,
    path: &str,
    shared: &CacheShared,
    has_told: &mut bool,
) -> ConnectionEnd {
    let asked = Instant::now();
    let pieces = match connection.follow(path, None).await {
        Ok(pieces) => pieces,
        Err(error) => return error.into(),
    };
    let listened = Listener { shared, asked, coming: None, pieces: Vec::new() };
    match listened.listen(pieces, connection, has_told).await {
        Err(given_up) => given_up,
        Ok(()) => ConnectionEnd::Passing(None),
    }
}

/// The receiver of one connection's messages.
struct Listener<'s> {
    shared: &'s CacheShared,
    asked: Instant,
    /// A new state of which not every piece has arrived.
    coming: Option<Box<CachedReplica>>,
    /// The pieces of a change of which not every one has arrived.
    pieces: Vec<StatePatch>,
}

impl Listener<'_> {
    async fn listen(
        mut self,
        mut pieces: Pieces,
        connection: &Connection,
        has_told: &mut bool,
    ) -> Result<(), ConnectionEnd> {
        let mut messages = Messages::default();
        loop {
            // A service that is silent for that long is gone, whatever the state of the connection.
            let Ok(piece) = timeout(NEWS_PATIENCE, pieces.next()).await else { return Ok(()) };
            let Some(piece) = piece? else { return Ok(()) };
            messages.push(&piece);
            let strange = || ConnectionEnd::from(connection.strange());
            for news in messages.take_as(read_news).map_err(|_| strange())? {
                match news {
                    ServiceMessage::State(news) => {
                        self.take(*news, Instant::now())
                            .map_err(|given_up| given_up.unwrap_or_else(strange))?;
                        *has_told = true;
                    }
                    ServiceMessage::Ending => return Ok(()),
                    ServiceMessage::Failed { is_retryable: true, .. } => return Ok(()),
                    ServiceMessage::Failed { what, is_retryable: false } => {
                        return Err(ConnectionEnd::ForGood(what));
                    }
                    ServiceMessage::Other => {}
                }
            }
            if messages.waiting() > MAX_MESSAGE_BYTES {
                return Err(strange());
            }
            // Both clocks do not run alike, or this side is too slow: they are compared anew.
            if self.coming.is_none() && *has_told && self.shared.is_stale() {
                return Ok(());
            }
        }
    }

    /// Takes one message in; `Err(None)` where it is not understood.
    fn take(&mut self, news: ReplicaNews, heard: Instant) -> Result<(), Option<ConnectionEnd>> {
        let ReplicaNews { begin, position, time, patch, more } = news;
        if let Some(ReplicaBegin { rules, form, executor, is_bound, .. }) = begin {
            if (rules, form) != (REACTOR_VERSION, REPLICA_FORM) {
                self.shared.change(|state| *state = ReplicaState::OtherRules { rules, form });
                return Err(Some(ConnectionEnd::OtherRules));
            }
            let freshness = Freshness::begin(self.asked, time, heard);
            let replica = Replica::new(executor);
            self.coming = Some(Box::new(CachedReplica { replica, is_bound, position: 0, freshness }));
        }
        if let Some(patch) = &patch {
            let patch: StatePatch = serde_json::from_str(patch.get()).map_err(|_| None)?;
            match &mut self.coming {
                Some(coming) => coming.take(patch)?,
                None => self.pieces.push(patch),
            }
        }
        if more {
            return if self.pieces.len() > MAX_PIECES { Err(None) } else { Ok(()) };
        }
        if let Some(mut coming) = self.coming.take() {
            coming.stand_at(position.get(), time, heard);
            self.shared.change(|state| *state = ReplicaState::Replica(coming));
            return Ok(());
        }
        // All of them at once: nobody is told what is between two states.
        let pieces = std::mem::take(&mut self.pieces);
        self.shared.change(|state| {
            // It did not begin with the begin.
            let ReplicaState::Replica(cached) = state else { return Err(None) };
            pieces.into_iter().try_for_each(|piece| cached.take(piece))?;
            cached.stand_at(position.get(), time, heard);
            Ok(())
        })
    }
}

impl CachedReplica {
    fn take(&mut self, patch: StatePatch) -> Result<(), Option<ConnectionEnd>> {
        self.replica.take(patch);
        if self.replica.dimensions() > MAX_STATE_DIMENSIONS { Err(None) } else { Ok(()) }
    }

    fn stand_at(&mut self, position: u64, time: Micros, heard: Instant) {
        self.position = position;
        self.freshness.hear(time, heard);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;
    use std::time::Duration;

    use bitacora_vocabulary::{Dimension, TrustRecord};
    use serde_json::{Value, json};

    use super::*;

    fn shared() -> CacheShared {
        let state = RwLock::new(ReplicaState::Nothing);
        CacheShared { stale_after: Duration::from_secs(3), state, heard: watch::Sender::new(0) }
    }

    fn listener(shared: &CacheShared) -> Listener<'_> {
        Listener { shared, asked: Instant::now(), coming: None, pieces: Vec::new() }
    }

    fn begin(rules: u32, form: u32) -> Value {
        json!({"ledger": "l", "rules": rules, "form": form, "executor": {"actor": "agent:local"}, "isBound": false})
    }

    /// Returns a piece that names one dimension.
    fn piece(context: &str, position: u64, more: bool) -> Value {
        let dimension = Dimension::new("t", context, "-", "-").unwrap();
        let trust = json!({"put": [[dimension, TrustRecord::default()]]});
        json!({"position": position.to_string(), "time": "2026-01-05T00:00:00Z", "patch": {"trust": trust}, "more": more})
    }

    fn take(listener: &mut Listener<'_>, news: &Value) -> Result<(), Option<ConnectionEnd>> {
        listener.take(serde_json::from_str(&news.to_string()).unwrap(), Instant::now())
    }

    /// Returns the replica's position, and the number of its dimensions.
    fn stands(shared: &CacheShared) -> Option<(u64, usize)> {
        match &*shared.state.read().unwrap() {
            ReplicaState::Replica(cached) => Some((cached.position, cached.replica.dimensions())),
            ReplicaState::Nothing | ReplicaState::OtherRules { .. } | ReplicaState::Ended(_) => None,
        }
    }

    fn begun(shared: &CacheShared) -> Listener<'_> {
        let mut listener = listener(shared);
        let mut first = piece("a", 7, false);
        first["begin"] = begin(REACTOR_VERSION, REPLICA_FORM);
        take(&mut listener, &first).ok().unwrap();
        listener
    }

    #[test]
    fn what_is_between_two_states_nobody_is_told() {
        let shared = shared();
        let mut listener = listener(&shared);
        let mut first = piece("a", 7, true);
        first["begin"] = begin(REACTOR_VERSION, REPLICA_FORM);
        for (news, stood) in [
            (first, None),
            (piece("b", 7, false), Some((7, 2))),
            (piece("c", 9, true), Some((7, 2))),
            (piece("d", 9, true), Some((7, 2))),
            (piece("e", 9, false), Some((9, 5))),
            (json!({"position": "11", "time": "2026-01-05T00:00:01Z"}), Some((11, 5))),
        ] {
            assert!(take(&mut listener, &news).is_ok(), "{news}");
            assert_eq!(stands(&shared), stood, "{news}");
        }
    }

    #[test]
    fn by_other_rules_or_in_another_form_nothing_is_predicted() {
        for (rules, form) in [(REACTOR_VERSION + 1, REPLICA_FORM), (REACTOR_VERSION, REPLICA_FORM + 1)] {
            let shared = shared();
            drop(begun(&shared));
            assert_eq!(stands(&shared), Some((7, 1)));
            // A patch that would not even be read.
            let mut other =
                json!({"position": "8", "time": "2026-01-05T00:00:01Z", "patch": {"unheard": "of"}});
            other["begin"] = begin(rules, form);
            let given_up = take(&mut listener(&shared), &other);
            assert!(matches!(given_up, Err(Some(ConnectionEnd::OtherRules))));
            let state = shared.state.read().unwrap();
            assert!(
                matches!(*state, ReplicaState::OtherRules { rules: by, form: of } if (by, of) == (rules, form)),
                "what was known before is not gone on with"
            );
        }
    }

    #[test]
    fn what_is_not_understood_ends_the_connection() {
        let shared = shared();
        let without_begin = take(&mut listener(&shared), &piece("a", 7, false));
        assert!(matches!(without_begin, Err(None)));
        assert_eq!(stands(&shared), None);
        let mut listener = begun(&shared);
        let strange = json!({"position": "8", "time": "2026-01-05T00:00:01Z", "patch": {"unheard": "of"}});
        assert!(matches!(take(&mut listener, &strange), Err(None)));
        for number in 0..MAX_PIECES {
            assert!(take(&mut listener, &piece(&format!("c{number}"), 9, true)).is_ok(), "{number}");
        }
        assert!(matches!(take(&mut listener, &piece("one too many", 9, true)), Err(None)));
        assert_eq!(stands(&shared), Some((7, 1)), "what was known stands");
    }
}
