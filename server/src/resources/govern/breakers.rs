//! `…/breakers`: dimensions that fail, and those that are tried again.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time};
use bitacora_governance::Breaker;
use bitacora_projector::BreakerStood;
use bitacora_vocabulary::{BreakerClosed, BreakerCondition, BreakerConfigured, BreakerSettings, Dimension};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::json::json_of;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::decision_json::breaker_name;
use bitacora_api::{
    ActAnswer, BreakerAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest, BreakerStateAnswer,
    paths,
};

/// The stream of operators' acts on breakers.
const STREAM: &str = "governance/breakers";

#[utoipa::path(
    get,
    path = paths::BREAKERS,
    tag = "governance",
    operation_id = "listBreakers",
    params(
        InLedger,
        ("state" = Option<String>, Query, description = "Only those that are `closed`, `open` or `half_open`"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Breakers that have seen anything, by dimension; a dimension without one is closed", body = BreakerList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let wanted = match query.take("state")?.as_deref() {
        None => None,
        Some("closed") => Some(BreakerCondition::Closed),
        Some("open") => Some(BreakerCondition::Open),
        Some("half_open") => Some(BreakerCondition::HalfOpen),
        Some(_) => return Err(bad_query("state", "is none of `closed`, `open` and `half_open`")),
    };
    let paging = PageParams::<Dimension>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let bytes = api
        .read(move || {
            let meant = copy
                .state
                .breakers_after(paging.after.as_ref())
                .filter(|(_, breaker)| wanted.is_none_or(|wanted| breaker.condition() == wanted));
            let page = paging.page(meant, |(dimension, _)| (*dimension).clone());
            let breakers = page.items.into_iter().map(|(dimension, breaker)| listed(dimension, breaker));
            json_of(&BreakerList { breakers: breakers.collect(), next: page.next })
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

fn listed(dimension: &Dimension, breaker: &Breaker) -> BreakerAnswer {
    let window = breaker.window();
    BreakerAnswer {
        dimension: dimension.into(),
        state: breaker_name(breaker.condition()).to_owned(),
        outcomes: window.outcomes,
        bad: window.bad,
        cooldown_until: breaker.cooldown_until().map(format_time),
        good_probes: breaker.good_probes(),
        settings: breaker.settings().into(),
    }
}

/// A breaker as it stands now.
pub(super) fn breaker_now(breaker: &Breaker) -> BreakerStateAnswer {
    let window = breaker.window();
    BreakerStateAnswer {
        state: breaker_name(breaker.condition()).to_owned(),
        outcomes: Some(window.outcomes),
        bad: Some(window.bad),
        cooldown_until: breaker.cooldown_until().map(format_time),
        good_probes: breaker.good_probes(),
        settings: Some(breaker.settings().into()),
    }
}

/// A breaker as it stood at an earlier position. Its window and its settings of then are not known.
pub(super) fn breaker_then(stood: &BreakerStood) -> BreakerStateAnswer {
    BreakerStateAnswer {
        state: breaker_name(stood.condition).to_owned(),
        outcomes: None,
        bad: None,
        cooldown_until: stood.cooldown_until.map(|until| format_time(Micros(until))),
        good_probes: None,
        settings: None,
    }
}

#[utoipa::path(
    post,
    path = paths::BREAKER_SETTINGS,
    tag = "governance",
    operation_id = "configureBreaker",
    params(InLedger),
    request_body(content = BreakerSettingsRequest),
    responses(
        (status = 200, description = "Recorded", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn configure(mut act: Act) -> Result<Response, Problem> {
    let configured = act
        .read(|members| {
            Ok(BreakerConfigured {
                dimension: members.require_known("dimension")?,
                settings: BreakerSettings {
                    window: members.require("window")?,
                    failure_threshold: members.require("failureThreshold")?,
                    recovery_probes: members.require("recoveryProbes")?,
                    cooldown_s: members.require("cooldownS")?,
                },
            })
        })
        .await?;
    act.record(STREAM, &configured).await?.answer()
}

#[utoipa::path(
    post,
    path = paths::BREAKER_CLOSE,
    tag = "governance",
    operation_id = "closeBreaker",
    params(InLedger),
    request_body(content = BreakerCloseRequest),
    responses(
        (status = 200, description = "Recorded: calls pass again, and the window is empty", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn close(mut act: Act) -> Result<Response, Problem> {
    let by = Some(act.caller.actor_text());
    let closed = act
        .read(|members| {
            let (dimension, reason) = (members.require_known("dimension")?, members.take("reason")?);
            Ok(BreakerClosed { dimension, by, reason })
        })
        .await?;
    if !act.governance().read(|state| state.has_breaker(&closed.dimension)) {
        let detail = "no call of this dimension was counted, so that its breaker is closed; `…/breakers` lists those there are";
        return Err(Problem::new(Code::NoSuchGoverned, detail));
    }
    act.record(STREAM, &closed).await?.answer()
}
