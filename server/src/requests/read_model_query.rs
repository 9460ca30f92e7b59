//! Questions to read models, which follow the log at a moment's distance.

use std::sync::Arc;

use bitacora_formats::Position;
use bitacora_projector::{IndexedLedger, ModelError, ModelState, ReadModels};
use tokio::time::{Instant, timeout_at};

use crate::api::Api;
use crate::limits::{MIN_POSITION_WAIT, MODEL_WAIT, RECALL_WAIT};
use crate::problem::{Code, Problem};
use crate::requests::answer_tiers::Tier;
use crate::requests::read_request::ReadRequest;

/// Asks a model for the part of an answer that it has.
///
/// The model is given a moment to come to the ledger's head, so that a caller that has just written finds its event. It is waited for
/// longer where `Ledger-Min-Position` asks for a position, and where the model answers nothing yet.
pub(crate) async fn ask_model<T: Send + 'static>(
    api: &Api,
    request: &ReadRequest,
    model: &'static str,
    ask: impl Fn(&ReadModels) -> Result<T, ModelError> + Send + Sync + 'static,
) -> Result<T, Problem> {
    ask_model_and_log(api, request, model, ask).await
}

/// The same where an answer also has something of the log, which may fail for its own reasons.
pub(crate) async fn ask_model_and_log<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    api: &Api,
    request: &ReadRequest,
    model: &'static str,
    ask: impl Fn(&ReadModels) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, Problem> {
    let began = Instant::now();
    request.state(api).await?;
    wait_for_requested(request, read_models(&request.ledger)?, model, began).await?;
    ask_all_tiers(api, &request.ledger, ask).await
}

/// Asks of the rows on this disk, and of those that left it, which are folded again. Small ones are waited for.
async fn ask_all_tiers<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    api: &Api,
    ledger: &IndexedLedger,
    ask: impl Fn(&ReadModels) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, Problem> {
    let (ask, end) = (Arc::new(ask), Instant::now() + RECALL_WAIT);
    loop {
        let (asked_of, ask) = (ledger.clone(), Arc::clone(&ask));
        let asked = api.read(move || Ok(read_models(&asked_of)?.ask(|models| ask(models)))).await?;
        // Of more than one model one is waited for after another, up to the same end.
        if let Some((model, position)) = asked.waits_for
            && Instant::now() < end
            && timeout_at(end, read_models(ledger)?.wait_recalled(model, position)).await.is_ok()
        {
            continue;
        }
        Tier::Warm.note();
        if asked.is_cold {
            Tier::Cold.note();
        }
        return asked.answer.map_err(Into::into);
    }
}

/// Waits until a model stands where the ledger does: for an act that rests on what the model says.
pub(crate) async fn come_to_head(ledger: &IndexedLedger, model: &'static str) -> Result<(), Problem> {
    come_to(ledger, model, ledger.head().position).await
}

/// Waits until a model stands at a position.
pub(crate) async fn come_to(
    ledger: &IndexedLedger,
    model: &'static str,
    position: Position,
) -> Result<(), Problem> {
    let models = read_models(ledger)?;
    if tokio::time::timeout(MIN_POSITION_WAIT, models.wait(model, position)).await.is_ok() {
        return Ok(());
    }
    let detail = format!("{model} has not come to position {position} yet; try again");
    Err(Problem::new(Code::ProjectionBehind, detail).with_retry_after(1))
}

/// Gives a model a moment to come to where the ledger stands: for an act that only says more where the model does.
pub(crate) async fn come_near_head(ledger: &IndexedLedger, model: &'static str) -> Result<(), Problem> {
    let (models, head) = (read_models(ledger)?, ledger.head().position);
    let _came = tokio::time::timeout(MODEL_WAIT, models.wait(model, head)).await;
    Ok(())
}

/// Waits for a model as [`ask_model`] does, for an answer that only says more where the model does: one that is not kept, or does not
/// go on, holds up nothing.
pub(crate) async fn wait_if_requested(request: &ReadRequest, model: &'static str) -> Result<(), Problem> {
    let began = Instant::now();
    let Some(models) = request.ledger.read_models() else { return Ok(()) };
    match wait_for_requested(request, models, model, began).await {
        Err(problem) if problem.is(Code::ProjectionStopped) => Ok(()),
        waited => waited,
    }
}

async fn wait_for_requested(
    request: &ReadRequest,
    models: &ReadModels,
    model: &'static str,
    began: Instant,
) -> Result<(), Problem> {
    let waits = |position: Position, end: Instant| timeout_at(end, models.wait(model, position));
    if let Some(asked) = request.requested_position()? {
        if waits(asked, began + MIN_POSITION_WAIT).await.is_err() {
            return Err(behind(models, model, asked));
        }
    } else if waits(request.ledger.head().position, began + MODEL_WAIT).await.is_err()
        && failure_of(models, model).is_none()
    {
        // It may well answer from where it stands; only one that answers nothing at all, and will soon, is waited for.
        let _answers = waits(Position::FIRST, began + MIN_POSITION_WAIT).await;
    }
    Ok(())
}

/// Asks a model what an act rests on: once it has every event that is there now, and not before.
pub(crate) async fn ask_model_of_now<T: Send + 'static>(
    api: &Api,
    ledger: &IndexedLedger,
    model: &'static str,
    ask: impl Fn(&ReadModels) -> Result<T, ModelError> + Send + Sync + 'static,
) -> Result<T, Problem> {
    let head = ledger.head().position;
    let models = read_models(ledger)?;
    if timeout_at(Instant::now() + MIN_POSITION_WAIT, models.wait(model, head)).await.is_err() {
        return Err(behind(models, model, head));
    }
    ask_all_tiers(api, ledger, ask).await
}

/// Returns the failure that keeps a model from going on.
fn failure_of(models: &ReadModels, model: &'static str) -> Option<String> {
    match models.status().into_iter().find(|status| status.name == model)?.state {
        ModelState::Degraded(why) => Some(why),
        _ => None,
    }
}

/// Returns the reason for which a model has not come to a position: it needs more time, or something that it needs fails.
fn behind(models: &ReadModels, model: &'static str, asked: Position) -> Problem {
    if let Some(why) = failure_of(models, model) {
        let detail = format!("{model} does not come to position {asked}: {why}");
        return Problem::new(Code::ProjectionStopped, detail);
    }
    let detail = format!("{model} has not come to position {asked} yet; try again");
    Problem::new(Code::ProjectionBehind, detail).with_retry_after(1)
}

/// The read models of a ledger.
pub(crate) fn read_models(ledger: &IndexedLedger) -> Result<&ReadModels, Problem> {
    let none = || Problem::new(Code::NoSuchResource, "this service keeps no read models");
    ledger.read_models().ok_or_else(none)
}
