//! What trust and circuit breakers are kept for.

mod part;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::part::{DimensionError, DimensionPart, MAX_DIMENSION_PART_BYTES};

use self::part::check_part;

/// Stands between two parts, and in none.
const SEPARATOR: char = '\0';

/// What trust and circuit breakers are kept for, one record each. A part that an event leaves out is `-`, not known.
///
/// Dimensions are ordered by their parts in this order, byte by byte. Copies share one text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// The parts, each but the last with a zero byte behind it, which no part holds: so texts are ordered as their parts are.
    text: Arc<str>,
    /// Where each part but the last ends.
    ends: [u16; 3],
}

impl Dimension {
    /// The dimension of these parts.
    ///
    /// # Errors
    /// The first part that is none.
    pub fn new(
        tool: impl AsRef<str>,
        context: impl AsRef<str>,
        model: impl AsRef<str>,
        task_type: impl AsRef<str>,
    ) -> Result<Self, DimensionError> {
        let parts = [tool.as_ref(), context.as_ref(), model.as_ref(), task_type.as_ref()];
        parts.iter().try_for_each(|part| check_part(part))?;
        Ok(Self::joined(parts))
    }

    /// The dimension of parts that were checked.
    #[must_use]
    pub fn of(parts: [&DimensionPart; 4]) -> Self {
        Self::joined(parts.map(DimensionPart::as_str))
    }

    fn joined(parts: [&str; 4]) -> Self {
        let mut text = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
        let mut ends = [0; 3];
        let [tool, context, model, task_type] = parts;
        for (part, end) in [tool, context, model].into_iter().zip(&mut ends) {
            text.push_str(part);
            // Three parts and what is between them are shorter than that.
            *end = u16::try_from(text.len()).unwrap_or(u16::MAX);
            text.push(SEPARATOR);
        }
        text.push_str(task_type);
        Self { text: text.into(), ends }
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        let [tool, ..] = self.parts();
        tool
    }

    /// Where, or with what: a path, a command, a host.
    #[must_use]
    pub fn context(&self) -> &str {
        let [_, context, ..] = self.parts();
        context
    }

    /// The model that asked.
    #[must_use]
    pub fn model(&self) -> &str {
        let [_, _, model, _] = self.parts();
        model
    }

    /// What for.
    #[must_use]
    pub fn task_type(&self) -> &str {
        let [.., task_type] = self.parts();
        task_type
    }

    /// The parts in their order.
    #[must_use]
    pub fn parts(&self) -> [&str; 4] {
        let [tool, context, model] = self.ends.map(usize::from);
        let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        [part(0, tool), part(tool + 1, context), part(context + 1, model), part(model + 1, self.text.len())]
    }

    /// The same of a call that works in no context, or whose context is hidden.
    #[must_use]
    pub fn without_context(&self) -> Self {
        let [tool, _, model, task_type] = self.parts();
        Self::joined([tool, DimensionPart::UNKNOWN, model, task_type])
    }
}

/// Not known in any part.
impl Default for Dimension {
    fn default() -> Self {
        Self::joined([DimensionPart::UNKNOWN; 4])
    }
}

impl fmt::Debug for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

/// A dimension as it is written and read.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Parts<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    context: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    task_type: Cow<'a, str>,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        let [tool, context, model, task_type] = [DimensionPart::UNKNOWN; 4].map(Cow::Borrowed);
        Self { tool, context, model, task_type }
    }
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [tool, context, model, task_type] = self.parts().map(Cow::Borrowed);
        Parts { tool, context, model, task_type }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts { tool, context, model, task_type } = Parts::deserialize(deserializer)?;
        Self::new(tool, context, model, task_type).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Dimension {
    fn schema_name() -> Cow<'static, str> {
        "Dimension".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Described::json_schema(generator)
    }
}

/// What trust and circuit breakers are kept for, one record each. A part that an event leaves out is `-`, not known.
///
/// Dimensions are ordered by their parts in this order, byte by byte.
#[derive(Serialize, Default, JsonSchema)]
#[serde(default)]
struct Described {
    /// The tool.
    tool: DimensionPart,
    /// Where, or with what: a path, a command, a host.
    context: DimensionPart,
    /// The model that asked.
    model: DimensionPart,
    /// What for.
    task_type: DimensionPart,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_left_out_is_not_known() {
        let dimension: Dimension = serde_json::from_str(r#"{"tool":"t"}"#).unwrap();
        assert_eq!(dimension, Dimension::new("t", "-", "-", "-").unwrap());
        assert_eq!(dimension.parts(), ["t", "-", "-", "-"]);
    }

    #[test]
    fn the_schema_takes_no_star() {
        let schema = serde_json::to_value(schemars::schema_for!(Dimension)).unwrap();
        assert_eq!(schema["properties"]["tool"]["not"]["const"], "*");
        assert_eq!(schema["properties"]["context"]["maxLength"], 1_024);
        assert_eq!(schema["required"], serde_json::Value::Null, "{schema}");
    }

    #[test]
    fn dimensions_are_ordered_as_their_parts_are() {
        const PARTS: [&str; 12] =
            ["-", "a", "ab", "a b", "a|b", "a/b", "a\tb", "a\n", "b", "\u{e9}", "\u{10fffd}", "**"];
        let all = PARTS.iter().flat_map(|one| PARTS.iter().map(move |other| [*one, *other, *one, *other]));
        let all: Vec<_> = all.collect();
        for one in &all {
            let [tool, context, model, task_type] = *one;
            let dimension = Dimension::new(tool, context, model, task_type).unwrap();
            assert_eq!(dimension.parts(), *one);
            assert_eq!(
                [dimension.tool(), dimension.context(), dimension.model(), dimension.task_type()],
                *one
            );
            for other in &all {
                let [tool, context, model, task_type] = *other;
                let after = Dimension::new(tool, context, model, task_type).unwrap();
                assert_eq!(dimension.cmp(&after), one.cmp(other), "{dimension:?} and {after:?}");
            }
        }
    }

    #[test]
    fn the_longest_dimension_keeps_its_parts() {
        let parts = ["t", "c", "m", "y"].map(|part| part.repeat(MAX_DIMENSION_PART_BYTES));
        let [tool, context, model, task_type] = &parts;
        let dimension = Dimension::new(tool, context, model, task_type).unwrap();
        assert_eq!(dimension.parts(), parts.each_ref().map(String::as_str));
        let text = serde_json::to_string(&dimension).unwrap();
        assert_eq!(serde_json::from_str::<Dimension>(&text).unwrap(), dimension);
        assert!(Dimension::new(tool, "x".repeat(MAX_DIMENSION_PART_BYTES + 1), model, "-").is_err());
        assert!(serde_json::from_str::<Dimension>(r#"{"tool":"*"}"#).is_err());
    }
}
