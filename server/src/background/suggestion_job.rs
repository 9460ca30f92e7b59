//! Suggestions: a ledger's history is looked through now and again; new suggestions become events.

use std::sync::Arc;

use bitacora_formats::{Data, Event, Json};
use bitacora_governance::{SCHEDULER_SOURCE, State};
use bitacora_ledger::AppendRequest;
use bitacora_projector::{Candidate, IndexedLedger};
use bitacora_vocabulary::{EventData, Name, SuggestionKind, SuggestionMade};

use crate::api::Api;
use crate::background::ticks::{Ticks, open_ledgers};
use crate::limits::{LEARN_PAUSE, MAX_SUGGESTIONS_MADE};
use crate::problem::{Code, Problem};
use crate::requests::read_model_query::ask_model_of_now;
use crate::requests::service_event::governance;

/// The read model that knows what was learned.
pub(crate) const MODEL: &str = "learned";
/// The stream of suggestions.
pub(crate) const STREAM: &str = "governance/suggestions";
/// The actor that makes them.
const ACTOR: &str = "service:scheduler";

/// Suggestions that were made.
pub(crate) struct SuggestionBatch {
    pub(crate) suggestions: Vec<Name>,
    pub(crate) more: bool,
}

/// Makes the suggestions that are new, in every ledger that is governed and followed by read models, until the service ends.
pub(crate) async fn run(api: Arc<Api>) {
    let mut ticks = Ticks::new(&api, LEARN_PAUSE, LEARN_PAUSE);
    while ticks.next().await {
        for (name, ledger) in open_ledgers(&api) {
            if ledger.ledger().governance().is_none() || ledger.read_models().is_none() {
                continue;
            }
            match make_new(&api, &ledger).await {
                Ok(made) if made.suggestions.is_empty() => (),
                Ok(made) => {
                    tracing::info!(ledger = %name, suggestions = made.suggestions.len(), "the history speaks for new rules; `bitacora trust suggest` shows them");
                }
                Err(problem) => {
                    tracing::warn!(ledger = %name, error = problem.detail(), "no suggestions could be made; it is tried again");
                }
            }
        }
    }
}

/// Makes the suggestions that are new. Two looks at the same time make none of them twice: their ids follow from their content, and from
/// the place where they were made before.
pub(crate) async fn make_new(api: &Api, ledger: &IndexedLedger) -> Result<SuggestionBatch, Problem> {
    let copy = governance(ledger)?.copy();
    let rules = copy.state.rules_of_trust();
    let found = ask_model_of_now(api, ledger, MODEL, move |models| models.candidates(&rules)).await?;
    let is_new = |candidate: &Candidate| candidate.is_new && is_news(&copy.state, &candidate.suggestion);
    let mut new = found.candidates.into_iter().filter(is_new);
    let mut suggestions = Vec::new();
    for Candidate { suggestion, last_made, .. } in new.by_ref().take(MAX_SUGGESTIONS_MADE) {
        let pending = ledger.append(AppendRequest::of(vec![event(&suggestion, last_made)?]));
        let recorded = match pending {
            Ok(pending) => pending.await.map(|_| ()),
            Err(error) => Err(error),
        };
        match recorded.map_err(Problem::from) {
            Ok(()) => suggestions.push(suggestion.suggestion),
            // It was made meanwhile, of other numbers.
            Err(problem) if problem.is(Code::IdReused) => (),
            Err(problem) => return Err(problem),
        }
    }
    Ok(SuggestionBatch { suggestions, more: new.next().is_some() })
}

/// Returns `true` where its rule would say something that the active policy does not. One that names another model says so in the reason
/// of a review.
pub(crate) fn is_news(state: &State, suggestion: &SuggestionMade) -> bool {
    suggestion.dimension.as_ref().is_none_or(|dimension| match suggestion.kind {
        Some(SuggestionKind::CheaperModel | SuggestionKind::BetterModel) => {
            state.would_apply(dimension, &suggestion.rule)
        }
        _ => state.would_change_policy(dimension, &suggestion.rule),
    })
}

fn event(suggestion: &SuggestionMade, last_made: Option<u64>) -> Result<Event<'static>, Problem> {
    let unwritable = |error: &dyn std::fmt::Display| {
        Problem::new(Code::Internal, format!("a suggestion cannot be written: {error}"))
    };
    let id = format!("{}#{}", suggestion.suggestion, last_made.unwrap_or(0));
    let mut event = Event::new(id, SCHEDULER_SOURCE, SuggestionMade::KIND, STREAM);
    event.actor = Some(ACTOR.into());
    let data = serde_json::to_vec(suggestion).map_err(|error| unwritable(&error))?;
    event.data = Data::Json(Json::check(data).map_err(|error| unwritable(&error))?);
    Ok(event)
}
