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
use crate::json::JsonWriter;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::decision_json::{breaker_name, write_dimension};
use bitacora_api::{ActAnswer, BreakerCloseRequest, BreakerList, BreakerSettingsRequest};

/// The stream of operators' acts on breakers.
const STREAM: &str = "governance/breakers";
/// The size of one breaker in an answer, about, bytes.
const BREAKER_BYTES: usize = 320;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/breakers",
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
            let mut json = JsonWriter::with_capacity(64 + BREAKER_BYTES * page.items.len());
            json.begin_object();
            page.write("breakers", &mut json, |(dimension, breaker), json| {
                write_breaker(dimension, breaker, json);
            });
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

fn write_breaker(dimension: &Dimension, breaker: &Breaker, json: &mut JsonWriter) {
    json.begin_object();
    write_dimension(dimension, json);
    write_breaker_state(breaker, json);
    json.end_object();
}

/// A breaker without its dimension, as members of the object that is being written.
/// Writes how a breaker stood at an earlier position: what its window held and how it was set then is not told.
pub(super) fn write_breaker_stood(stood: &BreakerStood, json: &mut JsonWriter) {
    json.text_member("state", breaker_name(stood.condition));
    if let Some(until) = stood.cooldown_until {
        json.text_member("cooldownUntil", &format_time(Micros(until)));
    }
}

pub(super) fn write_breaker_state(breaker: &Breaker, json: &mut JsonWriter) {
    json.text_member("state", breaker_name(breaker.condition()));
    let window = breaker.window();
    json.number_member("outcomes", u64::from(window.outcomes));
    json.number_member("bad", u64::from(window.bad));
    if let Some(until) = breaker.cooldown_until() {
        json.text_member("cooldownUntil", &format_time(until));
    }
    if let Some(good) = breaker.good_probes() {
        json.number_member("goodProbes", u64::from(good));
    }
    let BreakerSettings { window, failure_threshold, recovery_probes, cooldown_s } = breaker.settings();
    json.key("settings");
    json.begin_object();
    json.number_member("window", window.get().into());
    json.number_member("failureThreshold", failure_threshold.get().into());
    json.number_member("recoveryProbes", recovery_probes.get().into());
    json.number_member("cooldownS", cooldown_s.get().into());
    json.end_object();
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/breakers:configure",
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
    Ok(act.record(STREAM, &configured).await?.answer())
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/breakers:close",
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
    Ok(act.record(STREAM, &closed).await?.answer())
}
