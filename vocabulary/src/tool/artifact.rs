//! Things that calls make or change.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::ArtifactText;
use crate::Name;

/// Something that a call made or changed: its path alone, or more of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Artifact {
    /// A path or a URL.
    Path(ArtifactText),
    /// A path or a URL, with the known facts about the thing there.
    Described(DescribedArtifact),
}

/// An artifact with its type and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribedArtifact {
    /// Its path or its URL.
    pub path: ArtifactText,
    /// Its type, in the executor's word: `file`, `image/png`, `pull-request`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name>,
    /// The digest of its contents, behind the name of the algorithm: `sha256:9f86…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Name>,
}

// Derived, it would take a list of members for the object.
impl<'de> Deserialize<'de> for Artifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArtifactVisitor)
    }
}

struct ArtifactVisitor;

impl<'de> Visitor<'de> for ArtifactVisitor {
    type Value = Artifact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path, or an object with a path")
    }

    fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Artifact, E> {
        ArtifactText::deserialize(StrDeserializer::new(path)).map(Artifact::Path)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Artifact, A::Error> {
        DescribedArtifact::deserialize(MapAccessDeserializer::new(members)).map(Artifact::Described)
    }
}
