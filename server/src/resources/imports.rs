//! `…/imports`: what was recorded elsewhere and brought here, what each import would change, and the word that lets it count.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_formats::format_time;
use bitacora_formats::vocabulary::{ImportAccepted, Sha256Text};
use bitacora_governance::{Assessment, Import, ImportedDimension, MAX_LISTED, Standing, TrustInputs};
use serde_json::Value;

use super::openapi::PROBLEM;
use crate::access::Caller;
use crate::answers::{ActAnswer, ImportAnswer, ImportList, ProblemAnswer};
use crate::api::Api;
use crate::decision_json::{write_dimension, write_trust};
use crate::governed::{Governed, act_answer, governance, optional_note};
use crate::json::JsonWriter;
use crate::media::JSON;
use crate::path::PathNames;
use crate::problem::{Code, Problem};
use crate::query::bad_query;
use crate::question::{NO_STORE, Question, answer_at};

/// The stream of imports.
const STREAM: &str = "imports";
/// What one dimension takes in an answer, about, bytes.
const DIMENSION_BYTES: usize = 512;
/// Dimensions of a report, when the client names no limit.
const DEFAULT_DIMENSIONS: usize = 100;

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/imports",
    tag = "governance",
    operation_id = "listImports",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "Imports that ended, the last first, up to 1,000", body = ImportList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    question.takes_no_parameters()?;
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let mut json = JsonWriter::with_capacity(4096);
            json.begin_object();
            json.key("imports");
            json.begin_array();
            governance(&ledger)?.read(|state| {
                let mut imports: Vec<_> = state.imports().collect();
                imports.sort_unstable_by_key(|(_, import)| std::cmp::Reverse(import.position));
                for (digest, import) in imports.into_iter().take(MAX_LISTED) {
                    json.begin_object();
                    write_import(digest, import, &mut json);
                    json.end_object();
                }
            });
            json.end_array();
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

#[utoipa::path(
    get,
    path = "/v1/ledgers/{ledger}/imports/{import}",
    tag = "governance",
    operation_id = "showImport",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("import" = String, Path, description = "Its digest"),
        ("limit" = Option<usize>, Query, description = "At most this many dimensions, up to 1,000; those with the most outcomes come first"),
        ("Ledger-Min-Position" = Option<String>, Header, description = "The position that must be durable; waited for up to 5 s"),
    ),
    responses(
        (status = 200, description = "What the import showed, and what would be said of each dimension once it counts", body = ImportAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, question: Question) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(DEFAULT_DIMENSIONS);
    query.finish()?;
    if !(1..=MAX_LISTED).contains(&limit) {
        return Err(bad_query("limit", &format!("is not 1 to {MAX_LISTED}")));
    }
    let digest = digest_of(question.names.named.as_deref().unwrap_or_default())?;
    let head = question.state(&api).await?;
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let found = governance(&ledger)?.read(|state| {
                let import = state.import(&digest)?;
                Some((import.clone(), state.would_change(import, head.time)))
            });
            let (import, mut changes) = found.ok_or_else(no_such_import)?;
            let outcomes = |of: &ImportedDimension| {
                let record = &of.record;
                record.approvals.saturating_add(record.rejections).saturating_add(record.failures)
            };
            // Those with the same number of outcomes stay in the order of their names.
            changes.sort_by_key(|of| std::cmp::Reverse(outcomes(of)));
            let mut json = JsonWriter::with_capacity(512 + DIMENSION_BYTES * changes.len().min(limit));
            json.begin_object();
            json.text_member("evaluatedAt", &format_time(head.time));
            write_import(&digest, &import, &mut json);
            write_standings("now", changes.iter().map(|of| &of.now), &mut json);
            write_standings("onceAccepted", changes.iter().map(|of| &of.accepted), &mut json);
            json.key("changes");
            json.begin_array();
            changes.iter().take(limit).for_each(|of| write_change(of, &mut json));
            json.end_array();
            json.end_object();
            Ok(json.into_bytes())
        })
        .await?;
    Ok(answer_at(&head, JSON, NO_STORE, bytes.into()))
}

