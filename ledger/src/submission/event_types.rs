//! The checks of an event by its type: the sender's right to write it, and the schema of its data.

use crate::submission::append_error::AppendError;

use bitacora_formats::{Data, Event};
use bitacora_governance::{Reactor, SCHEDULER_SOURCE};
use bitacora_vocabulary::{
    Assurance, BreakerClosed, EXPORT_SOURCE, EventData, EventDataError, EventWriter, ExportMade, FREE_PREFIX,
    RunOverdue, SchemaMatch, SuggestionMade, TrustObserved, check_data, check_members, event_type,
    is_service_kind,
};

/// Returns `true` where a client may not write such an event: it is the service's own, or derived from others. An import brings outcomes
/// that were derived elsewhere, and says so. An event that closes a breaker for an operator names the operator. The service beside the
/// ledger finds suggestions and runs that tell no end; it writes them under a source of its own.
pub(crate) fn is_reserved(event: &Event<'_>) -> bool {
    // Most are free: for them no list is searched.
    if event.kind.starts_with(FREE_PREFIX) {
        return false;
    }
    match event_type(&event.kind).map(|listed| listed.writer) {
        Some(EventWriter::Service) => !is_recorded_export(event),
        None => is_service_kind(&event.kind),
        Some(EventWriter::Reactor) => {
            !is_imported(event) && !is_a_persons(event) && !is_found_by_the_service(event)
        }
        Some(EventWriter::Anyone | EventWriter::Operators | EventWriter::Admins) => false,
    }
}

fn is_imported(event: &Event<'_>) -> bool {
    let observed = read::<TrustObserved>(event);
    observed.is_some_and(|observed| observed.assurance == Some(Assurance::Imported))
}

fn is_a_persons(event: &Event<'_>) -> bool {
    read::<BreakerClosed>(event).is_some_and(|closed| closed.by.is_some())
}

fn is_found_by_the_service(event: &Event<'_>) -> bool {
    let is_found = event.kind == SuggestionMade::KIND || event.kind == RunOverdue::KIND;
    is_found && event.source == SCHEDULER_SOURCE
}

/// The service beside the ledger records exports of its callers, under a source that no caller may use.
fn is_recorded_export(event: &Event<'_>) -> bool {
    event.kind == ExportMade::KIND && event.source == EXPORT_SOURCE
}

/// The data of an event, if it is of this type.
fn read<T: EventData>(event: &Event<'_>) -> Option<T> {
    if event.kind != T::KIND {
        return None;
    }
    serde_json::from_slice(json(event)?).ok()
}

/// Data has to be what the vocabulary asks for, where it has the type; what is recorded is not looked at again.
pub(crate) fn check_type(event: &Event<'_>, index: usize) -> Result<SchemaMatch, AppendError> {
    check_data(&event.kind, json(event)).map_err(|error| misfit(&error, index))
}

/// Data of a type that governs has no member that the type does not know. One that has is given back: a retry of an event that was taken
/// before gets its original answer.
pub(crate) fn check_known(event: &Event<'_>) -> Option<Box<EventDataError>> {
    check_members(&event.kind, json(event)?).err().map(Box::new)
}

/// Of a type that the vocabulary does not have: it has to be registered. Data that does not fit is given back, because only
/// who knows all identities can tell whether it was taken before.
pub(crate) fn check_registered(
    reactor: Option<&dyn Reactor>,
    event: &Event<'_>,
    index: usize,
) -> Result<Option<Box<EventDataError>>, AppendError> {
    let fit = reactor
        .map_or(Ok(SchemaMatch::Unlisted), |reactor| reactor.check_registered(&event.kind, json(event)));
    match fit {
        Ok(SchemaMatch::Listed | SchemaMatch::Registered | SchemaMatch::Free) => Ok(None),
        Ok(SchemaMatch::Unlisted) => Err(AppendError::Schema {
            index,
            pointer: "/type".to_owned(),
            problem: format!(
                "is none that is known; begin it with `{FREE_PREFIX}`, or register a schema for it with `schema.registered`"
            ),
        }),
        Err(error) => Ok(Some(Box::new(error))),
    }
}

/// As a refusal of the request.
pub(crate) fn misfit(error: &EventDataError, index: usize) -> AppendError {
    let EventDataError { pointer, problem } = error;
    AppendError::Schema { index, pointer: format!("/data{pointer}"), problem: problem.clone() }
}

fn json<'e>(event: &'e Event<'_>) -> Option<&'e [u8]> {
    match &event.data {
        Data::Json(data) => Some(data),
        Data::Binary(_) | Data::None => None,
    }
}
