//! The follower of one ledger: it sends a notice for each event that needs one, one after another.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{After, Data, LedgerName, Micros};
use bitacora_ledger::{Environment, Filter, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    ApprovalRequested, BreakerOpened, BudgetExceeded, CoverageGap, EventData, LedgerClockJumped, MissingHalf,
    RunOverdue, ToolDrifted,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::watch;

use super::cursor::Cursor;
use super::webhook::{DeliveryFailure, Notice, Webhook};
use crate::api::Api;
use crate::http::phase::Phase;
use crate::json::JsonWriter;
use crate::limits::{MAX_NOTICE_PAUSE, MIN_NOTICE_PAUSE, NOTICE_LIFE, NOTICES_AT_ONCE};
use crate::page::write_event_members;

/// Follows one ledger.
pub(super) struct NoticeFollower {
    api: Arc<Api>,
    webhook: Arc<Webhook>,
    name: LedgerName,
    ledger: IndexedLedger,
    /// Nothing recorded before is told of.
    since: Option<Micros>,
    phase: watch::Receiver<Phase>,
}

/// The service ends.
struct ShutdownBegan;

impl NoticeFollower {
    pub(super) fn new(api: Arc<Api>, webhook: Arc<Webhook>, name: LedgerName, ledger: IndexedLedger) -> Self {
        let phase = api.phase();
        Self { api, webhook, name, ledger, since: None, phase }
    }

    /// Tells of every event from where it was left off, until the service ends. If no sealed file says that, it tells of events no older
    /// than [`NOTICE_LIFE`]: a removed file must not hide events that nobody was told of.
    pub(super) async fn run(mut self) {
        let now = self.api.ledgers.time_in(self.ledger.ledger());
        let head = After::new(self.ledger.head().position.get());
        let mut after = match self.read_cursor().await {
            // A position that the ledger lacks is of a generation whose end was lost.
            Some(after) if after <= head => after,
            _ => {
                let life = u64::try_from(NOTICE_LIFE.as_micros()).unwrap_or(u64::MAX);
                self.since = Some(Micros(now.0.saturating_sub(life)));
                After::START
            }
        };
        let mut heads = self.ledger.watch_head();
        loop {
            tokio::select! {
                seen = heads.wait_for(|head| head.position.get() > after.get()) => {
                    if seen.is_err() {
                        return;
                    }
                }
                _ = self.phase.wait_for(|phase| *phase > Phase::Serving) => return,
            }
            match self.notify(after).await {
                Ok(reached) => after = reached,
                Err(ShutdownBegan) => return,
            }
        }
    }

    /// Tells of durable events behind `after`; returns the position that it came to.
    async fn notify(&mut self, after: After) -> Result<After, ShutdownBegan> {
        let mut from = ReadFrom::After(after);
        loop {
            let page = match self.read(from).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(ledger = %self.name, %error, "events to tell of cannot be read; trying again");
                    self.pause(MAX_NOTICE_PAUSE).await?;
                    continue;
                }
            };
            for stored in page.events.iter().filter(|stored| is_for_operators(stored)) {
                self.deliver(&self.notice_of(stored)).await?;
                self.keep(After::new(stored.position.get())).await;
            }
            match page.next {
                Some(next) => from = next,
                None => return Ok(After::new(page.head.position.get())),
            }
        }
    }

    /// Sends it until it is taken, or too old to be of use.
    async fn deliver(&mut self, notice: &Notice) -> Result<(), ShutdownBegan> {
        let mut pause = MIN_NOTICE_PAUSE;
        loop {
            let now = self.api.ledgers.time_in(self.ledger.ledger());
            if age(notice.time, now) > NOTICE_LIFE {
                self.webhook.give_up(notice, "nobody took it for too long");
                return Ok(());
            }
            let error = match self.webhook.send(notice, now).await {
                Ok(()) => return Ok(()),
                Err(unwanted @ DeliveryFailure::Unwanted) => {
                    self.webhook.give_up(notice, &unwanted.to_string());
                    return Ok(());
                }
                Err(DeliveryFailure::Yet(error)) => error,
            };
            tracing::warn!(notice = notice.id, %error, "a notice was not taken; it is sent again");
            self.pause(pause).await?;
            pause = (pause * 2).min(MAX_NOTICE_PAUSE);
        }
    }

    async fn pause(&mut self, pause: Duration) -> Result<(), ShutdownBegan> {
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            _ = self.phase.wait_for(|phase| *phase > Phase::Serving) => Err(ShutdownBegan),
        }
    }

    fn notice_of(&self, stored: &StoredEvent<'_>) -> Notice {
        let mut json = JsonWriter::with_capacity(1024);
        json.begin_object();
        json.text_member("ledger", self.name.as_str());
        write_event_members(stored, &mut json);
        json.end_object();
        Notice {
            id: format!("{}-{}-{}", self.name, self.ledger.id(), stored.position),
            kind: stored.event.kind.to_string(),
            time: stored.time,
            data: json.into_bytes(),
        }
    }

    async fn read(&self, from: ReadFrom) -> Result<bitacora_ledger::EventPage, ReadError> {
        let ledger = self.ledger.clone();
        let kinds = [
            BreakerOpened::KIND,
            BudgetExceeded::KIND,
            ApprovalRequested::KIND,
            LedgerClockJumped::KIND,
            RunOverdue::KIND,
            CoverageGap::KIND,
            ToolDrifted::KIND,
        ];
        let kinds = kinds.map(str::to_owned).to_vec();
        let filter = Filter { kinds, since: self.since, ..Filter::default() };
        let query = ReadQuery { from, until: None, limit: NOTICES_AT_ONCE, filter };
        let read = tokio::task::spawn_blocking(move || ledger.read(&query)).await;
        read.unwrap_or(Err(ReadError::Memory))
    }

    async fn read_cursor(&self) -> Option<After> {
        let read = self.with_cursor(|cursor, environment| cursor.read(&*environment.disk)).await;
        read.unwrap_or_else(|error| {
            tracing::warn!(ledger = %self.name, %error, "found no sealed position of notices; those of the last day are sent again");
            None
        })
    }

    /// Keeps the cursor. If it cannot be kept, notices behind the old one are sent again after a restart.
    async fn keep(&self, after: After) {
        let kept = self.with_cursor(move |cursor, environment| cursor.write(&*environment.disk, after)).await;
        if let Err(error) = kept {
            tracing::warn!(ledger = %self.name, %error, "how far notices came cannot be kept; some are sent again after a restart");
        }
    }

    async fn with_cursor<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cursor, &Environment) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let (folder, environment) = self.api.ledgers.place(&self.name);
        let ledger = self.ledger.ledger().clone();
        let worked =
            tokio::task::spawn_blocking(move || work(&Cursor::new(folder, ledger), &environment)).await;
        worked.unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }
}

/// Returns `false` for a gap that needs nobody's look: one of a recording made elsewhere, or of a call whose end alone is missing.
fn is_for_operators(stored: &StoredEvent<'_>) -> bool {
    /// The members of a gap that tell.
    #[derive(Deserialize)]
    struct GapMembers {
        missing: MissingHalf,
        #[serde(default)]
        assurance: Option<IgnoredAny>,
    }
    if stored.event.kind != CoverageGap::KIND {
        return true;
    }
    let Data::Json(json) = &stored.event.data else { return false };
    serde_json::from_slice::<GapMembers>(json.as_bytes())
        .is_ok_and(|gap| gap.missing == MissingHalf::Decision && gap.assurance.is_none())
}

fn age(time: Micros, now: Micros) -> Duration {
    Duration::from_micros(now.0.saturating_sub(time.0))
}
