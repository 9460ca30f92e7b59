//! `…/resolutions`, `…/answerers`: approvals that were answered, their answerers, and the waits.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, Position, format_time};
use bitacora_projector::{AnsweredApproval, AnsweredApprovalQuery, Answerer};
use bitacora_vocabulary::{ApprovalAbout, Resolution};

use crate::api::Api;
use crate::http::query::bad_query;
use crate::problem::Problem;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::ask_model;
use crate::requests::read_request::ReadRequest;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{AnsweredAnswer, AnsweredList, AnswererAnswer, AnswererList, paths};

/// The model that is asked.
const MODEL: &str = "resolutions";
/// Microseconds of a millisecond.
const MILLISECOND: u64 = 1_000;

#[utoipa::path(
    get,
    path = paths::RESOLUTIONS,
    tag = "governance",
    operation_id = "listResolutions",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "Only what this actor said"),
        ("agent" = Option<String>, Query, description = "Only about calls of this agent"),
        ("resolution" = Option<String>, Query, description = "Only `approved`, `rejected`, `edited`, `expired` or `withdrawn`"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Answered approvals, the newest first", body = AnsweredList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let (by, agent) = (query.take("by")?.map(Into::into), query.take("agent")?.map(Into::into));
    let resolution = query.take("resolution")?.map(|word| resolution_of(&word)).transpose()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let before = paging.after.and_then(Position::new);
    let asked = AnsweredApprovalQuery { by, agent, resolution, before, limit: paging.limit };
    let found = ask_model(&api, &request, MODEL, move |models| models.answered(&asked)).await?;
    let last = found.items.last().map(|answered| answered.position).filter(|_| found.more);
    let page = AnsweredList {
        resolutions: found.items.into_iter().map(answered).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

#[utoipa::path(
    get,
    path = paths::ANSWERERS,
    tag = "governance",
    operation_id = "listAnswerers",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Who has answered approvals, in the order in which they did first", body = AnswererList),
        Refusals,
    )
)]
pub(crate) async fn answerers(
    State(api): State<Arc<Api>>,
    request: ReadRequest,
) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let (after, limit) = (paging.after.unwrap_or_default(), paging.limit);
    let found = ask_model(&api, &request, MODEL, move |models| models.answerers(after, limit)).await?;
    let last = found.items.last().map(|person| person.first).filter(|_| found.more);
    let page = AnswererList {
        answerers: found.items.into_iter().map(answerer).collect(),
        next: last.and_then(|last| PageParams::next(&last)),
    };
    written_page_at(&request, found.position, &page)
}

fn resolution_of(word: &str) -> Result<Resolution, Problem> {
    let found = Resolution::ALL.into_iter().find(|resolution| resolution.as_str() == word);
    found.ok_or_else(|| {
        let words = Resolution::ALL.map(|resolution| format!("`{}`", resolution.as_str())).join(", ");
        bad_query("resolution", &format!("is none of {words}"))
    })
}

fn answered(answered: AnsweredApproval) -> AnsweredAnswer {
    let waited_ms = answered.waited().map(|waited| waited / MILLISECOND);
    let AnsweredApproval { approval, position, time, resolution, by, note, question } = answered;
    let about = |about| match about {
        ApprovalAbout::Call => "call".to_owned(),
        ApprovalAbout::Rollback => "rollback".to_owned(),
    };
    AnsweredAnswer {
        approval,
        position: position.to_string(),
        time: format_time(Micros(time)),
        resolution: resolution.as_str().to_owned(),
        by,
        note,
        waited_ms,
        asked_at: question.as_ref().map(|question| question.position.to_string()),
        about: question.as_ref().map(|question| about(question.about)),
        call: question.as_ref().map(|question| question.call.clone()),
        agent: question.as_ref().and_then(|question| question.agent.clone()),
        tool: question.map(|question| question.tool),
    }
}

fn answerer(person: Answerer) -> AnswererAnswer {
    let half_within_s = person.half_within();
    let Answerer { by, approved, rejected, edited, withdrawn, expired, first, last, longest, .. } = person;
    AnswererAnswer {
        by,
        approved,
        rejected,
        edited,
        withdrawn,
        expired,
        half_within_s,
        longest_ms: longest / MILLISECOND,
        first: first.to_string(),
        last: last.to_string(),
    }
}
