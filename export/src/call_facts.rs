//! The members of an event's data that filters and columns name: tool, verdict and the like.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::stored_row::StoredRow;

/// The facts about a call in the data of an event. A member of another type counts as absent.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CallFacts<'a> {
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
    #[serde(borrow)]
    verdict: Option<&'a RawValue>,
    #[serde(borrow)]
    dimension: Option<&'a RawValue>,
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow)]
    call: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    error_type: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    reason_code: Option<&'a RawValue>,
    #[serde(borrow)]
    rule: Option<&'a RawValue>,
    #[serde(borrow)]
    mode: Option<&'a RawValue>,
    #[serde(borrow)]
    duration_ms: Option<&'a RawValue>,
}

/// A member that holds the dimension of a decision.
#[derive(Deserialize)]
struct Inputs<'a> {
    #[serde(borrow)]
    dimension: Option<&'a RawValue>,
}

/// A dimension's tool.
#[derive(Deserialize)]
struct DimensionTool<'a> {
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
}

impl<'a> CallFacts<'a> {
    /// Returns the facts in the data of a row; none where the data is no object.
    pub(crate) fn of(row: &StoredRow<'a>) -> Self {
        let is_object = |data: &&RawValue| data.get().starts_with('{');
        let data = row.event.data.filter(is_object);
        data.and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()
    }

    /// Returns the tool: the data's own, else that of its dimension, else that of the dimension in a decision's inputs.
    pub(crate) fn tool(&self) -> Option<Cow<'a, str>> {
        text(self.tool).or_else(|| dimension_tool(self.dimension)).or_else(|| {
            let inputs: Inputs<'a> = serde_json::from_str(self.inputs?.get()).ok()?;
            dimension_tool(inputs.dimension)
        })
    }

    /// Returns the verdict of a decision.
    pub(crate) fn verdict(&self) -> Option<Cow<'a, str>> {
        text(self.verdict)
    }

    /// Returns the call's id.
    pub(crate) fn call(&self) -> Option<Cow<'a, str>> {
        text(self.call)
    }

    /// Returns the status of an outcome.
    pub(crate) fn status(&self) -> Option<Cow<'a, str>> {
        text(self.status)
    }

    /// Returns the kind of an error.
    pub(crate) fn error_type(&self) -> Option<Cow<'a, str>> {
        text(self.error_type)
    }

    /// Returns the reason, in words.
    pub(crate) fn reason(&self) -> Option<Cow<'a, str>> {
        text(self.reason)
    }

    /// Returns the reason, in one word.
    pub(crate) fn reason_code(&self) -> Option<Cow<'a, str>> {
        text(self.reason_code)
    }

    /// Returns the rule of the policy that matched.
    pub(crate) fn rule(&self) -> Option<Cow<'a, str>> {
        text(self.rule)
    }

    /// Returns the mode of a decision.
    pub(crate) fn mode(&self) -> Option<Cow<'a, str>> {
        text(self.mode)
    }

    /// Returns the duration in milliseconds.
    pub(crate) fn duration_ms(&self) -> Option<u64> {
        serde_json::from_str(self.duration_ms?.get()).ok()
    }
}

fn dimension_tool(dimension: Option<&RawValue>) -> Option<Cow<'_, str>> {
    text(serde_json::from_str::<DimensionTool<'_>>(dimension?.get()).ok()?.tool)
}

fn text(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(value?.get()).ok().map(|Text(text)| text)
}
