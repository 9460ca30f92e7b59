use serde_json::json;

use super::*;

fn compiled(schema: &Value) -> CompiledSchema {
    CompiledSchema::new(&serde_json::from_value(schema.clone()).unwrap()).unwrap().1
}

#[test]
fn what_takes_any_object_says_so_with_words_that_say_nothing_else() {
    for (schema, takes) in [
        (json!(true), true),
        (json!(false), false),
        (json!({}), true),
        (json!({"type": "object", "title": "t", "description": "d", "$comment": "c"}), true),
        (json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x"}), true),
        (json!({"properties": {}, "$defs": {}, "required": [], "additionalProperties": true}), true),
        (json!({"type": "array"}), false),
        (json!({"type": ["object"]}), false),
        (json!({"properties": {"a": {}}}), false),
        (json!({"$defs": {"a": {}}}), false),
        (json!({"required": ["a"]}), false),
        (json!({"additionalProperties": false}), false),
        (json!({"additionalProperties": {}}), false),
        (json!({"title": "t", "minProperties": 0}), false),
    ] {
        assert_eq!(compiled(&schema).takes_anything(), takes, "{schema}");
    }
}

#[test]
fn of_a_place_are_told_numbers_and_names_that_the_schema_knows() {
    let schema = json!({
        "properties": {"a/b": {"items": {"properties": {"inner": {}}}}, "": {}},
        "anyOf": [{"properties": {"listed": {}}}],
    });
    let schema = compiled(&schema);
    for (pointer, known) in [
        ("", ""),
        ("/a~1b/0/inner", "/a~1b/0/inner"),
        ("/listed/12", "/listed/12"),
        ("/", "/"),
        ("/secret/0", "/*/0"),
        ("/listed/12x", "/listed/*"),
    ] {
        assert_eq!(schema.known_pointer(pointer), known);
    }
    let without = compiled(&json!({"properties": {"a": {}}}));
    assert_eq!(without.known_pointer("/a//b"), "/a/*/*");
}

#[test]
fn the_first_few_violations_are_told_or_of_a_large_value_none() {
    let schema = compiled(&json!({"items": {"type": "string"}}));
    let check = |count: usize| schema.check(&json!(vec![7; count]), str::to_owned).unwrap_err();
    for count in [1, MAX_VIOLATIONS, MAX_VIOLATIONS + 1, 99] {
        let SchemaMismatch::Told(told) = check(count) else { panic!("{count} are not told") };
        let mut all: Vec<_> = (0..count).map(|at| format!("/{at}")).collect();
        all.sort();
        all.truncate(MAX_VIOLATIONS);
        assert_eq!(told.into_iter().map(|violation| violation.pointer).collect::<Vec<_>>(), all);
    }
    let most = usize::try_from(MAX_TOLD_STEPS / schema.steps).unwrap() - 1;
    assert!(matches!(check(most), SchemaMismatch::Told(_)));
    assert_eq!(check(most + 1), SchemaMismatch::Untold);
    assert_eq!(check(most + 2), SchemaMismatch::Untold);
}

#[test]
fn a_value_is_looked_at_up_to_the_last_step_that_there_may_be() {
    let mut schema = compiled(&json!({}));
    schema.steps = MAX_VALIDATION_STEPS / 10;
    assert_eq!(schema.check(&json!(vec![7; 9]), str::to_owned), Ok(()));
    assert_eq!(schema.check(&json!(vec![7; 10]), str::to_owned), Err(SchemaMismatch::TooLarge));
}

#[test]
fn an_error_is_told_in_one_line_that_is_not_long() {
    assert_eq!(one_line("one\ntwo\tthree"), "one two three");
    let long = "é".repeat(MAX_TOLD_BYTES);
    assert_eq!(one_line(&format!("x{long}")), format!("x{}", "é".repeat((MAX_TOLD_BYTES - 1) / 2)));
}
