//! The run that an event is of, as retention sees it.

use std::borrow::Cow;

use serde::Deserialize;

/// The member of an event's data that names its run.
#[derive(Deserialize)]
struct NamedRun<'a> {
    #[serde(borrow, default)]
    run: Option<Cow<'a, str>>,
}

/// Returns the run that an event is of: the one that its data names, else the one in its attribute. `data` is JSON.
#[must_use]
pub fn run_of<'a>(attribute: Option<&'a str>, data: Option<&'a [u8]>) -> Option<Cow<'a, str>> {
    let named = data.and_then(|data| serde_json::from_slice::<NamedRun<'_>>(data).ok()?.run);
    named.or(attribute.map(Cow::Borrowed))
}
