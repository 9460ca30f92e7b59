//! The types of events that the vocabulary does not have, as events registered them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitacora_vocabulary::{
    BoundedText, EventDataError, FREE_PREFIX, SERVICE_FAMILIES, SchemaRegistered, event_type, is_binary_kind,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::tools::compiled_cache::CompiledCache;
use crate::tools::compiled_schema::{CompiledSchema, SchemaMismatch};

/// Types that one ledger takes beside the vocabulary.
pub const MAX_CUSTOM_TYPES: usize = 1_024;
/// Bytes of all their schemas.
pub const MAX_CUSTOM_SCHEMA_BYTES: usize = 16 * 1024 * 1024;

/// The compiled schemas, by type.
pub(crate) type CompiledTypes = CompiledCache<BoundedText<128>, CompiledSchema>;

/// The newest version of each registered type. A fold of events: nothing else changes it. A copy shares the schemas with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<SchemaRegistered>", into = "Vec<SchemaRegistered>")]
pub struct CustomTypes {
    by_type: BTreeMap<BoundedText<128>, Arc<SchemaRegistered>>,
}

impl CustomTypes {
    /// Returns the registered schema of a type, if there is one.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&Arc<SchemaRegistered>> {
        self.by_type.get(kind)
    }

    /// Returns all of them, by type.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SchemaRegistered>> {
        self.by_type.values()
    }

    /// Checks that a schema may be registered now.
    pub(crate) fn may_register(&self, registered: &SchemaRegistered) -> Result<(), ReactorRefusal> {
        let (kind, version) = (&registered.kind, registered.version.get());
        let invalid = |reason: String| Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        if event_type(kind).is_some() || is_binary_kind(kind) {
            return invalid(format!("`{kind}` is a type of the vocabulary; register another name"));
        }
        if kind.starts_with(FREE_PREFIX) {
            return invalid(format!(
                "a type that begins with `{FREE_PREFIX}` holds anything; register another name"
            ));
        }
        if let Some(family) = SERVICE_FAMILIES.iter().find(|family| kind.starts_with(**family)) {
            return invalid(format!(
                "types that begin with `{family}` are the service's own; register another name"
            ));
        }
        let before = self.get(kind);
        if let Some(before) = before.filter(|before| version <= before.version.get()) {
            let reason = format!("`{kind}` has version {} already; count up", before.version.get());
            return invalid(reason);
        }
        let full = |reason: String| Err(ReactorRefusal::new(RefusalCode::StateFull, reason));
        if before.is_none() && self.by_type.len() >= MAX_CUSTOM_TYPES {
            return full(format!(
                "{MAX_CUSTOM_TYPES} types are registered; use one of them, or `{FREE_PREFIX}`"
            ));
        }
        let others = self.iter().map(AsRef::as_ref).filter(|other| other.kind != *kind);
        let found: usize = others.chain([registered]).map(|one| one.schema.as_str().len()).sum();
        if found > MAX_CUSTOM_SCHEMA_BYTES {
            return full(format!(
                "the schemas of all types would be {found} bytes; at most {MAX_CUSTOM_SCHEMA_BYTES} are kept"
            ));
        }
        Ok(())
    }

    pub(crate) fn apply_registered(&mut self, registered: SchemaRegistered) {
        self.by_type.insert(registered.kind.clone(), Arc::new(registered));
    }
}

impl From<Vec<SchemaRegistered>> for CustomTypes {
    fn from(registered: Vec<SchemaRegistered>) -> Self {
        let by_type = registered.into_iter().map(|one| (one.kind.clone(), Arc::new(one))).collect();
        Self { by_type }
    }
}

impl From<CustomTypes> for Vec<SchemaRegistered> {
    fn from(types: CustomTypes) -> Self {
        types.by_type.into_values().map(Arc::unwrap_or_clone).collect()
    }
}

/// Checks the data of an event against the schema that was registered for its type. `None` is data that is no JSON, or none at all;
/// JSON is taken for checked.
pub(crate) fn check_registered(
    registered: &SchemaRegistered,
    compiled: &CompiledTypes,
    data: Option<&[u8]>,
) -> Result<(), EventDataError> {
    let misfit = |pointer: String, problem: String| Err(EventDataError { pointer, problem });
    let value = data.and_then(|data| serde_json::from_slice::<Value>(data).ok());
    let Some(value) = value else {
        return misfit(String::new(), "has to be JSON for this type".to_owned());
    };
    let (kind, version) = (&registered.kind, registered.version.get());
    let compile = || CompiledSchema::new(&registered.schema).ok().map(|(_, compiled)| compiled);
    let Some(schema) = compiled.get(kind.clone(), version, compile) else {
        return misfit(
            String::new(),
            format!("cannot be looked at by version {version} of `{kind}`; register another"),
        );
    };
    match schema.check(&value, str::to_owned) {
        Ok(()) => Ok(()),
        Err(SchemaMismatch::TooLarge) => misfit(
            String::new(),
            format!("would take too long to hold against version {version} of `{kind}`"),
        ),
        Err(SchemaMismatch::Untold) => {
            misfit(String::new(), format!("does not fit version {version} of `{kind}`"))
        }
        Err(SchemaMismatch::Told(violations)) => {
            let first = violations.into_iter().next();
            let (pointer, keyword) = first.map(|first| (first.pointer, first.keyword)).unwrap_or_default();
            misfit(pointer, format!("does not fit `{keyword}` in version {version} of `{kind}`"))
        }
    }
}

#[cfg(test)]
mod tests;
