//! `docs/vocabulary.md`, made from the schemas.

use bitacora_vocabulary::{EVENT_TYPES, EventType, EventWriter, FREE_PREFIX, TEXT_PATTERN};
use serde_json::Value;

const BEGINNING: &str = "# Vocabulary: types of events

What the data of each type must hold. A type that *governs* is refused with a member that it does not know, at any depth; recorded ones are read all the same, and
so is what was recorded elsewhere (`assurance`). Other types keep such members and give them back. A word that is none of those listed is refused, never
taken for another one. `?` marks what may be left out, or, but for rules of policies, be `null`. Texts are counted in bytes of UTF-8, hold at least one, and no control character but tabs and line feeds.
Money is in millionths of a US dollar, times of day in microseconds since 1970.

Every event is held to this when it is appended (`schema`). Code: `vocabulary/src/`; each struct gives its JSON Schema, draft 2020-12, too: `GET /v1/schemas/<type>`.
This page is made from it: `BITACORA_WRITE_VOCABULARY=1 cargo test -p bitacora-vocabulary --test vocabulary`.

A type that is not listed begins with `PREFIX` and holds what it likes, or has a schema of its own, registered by `schema.registered` ([how](EVENTS.md#types)); any other one is refused.

One type holds bytes in the place of JSON: `checkpoint.blob`, a piece of what [checkpoints](checkpoints.md) name. Its `id` is the keyed digest of the piece, and the service writes it, under a source of its own.

Who writes them: *anyone* who may append; *operators* and admins; *admins* alone; the *reactor*, which derives events from events, and the *service*: nobody else.
";

pub(crate) fn page() -> String {
    let mut page = BEGINNING.replace("PREFIX", FREE_PREFIX);
    page.push_str("\n| type | version | written by | governs | says |\n|---|---|---|---|---|\n");
    for listed in EVENT_TYPES {
        let EventType { kind, version, description, writer, governs, .. } = listed;
        let governs = if *governs { "yes" } else { "" };
        let link = kind.replace('.', "");
        let writer = writer_words(*writer);
        page.push_str(&format!(
            "| [`{kind}`](#{link}) | {version} | {writer} | {governs} | {description} |\n"
        ));
    }
    for listed in EVENT_TYPES {
        page.push_str(&section(listed));
    }
    page
}

fn writer_words(writer: EventWriter) -> &'static str {
    match writer {
        EventWriter::Anyone => "anyone",
        EventWriter::Operators => "operators",
        EventWriter::Admins => "admins",
        EventWriter::Reactor => "the reactor",
        EventWriter::Service => "the service",
    }
}

fn section(listed: &EventType) -> String {
    let schema = listed.schema();
    let mut section = format!("\n## `{}`\n\n{}\n", listed.kind, listed.description);
    let mut rows = String::new();
    members(&schema, resolved(&schema, &schema), "", &mut rows);
    if !rows.is_empty() {
        section.push_str("\n| member | holds | |\n|---|---|---|\n");
        section.push_str(&rows);
    }
    section.push_str(&format!("\n```json\n{}\n```\n", listed.example));
    section
}

/// A row for each member, those of objects within it behind it.
fn members(root: &Value, schema: &Value, prefix: &str, rows: &mut String) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let inner = resolved(root, member);
        let described = member["description"].as_str().or(inner["description"].as_str()).unwrap_or_default();
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let path = format!("{prefix}{name}");
        let holds = holds(root, inner);
        rows.push_str(&format!("| `{path}`{mark} | {holds} | {} |\n", cell(described)));
        within(root, inner, &path, rows);
    }
}

fn within(root: &Value, schema: &Value, path: &str, rows: &mut String) {
    if schema["properties"].is_object() {
        members(root, schema, &format!("{path}."), rows);
    } else if schema["items"].is_object() {
        within(root, resolved(root, &schema["items"]), &format!("{path}[]"), rows);
    } else if schema["additionalProperties"].is_object() {
        within(root, resolved(root, &schema["additionalProperties"]), &format!("{path}.*"), rows);
    } else {
        for choice in choices(schema).filter(|choice| choice["const"].is_null()) {
            let choice = resolved(root, choice);
            // A list of what stands alone in another choice has nothing new.
            if !choice["items"].is_object() {
                within(root, choice, path, rows);
            }
        }
    }
}

