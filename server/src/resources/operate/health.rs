//! `/livez` and `/readyz`: liveness and readiness of the service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use bitacora_formats::{LedgerName, format_time};

use crate::access::caller::Caller;
use crate::api::Api;
use crate::ledgers::readiness::why_slot_is_not_ready;
use crate::ledgers::required_models::{RequiredModel, why_models_are_not_ready};
use crate::ledgers::slot::Slot;
use crate::metrics::archive_tallies::Tallies;
use crate::problem::{Code, FaultLocation, Problem};
use crate::resources::description::PROBLEM;
use bitacora_api::{ProblemAnswer, paths};
use bitacora_governance::suffices;
use bitacora_vocabulary::Role;

type TextAnswer = ([(HeaderName, &'static str); 2], String);

fn text(body: String) -> TextAnswer {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], body)
}

/// Appends are durable all the same; no call is allowed.
fn clock_jumped(slot: &Slot) -> bool {
    let Slot::Open(ledger) = slot else { return false };
    ledger
        .ledger()
        .governance()
        .is_some_and(|governance| governance.read(|state| state.clock_trust().jump().is_some()))
}

/// Returns the time at which a ledger's scrub last ended a round.
fn scrubbed(slot: &Slot) -> Option<String> {
    let Slot::Open(ledger) = slot else { return None };
    ledger.status().scrub.completed.map(format_time)
}

/// Returns the sentences about the archives of a ledger, as a scrub found them: all of them whole, or those that are not.
fn archives_scrubbed(name: &LedgerName, archives: &Tallies) -> Vec<String> {
    let Some(scrub) = archives.scrub(name) else { return Vec::new() };
    let whole = scrub.completed.map(|(_, ended)| {
        format!("every archive was found whole by a scrub that ended {}", format_time(ended))
    });
    scrub.faulty.into_iter().map(|fault| fault.what).chain(whole).collect()
}

/// The process answers.
#[utoipa::path(get, path = paths::LIVEZ, tag = "operation", operation_id = "livez", security(()),
    responses((status = 200, description = "The process answers", body = String, content_type = "text/plain")))]
pub(crate) async fn livez() -> impl IntoResponse {
    text("ok\n".to_owned())
}

