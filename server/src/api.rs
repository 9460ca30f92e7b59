//! The table of routes, and the state that every resource works with.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post, put};
use bitacora_formats::Position;
use bitacora_ledger::Ledger;
use bitacora_projector::IndexedLedger;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::access::{Caller, guard};
use crate::act::Turns;
use crate::body::BodyReader;
use crate::config::ServerLimits;
use crate::connection::Phase;
use crate::doubt;
use crate::first_tokens::Admittance;
use crate::following::Tails;
use crate::lanes::Lanes;
use crate::ledgers::Ledgers;
use crate::limits::{MIN_POSITION_WAIT, PLACE_WAIT, READ_QUEUE_WAIT};
use crate::media::single_header;
use crate::memory::MemoryBudget;
use crate::metrics::Metrics;
use crate::origin::{self, WebRules};
use crate::path::PathNames;
use crate::pool::{Part, Pool};
use crate::problem::{Code, Place, Problem};
use crate::query::parse_position;
use crate::required_models::RequiredModel;
use crate::resources::{
    admin, annotations, append, approvals, breakers, budgets, calls, checkpoint_acts, checkpoints, clock,
    contents, contract_history, contracts, costs, decide, decisions, events, gaps, grants, head, health,
    imports, ingest, ledgers, metrics, mode, openapi, outcome, policy, policy_cache, projections, proofs,
    rates, receipts, resolutions, runs, schemas, sessions, sign_in, starter, state, stops, suggestions,
    tiles, tool_usage, tools, tree_head, trust, trust_history, trust_months, unregistered_tools, what_if,
};

/// The position that an answer's state must have reached.
const LEDGER_MIN_POSITION: HeaderName = HeaderName::from_static("ledger-min-position");

/// Shared by all requests of one server.
pub(crate) struct Api {
    pub(crate) ledgers: Arc<Ledgers>,
    /// Without these it is not ready.
    pub(crate) required_models: Vec<RequiredModel>,
    /// `true` if callers on this machine need no token where a ledger has none.
    pub(crate) is_open: bool,
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
    pub(crate) turns: Turns,
    reads: Arc<Semaphore>,
    phase: watch::Receiver<Phase>,
    drain: Notify,
}

