//! A registered tool made ready to look at calls.
//!
//! Compiling takes milliseconds and happens on the threads of callers. A cache of compiled tools uses the tool's name, server and
//! revision as its key.

use bitacora_vocabulary::{
    DestinationKind, DestinationRule, FileAccess, Normaliser, PointerText, Risk, SchemaText, Sha256Text,
    ToolDocument,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::glob::{DestinationGlob, GlobError};
use crate::tools::compiled_schema::{CompileError, CompiledSchema, one_line};
use crate::tools::schema_bounds::referenced;
use crate::tools::schema_keywords::{UnknownKeyword, check_keywords};

/// The reason for which a tool cannot be registered as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// A schema is none, or past a limit.
    #[error("{which}: {error}")]
    Schema {
        /// The member.
        which: &'static str,
        /// The error.
        error: CompileError,
    },
    /// A member of a schema is no keyword of JSON Schema.
    #[error(
        "{which}: `{keyword}` in {} is no keyword of JSON Schema{}; names of arguments stand in `properties`, members of your own begin with `x-`",
        if place.is_empty() { "its outermost schema".to_owned() } else { format!("`{place}`") },
        nearest.map(|meant| format!(", `{meant}` is")).unwrap_or_default()
    )]
    Keyword {
        /// The member of the registration.
        which: &'static str,
        /// It.
        keyword: String,
        /// The schema that it stands in, as a JSON pointer.
        place: String,
        /// The keyword that may have been meant.
        nearest: Option<&'static str>,
    },
    /// A pointer that is none.
    #[error(
        "{which}: `{pointer}` is no JSON pointer; it begins with `/`, and `~` stands only in `~0` and `~1`"
    )]
    Pointer {
        /// The member.
        which: &'static str,
        /// It.
        pointer: String,
    },
    /// A pointer to where no arguments of this schema have anything, or nothing that can be read so.
    #[error("{which}: `{pointer}` leads to nothing in `input_schema`; a call could never have it")]
    LeadsNowhere {
        /// The member.
        which: &'static str,
        /// It.
        pointer: String,
    },
    /// The same pointer twice.
    #[error("{which}: `{pointer}` stands there twice")]
    Twice {
        /// The member.
        which: &'static str,
        /// It.
        pointer: String,
    },
    /// A glob that is none.
    #[error("destinations: `{}` is no glob: {problem}", glob.escape_debug())]
    Glob {
        /// It.
        glob: String,
        /// The problem.
        problem: GlobError,
    },
}

/// A tool made ready to look at calls.
#[derive(Debug)]
pub struct CompiledTool {
    pub(crate) schema: CompiledSchema,
    pub(crate) context: Option<CompiledContext>,
    pub(crate) binding_fields: Vec<String>,
    pub(crate) destinations: Vec<CompiledDestination>,
}

#[derive(Debug)]
pub(crate) struct CompiledContext {
    pub(crate) pointer: String,
    pub(crate) normaliser: Normaliser,
    pub(crate) when_absent: Option<String>,
}

#[derive(Debug)]
pub(crate) struct CompiledDestination {
    pub(crate) pointer: String,
    pub(crate) kind: DestinationKind,
    /// Without it every place will do.
    pub(crate) globs: Option<Vec<DestinationGlob>>,
    /// The path that is meant where it is left out.
    pub(crate) when_absent: Option<String>,
    /// The tool's access to it.
    pub(crate) access: FileAccess,
}

