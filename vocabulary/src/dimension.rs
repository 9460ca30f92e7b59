//! Dimensions, for each of which trust and a circuit breaker are kept.

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

/// A dimension, for which one record of trust and one circuit breaker are kept. A part that an event leaves out is
/// `-`, not known. A dimension without a workspace is kept for all of them together.
///
/// Dimensions are ordered by tool, context, workspace, model and task type, byte by byte. One without a workspace
/// stands before those with one. The dimensions of a tool and context in one workspace are therefore neighbours,
/// however many there are in others. Copies share one text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// The parts in that order, each but the last with a zero byte behind it, which no part holds: so texts are ordered as their
    /// parts are. No workspace is an empty part, which no other part is.
    text: Arc<str>,
    /// The end of each part but the last, in bytes.
    ends: [u16; 4],
}

impl Dimension {
    /// The dimension of these parts, for all workspaces together.
    ///
    /// # Errors
    /// The first part that is none.
    pub fn new(
        tool: impl AsRef<str>,
        context: impl AsRef<str>,
        model: impl AsRef<str>,
        task_type: impl AsRef<str>,
    ) -> Result<Self, DimensionError> {
        Self::checked([tool.as_ref(), context.as_ref(), model.as_ref(), task_type.as_ref()], None)
    }

    fn checked(parts: [&str; 4], workspace: Option<&str>) -> Result<Self, DimensionError> {
        parts.iter().copied().chain(workspace).try_for_each(check_part)?;
        Ok(Self::joined(parts, workspace))
    }

    /// The dimension of parts that were checked, for all workspaces together.
    #[must_use]
    pub fn of(parts: [&DimensionPart; 4]) -> Self {
        Self::joined(parts.map(DimensionPart::as_str), None)
    }

    fn joined([tool, context, model, task_type]: [&str; 4], workspace: Option<&str>) -> Self {
        let before_last = [tool, context, workspace.unwrap_or_default(), model];
        let length = before_last.iter().map(|part| part.len() + 1).sum::<usize>() + task_type.len();
        let mut text = String::with_capacity(length);
        let mut ends = [0; 4];
        for (part, end) in before_last.into_iter().zip(&mut ends) {
            text.push_str(part);
            // Four parts and what is between them are shorter than that.
            *end = u16::try_from(text.len()).unwrap_or(u16::MAX);
            text.push(SEPARATOR);
        }
        text.push_str(task_type);
        Self { text: text.into(), ends }
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        let [tool, ..] = self.ordered();
        tool
    }

    /// Returns the context: a path, a command, a host.
    #[must_use]
    pub fn context(&self) -> &str {
        let [_, context, ..] = self.ordered();
        context
    }

    /// The model that asked.
    #[must_use]
    pub fn model(&self) -> &str {
        let [.., model, _] = self.ordered();
        model
    }

    /// Returns the type of task.
    #[must_use]
    pub fn task_type(&self) -> &str {
        let [.., task_type] = self.ordered();
        task_type
    }

    /// The project in which it is kept; `None` where it is kept for all of them together.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        let [_, _, workspace, ..] = self.ordered();
        Some(workspace).filter(|workspace| !workspace.is_empty())
    }

    /// Tool, context, model and task type, which every dimension has.
    #[must_use]
    pub fn parts(&self) -> [&str; 4] {
        let [tool, context, _, model, task_type] = self.ordered();
        [tool, context, model, task_type]
    }

    /// Returns these four, and the workspace behind them if there is one: all parts that tell it from other dimensions.
    #[must_use]
    pub fn every_part(&self) -> Vec<&str> {
        let mut parts = Vec::with_capacity(5);
        parts.extend(self.parts());
        parts.extend(self.workspace());
        parts
    }

    /// The parts as dimensions are ordered by them; an empty one for no workspace.
    fn ordered(&self) -> [&str; 5] {
        let [tool, context, workspace, model] = self.ends.map(usize::from);
        let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        [
            part(0, tool),
            part(tool + 1, context),
            part(context + 1, workspace),
            part(workspace + 1, model),
            part(model + 1, self.text.len()),
        ]
    }

    /// The same in a workspace, or for all of them together.
    #[must_use]
    pub fn in_workspace(&self, workspace: Option<&DimensionPart>) -> Self {
        Self::joined(self.parts(), workspace.map(DimensionPart::as_str))
    }

    /// The same of another model and task type; `-` for one that can be no part.
    #[must_use]
    pub fn with_model(&self, model: &str, task_type: &str) -> Self {
        let [tool, context, ..] = self.parts();
        let part = |text| if check_part(text).is_ok() { text } else { DimensionPart::UNKNOWN };
        Self::joined([tool, context, part(model), part(task_type)], self.workspace())
    }

    /// The same of a call that works in no context, or whose context is hidden.
    #[must_use]
    pub fn without_context(&self) -> Self {
        let [tool, _, model, task_type] = self.parts();
        Self::joined([tool, DimensionPart::UNKNOWN, model, task_type], self.workspace())
    }
}

