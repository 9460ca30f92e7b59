//! `…/suggestions`: rules that the history speaks for, and an operator's answers to them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_governance::State as GovernedState;
use bitacora_projector::{
    IndexedLedger, ModelError, ReadModels, Suggestion, SuggestionQuery, SuggestionState,
};
use bitacora_vocabulary::{
    Dimension, DimensionPart, FreeText, Name, Note, Rule, SuggestionAccepted, SuggestionRejected,
};

use crate::api::Api;
use crate::background::suggestion_job::{MODEL, STREAM, is_news, make_new};
use crate::http::query::bad_query;
use crate::problem::{Code, Problem, quoted};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_model_query::{ask_model, ask_model_of_now};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::policy::STREAM as POLICY_STREAM;
use crate::resources::govern::suggested_policy::{ACCEPTED_NOTE, Next, narrow, next_policy, take_cwd};
use bitacora_api::{
    SuggestionAccepted as AcceptedAnswer, SuggestionAnswer, SuggestionAnswerRequest, SuggestionList,
    SuggestionsMade, paths,
};

/// The suggestions that are asked for.
enum SuggestionSelection {
    Made(Option<SuggestionState>),
    Candidates,
    Imported,
}

#[utoipa::path(
    get,
    path = paths::SUGGESTIONS,
    tag = "governance",
    operation_id = "listSuggestions",
    params(
        InLedger,
        ("state" = Option<String>, Query, description = "`open`, `accepted` or `rejected`; `candidate` for those that hold and were not made, `imported` for what imports that do not count yet would speak for. Without it, all that were made"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Suggestions", body = SuggestionList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let asked = match query.take("state")?.as_deref() {
        None => SuggestionSelection::Made(None),
        Some("open") => SuggestionSelection::Made(Some(SuggestionState::Open)),
        Some("accepted") => SuggestionSelection::Made(Some(SuggestionState::Accepted)),
        Some("rejected") => SuggestionSelection::Made(Some(SuggestionState::Rejected)),
        Some("candidate") => SuggestionSelection::Candidates,
        Some("imported") => SuggestionSelection::Imported,
        Some(_) => {
            return Err(bad_query("state", "is none of open, accepted, rejected, candidate and imported"));
        }
    };
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let copy = governance(&request.ledger)?.copy();
    let rules = copy.state.rules_of_trust();
    let (page, position) = ask_model(&api, &request, MODEL, move |models| match asked {
        SuggestionSelection::Made(state) => made_page(models, state, &paging),
        SuggestionSelection::Candidates => {
            let found = models.candidates(&rules)?;
            let new = found.candidates.into_iter().filter(|candidate| candidate.is_new);
            let new = new.filter(|candidate| is_news(&copy.state, &candidate.suggestion));
            let new = new
                .map(|candidate| Suggestion::candidate_answer(&candidate.suggestion, "candidate", None))
                .collect();
            Ok((page_of(models, new, &paging)?, found.position))
        }
        SuggestionSelection::Imported => imported_page(models, &copy.state, &paging),
    })
    .await?;
    written_page_at(&request, position, &page)
}

fn made_page(
    models: &ReadModels,
    state: Option<SuggestionState>,
    paging: &PageParams<u64>,
) -> Result<(SuggestionList, Position), ModelError> {
    let before = paging.after.and_then(Position::new);
    let found = models.suggestions(&SuggestionQuery { state, before, limit: paging.limit })?;
    let last = found.items.last().map(|suggestion| suggestion.first).filter(|_| found.more);
    let next = last.and_then(|last| PageParams::next(&last));
    let mut suggestions: Vec<_> = found.items.into_iter().map(Into::into).collect();
    suggestions.iter_mut().try_for_each(|suggestion| tag(models, suggestion))?;
    Ok((SuggestionList { suggestions, next }, found.position))
}

fn imported_page(
    models: &ReadModels,
    state: &GovernedState,
    paging: &PageParams<u64>,
) -> Result<(SuggestionList, Position), ModelError> {
    let (imports, position) = models.imported_candidates(&state.rules_of_trust())?;
    let all = imports.into_iter().flat_map(|found| {
        let digest = found.import.map_or_else(|| "-".to_owned(), |import| import.digest);
        let suggestions = found.suggestions.into_iter().filter(|suggestion| is_news(state, suggestion));
        suggestions.map(move |suggestion| {
            Suggestion::candidate_answer(&suggestion, "imported", Some(digest.clone()))
        })
    });
    Ok((page_of(models, all.collect(), paging)?, position))
}

/// A page of a list that is made up anew for each question: the cursor is the number of items before it.
fn page_of(
    models: &ReadModels,
    all: Vec<SuggestionAnswer>,
    paging: &PageParams<u64>,
) -> Result<SuggestionList, ModelError> {
    let before = usize::try_from(paging.after.unwrap_or(0)).unwrap_or(usize::MAX);
    let end = before.saturating_add(paging.limit);
    let next = (all.len() > end).then(|| PageParams::next(&(end as u64))).flatten();
    let mut suggestions: Vec<_> = all.into_iter().skip(before).take(paging.limit).collect();
    suggestions.iter_mut().try_for_each(|suggestion| tag(models, suggestion))?;
    Ok(SuggestionList { suggestions, next })
}

fn tag(models: &ReadModels, suggestion: &mut SuggestionAnswer) -> Result<(), ModelError> {
    let Some(named) = &suggestion.dimension else { return Ok(()) };
    let together = Dimension::new(&named.tool, &named.context, &named.model, &named.task_type);
    let workspace = named.workspace.as_deref().map(DimensionPart::new).transpose();
    if let (Ok(together), Ok(workspace)) = (together, workspace) {
        let dimension = together.in_workspace(workspace.as_ref());
        suggestion.tags = models.tags(&dimension)?.into_iter().map(|tag| tag.tag).collect();
    }
    Ok(())
}

