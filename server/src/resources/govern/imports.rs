//! `…/imports`: imports, the changes that each would make, and the act that lets one count.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_governance::{Assessment, Import, ImportedDimension, TrustInputs, TrustStanding};
use bitacora_ledger::Head;
use bitacora_projector::{ImportShowed, IndexedLedger};
use bitacora_vocabulary::{Dimension, ImportAccepted, Sha256Text};
use serde_json::Value;

use crate::api::Api;
use crate::http::media::JSON;
use crate::json::json_of;
use crate::problem::{Code, Problem};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::answer_tiers::Tier;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_model_query::wait_if_requested;
use crate::requests::read_request::{NO_STORE, ReadRequest, answer_at_position};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::resources::govern::trust::trust_answer;
use bitacora_api::{
    ImportAcceptedAnswer, ImportAnswer, ImportCountsAnswer, ImportList, ImportListed, ImportedAnswer,
    StandingsAnswer, paths,
};

/// The model that tells what imports showed that count.
const MODEL: &str = "trust";
/// The stream of imports.
const STREAM: &str = "imports";

#[utoipa::path(
    get,
    path = paths::IMPORTS,
    tag = "governance",
    operation_id = "listImports",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Imports that ended, the last first", body = ImportList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    if copy.state.imports().any(|(_, import)| import.accepted.is_some()) {
        wait_if_requested(&request, MODEL).await?;
    }
    let ledger = request.ledger.clone();
    let (bytes, is_whole, is_warm) = api
        .read(move || {
            let behind = copy
                .state
                .imports()
                .filter(|(_, import)| paging.after.is_none_or(|after| import.position < after));
            let mut behind: Vec<_> = behind.collect();
            behind.sort_unstable_by_key(|(_, import)| Reverse(import.position));
            let page = paging.page(behind.into_iter(), |(_, import)| import.position);
            let imports = page.items.into_iter().map(|(digest, import)| listed(digest, import, &ledger));
            let list = ImportList { imports: imports.collect(), next: page.next };
            let is_warm = list.imports.iter().any(is_told_by_model);
            Ok((json_of(&list)?, list.imports.iter().all(is_known), is_warm))
        })
        .await?;
    Ok(answer(&request, &head, bytes, is_whole, is_warm))
}

/// The place of a dimension in what an import would change: how many outcomes it has there, and which it is.
type ChangeKey = (u64, Dimension);

#[utoipa::path(
    get,
    path = paths::IMPORT,
    tag = "governance",
    operation_id = "showImport",
    params(
        InLedger,
        ("import" = String, Path, description = "Its digest"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "What the import showed, and what would be said of each dimension once it counts; those with the most outcomes come first", body = ImportAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<ChangeKey>::take(&mut query)?;
    query.finish()?;
    let digest = digest_of(request.names.named.as_deref().unwrap_or_default())?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    if copy.state.import(&digest).is_some_and(|import| import.accepted.is_some()) {
        wait_if_requested(&request, MODEL).await?;
    }
    let ledger = request.ledger.clone();
    let (bytes, is_whole, is_warm) = api
        .read(move || {
            let import = copy.state.import(&digest).ok_or_else(no_such_import)?;
            let mut changes = copy.state.would_change(import, head.time);
            // Those with the same number of outcomes stay in the order of their names.
            changes.sort_by_key(|of| Reverse(outcomes(of)));
            let behind = changes.iter().filter(|of| {
                paging.after.as_ref().is_none_or(|(count, dimension)| {
                    (Reverse(outcomes(of)), &of.dimension) > (Reverse(*count), dimension)
                })
            });
            let page = paging.page(behind, |of| (outcomes(of), of.dimension.clone()));
            let answer = ImportAnswer {
                evaluated_at: format_time(head.time),
                import: listed(&digest, import, &ledger),
                now: standings(changes.iter().map(|of| &of.now)),
                once_accepted: standings(changes.iter().map(|of| &of.accepted)),
                changes: page.items.into_iter().map(change).collect(),
                next: page.next,
            };
            Ok((json_of(&answer)?, is_known(&answer.import), is_told_by_model(&answer.import)))
        })
        .await?;
    Ok(answer(&request, &head, bytes, is_whole, is_warm))
}

fn outcomes(of: &ImportedDimension) -> u64 {
    let record = &of.record;
    record.approvals.saturating_add(record.rejections).saturating_add(record.failures)
}

#[utoipa::path(
    post,
    path = paths::IMPORT,
    tag = "governance",
    operation_id = "acceptImport",
    params(
        InLedger,
        ("import" = String, Path, description = "Its digest, and what is said of it: `9f86…:accept`"),
    ),
    request_body(content = Option<Value>, description = "May be left out; `note` says why"),
    responses(
        (status = 200, description = "Recorded: this import counts from here on, and no other", body = ImportAcceptedAnswer),
        Refusals,
    )
)]
pub(crate) async fn accept(mut act: Act) -> Result<Response, Problem> {
    let (digest, verb) = act.named_verb();
    if verb != "accept" {
        return Err(no_such_verb("what is said of an import is `:accept`"));
    }
    let digest = digest_of(digest)?;
    let note = act.note("note").await?;
    let accepted = ImportAccepted { digest, by: None, note };
    let recorded = act.record(STREAM, &accepted).await?;
    let digest = accepted.digest.as_str().to_owned();
    recorded.answer_as(StatusCode::OK, |position| ImportAcceptedAnswer { position, digest })
}