/// Follows references, and passes over `null`, which the mark of what may be left out stands for.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return resolved(root, root.pointer(reference.trim_start_matches('#')).unwrap());
    }
    let mut others = choices(schema).filter(|choice| choice["type"] != "null");
    match (others.next(), others.next()) {
        (Some(only), None) if choices(schema).count() == 2 => resolved(root, only),
        _ => schema,
    }
}

fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().flat_map(|name| schema[name].as_array().into_iter().flatten())
}

fn holds(root: &Value, schema: &Value) -> String {
    if let Some(words) = words(schema) {
        return words;
    }
    if choices(schema).next().is_some() {
        let each: Vec<String> = choices(schema).map(|choice| holds(root, resolved(root, choice))).collect();
        return each.join(", or ");
    }
    let kinds: Vec<String> = kinds(schema)
        .into_iter()
        .filter(|kind| *kind != "null")
        .map(|kind| of_kind(root, schema, kind))
        .collect();
    match schema["type"].as_str() {
        Some("null") => "`null`".to_owned(),
        _ if kinds.is_empty() => "any JSON".to_owned(),
        _ => kinds.join(", or "),
    }
}

fn of_kind(root: &Value, schema: &Value, kind: &str) -> String {
    match kind {
        "string" => text(schema),
        "integer" => format!("{} to {}", number(&schema["minimum"]), number(&schema["maximum"])),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => list(root, schema),
        "object" => object(root, schema),
        other => panic!("{other}: {schema}"),
    }
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

fn list(root: &Value, schema: &Value) -> String {
    let least = schema["minItems"].as_u64().filter(|least| *least > 0);
    let least = least.map_or("at most ".to_owned(), |least| format!("{least} to "));
    let of = schema["maxItems"].as_u64().map(|_| format!(" of {least}{}", number(&schema["maxItems"])));
    let each = holds(root, resolved(root, &schema["items"]));
    format!("list{}: {each}", of.unwrap_or_default())
}

/// The words of an enum.
fn words(schema: &Value) -> Option<String> {
    let listed = schema["enum"].as_array().map(|words| words.iter().collect::<Vec<_>>());
    let consts = || {
        let words: Vec<&Value> = choices(schema).map(|choice| &choice["const"]).collect();
        (!words.is_empty() && words.iter().all(|word| word.is_string())).then_some(words)
    };
    let words =
        listed.or_else(consts).or_else(|| schema["const"].is_string().then(|| vec![&schema["const"]]))?;
    let words: Vec<String> =
        words.into_iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
    Some(words.join(", "))
}

fn text(schema: &Value) -> String {
    if let Some(pattern) = schema["pattern"].as_str().filter(|pattern| *pattern != TEXT_PATTERN) {
        return format!("text: `{}`", cell(pattern));
    }
    let empty = if schema["minLength"].is_null() { ", may be empty" } else { "" };
    format!("text of at most {}{empty}", number(&schema["maxLength"]))
}

fn object(root: &Value, schema: &Value) -> String {
    let strict = if schema["additionalProperties"] == false { ", of nothing else" } else { "" };
    match (&schema["properties"], &schema["additionalProperties"]) {
        (Value::Object(members), _) if members.len() == 1 && !strict.is_empty() => {
            let (name, member) = members.iter().next().unwrap();
            format!("`{{\"{name}\": …}}` with {}", holds(root, resolved(root, member)))
        }
        (Value::Object(_), _) => format!("object{strict}"),
        (_, each @ Value::Object(_)) => {
            let each = holds(root, resolved(root, each));
            format!("object of at most {}: {each}", number(&schema["maxProperties"]))
        }
        (_, _) if schema["maxProperties"].is_null() => "object".to_owned(),
        _ => format!("object of at most {}", number(&schema["maxProperties"])),
    }
}

/// Digits in threes.
fn number(value: &Value) -> String {
    let Some(number) = value.as_i64() else { panic!("{value} is no bound") };
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