/// Every path of the interface.
pub(crate) fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/", get(sign_in::page))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/openapi.json", get(openapi::document))
        .route("/v1/ledgers", get(ledgers::list).post(ledgers::create))
        .route("/v1/ledgers/{ledger}", get(ledgers::show))
        .route("/v1/ledgers/{ledger}/head", get(head::head))
        .route("/v1/ledgers/{ledger}/events", get(events::list).post(append::append))
        .route("/v1/ledgers/{ledger}/events:ingest", post(ingest::ingest))
        .route("/v1/ledgers/{ledger}/streams/{stream}/events:ingest", post(ingest::ingest_to_stream))
        .route("/v1/ledgers/{ledger}/events/{position}", get(events::show))
        .route(
            "/v1/ledgers/{ledger}/streams/{stream}/events",
            get(events::list_stream).post(append::append_to_stream),
        )
        .route("/v1/ledgers/{ledger}/proofs/inclusion", get(proofs::inclusion))
        .route("/v1/ledgers/{ledger}/proofs/consistency", get(proofs::consistency))
        .route("/v1/ledgers/{ledger}/tile/{*tile}", get(tiles::show))
        .route("/v1/ledgers/{ledger}/receipts/{position}", get(receipts::show))
        .route("/v1/ledgers/{ledger}/treehead", get(tree_head::show))
        .route("/v1/ledgers/{ledger}/checkpoint", get(tree_head::checkpoint))
        .route("/v1/ledgers/{ledger}/decide", post(decide::decide))
        .route("/v1/ledgers/{ledger}/decide:batch", post(decide::decide_batch))
        .route("/v1/ledgers/{ledger}/outcome", post(outcome::report))
        .route("/v1/ledgers/{ledger}/approvals", get(approvals::list))
        .route("/v1/ledgers/{ledger}/approvals/{approval}", get(approvals::show).post(approvals::resolve))
        .route("/v1/ledgers/{ledger}/decisions/{position}", get(decisions::show))
        .route("/v1/ledgers/{ledger}/tools", get(tools::list))
        .route("/v1/ledgers/{ledger}/tools/{tool}", put(tools::put).delete(tools::revoke))
        .route("/v1/ledgers/{ledger}/unregistered-tools", get(unregistered_tools::list))
        .route("/v1/ledgers/{ledger}/policy", get(policy::show).put(policy::publish))
        .route("/v1/ledgers/{ledger}/policy/{version}", get(policy::show_version).post(policy::change))
        .route("/v1/ledgers/{ledger}/policy/{version}/diff", get(policy::diff))
        .route("/v1/ledgers/{ledger}/policy:dry-run", post(what_if::dry_run))
        .route("/v1/ledgers/{ledger}/starter", get(starter::show))
        .route("/v1/ledgers/{ledger}/starter:upgrade", post(starter::upgrade))
        .route("/v1/ledgers/{ledger}/policy-cache", get(policy_cache::show))
        .route("/v1/ledgers/{ledger}/policy-cache:watch", get(policy_cache::watch))
        .route("/v1/ledgers/{ledger}/replay", get(what_if::replay))
        .route("/v1/ledgers/{ledger}/trust", get(trust::list))
        .route("/v1/ledgers/{ledger}/trust/record", get(trust::record))
        .route("/v1/ledgers/{ledger}/trust/history", get(trust_history::history))
        .route("/v1/ledgers/{ledger}/trust/months", get(trust_months::list))
        .route("/v1/ledgers/{ledger}/trust:set", post(trust::set))
        .route("/v1/ledgers/{ledger}/trust:probe", post(trust::probe))
        .route("/v1/ledgers/{ledger}/breakers", get(breakers::list))
        .route("/v1/ledgers/{ledger}/breakers:configure", post(breakers::configure))
        .route("/v1/ledgers/{ledger}/breakers:close", post(breakers::close))
        .route("/v1/ledgers/{ledger}/mode", get(mode::show).put(mode::set))
        .route("/v1/ledgers/{ledger}/budgets", get(budgets::list).put(budgets::configure))
        .route("/v1/ledgers/{ledger}/contracts", get(contracts::list))
        .route("/v1/ledgers/{ledger}/contracts/{contract}", get(contract_history::show))
        .route("/v1/ledgers/{ledger}/contracts/{contract}/checks", get(contract_history::checks))
        .route("/v1/ledgers/{ledger}/rollbacks", get(contract_history::rollbacks))
        .route("/v1/ledgers/{ledger}/rates", get(rates::list).put(rates::configure))
        .route("/v1/ledgers/{ledger}/grants", get(grants::list).post(grants::give))
        .route("/v1/ledgers/{ledger}/grants/{grant}", delete(grants::revoke))
        .route("/v1/ledgers/{ledger}/imports", get(imports::list))
        .route("/v1/ledgers/{ledger}/imports/{import}", get(imports::show).post(imports::accept))
        .route("/v1/ledgers/{ledger}/clock", get(clock::show))
        .route("/v1/ledgers/{ledger}/clock:accept", post(clock::accept))
        .route("/v1/ledgers/{ledger}/panic", get(stops::show).post(stops::engage).delete(stops::release))
        .route("/v1/ledgers/{ledger}/agents/{agent}", post(stops::change))
        .route("/v1/ledgers/{ledger}/projections/governance", get(state::show))
        .route("/v1/ledgers/{ledger}/projections/{projection}", post(projections::fold_again))
        .route("/v1/ledgers/{ledger}/calls", get(calls::list))
        .route("/v1/ledgers/{ledger}/calls/{call}", get(calls::show))
        .route("/v1/ledgers/{ledger}/costs", get(costs::list))
        .route("/v1/ledgers/{ledger}/tool-usage", get(tool_usage::list))
        .route("/v1/ledgers/{ledger}/resolutions", get(resolutions::list))
        .route("/v1/ledgers/{ledger}/answerers", get(resolutions::answerers))
        .route("/v1/ledgers/{ledger}/runs", get(runs::list))
        .route("/v1/ledgers/{ledger}/runs/{run}", get(runs::show))
        .route("/v1/ledgers/{ledger}/runs/{run}/steps", get(runs::steps))
        .route("/v1/ledgers/{ledger}/sessions", get(sessions::list))
        .route("/v1/ledgers/{ledger}/sessions/{session}", get(sessions::show))
        .route("/v1/ledgers/{ledger}/gaps", get(gaps::list))
        .route("/v1/ledgers/{ledger}/checkpoints", get(checkpoints::list))
        .route(
            "/v1/ledgers/{ledger}/checkpoints/{thread}",
            get(checkpoints::show).post(checkpoint_acts::act).delete(checkpoint_acts::delete),
        )
        .route("/v1/ledgers/{ledger}/contents", post(contents::store))
        .route("/v1/ledgers/{ledger}/suggestions", get(suggestions::list))
        .route("/v1/ledgers/{ledger}/suggestions:refresh", post(suggestions::refresh))
        .route("/v1/ledgers/{ledger}/suggestions/{suggestion}", post(suggestions::answer))
        .route("/v1/ledgers/{ledger}/annotations", get(annotations::list).post(annotations::add))
        .route("/v1/projections", get(projections::list))
        .route("/v1/schemas", get(schemas::list))
        .route("/v1/schemas/{type}", get(schemas::show))
        .route("/v1/admin/drain", post(admin::drain))
        .route("/v1/admin/seal", post(admin::seal))
        .route("/v1/admin/read-only", post(admin::read_only))
        .route_layer(from_fn_with_state(Arc::clone(&api), guard))
        .route_layer(from_fn_with_state(Arc::clone(&api), doubt::tell))
        .fallback(no_such_resource)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(&api), origin::guard))
        .with_state(api)
}