#[utoipa::path(
    post,
    path = paths::SUGGESTIONS_REFRESH,
    tag = "governance",
    operation_id = "refreshSuggestions",
    params(InLedger),
    responses(
        (status = 200, description = "Made: each candidate that is new, up to a limit", body = SuggestionsMade),
        Refusals,
    )
)]
pub(crate) async fn refresh(mut act: Act) -> Result<Response, Problem> {
    act.query(|_| Ok(()))?;
    let _nothing = act.read_if_any(|_| Ok(())).await?;
    act.caller.still_holds(&act.api.authenticator)?;
    let made = make_new(&act.api, &act.ledger).await?;
    let suggestions = made.suggestions.iter().map(ToString::to_string).collect();
    json_answer(&act.ledger.head(), &SuggestionsMade { made: suggestions, more: made.more })
}

#[utoipa::path(
    post,
    path = paths::SUGGESTION,
    tag = "governance",
    operation_id = "answerSuggestion",
    params(
        InLedger,
        ("suggestion" = String, Path, description = "The suggestion, and what is said to it: `promote-53cb41b71d86dcf6:accept` or `…:reject`"),
    ),
    request_body(content = SuggestionAnswerRequest, description = "May be left out, but for the `cwd` that some rules need"),
    responses(
        (status = 200, description = "Recorded. With `:accept`, together with the next version of the policy: the active one, and what was accepted since, with the rule behind all that somebody forbade or singled out among the same calls", body = AcceptedAnswer),
        Refusals,
    )
)]
pub(crate) async fn answer(mut act: Act) -> Result<Response, Problem> {
    let (id, verb) = act.named_verb();
    let accepts = match verb {
        "accept" => true,
        "reject" => false,
        _ => return Err(no_such_verb("what is said to a suggestion is `:accept` or `:reject`")),
    };
    let id = Name::new(id).map_err(|error| Problem::new(Code::NoSuchGoverned, error.to_string()))?;
    if !accepts {
        let note: Option<FreeText> = act.note("note").await?;
        let _one_at_a_time = act.turn().await;
        let answers = format!("{id}#{}", open(&act.api, &act.ledger, &id).await?.position);
        let rejected = SuggestionRejected { suggestion: id, by: None, note };
        let event = act.event(answers, STREAM, &rejected)?;
        return act.record_together(vec![event]).await.map_err(answered)?.answer();
    }
    let (note, cwd) =
        act.read_if_any(|members| Ok((members.take("note")?, take_cwd(members)?))).await?.unwrap_or_default();
    let _one_at_a_time = act.turn().await;
    let open = open(&act.api, &act.ledger, &id).await?;
    let answers = format!("{id}#{}", open.position);
    let mut rule = still_held(&act.api, &act.ledger, &id).await?;
    narrow(&mut rule, open.made.dimension.as_ref(), cwd, &act.ledger)?;
    let author = act.caller.actor_text();
    let note_of_policy =
        Note::new(format!("{ACCEPTED_NOTE}{id} of position {} was accepted", open.position)).ok();
    let dimension = open.made.dimension.unwrap_or_default();
    let next = next_policy(&act.api, &act.ledger, (rule, dimension), author, note_of_policy).await?;
    let Next { published, place, behind, decided_before } = next;
    let policy = act.event(format!("{answers}#policy"), POLICY_STREAM, &published)?;
    let accepted = act.event(answers, STREAM, &SuggestionAccepted { suggestion: id, by: None, note })?;
    let recorded = act.record_together(vec![accepted, policy]).await.map_err(answered)?;
    recorded.answer_as(StatusCode::OK, |position| AcceptedAnswer {
        position,
        version: published.version.to_string(),
        digest: published.digest.to_string(),
        place: place as u64,
        rules: published.rules.len() as u64,
        parent: published.parent.unwrap_or(0).to_string(),
        behind: behind.map(|rule| rule.to_string()),
        decided_before: decided_before.iter().map(ToString::to_string).collect(),
    })
}

/// The ids of both events follow from the suggestion: the second answer finds the first one's.
fn answered(problem: Problem) -> Problem {
    if problem.is(Code::IdReused) { is_answered() } else { problem }
}

fn is_answered() -> Problem {
    Problem::new(Code::SuggestionAnswered, "somebody answered it first; `…/suggestions` says how")
}

/// The suggestion, if nobody has answered it.
async fn open(api: &Api, ledger: &IndexedLedger, id: &Name) -> Result<Suggestion, Problem> {
    let named = id.clone();
    let found = ask_model_of_now(api, ledger, MODEL, move |models| models.suggestion(&named));
    match found.await?.0 {
        None => {
            Err(Problem::new(Code::NoSuchGoverned, format!("no suggestion {} was made", quoted(id.as_str()))))
        }
        Some(found) if found.state == SuggestionState::Open => Ok(found),
        Some(_) => Err(is_answered()),
    }
}

/// Its rule, if what was observed speaks for it still.
async fn still_held(api: &Api, ledger: &IndexedLedger, id: &Name) -> Result<Rule, Problem> {
    let rules = governance(ledger)?.read(GovernedState::rules_of_trust);
    let candidates = ask_model_of_now(api, ledger, MODEL, move |models| models.candidates(&rules));
    let mut found = candidates.await?.candidates.into_iter();
    let held = found.find(|candidate| candidate.suggestion.suggestion == *id);
    held.map(|candidate| candidate.suggestion.rule).ok_or_else(|| {
        let detail = "what was observed since it was made does not speak for it any more; reject it, or wait";
        Problem::new(Code::SuggestionStale, detail)
    })
}
