//! `/livez` and `/readyz`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use bitacora_formats::LedgerName;
use bitacora_ledger::HeadStatus;

use super::ledgers::why_not_ready;
use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::ProblemAnswer;
use crate::api::Api;
use crate::ledgers::Slot;
use crate::limits::MAX_UNANCHORED;
use crate::problem::{Code, Place, Problem};

type Text = ([(HeaderName, &'static str); 2], String);

fn text(body: String) -> Text {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], body)
}

/// Appends are durable all the same; no call is allowed.
fn clock_jumped(slot: &Slot) -> bool {
    let Slot::Open(ledger) = slot else { return false };
    ledger
        .governance()
        .is_some_and(|governance| governance.read(|state| state.clock_trust().jump().is_some()))
}

/// The process answers.
#[utoipa::path(get, path = "/livez", tag = "operation", operation_id = "livez",
    responses((status = 200, description = "The process answers", body = String, content_type = "text/plain")))]
pub(crate) async fn livez() -> impl IntoResponse {
    text("ok\n".to_owned())
}

/// An append to any ledger could be made durable now; else, for who says who they are, which could not, and why.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    operation_id = "readyz",
    responses(
        (status = 200, description = "An append to any ledger could be made durable", body = String, content_type = "text/plain"),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn readyz(
    State(api): State<Arc<Api>>,
    caller: Option<Extension<Caller>>,
) -> Result<impl IntoResponse, Problem> {
    if api.is_ending() {
        return Err(Problem::new(Code::NotReady, "the service is shutting down"));
    }
    let slots = api.ledgers.all();
    let unready: Vec<(&LedgerName, String)> =
        slots.iter().filter_map(|(name, slot)| Some((name, why_slot_is_not_ready(slot)?))).collect();
    if unready.is_empty() {
        let mut ready = "ready\n".to_owned();
        let mut jumped = slots.iter().filter(|(_, slot)| clock_jumped(slot)).map(|(name, _)| name);
        if caller.is_none() {
            if jumped.next().is_some() {
                ready += "a clock jumped; with a token it is said of which ledger\n";
            }
            return Ok(text(ready));
        }
        for name in jumped {
            ready +=
                &format!("{name}: its clock jumped; calls are denied until an operator accepts the time\n");
        }
        return Ok(text(ready));
    }
    if caller.is_none() {
        // What ledgers there are is nobody's business who does not say who they are.
        let detail = "not every ledger takes appends; with a token it is said which do not, and why";
        return Err(Problem::new(Code::NotReady, detail));
    }
    let detail = format!("{} of {} ledgers take no appends", unready.len(), slots.len());
    let problem = Problem::new(Code::NotReady, detail);
    Err(unready
        .into_iter()
        .fold(problem, |problem, (name, why)| problem.with_fault(Place::Ledger(name.clone()), why)))
}

/// Appends are durable without the anchor; that they cannot be taken back is not remembered anywhere else.
fn why_unanchored(heads: &HeadStatus) -> Option<String> {
    let unanchored = heads.unanchored_for.filter(|time| *time > MAX_UNANCHORED)?;
    Some(format!("its anchor could not be moved for {} s", unanchored.as_secs()))
}

/// Why an append to the ledger could not be made durable, or remembered, now.
pub(crate) fn why_slot_is_not_ready(slot: &Slot) -> Option<String> {
    match slot {
        Slot::Open(ledger) => {
            let status = ledger.status();
            why_not_ready(&status.writer).or_else(|| why_unanchored(&status.heads))
        }
        Slot::Failed(why) | Slot::Waiting(why) => Some(why.clone()),
    }
}