/// Returns 200 if an append to every ledger could be made durable now, and the read models that are required answer. Else it names the
/// ledgers of which that is not so, and the reasons, to a caller that identifies itself.
#[utoipa::path(
    get,
    path = paths::READYZ,
    tag = "operation",
    operation_id = "readyz",
    security(()),
    responses(
        (status = 200, description = "An append to any ledger could be made durable, and required read models answer", body = String, content_type = "text/plain"),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn readyz(
    State(api): State<Arc<Api>>,
    caller: Option<Extension<Caller>>,
) -> Result<impl IntoResponse, Problem> {
    // The reasons are for readers.
    let caller = caller.filter(|caller| suffices(caller.role(), Role::Auditor));
    if api.is_ending() {
        return Err(Problem::new(Code::NotReady, "the service is shutting down"));
    }
    // Before the places of the ledgers: a list that is there has made them.
    let unlisted = api.ledgers.unlisted();
    let slots = api.ledgers.all();
    let mut unready = Unready::of(&slots, &api.required_models.load(), &api.metrics.archives);
    unready.unlisted = unlisted.as_ref().filter(|(_, is_missed)| *is_missed).map(|(why, _)| why.clone());
    if unready.is_none() {
        let mut ready = "ready\n".to_owned();
        let mut jumped = slots.iter().filter(|(_, slot)| clock_jumped(slot)).map(|(name, _)| name);
        if caller.is_none() {
            if jumped.next().is_some() {
                ready += "a clock jumped; with a token it is said of which ledger\n";
            }
            if unlisted.is_some() {
                ready += "the anchor has not answered; with a token it is said why\n";
            }
            return Ok(text(ready));
        }
        if let Some((why, _)) = &unlisted {
            ready += &format!("{why}\n");
        }
        for name in jumped {
            ready +=
                &format!("{name}: its clock jumped; calls are denied until an operator accepts the time\n");
        }
        for (name, time) in slots.iter().filter_map(|(name, slot)| Some((name, scrubbed(slot)?))) {
            ready += &format!("{name}: every frame was found whole by a scrub that ended {time}\n");
        }
        for name in slots.keys() {
            for sentence in archives_scrubbed(name, &api.metrics.archives) {
                ready += &format!("{name}: {sentence}\n");
            }
        }
        return Ok(text(ready));
    }
    Err(unready.problem(slots.len(), caller.is_some()))
}

/// The reasons for which the service is not ready.
struct Unready<'a> {
    /// Ledgers that take no appends, and why.
    closed: Vec<(&'a LedgerName, String)>,
    /// Ledgers without a model that is required, and why.
    unread: Vec<(&'a LedgerName, Vec<String>)>,
    /// Ledgers whose store lacks an archive or has a damaged one, of events that lie nowhere else, and which.
    missing: Vec<(&'a LedgerName, String)>,
    /// The words for an anchor that has not said which ledgers it remembers.
    unlisted: Option<String>,
}

impl<'a> Unready<'a> {
    fn of(slots: &'a BTreeMap<LedgerName, Slot>, required: &[RequiredModel], archives: &Tallies) -> Self {
        let closed = slots.iter().filter_map(|(name, slot)| Some((name, why_slot_is_not_ready(slot)?)));
        let unread = slots.iter().map(|(name, slot)| (name, why_models_are_not_ready(slot, required)));
        let missing = slots.keys().flat_map(|name| {
            let looked = archives.missing(name);
            let looked = looked
                .map(|archive| format!("the archive {archive} is missing; its events lie nowhere else"));
            let scrub = archives.scrub(name).unwrap_or_default();
            let scrubbed =
                scrub.faulty.into_iter().filter(|fault| fault.is_only_copy).map(|fault| fault.what);
            let mut sentences: Vec<String> = looked.into_iter().chain(scrubbed).collect();
            sentences.dedup();
            sentences.into_iter().map(move |sentence| (name, sentence))
        });
        Self {
            closed: closed.collect(),
            unread: unread.filter(|(_, reasons)| !reasons.is_empty()).collect(),
            missing: missing.collect(),
            unlisted: None,
        }
    }

    fn is_none(&self) -> bool {
        let Self { closed, unread, missing, unlisted } = self;
        closed.is_empty() && unread.is_empty() && missing.is_empty() && unlisted.is_none()
    }

    /// Returns the problem. A caller that does not identify itself is not told which ledgers there are.
    fn problem(self, all: usize, is_told: bool) -> Problem {
        let Self { closed, unread, missing, unlisted } = self;
        if !is_told {
            let detail = if closed.is_empty() && unread.is_empty() && missing.is_empty() {
                "the anchor has not said which ledgers it remembers; with a token it is said why"
            } else if closed.is_empty() && unread.is_empty() {
                "not every ledger has its archives; with a token it is said which lack one"
            } else if closed.is_empty() {
                "not every ledger has the read models that are required; with a token it is said which, and why"
            } else {
                "not every ledger takes appends; with a token it is said which do not, and why"
            };
            return Problem::new(Code::NotReady, detail);
        }
        let mut details = Vec::new();
        if !closed.is_empty() {
            details.push(format!("{} of {all} ledgers take no appends", closed.len()));
        }
        if !unread.is_empty() {
            details
                .push(format!("{} of {all} ledgers are without a read model that is required", unread.len()));
        }
        if !missing.is_empty() {
            let ledgers: BTreeSet<_> = missing.iter().map(|(name, _)| name).collect();
            details.push(format!("{} of {all} ledgers lack an archive", ledgers.len()));
        }
        details.extend(unlisted);
        let unread =
            unread.into_iter().flat_map(|(name, reasons)| reasons.into_iter().map(move |why| (name, why)));
        let problem = Problem::new(Code::NotReady, details.join("; "));
        let faults = closed.into_iter().chain(unread).chain(missing);
        faults.fold(problem, |problem, (name, why)| {
            problem.with_fault(FaultLocation::Ledger(name.clone()), why)
        })
    }
}
