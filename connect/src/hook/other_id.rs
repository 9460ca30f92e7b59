//! Inputs and traces whose id the service has with other content: each goes under another id, and a trace tells of it.
//!
//! A program that sees an input on its way, or guesses a call's id, can send something else under that id first. The service then keeps the
//! first one. So the real one is recorded beside it.

use std::collections::BTreeMap;

use bitacora_harness::{Dialect, HookEvent, MAX_CALL_BYTES};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::trace::LostInput;
use crate::error::SpoolError;
use crate::spool::{FollowingTraces, Spool, SpooledInput};

/// The codes of refusals of an id that is recorded with other content.
const TAKEN_IDS: [&str; 3] = ["id-reused", "call-reused", "call-taken"];
/// The member of an input that names its call.
const CALL: &str = "tool_use_id";
/// The character between a call's id and what makes it another one.
const BETWEEN: char = '~';

/// Returns `true` if a refusal says that the id is recorded with other content.
pub(super) fn is_taken_id(code: &str) -> bool {
    TAKEN_IDS.contains(&code)
}

/// Returns an id that nobody foretells.
pub(super) fn random_id() -> Result<String, SpoolError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| SpoolError::Random)?;
    Ok(hex::encode(random))
}

/// Returns an event under an id of its own.
pub(super) fn event_under_other_id(event: &str) -> Option<String> {
    let mut members: BTreeMap<String, Value> = serde_json::from_str(event).ok()?;
    members.insert("id".to_owned(), format!("{}#lost", random_id().ok()?).into());
    serde_json::to_string(&members).ok()
}

/// Returns an input of a harness under another id, with the trace that is told once it is recorded; `None` if it has no id.
pub(super) fn input_under_other_id(spool: &Spool, input: &SpooledInput, code: &str) -> Option<SpooledInput> {
    let harness = super::delivery::harness_of(&input.path);
    let dialect: Dialect = harness.parse().ok()?;
    let read = dialect.read(input.body.as_bytes()).ok()?;
    let named = match &read.event {
        HookEvent::BeforeTool(call) => Some(&call.call),
        HookEvent::AfterTool(end) => Some(&end.call),
        _ => None,
    };
    let other = |call: &str| {
        let other = format!("{call}{BETWEEN}{}", spool.code_of(&format!("{}\n{call}", read.session)));
        (other.len() <= MAX_CALL_BYTES).then_some(other)
    };
    let (path, body, id) = match named {
        None => {
            let delivery = random_id().ok()?;
            (
                with_parameter(&input.path, "delivery", |_| Some(delivery.clone()))?,
                input.body.clone(),
                delivery,
            )
        }
        Some(None) => {
            let mut id = None;
            let path = with_parameter(&input.path, "call", |call| {
                id = other(call);
                id.clone()
            })?;
            (path, input.body.clone(), id?)
        }
        Some(Some(call)) => {
            let id = other(call)?;
            (input.path.clone(), with_call(&input.body, &id)?, id)
        }
    };
    let why = format!("the service has another one under its own id ({code})");
    let trace = |fate: String| Some(LostInput::of_spooled(&random_id().ok()?, harness, &input.body, &fate));
    let taken = trace(format!("is recorded under {id}: {why}"))?;
    let refused = trace(format!("is not recorded: {why}, and refuses it under {id}"))?;
    Some(SpooledInput { path, body, then: Some(FollowingTraces { taken, refused }) })
}

/// Returns a path with another value of a parameter, which has to be there.
fn with_parameter(path: &str, name: &str, other: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let beginning = format!("{name}=");
    let (resource, query) = path.split_once('?')?;
    let mut parts: Vec<_> = query.split('&').map(str::to_owned).collect();
    let part = parts.iter_mut().find(|part| part.starts_with(&beginning))?;
    *part = format!("{beginning}{}", other(part.strip_prefix(&beginning)?)?);
    Some(format!("{resource}?{}", parts.join("&")))
}

/// Returns an input that names another call. Every other value keeps its text.
fn with_call(body: &str, call: &str) -> Option<String> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(body).ok()?;
    members.insert(CALL.to_owned(), to_raw_value(call).ok()?);
    serde_json::to_string(&members).ok()
}
