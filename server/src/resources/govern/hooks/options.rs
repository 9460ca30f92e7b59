//! The query of a hook: what its process knows and its input does not say.

use std::time::Duration;

use bitacora_formats::{Micros, format_time};
use bitacora_vocabulary::Name;

use crate::http::query::{Query, bad_query};
use crate::limits::MAX_WAIT;
use crate::problem::Problem;

/// The query of a hook.
pub(super) struct HookOptions {
    /// The call's id, where the harness names none.
    pub(super) call: Option<String>,
    /// The model, where the harness names none.
    pub(super) model: Option<String>,
    /// `true` if the harness's user is there to be asked.
    pub(super) interactive: bool,
    /// The time for which a call that needs an approval is held.
    pub(super) wait: Duration,
    /// `true` if a call that cannot be decided is answered as denied. Some harnesses run a call on any error.
    pub(super) denies_on_failure: bool,
    /// The id of this run of the hook, for events that have no id of their own.
    pub(super) delivery: Option<Name>,
    /// The time at which the hook ran, by its own clock, in RFC 3339. It is recorded as the event's `time`, and decides nothing.
    pub(super) occurred: Option<String>,
}

impl HookOptions {
    pub(super) fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let delivery = query.take("delivery")?.map(Name::new).transpose();
        Ok(Self {
            call: query.take("call")?.map(Into::into),
            model: query.take("model")?.map(Into::into),
            interactive: take_flag(query, "interactive")?,
            wait: query.take_duration("wait", MAX_WAIT)?.unwrap_or_default(),
            denies_on_failure: take_failure(query)?,
            occurred: take_occurred(query)?,
            delivery: delivery.map_err(|error| bad_query("delivery", &error.to_string()))?,
        })
    }
}

fn take_flag(query: &mut Query<'_>, name: &'static str) -> Result<bool, Problem> {
    match query.take(name)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(bad_query(name, "is neither `true` nor `false`")),
    }
}

fn take_occurred(query: &mut Query<'_>) -> Result<Option<String>, Problem> {
    let Some(text) = query.take("occurred")? else { return Ok(None) };
    let micros =
        text.parse().map_err(|_| bad_query("occurred", "is no number of microseconds since 1970"))?;
    Ok(Some(format_time(Micros(micros))))
}

fn take_failure(query: &mut Query<'_>) -> Result<bool, Problem> {
    match query.take("failure")?.as_deref() {
        None | Some("error") => Ok(false),
        Some("deny") => Ok(true),
        Some(_) => Err(bad_query("failure", "is neither `deny` nor `error`")),
    }
}
