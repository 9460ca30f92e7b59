//! The document of a version: as it is recorded, and as somebody writes the next one.

use bitacora_api::{PolicyDocumentAnswer, paths};
use serde_json::Value;

use crate::interface::Answered;
use crate::json::{Members, pretty};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The members that the service sets when a version is published.
const SET_BY_THE_SERVICE: [&str; 5] = ["version", "digest", "author", "parent", "note"];

/// Asks for a version.
pub(super) async fn ask(visit: &Visit, version: &str) -> Result<Answered<PolicyDocumentAnswer>, PageError> {
    visit.get(paths::POLICY_VERSION, &[version], "").await
}

/// Returns the members of a document.
pub(super) fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or(Value::Null)
}

/// Returns a document as a person edits it: without what the service sets, indented.
pub(super) fn to_edit(document: &str) -> String {
    let Ok(members) = Members::read(document) else { return document.to_owned() };
    pretty(&members.to_json(|name| !SET_BY_THE_SERVICE.contains(&name)))
}