#[utoipa::path(
    post,
    path = "/v1/ledgers/{ledger}/imports/{import}",
    tag = "governance",
    operation_id = "acceptImport",
    params(
        ("ledger" = String, Path, description = "The ledger's name"),
        ("import" = String, Path, description = "Its digest, and what is said of it: `9f86…:accept`"),
    ),
    request_body(content = Option<Value>, description = "May be left out; `note` says why"),
    responses(
        (status = 200, description = "Recorded: this import counts from here on, and no other", body = ActAnswer),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
        (status = "5XX", description = "Failed; the member sideEffects says what it may have left behind", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn accept(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    governance(&ledger)?;
    let named = names.named.unwrap_or_default();
    let Some(digest) = named.strip_suffix(":accept") else {
        return Err(Problem::new(Code::NoSuchResource, "what is said of an import is `:accept`"));
    };
    let note = optional_note(&api, &headers, body, "note").await?;
    let accepted = ImportAccepted { digest: digest_of(digest)?, by: None, note };
    let appended = Governed::act(&ledger, &caller, STREAM, &accepted)?.append(&api, &ledger).await?;
    Ok(act_answer(StatusCode::OK, &appended, |json| {
        json.text_member("digest", accepted.digest.as_str());
    }))
}

/// A text that is no digest names no import.
fn digest_of(text: &str) -> Result<Sha256Text, Problem> {
    serde_json::from_value(Value::from(text)).map_err(|_| no_such_import())
}

fn no_such_import() -> Problem {
    Problem::new(Code::NoSuchGoverned, "there is no such import; `…/imports` lists them by their digests")
}

fn write_import(digest: &Sha256Text, import: &Import, json: &mut JsonWriter) {
    json.text_member("digest", digest.as_str());
    json.place_member("position", import.position);
    if let Some(accepted) = import.accepted {
        json.place_member("accepted", accepted);
    }
    let sum = |count: fn(&bitacora_governance::TrustRecord) -> u64| {
        import.records().fold(0, |sum: u64, (_, record)| sum.saturating_add(count(record)))
    };
    json.number_member("dimensions", import.records().len() as u64);
    json.number_member("approvals", sum(|record| record.approvals));
    json.number_member("rejections", sum(|record| record.rejections));
    json.number_member("failures", sum(|record| record.failures));
}

/// How many dimensions stand how.
fn write_standings<'a>(
    name: &'static str,
    assessments: impl Iterator<Item = &'a Assessment>,
    json: &mut JsonWriter,
) {
    let (mut allowed, mut reviewed, mut blocked) = (0, 0, 0);
    for assessment in assessments {
        match assessment.standing {
            Standing::AutoApprove => allowed += 1,
            Standing::RequireReview => reviewed += 1,
            Standing::Blocked => blocked += 1,
        }
    }
    json.key(name);
    json.begin_object();
    json.number_member("autoApprove", allowed);
    json.number_member("requireReview", reviewed);
    json.number_member("blocked", blocked);
    json.end_object();
}

fn write_change(of: &ImportedDimension, json: &mut JsonWriter) {
    json.begin_object();
    write_dimension(&of.dimension, json);
    json.key("imported");
    json.begin_object();
    let record = TrustInputs::from(&of.record);
    json.number_member("approvals", record.approvals);
    json.number_member("rejections", record.rejections);
    json.number_member("failures", record.failures);
    if let Some(updated) = record.last_updated {
        json.text_member("lastUpdated", &format_time(updated));
    }
    json.end_object();
    for (name, inputs, assessment) in
        [("now", &of.inputs_now, &of.now), ("onceAccepted", &of.inputs_accepted, &of.accepted)]
    {
        json.key(name);
        json.begin_object();
        write_trust(inputs, assessment, json);
        json.end_object();
    }
    json.end_object();
}
