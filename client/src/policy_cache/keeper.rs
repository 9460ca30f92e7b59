//! The task that keeps a policy cache fresh: connects, takes what the service says, and connects again.

use std::sync::Arc;
use std::time::Instant;

use bitacora_formats::Micros;
use bitacora_governance::{REACTOR_VERSION, REPLICA_FORM, Replica, ReplicaBegin, ReplicaNews, StatePatch};
use tokio::sync::watch;
use tokio::time::timeout;

use super::freshness::Freshness;
use super::news::{News, read_news};
use super::{Kept, Known, Shared};
use crate::backoff::Backoff;
use crate::connection::{Connection, Pieces};
use crate::error::ClientError;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_PIECES, MAX_STATE_DIMENSIONS, NEWS_PATIENCE};
use crate::messages::Messages;

/// Why a connection is given up.
enum GivenUp {
    /// Another one may tell more.
    Passing(Option<ClientError>),
    /// None will.
    ForGood(String),
    /// The service decides by other rules; it may be replaced by one that does not.
    OtherRules,
}

impl From<ClientError> for GivenUp {
    fn from(error: ClientError) -> Self {
        if error.is_passing() { Self::Passing(Some(error)) } else { Self::ForGood(error.to_string()) }
    }
}

/// Keeps what is known fresh, until nobody asks any more.
pub(super) async fn keep(
    mut connection: Connection,
    path: String,
    shared: Arc<Shared>,
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
            GivenUp::ForGood(why) => {
                shared.change(|known| *known = Known::Ended(why.into()));
                return;
            }
            GivenUp::Passing(error) => error.and_then(|error| error.asked_pause()),
            GivenUp::OtherRules => None,
        };
        let pause = backoff.pause(asked).unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(pause) => (),
            _ = ended.changed() => return,
        }
    }
}

/// Takes what the service says over one connection, as long as it says something.
async fn follow(connection: &mut Connection, path: &str, shared: &Shared, has_told: &mut bool) -> GivenUp {
    let asked = Instant::now();
    let pieces = match connection.follow(path, None).await {
        Ok(pieces) => pieces,
        Err(error) => return error.into(),
    };
    let listened = Listener { shared, asked, coming: None, pieces: Vec::new() };
    match listened.listen(pieces, connection, has_told).await {
        Err(given_up) => given_up,
        Ok(()) => GivenUp::Passing(None),
    }
}

/// Who takes what comes over one connection.
struct Listener<'s> {
    shared: &'s Shared,
    asked: Instant,
    /// A state of which not every piece has come.
    coming: Option<Box<Kept>>,
    /// Pieces of a change of which not every one has come.
    pieces: Vec<StatePatch>,
}

impl Listener<'_> {
    async fn listen(
        mut self,
        mut pieces: Pieces,
        connection: &Connection,
        has_told: &mut bool,
    ) -> Result<(), GivenUp> {
        let mut messages = Messages::default();
        loop {
            // Whoever is silent for that long is gone, whatever the connection says.
            let Ok(piece) = timeout(NEWS_PATIENCE, pieces.next()).await else { return Ok(()) };
            let Some(piece) = piece? else { return Ok(()) };
            messages.push(&piece);
            let strange = || GivenUp::from(connection.strange());
            for news in messages.take_as(read_news).map_err(|_| strange())? {
                match news {
                    News::State(news) => {
                        self.take(*news, Instant::now())
                            .map_err(|given_up| given_up.unwrap_or_else(strange))?;
                        *has_told = true;
                    }
                    News::Ending => return Ok(()),
                    News::Failed { is_retryable: true, .. } => return Ok(()),
                    News::Failed { what, is_retryable: false } => return Err(GivenUp::ForGood(what)),
                    News::Other => {}
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

    /// Takes one message in; `Err(None)` where it is none that is understood.
    fn take(&mut self, news: ReplicaNews, heard: Instant) -> Result<(), Option<GivenUp>> {
        let ReplicaNews { begin, position, time, patch, more } = news;
        if let Some(ReplicaBegin { rules, form, executor, is_bound, .. }) = begin {
            if (rules, form) != (REACTOR_VERSION, REPLICA_FORM) {
                self.shared.change(|known| *known = Known::OtherRules { rules, form });
                return Err(Some(GivenUp::OtherRules));
            }
            let freshness = Freshness::begin(self.asked, time, heard);
            let replica = Replica::new(executor);
            self.coming = Some(Box::new(Kept { replica, is_bound, position: 0, freshness }));
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
            self.shared.change(|known| *known = Known::Replica(coming));
            return Ok(());
        }
        // All of them at once: nobody is told what is between two states.
        let pieces = std::mem::take(&mut self.pieces);
        self.shared.change(|known| {
            // It did not begin with the begin.
            let Known::Replica(kept) = known else { return Err(None) };
            pieces.into_iter().try_for_each(|piece| kept.take(piece))?;
            kept.stand_at(position.get(), time, heard);
            Ok(())
        })
    }
}

impl Kept {
    fn take(&mut self, patch: StatePatch) -> Result<(), Option<GivenUp>> {
        self.replica.take(patch);
        if self.replica.dimensions() > MAX_STATE_DIMENSIONS { Err(None) } else { Ok(()) }
    }

    fn stand_at(&mut self, position: u64, time: Micros, heard: Instant) {
        self.position = position;
        self.freshness.hear(time, heard);
    }
}