/// Not known in any part, for all workspaces together.
impl Default for Dimension {
    fn default() -> Self {
        Self::joined([DimensionPart::UNKNOWN; 4], None)
    }
}

impl fmt::Debug for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.every_part()).finish()
    }
}

/// A dimension as it is written and read.
#[derive(Serialize, Deserialize)]
#[serde(default)]
#[serde(expecting = "struct Parts")]
struct DimensionFields<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    context: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    task_type: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "that_is_there", skip_serializing_if = "Option::is_none")]
    workspace: Option<BorrowedText<'a>>,
}

/// A text that may be borrowed behind an `Option` too.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// A member that is there has a text: `null` is none.
fn that_is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BorrowedText<'de>>, D::Error> {
    BorrowedText::deserialize(deserializer).map(Some)
}

impl Default for DimensionFields<'_> {
    fn default() -> Self {
        let [tool, context, model, task_type] = [DimensionPart::UNKNOWN; 4].map(Cow::Borrowed);
        Self { tool, context, model, task_type, workspace: None }
    }
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A format that names no members cannot leave one out.
        if !serializer.is_human_readable() {
            return self.ordered().serialize(serializer);
        }
        let [tool, context, model, task_type] = self.parts().map(Cow::Borrowed);
        let workspace = self.workspace().map(|workspace| BorrowedText(workspace.into()));
        DimensionFields { tool, context, model, task_type, workspace }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let [tool, context, workspace, model, task_type] = <[String; 5]>::deserialize(deserializer)?;
            let workspace = Some(workspace.as_str()).filter(|workspace| !workspace.is_empty());
            return Self::checked([&tool, &context, &model, &task_type], workspace)
                .map_err(serde::de::Error::custom);
        }
        let DimensionFields { tool, context, model, task_type, workspace } =
            DimensionFields::deserialize(deserializer)?;
        let workspace = workspace.as_ref().map(|BorrowedText(workspace)| &**workspace);
        Self::checked([&tool, &context, &model, &task_type], workspace).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Dimension {
    fn schema_name() -> Cow<'static, str> {
        "Dimension".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DimensionSchema::json_schema(generator)
    }
}