impl CompiledTool {
    /// Compiles a tool that somebody wants to register. It does as [`Self::new`], and refuses besides what recorded tools may have:
    /// members of schemas that are no keywords, and globs in another dialect than that of policies.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn for_registration(document: &ToolDocument) -> Result<Self, ToolError> {
        let compiled = Self::new(document)?;
        let schemas = [
            ("input_schema", Some(&document.input_schema)),
            ("output_schema", document.output_schema.as_ref()),
        ];
        for (which, text) in schemas.into_iter().filter_map(|(which, text)| Some((which, text?))) {
            // It was read just now.
            let Ok(schema) = serde_json::from_str::<Value>(text.as_str()) else { continue };
            check_keywords(&schema).map_err(|UnknownKeyword { keyword, place, nearest }| {
                ToolError::Keyword { which, keyword, place, nearest }
            })?;
        }
        for glob in
            document.destinations.iter().flat_map(|rules| rules.iter()).flat_map(|rule| rule.globs.iter())
        {
            DestinationGlob::check_new(glob).map_err(no_glob(glob))?;
        }
        Ok(compiled)
    }

    /// Compiles schemas, pointers and globs of a tool that is registered.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn new(document: &ToolDocument) -> Result<Self, ToolError> {
        let (schema, compiled) = compile("input_schema", &document.input_schema)?;
        if let Some(output) = &document.output_schema {
            compile("output_schema", output)?;
        }
        let binding_fields = binding_fields(&schema, &document.binding_fields)?;
        let context = match &document.context_from {
            Some(from) => {
                check_pointer("context_from", &schema, &from.pointer, &["string"])?;
                let when_absent = from.when_absent.as_deref().map(str::to_owned);
                let pointer = from.pointer.as_str().to_owned();
                Some(CompiledContext { pointer, normaliser: from.normaliser, when_absent })
            }
            None => None,
        };
        let own_access = if document.risk == Risk::Read { FileAccess::Read } else { FileAccess::Write };
        let mut destinations = Vec::new();
        for rule in document.destinations.iter().flat_map(|rules| rules.iter()) {
            check_pointer("destinations", &schema, &rule.pointer, &["string", "array"])?;
            destinations.push(CompiledDestination::new(rule, own_access)?);
        }
        // If the registration names no destinations, a call reaches the places of its context.
        if let (Some(context), true) = (&context, destinations.is_empty()) {
            destinations.extend(CompiledDestination::of_context(context, own_access));
        }
        Ok(Self { schema: compiled, context, binding_fields, destinations })
    }

    /// Returns `true` if approvals and idempotency keys are bound to some of the arguments: then a digest of all will not do.
    #[must_use]
    pub fn has_binding_fields(&self) -> bool {
        !self.binding_fields.is_empty()
    }

    /// Returns `true` if its arguments may name unseen places: the registration reads none from them, and takes any argument.
    pub(crate) fn takes_unlisted(&self) -> bool {
        self.context.is_none() && self.destinations.is_empty() && self.schema.takes_unlisted()
    }

    /// SHA-256 over the canonical JSON of all arguments, where those that approvals are bound to are not all.
    pub(crate) fn args_digest(&self, args: &Value) -> Option<Sha256Text> {
        if !self.has_binding_fields() {
            return None;
        }
        canonical_digest(args)
    }

    /// SHA-256 over the canonical JSON (RFC 8785) of the arguments that approvals are bound to: of all of them, or of an object
    /// with each binding field that is there under its pointer.
    pub(crate) fn action_digest(&self, args: &Value) -> Option<Sha256Text> {
        if self.binding_fields.is_empty() {
            return canonical_digest(args);
        }
        let mut bound = serde_json::Map::new();
        for pointer in &self.binding_fields {
            if let Some(value) = args.pointer(pointer) {
                bound.insert(pointer.clone(), value.clone());
            }
        }
        canonical_digest(&Value::Object(bound))
    }
}

/// SHA-256 over the canonical JSON (RFC 8785) of a value.
pub(crate) fn canonical_digest(value: &Value) -> Option<Sha256Text> {
    let bytes = serde_json_canonicalizer::to_vec(value).ok()?;
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    Some(Sha256Text::of_digest(&digest))
}

impl CompiledDestination {
    fn new(rule: &DestinationRule, own_access: FileAccess) -> Result<Self, ToolError> {
        let globs = rule.globs.iter().map(|glob| DestinationGlob::recorded(glob).map_err(no_glob(glob)));
        let globs = globs.collect::<Result<_, _>>()?;
        Ok(Self {
            pointer: rule.pointer.as_str().to_owned(),
            kind: rule.kind,
            globs: Some(globs),
            when_absent: rule.when_absent.as_deref().map(str::to_owned),
            access: rule.access.unwrap_or(own_access),
        })
    }

