//! Contents of steps, as events tell them.

use serde::Deserialize;
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;

use super::StepContent;
use crate::models::{LenientValue, lenient};

/// Digest and length of contents.
#[derive(Default)]
pub(super) struct RunContent {
    sha256: Option<String>,
    bytes: Option<u64>,
}

#[derive(Deserialize)]
struct WrittenContent {
    #[serde(default, deserialize_with = "lenient")]
    sha256: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    bytes: Option<u64>,
}

impl<'de> LenientValue<'de> for RunContent {
    fn of_object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
        let WrittenContent { sha256, bytes } =
            WrittenContent::deserialize(MapAccessDeserializer::new(members))?;
        Ok(Some(Self { sha256, bytes }))
    }
}

impl StepContent {
    /// Returns the contents as this event tells them; parts that it leaves out are as the event before told them.
    pub(super) fn merge(content: Option<RunContent>, summary: Option<String>, before: Option<&Self>) -> Self {
        let RunContent { sha256, bytes } = content.unwrap_or_default();
        let before = before.cloned().unwrap_or_default();
        Self {
            sha256: sha256.or(before.sha256),
            bytes: bytes.or(before.bytes),
            summary: summary.or(before.summary),
        }
    }
}
