//! Any bytes are JSON that every reader understands alike, or a typed error.
//!
//! There is no encoder, because checked bytes are kept unchanged. Instead, another reader is asked, and the limits
//! promised for a value are counted in its answer.
#![no_main]

use bitacora_formats::limits::{MAX_JSON_DEPTH, MAX_JSON_NUMBER};
use bitacora_formats::{Json, JsonErrorKind, check_json};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let other: Result<Value, _> = serde_json::from_slice(bytes);
    let taken = Json::check(bytes);
    match check_json(bytes) {
        Err(error) => {
            assert_one_line(&error);
            let syntax = matches!(error.kind, JsonErrorKind::Syntax | JsonErrorKind::Truncated);
            assert!(!syntax || other.is_err(), "{error}");
            assert_eq!(taken, Err(error));
        }
        Ok(()) => {
            let taken = taken.unwrap();
            let value = other.unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&taken).unwrap(), value);
            assert_eq!(
                Json::check(taken.as_bytes()).as_ref(),
                Ok(&taken),
                "taken once, taken again as it is"
            );
            check_value(&value, 0);
            assert_eq!(members(&value), colons(bytes), "as many members as were written: no key twice");
        }
    }
});

fn check_value(value: &Value, depth: usize) {
    assert!(depth <= MAX_JSON_DEPTH);
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => assert!(number.as_f64().unwrap().abs() <= MAX_JSON_NUMBER as f64),
        Value::String(text) => assert!(!text.contains('\0')),
        Value::Array(items) => {
            assert!(depth < MAX_JSON_DEPTH);
            items.iter().for_each(|item| check_value(item, depth + 1));
        }
        Value::Object(members) => {
            assert!(depth < MAX_JSON_DEPTH);
            assert!(members.keys().all(|key| !key.contains('\0')));
            members.values().for_each(|value| check_value(value, depth + 1));
        }
    }
}

/// Members of all objects within a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// Colons outside strings, of which JSON has one for each member.
fn colons(json: &[u8]) -> usize {
    let (mut colons, mut in_string, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    colons
}
