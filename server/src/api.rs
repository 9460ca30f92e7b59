//! The state that every resource works with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName};
use bitacora_formats::Position;
use bitacora_ledger::Ledger;
use bitacora_projector::IndexedLedger;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::access::authenticator::Authenticator;
use crate::access::caller::Caller;
use crate::event_stream::tail::Tails;
use crate::evidence_bundle::BundlePlaces;
use crate::http::body::BodyReader;
use crate::http::lanes::Lanes;
use crate::http::media::single_header;
use crate::http::memory::MemoryBudget;
use crate::http::origin::WebRules;
use crate::http::path::PathNames;
use crate::http::phase::Phase;
use crate::http::pool::{Pool, PoolPart};
use crate::http::query::parse_position;
use crate::ledgers::Ledgers;
use crate::ledgers::required_models::RequiredModel;
use crate::limits::{MAX_BUNDLES, MIN_POSITION_WAIT, PLACE_WAIT, READ_QUEUE_WAIT};
use crate::metrics::Metrics;
use crate::problem::{Code, FaultLocation, Problem};
use crate::server_limits::ServerLimits;
use crate::tiers::TierCache;
use crate::turns::LedgerLocks;
use crate::verifications::Verifications;

/// The position that an answer's state must have reached.
const LEDGER_MIN_POSITION: HeaderName = HeaderName::from_static("ledger-min-position");

/// The callers that a service lets in without further questions. By default it lets in none.
#[derive(Debug, Default)]
pub(crate) struct Admittance {
    /// `true` if callers on this machine need no token where a ledger has none.
    pub(crate) is_open: bool,
    /// Pages and host names that requests may come from and be sent to.
    pub(crate) web: WebRules,
}

/// Shared by all requests of one server.
pub(crate) struct Api {
    pub(crate) ledgers: Arc<Ledgers>,
    /// Without these it is not ready.
    pub(crate) required_models: ArcSwap<Vec<RequiredModel>>,
    pub(crate) authenticator: Authenticator,
    /// Pages and host names that requests may come from and be sent to.
    pub(crate) web: WebRules,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bodies: BodyReader,
    /// The memory for pages of events until they are sent.
    pub(crate) answers: MemoryBudget,
    pub(crate) limits: ServerLimits,
    /// Memory of uploads of any length, bytes.
    pub(crate) uploads: Pool,
    /// Memory of pages that were read for followers and are not sent yet, bytes.
    pub(crate) follow_pages: Pool,
    /// Places for followers, and for reads that wait.
    pub(crate) followers: Pool,
    pub(crate) tails: Tails,
    /// Places for uploads of any length.
    pub(crate) ingests: Pool,
    /// For acts that rest on what stands there: the next version of a policy, whether a tool is known.
    pub(crate) turns: LedgerLocks,
    /// For erasures, each of which may wait for the anchor: acts that stop something never wait behind one.
    pub(crate) erasures: LedgerLocks,
    /// For holds and retention policies, which may wait for an erasure: one thread of a ledger does, however many ask.
    pub(crate) custody: LedgerLocks,
    /// Places for evidence bundles that are being made.
    pub(crate) bundles: BundlePlaces,
    pub(crate) verifications: Verifications,
    pub(crate) tiers: TierCache,
    reads: Arc<Semaphore>,
    phase: watch::Receiver<Phase>,
    drain: Notify,
    has_pages: AtomicBool,
}

