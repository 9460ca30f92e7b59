//! The bounds of a JSON Schema, within which no arguments make it take long.
//!
//! The number of steps that a schema can cost for one value is counted here, references followed. References in a circle are
//! refused, because a value can make them cost more than any bound.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Schemas and objects within one another.
pub const MAX_SCHEMA_DEPTH: usize = 32;
/// Values in one schema.
pub const MAX_SCHEMA_NODES: usize = 4_096;
/// Regular expressions in one schema.
pub const MAX_SCHEMA_PATTERNS: usize = 64;
/// Bytes of one of them.
pub const MAX_PATTERN_BYTES: usize = 512;
/// Subschemas that one value can meet, each counted as often as references lead to it.
pub const MAX_SCHEMA_STEPS: u64 = 10_000;

/// The versions of JSON Schema that are taken, without a `#` at the end.
const DIALECTS: [&str; 3] = [
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];
/// Keywords that hold schemas by name.
pub(crate) const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords that hold a schema, or a list of them.
pub(crate) const SCHEMAS: [&str; 14] = [
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "contentSchema",
];
/// Keywords whose cost cannot be told from the schema alone.
const REFUSED: [&str; 7] = [
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$anchor",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The reason for which a schema is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaBoundsError {
    /// Deeper than its limit.
    #[error("nests deeper than {MAX_SCHEMA_DEPTH}")]
    TooDeep,
    /// More values than its limit.
    #[error("holds more than {MAX_SCHEMA_NODES} values")]
    TooManyNodes,
    /// More regular expressions than its limit.
    #[error("holds more than {MAX_SCHEMA_PATTERNS} regular expressions")]
    TooManyPatterns,
    /// A regular expression past its bytes.
    #[error("holds a regular expression of {found} bytes; at most {MAX_PATTERN_BYTES} are taken")]
    PatternTooLong {
        /// Bytes.
        found: usize,
    },
    /// One value could meet too many subschemas.
    #[error("one value could meet more than {MAX_SCHEMA_STEPS} subschemas; say it with fewer alternatives")]
    TooManySteps,
    /// A reference that leads back to itself.
    #[error("`{0}` leads back to itself; write the nesting out as deep as it is needed")]
    Recursive(String),
    /// A reference that is not `#` and a JSON pointer, or to nothing.
    #[error("`{0}` is no JSON pointer to a schema of this document, as `#/$defs/name` is")]
    Reference(String),
    /// A keyword that is not taken.
    #[error("the keyword `{0}` is not taken")]
    Keyword(&'static str),
    /// Another version of JSON Schema.
    #[error("`$schema` is none of draft-07, 2019-09 and 2020-12")]
    Dialect,
}

/// Checks all limits; gives how many subschemas one value can meet at most.
///
/// # Errors
/// The first limit that it is past.
pub(crate) fn check_bounds(schema: &Value) -> Result<u64, SchemaBoundsError> {
    count_nodes(schema, 0, &mut 0)?;
    if let Some(dialect) = schema.get("$schema") {
        let dialect = dialect.as_str().map(|text| text.strip_suffix('#').unwrap_or(text));
        if !dialect.is_some_and(|dialect| DIALECTS.contains(&dialect)) {
            return Err(SchemaBoundsError::Dialect);
        }
    }
    let mut counted = SchemaCounter { root: schema, patterns: 0, references: BTreeMap::new() };
    counted.schema(schema, 0)
}

fn count_nodes(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), SchemaBoundsError> {
    *nodes += 1;
    if *nodes > MAX_SCHEMA_NODES {
        return Err(SchemaBoundsError::TooManyNodes);
    }
    if depth > MAX_SCHEMA_DEPTH {
        return Err(SchemaBoundsError::TooDeep);
    }
    match value {
        Value::Array(list) => list.iter().try_for_each(|one| count_nodes(one, depth + 1, nodes)),
        Value::Object(map) => map.values().try_for_each(|one| count_nodes(one, depth + 1, nodes)),
        _ => Ok(()),
    }
}

/// Returns the schema under a reference of its own document.
pub(crate) fn referenced<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    // Escapes of URLs would have to be undone first; nobody writes them here.
    root.pointer(reference.strip_prefix('#')?).filter(|_| !reference.contains('%'))
}

struct SchemaCounter<'s> {
    root: &'s Value,
    patterns: usize,
    /// The cost of each; `None` while it is being counted.
    references: BTreeMap<&'s str, Option<u64>>,
}

impl<'s> SchemaCounter<'s> {
    fn schema(&mut self, schema: &'s Value, depth: usize) -> Result<u64, SchemaBoundsError> {
        let Value::Object(members) = schema else { return Ok(1) };
        // References can lead deeper than the document is deep.
        if depth > 4 * MAX_SCHEMA_DEPTH {
            return Err(SchemaBoundsError::TooDeep);
        }
        self.keywords(members, depth)?;
        let mut steps: u64 = 1;
        for (keyword, value) in members {
            steps = steps.saturating_add(self.keyword(keyword, value, depth)?);
            if steps > MAX_SCHEMA_STEPS {
                return Err(SchemaBoundsError::TooManySteps);
            }
        }
        Ok(steps)
    }

    fn keywords(&mut self, members: &'s Map<String, Value>, depth: usize) -> Result<(), SchemaBoundsError> {
        if let Some(refused) = REFUSED.into_iter().find(|keyword| members.contains_key(*keyword)) {
            return Err(SchemaBoundsError::Keyword(refused));
        }
        // A base of its own would change what references mean.
        if depth > 0 && members.contains_key("$id") {
            return Err(SchemaBoundsError::Keyword("$id"));
        }
        let of_names = members.get("patternProperties").and_then(Value::as_object);
        let of_values = members.get("pattern").and_then(Value::as_str);
        for pattern in of_names.into_iter().flat_map(Map::keys).map(String::as_str).chain(of_values) {
            self.patterns += 1;
            if self.patterns > MAX_SCHEMA_PATTERNS {
                return Err(SchemaBoundsError::TooManyPatterns);
            }
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(SchemaBoundsError::PatternTooLong { found: pattern.len() });
            }
        }
        Ok(())
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value, depth: usize) -> Result<u64, SchemaBoundsError> {
        if keyword == "$ref" {
            let reference = value.as_str();
            return self.reference(reference.ok_or_else(|| bad_reference(value))?, depth);
        }
        let mut steps: u64 = 0;
        if MAPS.contains(&keyword) {
            for one in value.as_object().into_iter().flat_map(Map::values) {
                steps = steps.saturating_add(self.schema(one, depth + 1)?);
            }
        } else if SCHEMAS.contains(&keyword) {
            let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for one in list {
                steps = steps.saturating_add(self.schema(one, depth + 1)?);
            }
        } else if keyword == "enum" {
            steps = value.as_array().map_or(0, |list| list.len() as u64);
        }
        Ok(steps)
    }

    fn reference(&mut self, reference: &'s str, depth: usize) -> Result<u64, SchemaBoundsError> {
        match self.references.get(reference) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => return Err(SchemaBoundsError::Recursive(shown(reference))),
            None => {}
        }
        let target = referenced(self.root, reference).ok_or_else(|| bad_reference(reference))?;
        self.references.insert(reference, None);
        let steps = self.schema(target, depth + 1)?;
        self.references.insert(reference, Some(steps));
        Ok(steps)
    }
}

fn bad_reference(reference: &(impl ToString + ?Sized)) -> SchemaBoundsError {
    SchemaBoundsError::Reference(shown(&reference.to_string()))
}

/// Enough of it to be found, in one line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests;