    fn of_context(context: &CompiledContext, access: FileAccess) -> Option<Self> {
        let kind = match context.normaliser {
            Normaliser::Path => DestinationKind::Path,
            Normaliser::Host => DestinationKind::Host,
            // The places that a command reaches cannot be read from this argument.
            Normaliser::Command => return None,
        };
        let when_absent = context.when_absent.clone().filter(|_| kind == DestinationKind::Path);
        Some(Self { pointer: context.pointer.clone(), kind, globs: None, when_absent, access })
    }
}

fn no_glob(glob: &str) -> impl FnOnce(GlobError) -> ToolError {
    move |problem| ToolError::Glob { glob: glob.to_owned(), problem }
}

fn compile(which: &'static str, text: &SchemaText) -> Result<(Value, CompiledSchema), ToolError> {
    CompiledSchema::new(text).map_err(|error| ToolError::Schema { which, error })
}

fn binding_fields(schema: &Value, pointers: &[PointerText]) -> Result<Vec<String>, ToolError> {
    let mut fields: Vec<String> = Vec::new();
    for pointer in pointers {
        check_pointer("binding_fields", schema, pointer, &[])?;
        if fields.iter().any(|field| field == pointer.as_str()) {
            return Err(ToolError::Twice { which: "binding_fields", pointer: pointer.as_str().to_owned() });
        }
        fields.push(pointer.as_str().to_owned());
    }
    Ok(fields)
}

fn check_pointer(
    which: &'static str,
    schema: &Value,
    pointer: &PointerText,
    types: &[&str],
) -> Result<(), ToolError> {
    let steps =
        pointer_steps(pointer).ok_or_else(|| ToolError::Pointer { which, pointer: one_line(pointer) })?;
    if !may_hold(schema, schema, &steps, types, 0) {
        return Err(ToolError::LeadsNowhere { which, pointer: one_line(pointer) });
    }
    Ok(())
}

/// Returns the steps of a JSON pointer, unescaped.
fn pointer_steps(pointer: &str) -> Option<Vec<String>> {
    let steps = pointer.strip_prefix('/')?.split('/');
    steps
        .map(|step| {
            let plain = step.replace("~1", "").replace("~0", "");
            (!plain.contains('~')).then(|| step.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

/// Returns `true` if a value of this schema can have something at these steps, of one of these types if there are any.
fn may_hold(root: &Value, schema: &Value, steps: &[String], types: &[&str], depth: usize) -> bool {
    let Value::Object(members) = schema else { return schema.as_bool().unwrap_or_default() };
    if depth > crate::tools::schema_bounds::MAX_SCHEMA_DEPTH {
        return false;
    }
    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
        let target = referenced(root, target);
        if !target.is_some_and(|target| may_hold(root, target, steps, types, depth + 1)) {
            return false;
        }
    }
    let Some((step, rest)) = steps.split_first() else { return has_type(schema, types) };
    if !has_type(schema, &["object", "array"]) {
        return false;
    }
    let into = |next: &Value| may_hold(root, next, rest, types, depth + 1);
    if let Some(next) = members.get("properties").and_then(|properties| properties.get(step)) {
        return into(next);
    }
    let is_index = step.bytes().all(|byte| byte.is_ascii_digit());
    if let (true, Some(next @ (Value::Object(_) | Value::Bool(_)))) = (is_index, members.get("items")) {
        return into(next);
    }
    // A member outside the properties can still be let in by a pattern or by the rule for all others.
    let is_open = members.contains_key("patternProperties")
        || members.get("additionalProperties").is_none_or(|others| others != &Value::Bool(false));
    is_open && has_type(schema, &["object"]) || is_index && has_type(schema, &["array"])
}

fn has_type(schema: &Value, types: &[&str]) -> bool {
    let one = |value: &Value| value.as_str().is_some_and(|kind| types.contains(&kind));
    match schema.get("type") {
        _ if types.is_empty() => true,
        Some(Value::Array(list)) => list.iter().any(one),
        Some(kind) => one(kind),
        None => true,
    }
}

#[cfg(test)]
mod tests;
