//! A JSON Schema made ready to look at values, within bounds that no value can make it leave.

use std::collections::BTreeSet;

use bitacora_vocabulary::SchemaText;
use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::schema_bounds::{SchemaBoundsError, check_bounds};

/// Bytes of one compiled regular expression, and of its cache while it runs.
const MAX_PATTERN_PROGRAM_BYTES: usize = 256 * 1024;
/// Bytes of a schema's own error that are told.
const MAX_TOLD_BYTES: usize = 200;
/// Violations that are told of one value.
pub const MAX_VIOLATIONS: usize = 16;
/// Steps that looking at one value may take: the values in it times the subschemas that each can meet.
pub const MAX_VALIDATION_STEPS: u64 = 20_000_000;
/// Steps up to which each violation is told by itself; past it only that there are some.
const MAX_TOLD_STEPS: u64 = 200_000;

/// The reason for which a schema is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It is past a limit.
    #[error(transparent)]
    Bounds(SchemaBoundsError),
    /// It is none.
    #[error("{0}")]
    Invalid(String),
}

/// One place where a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// The place, as a JSON pointer; in a call's arguments, with `*` for names that the schema does not know.
    pub pointer: String,
    /// The violated keyword of JSON Schema, or member of the tool's registration.
    pub keyword: String,
}

/// The misfit of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaMismatch {
    /// Looking at it would take too long.
    TooLarge,
    /// It does not fit, and telling where would take too long.
    Untold,
    /// The first few violations.
    Told(BTreeSet<Violation>),
}

/// A schema made ready to look at values.
#[derive(Debug)]
pub(crate) struct CompiledSchema {
    validator: Validator,
    /// Subschemas that one value can meet.
    steps: u64,
    /// Names that the schema gives to members: only these may appear in the place of a violation.
    known_names: BTreeSet<String>,
    takes_anything: bool,
    takes_unlisted: bool,
}

impl CompiledSchema {
    /// Compiles a schema, which takes milliseconds; gives it as JSON too.
    pub(crate) fn new(text: &SchemaText) -> Result<(Value, Self), CompileError> {
        let invalid = |error: &dyn std::fmt::Display| CompileError::Invalid(one_line(&error.to_string()));
        let schema: Value = serde_json::from_str(text.as_str()).map_err(|error| invalid(&error))?;
        let steps = check_bounds(&schema).map_err(CompileError::Bounds)?;
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_PROGRAM_BYTES)
            .dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .should_validate_formats(false)
            .build(&schema)
            .map_err(|error| invalid(&error))?;
        let mut known_names = BTreeSet::new();
        note_names(&schema, &mut known_names);
        let (takes_anything, takes_unlisted) = (takes_anything(&schema), takes_unlisted(&schema));
        Ok((schema, Self { validator, steps, known_names, takes_anything, takes_unlisted }))
    }

    /// Checks a value. `tell` turns the pointer of each violation into the one that is told.
    pub(crate) fn check(&self, value: &Value, tell: impl Fn(&str) -> String) -> Result<(), SchemaMismatch> {
        let steps = count_values(value).saturating_mul(self.steps);
        if steps > MAX_VALIDATION_STEPS {
            return Err(SchemaMismatch::TooLarge);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if steps > MAX_TOLD_STEPS {
            return Err(SchemaMismatch::Untold);
        }
        // The least few of all, so that they are the same whatever order they are found in.
        let mut violations = BTreeSet::new();
        for error in self.validator.iter_errors(value) {
            let pointer = tell(error.instance_path().as_str());
            violations.insert(Violation { pointer, keyword: error.kind().keyword().to_owned() });
            if violations.len() > MAX_VIOLATIONS {
                violations.pop_last();
            }
        }
        Err(SchemaMismatch::Told(violations))
    }

    /// Returns `true` if it plainly takes every object: its keywords say nothing else.
    pub(crate) const fn takes_anything(&self) -> bool {
        self.takes_anything
    }

    /// Returns `true` if an object may have members that it does not name, or if its outermost keywords leave that open.
    pub(crate) const fn takes_unlisted(&self) -> bool {
        self.takes_unlisted
    }

    /// Returns the same pointer without names that only the value knows.
    pub(crate) fn known_pointer(&self, pointer: &str) -> String {
        let mut known = String::new();
        for step in pointer.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
            known.push('/');
            known.push_str(if is_index || self.known_names.contains(&name) { step } else { "*" });
        }
        known
    }
}

fn takes_anything(schema: &Value) -> bool {
    let says_nothing = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "type" => value == "object",
        "additionalProperties" => value == &Value::Bool(true),
        "properties" | "$defs" => value.as_object().is_some_and(serde_json::Map::is_empty),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "$schema" | "$id" | "$comment" | "title" | "description" => true,
        _ => false,
    };
    match schema {
        Value::Bool(takes) => *takes,
        Value::Object(keywords) => keywords.iter().all(says_nothing),
        _ => false,
    }
}

fn takes_unlisted(schema: &Value) -> bool {
    let others = schema.get("additionalProperties");
    let is_closed = others == Some(&Value::Bool(false)) && schema.get("patternProperties").is_none();
    schema != &Value::Bool(false) && !is_closed
}

fn note_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                names.extend(properties.keys().cloned());
            }
            members.values().for_each(|value| note_names(value, names));
        }
        Value::Array(list) => list.iter().for_each(|value| note_names(value, names)),
        _ => {}
    }
}

fn count_values(value: &Value) -> u64 {
    1 + match value {
        Value::Array(list) => list.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum::<u64>(),
        _ => 0,
    }
}

/// Returns as much of a text as an error tells, in one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(MAX_TOLD_BYTES));
    line
}

#[cfg(test)]
mod tests;