/// A dimension, for which one record of trust and one circuit breaker are kept. A part that an event leaves out is
/// `-`, not known. A dimension without a workspace is kept for all of them together.
///
/// Dimensions are ordered by tool, context, workspace, model and task type, byte by byte.
#[derive(Serialize, Default, JsonSchema)]
#[serde(default)]
struct DimensionSchema {
    /// The tool.
    tool: DimensionPart,
    /// The context: a path, a command, a host.
    context: DimensionPart,
    /// The model that asked.
    model: DimensionPart,
    /// The type of task.
    task_type: DimensionPart,
    /// The project that the call worked in: the root of its working folder; `-` where it named none. Left out where trust is kept for
    /// all workspaces together, as it was before version 6 of the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DimensionPart")]
    workspace: Option<DimensionPart>,
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
        assert_eq!(schema["properties"]["workspace"]["maxLength"], 1_024);
        assert_eq!(schema["properties"]["workspace"]["default"], serde_json::Value::Null);
        assert_eq!(schema["required"], serde_json::Value::Null, "{schema}");
    }

    #[test]
    fn dimensions_are_ordered_as_their_parts_are() {
        const PARTS: [&str; 12] =
            ["-", "a", "ab", "a b", "a|b", "a/b", "a\tb", "a\n", "b", "\u{e9}", "\u{10fffd}", "**"];
        let workspaces = [None, Some("-"), Some("/a"), Some("/a/b"), Some("/a\tb")];
        let pairs = PARTS.iter().flat_map(|one| PARTS.iter().map(move |other| [*one, *other, *one, *other]));
        let all = pairs.flat_map(|parts| workspaces.map(|workspace| (parts, workspace)));
        let all: Vec<_> = all.step_by(3).collect();
        let ordered = |([tool, context, model, task_type], workspace): ([&'static str; 4], _)| {
            (tool, context, workspace, model, task_type)
        };
        for (parts, workspace) in &all {
            let dimension = Dimension::checked(*parts, *workspace).unwrap();
            assert_eq!((dimension.parts(), dimension.workspace()), (*parts, *workspace));
            assert_eq!(
                [dimension.tool(), dimension.context(), dimension.model(), dimension.task_type()],
                *parts
            );
            for (other, elsewhere) in &all {
                let after = Dimension::checked(*other, *elsewhere).unwrap();
                let expected = ordered((*parts, *workspace)).cmp(&ordered((*other, *elsewhere)));
                assert_eq!(dimension.cmp(&after), expected, "{dimension:?} and {after:?}");
            }
        }
    }

    #[test]
    fn a_workspace_is_written_where_there_is_one_and_changes_nothing_where_there_is_none() {
        let without = r#"{"tool":"t","context":"c","model":"m","task_type":"y"}"#;
        let within = r#"{"tool":"t","context":"c","model":"m","task_type":"y","workspace":"/home/ana/cli"}"#;
        let read = |text: &str| serde_json::from_str::<Dimension>(text);
        for text in [without, within] {
            assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        }
        let (all, one) = (read(without).unwrap(), read(within).unwrap());
        assert_eq!((all.workspace(), one.workspace()), (None, Some("/home/ana/cli")));
        assert_eq!(all.every_part(), ["t", "c", "m", "y"]);
        assert_eq!(one.every_part(), ["t", "c", "m", "y", "/home/ana/cli"]);
        assert_eq!(one.in_workspace(None), all);
        assert_eq!(all.in_workspace(Some(&DimensionPart::new("/home/ana/cli").unwrap())), one);
        assert_eq!(one.without_context().every_part(), ["t", "-", "m", "y", "/home/ana/cli"]);
        for bad in ["null", "\"\"", "\"*\"", "7"] {
            let text = format!(r#"{{"tool":"t","workspace":{bad}}}"#);
            assert!(read(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_longest_dimension_keeps_its_parts() {
        let parts = ["t", "c", "m", "y"].map(|part| part.repeat(MAX_DIMENSION_PART_BYTES));
        let workspace = "w".repeat(MAX_DIMENSION_PART_BYTES);
        let [tool, context, model, _] = &parts;
        let dimension = Dimension::checked(parts.each_ref().map(String::as_str), Some(&workspace)).unwrap();
        assert_eq!(dimension.parts(), parts.each_ref().map(String::as_str));
        assert_eq!(dimension.workspace(), Some(&*workspace));
        let text = serde_json::to_string(&dimension).unwrap();
        assert_eq!(serde_json::from_str::<Dimension>(&text).unwrap(), dimension);
        assert!(Dimension::new(tool, "x".repeat(MAX_DIMENSION_PART_BYTES + 1), model, "-").is_err());
        assert!(Dimension::checked([tool, context, model, "-"], Some(&"x".repeat(1_025))).is_err());
        assert!(serde_json::from_str::<Dimension>(r#"{"tool":"*"}"#).is_err());
    }
}