async fn no_such_resource() -> Problem {
    Problem::new(Code::NoSuchResource, "there is no such path; /v1/openapi.json lists them")
}

async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the header Allow lists the methods this path knows")
}

impl Api {
    pub(crate) fn new(
        ledgers: Arc<Ledgers>,
        required_models: Vec<RequiredModel>,
        admittance: Admittance,
        limits: ServerLimits,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        let Admittance { is_open, web } = admittance;
        Self {
            ledgers,
            required_models,
            is_open,
            web,
            metrics: Arc::new(Metrics::new()),
            bodies: BodyReader::new(Lanes::new(limits.max_body_bytes_in_flight)),
            uploads: Pool::new(limits.max_upload_bytes_in_flight),
            follow_pages: Pool::new(limits.max_follow_bytes_in_flight),
            answers: MemoryBudget::new(limits.max_answer_bytes_in_flight),
            followers: Pool::new(limits.max_followers),
            tails: Tails::default(),
            ingests: Pool::new(limits.max_ingests),
            turns: Turns::default(),
            reads: Arc::new(Semaphore::new(limits.max_reads)),
            limits,
            phase,
            drain: Notify::new(),
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
    pub(crate) async fn place_to_wait(&self, caller: &Caller) -> Result<Part, Problem> {
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
    pub(crate) async fn wait_for_asked_state(
        &self,
        ledger: &Ledger,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        let Some(asked) = asked_position(headers)? else { return Ok(()) };
        if self.wait_for_head(ledger, asked, Instant::now() + MIN_POSITION_WAIT).await {
            return Ok(());
        }
        let tip = ledger.head().position;
        let detail = format!("the ledger stands at {tip}, {asked} is asked for; try again");
        Err(Problem::new(Code::ProjectionBehind, detail).with("position", tip).with_retry_after(1))
    }
}

/// The position that a client asks for with `Ledger-Min-Position`.
pub(crate) fn asked_position(headers: &HeaderMap) -> Result<Option<Position>, Problem> {
    let text = single_header(headers, &LEDGER_MIN_POSITION)?;
    text.map(|text| parse_position(text, Place::Header("Ledger-Min-Position"))).transpose()
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