/// A text that is no digest names no import.
fn digest_of(text: &str) -> Result<Sha256Text, Problem> {
    serde_json::from_value(Value::from(text)).map_err(|_| no_such_import())
}

fn no_such_import() -> Problem {
    Problem::new(Code::NoSuchGoverned, "there is no such import; `…/imports` lists them by their digests")
}

/// An answer that a read model may have more for in a moment is not kept.
fn answer(request: &ReadRequest, head: &Head, bytes: Vec<u8>, is_whole: bool, is_warm: bool) -> Response {
    if is_warm {
        Tier::Warm.note();
    }
    if is_whole {
        return page_answer(request, head, bytes);
    }
    Tier::Hot.note();
    answer_at_position(head.position, JSON, NO_STORE, bytes.into())
}

fn listed(digest: &Sha256Text, import: &Import, ledger: &IndexedLedger) -> ImportListed {
    let showed = showed(digest, import, ledger);
    ImportShowed::listed(showed, digest.as_str().to_owned(), import.position, import.accepted)
}

/// Returns `true` if the sums of an import are known.
fn is_known(import: &ImportListed) -> bool {
    import.dimensions.is_some()
}

/// Returns `true` if the sums of an import are a read model's.
fn is_told_by_model(import: &ImportListed) -> bool {
    import.accepted.is_some() && is_known(import)
}

/// Returns the sums of an import. Of one that counts, the deciding state keeps them no longer, but a read model does.
fn showed(digest: &Sha256Text, import: &Import, ledger: &IndexedLedger) -> Option<ImportShowed> {
    if import.accepted.is_some() {
        let models = ledger.read_models()?;
        return models.import_showed(digest.as_str()).ok().flatten();
    }
    let mut showed = ImportShowed::default();
    import.records().for_each(|(_, record)| showed.add(record));
    Some(showed)
}

/// Counts the dimensions in each standing.
fn standings<'a>(assessments: impl Iterator<Item = &'a Assessment>) -> StandingsAnswer {
    let mut counts = StandingsAnswer { auto_approve: 0, require_review: 0, blocked: 0 };
    for assessment in assessments {
        match assessment.standing {
            TrustStanding::AutoApprove => counts.auto_approve += 1,
            TrustStanding::RequireReview => counts.require_review += 1,
            TrustStanding::Blocked => counts.blocked += 1,
        }
    }
    counts
}

fn change(of: &ImportedDimension) -> ImportedAnswer {
    let record = TrustInputs::from(&of.record);
    ImportedAnswer {
        dimension: (&of.dimension).into(),
        imported: ImportCountsAnswer {
            approvals: record.approvals,
            rejections: record.rejections,
            failures: record.failures,
            last_updated: record.last_updated.map(format_time),
        },
        now: trust_answer(&of.inputs_now, &of.now),
        once_accepted: trust_answer(&of.inputs_accepted, &of.accepted),
    }
}
