//! The answers that a report is made from, asked of a service.

use std::collections::BTreeMap;

use bitacora_api::{AnswererList, ApprovalList, GapList, SuggestionList};
use bitacora_report::LearnedAnswers;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use crate::commands::gaps::open_calls;
use crate::error::CommandError;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage, each_page};
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::{ServiceClient, ServiceFailure};

/// The answers as they came, by their subject, for programs.
#[derive(Serialize)]
pub(super) struct ReportDocument {
    /// The position of the last event that is counted.
    pub(super) position: String,
    suggestions: BTreeMap<&'static str, Box<RawValue>>,
    costs: BTreeMap<&'static str, Box<RawValue>>,
    gaps: Box<RawValue>,
    approvals: Box<RawValue>,
    answerers: Box<RawValue>,
}

/// Asks a service for everything that a report says.
pub(super) fn gather(service: &mut ServiceClient) -> Result<(ReportDocument, LearnedAnswers), CommandError> {
    let mut suggestions = BTreeMap::new();
    let mut in_state = |state: &'static str| {
        let path = with_query("suggestions", &json!({"state": state}));
        let (document, items) = all_pages::<SuggestionList>(service, &path)?;
        suggestions.insert(state, document);
        Ok::<_, CommandError>(items)
    };
    let [open, candidates, imported] = [in_state("open")?, in_state("candidate")?, in_state("imported")?];
    let [accepted, rejected] = [in_state("accepted")?, in_state("rejected")?];
    let position = service.at_least().unwrap_or("-").to_owned();
    let (models, by_model) = one_page(service, "costs?by=model")?;
    let (days, by_day) = one_page(service, "costs?by=day,model")?;
    let (gap_pages, gaps) = all_pages::<GapList>(service, "gaps")?;
    let open_calls = open_calls(None, service)?;
    let (approval_pages, approvals) = all_pages::<ApprovalList>(service, "approvals")?;
    let (answerer_pages, answerers) = all_pages::<AnswererList>(service, "answerers")?;
    let document = ReportDocument {
        position,
        suggestions,
        costs: [("byModel", models), ("byDayAndModel", days)].into(),
        gaps: gap_pages,
        approvals: approval_pages,
        answerers: answerer_pages,
    };
    let answers = LearnedAnswers {
        open,
        candidates,
        imported,
        accepted,
        rejected,
        by_model,
        by_day,
        gaps,
        open_calls,
        approvals,
        answerers,
    };
    Ok((document, answers))
}

/// Returns the pages of a list, joined as JSON, and their items.
fn all_pages<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
) -> Result<(Box<RawValue>, Vec<T::Item>), CommandError> {
    let (mut merged, mut items) = (MergedPages::new(T::LISTS), Vec::new());
    each_page(service, path, |text, page: T| {
        merged.take(text)?;
        items.extend(page.into_items());
        Ok(())
    })?;
    Ok((document(&merged)?, items))
}

fn one_page<T: DeserializeOwned>(
    service: &mut ServiceClient,
    path: &str,
) -> Result<(Box<RawValue>, T), CommandError> {
    let answer = service.get(path)?;
    let mut merged = MergedPages::new(&[]);
    merged.take(answer.text())?;
    Ok((document(&merged)?, answer.read()?))
}

fn document(merged: &MergedPages) -> Result<Box<RawValue>, ServiceFailure> {
    RawValue::from_string(merged.to_json()).map_err(ServiceFailure::Request)
}