impl Api {
    /// Takes note that pages are served too.
    pub(crate) fn serve_pages(&self) {
        self.has_pages.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if pages are served too.
    pub(crate) fn has_pages(&self) -> bool {
        self.has_pages.load(Ordering::Relaxed)
    }

    pub(crate) fn new(
        ledgers: Arc<Ledgers>,
        required_models: Vec<RequiredModel>,
        admittance: Admittance,
        limits: ServerLimits,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        let Admittance { is_open, web } = admittance;
        Self {
            authenticator: Authenticator::new(Arc::clone(&ledgers), is_open),
            ledgers,
            required_models: ArcSwap::from_pointee(required_models),
            web,
            metrics: Arc::new(Metrics::new()),
            bodies: BodyReader::new(Lanes::new(limits.max_body_bytes_in_flight)),
            uploads: Pool::new(limits.max_upload_bytes_in_flight),
            follow_pages: Pool::new(limits.max_follow_bytes_in_flight),
            answers: MemoryBudget::new(limits.max_answer_bytes_in_flight),
            followers: Pool::new(limits.max_followers),
            tails: Tails::default(),
            ingests: Pool::new(limits.max_ingests),
            turns: LedgerLocks::default(),
            erasures: LedgerLocks::default(),
            custody: LedgerLocks::default(),
            bundles: BundlePlaces::new(MAX_BUNDLES),
            verifications: Verifications::default(),
            tiers: TierCache::default(),
            reads: Arc::new(Semaphore::new(limits.max_reads)),
            limits,
            phase,
            drain: Notify::new(),
            has_pages: AtomicBool::new(false),
        }
    }

    /// The ledger that the path names.
    pub(crate) fn ledger_of(&self, names: &PathNames) -> Result<IndexedLedger, Problem> {
        let Some(name) = &names.ledger else {
            return Err(Problem::new(Code::InvalidLedgerName, "the path names no ledger"));
        };
        self.ledgers.ledger(name)
    }

    /// Asks for the service's end.
    pub(crate) fn drain(&self) {
        self.drain.notify_one();
    }

    /// Ready when the service's end was asked for.
    pub(crate) async fn drained(&self) {
        self.drain.notified().await;
    }

    /// Returns `true` if the shutdown has begun.
    pub(crate) fn is_ending(&self) -> bool {
        *self.phase.borrow() > Phase::Serving
    }

    /// Returns the phase of the shutdown, and every further step of it.
    pub(crate) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    /// Runs a read on a blocking thread, once one of the few places for reads is free.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = tokio::time::timeout(READ_QUEUE_WAIT, Arc::clone(&self.reads).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(too_many_reads()) };
        run_read(place, work).await
    }

    /// Returns `true` if there is room to read ahead: at least half of the places for reads, and of the memory for answers, are free.
    pub(crate) fn is_idle(&self) -> bool {
        self.reads.available_permits() >= self.limits.max_reads.div_ceil(2) && self.answers.is_half_free()
    }

    /// Runs a read as [`Self::read`] does, but waits for its place as long as it takes: for answers under way.
    pub(crate) async fn read_in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Arc::clone(&self.reads).acquire_owned().await.map_err(|_| too_many_reads())?;
        run_read(place, work).await
    }

    /// Takes room for a page until it is sent.
    pub(crate) async fn hold_answer(&self, bytes: Vec<u8>) -> Result<Bytes, Problem> {
        tokio::time::timeout(READ_QUEUE_WAIT, self.answers.hold(bytes)).await.map_err(|_| {
            Problem::new(Code::Overloaded, "too many answers wait to be taken; try again").with_retry_after(1)
        })
    }

    /// Takes a place for a follower, or for a caller that waits for new events. It gives way only to callers with fewer places.
    pub(crate) async fn place_to_wait(&self, caller: &Caller) -> Result<PoolPart, Problem> {
        let place = self.followers.take(caller.key(), 1, PLACE_WAIT).await.map_err(|_| {
            let detail = "too many follow or wait already; try again, or read without `wait`";
            Problem::new(Code::Overloaded, detail).with_retry_after(1)
        })?;
        place.pace().moves();
        Ok(place)
    }

    /// Waits until the ledger's durable head is at the position or past it; `false` when the time is over or the
    /// service ends first.
    pub(crate) async fn wait_for_head(&self, ledger: &Ledger, position: Position, until: Instant) -> bool {
        if ledger.head().position >= position {
            return true;
        }
        let mut heads = ledger.watch_head();
        let mut phase = self.phase.clone();
        tokio::select! {
            found = heads.wait_for(|head| head.position >= position) => found.is_ok(),
            _ = phase.wait_for(|phase| *phase > Phase::Serving) => false,
            () = tokio::time::sleep_until(until) => false,
        }
    }

    /// Waits for the state that the client asks for with `Ledger-Min-Position`.
    pub(crate) async fn wait_for_requested_state(
        &self,
        ledger: &Ledger,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        let Some(asked) = requested_position(headers)? else { return Ok(()) };
        if self.wait_for_head(ledger, asked, Instant::now() + MIN_POSITION_WAIT).await {
            return Ok(());
        }
        let tip = ledger.head().position;
        let detail = format!("the ledger stands at {tip}, {asked} is asked for; try again");
        Err(Problem::new(Code::ProjectionBehind, detail).with("position", tip).with_retry_after(1))
    }
}

/// The position that a client asks for with `Ledger-Min-Position`.
pub(crate) fn requested_position(headers: &HeaderMap) -> Result<Option<Position>, Problem> {
    let text = single_header(headers, &LEDGER_MIN_POSITION)?;
    text.map(|text| parse_position(text, FaultLocation::Header("Ledger-Min-Position"))).transpose()
}

fn too_many_reads() -> Problem {
    Problem::new(Code::Overloaded, "too many reads at once; try again").with_retry_after(1)
}

async fn run_read<T: Send + 'static>(
    place: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    done.await
        .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "reading failed on a defect of the service")))
}
