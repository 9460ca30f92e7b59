use serde_json::json;

use super::*;

#[test]
fn plain_schemas_are_taken_and_their_subschemas_counted() {
    assert_eq!(check_bounds(&json!(true)), Ok(1));
    assert_eq!(check_bounds(&json!({"type": "string"})), Ok(1));
    let schema = json!({"properties": {"a": {}, "b": {"items": {"enum": [1, 2]}}, "$ref": {}}, "$schema": "http://json-schema.org/draft-07/schema#"});
    assert_eq!(check_bounds(&schema), Ok(7));
    // The same subschema by two references counts twice.
    let schema =
        json!({"$defs": {"x": {"allOf": [{}, {}]}}, "anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}]});
    assert_eq!(check_bounds(&schema), Ok(1 + 3 + 4 + 4));
    // A member of data is no keyword.
    assert!(check_bounds(&json!({"const": {"$ref": "x", "$dynamicRef": "y"}})).is_ok());
}

#[test]
fn schemas_that_could_take_long_are_refused() {
    let mut deep = json!({});
    for _ in 0..=MAX_SCHEMA_DEPTH / 2 {
        deep = json!({"items": {"not": deep}});
    }
    assert_eq!(check_bounds(&deep), Err(SchemaBoundsError::TooDeep));
    let mut data = json!(0);
    for _ in 1..MAX_SCHEMA_DEPTH {
        data = json!([data]);
    }
    assert_eq!(check_bounds(&json!({"const": data})), Ok(1));
    assert_eq!(check_bounds(&json!({"const": [data]})), Err(SchemaBoundsError::TooDeep));
    let wide: Vec<Value> = (0..MAX_SCHEMA_NODES).map(|number| json!(number)).collect();
    assert_eq!(check_bounds(&json!({"enum": wide})), Err(SchemaBoundsError::TooManyNodes));
    let pattern = json!({"pattern": "a"});
    let few = vec![pattern.clone(); MAX_SCHEMA_PATTERNS];
    assert!(check_bounds(&json!({"allOf": few})).is_ok());
    let many = vec![pattern; MAX_SCHEMA_PATTERNS + 1];
    assert_eq!(check_bounds(&json!({"allOf": many})), Err(SchemaBoundsError::TooManyPatterns));
    let long = "a".repeat(MAX_PATTERN_BYTES + 1);
    let too_long = Err(SchemaBoundsError::PatternTooLong { found: MAX_PATTERN_BYTES + 1 });
    assert_eq!(check_bounds(&json!({"pattern": long})), too_long);
    assert_eq!(check_bounds(&json!({"patternProperties": {long.as_str(): true}})), too_long);
}

#[test]
fn alternatives_that_double_at_each_reference_are_refused() {
    let mut definitions = json!({"d0": {}});
    for level in 1..30 {
        let below = format!("#/$defs/d{}", level - 1);
        definitions[format!("d{level}")] = json!({"anyOf": [{"$ref": below}, {"$ref": below}]});
    }
    let schema = json!({"$defs": definitions, "$ref": "#/$defs/d29"});
    assert_eq!(check_bounds(&schema), Err(SchemaBoundsError::TooManySteps));
}

#[test]
fn references_stay_within_the_document_and_do_not_come_back() {
    let refused = |schema: Value| check_bounds(&schema).unwrap_err();
    assert_eq!(refused(json!({"$ref": "#"})), SchemaBoundsError::Recursive("#".to_owned()));
    let round =
        json!({"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}});
    assert!(matches!(refused(round), SchemaBoundsError::Recursive(_)));
    for reference in
        ["https://example.com/x", "file:///etc/passwd", "#name", "x.json", "#/nothing", "#/%24defs", ""]
    {
        let schema = json!({"$defs": {}, "properties": {"a": {"$ref": reference}}});
        assert_eq!(refused(schema), SchemaBoundsError::Reference(reference.to_owned()));
    }
    assert!(matches!(refused(json!({"$ref": 7})), SchemaBoundsError::Reference(_)));
    for keyword in REFUSED {
        assert_eq!(refused(json!({"items": {keyword: "x"}})), SchemaBoundsError::Keyword(keyword));
    }
    assert_eq!(refused(json!({"items": {"$id": "x"}})), SchemaBoundsError::Keyword("$id"));
    assert_eq!(
        refused(json!({"$schema": "http://json-schema.org/draft-04/schema#"})),
        SchemaBoundsError::Dialect
    );
    assert_eq!(refused(json!({"$schema": 7})), SchemaBoundsError::Dialect);
}

#[test]
fn each_bound_is_met_and_not_passed() {
    let numbers = |count: usize| (0..count).map(|number| json!(number)).collect::<Vec<_>>();
    let nodes = |count: usize| check_bounds(&json!({"enum": numbers(count - 2)}));
    assert_eq!(nodes(MAX_SCHEMA_NODES), Ok(1 + MAX_SCHEMA_NODES as u64 - 2));
    assert_eq!(nodes(MAX_SCHEMA_NODES + 1), Err(SchemaBoundsError::TooManyNodes));

    let pattern = |bytes: usize| check_bounds(&json!({"pattern": "a".repeat(bytes)}));
    assert_eq!(pattern(MAX_PATTERN_BYTES), Ok(1));
    assert!(pattern(MAX_PATTERN_BYTES + 1).is_err());

    assert_eq!(check_bounds(&json!({"$id": "urn:x"})), Ok(1), "the document's own name");

    // Nine times a thousand by references, and the rest by itself.
    let by_reference = vec![json!({"$ref": "#/$defs/x"}); 8];
    let steps = |more: usize| {
        check_bounds(&json!({
            "$defs": {"x": {"enum": numbers(999)}}, "anyOf": by_reference, "not": {"enum": numbers(more)},
        }))
    };
    assert_eq!(steps(990), Ok(MAX_SCHEMA_STEPS));
    assert_eq!(steps(991), Err(SchemaBoundsError::TooManySteps));

    // Each reference leads one deeper than the one before it, and so does what it stands in.
    let chain = |links: usize, link: fn(Value) -> Value| {
        let mut definitions = Map::new();
        for at in 0..links {
            let next = link(json!({"$ref": format!("#/$defs/d{:03}", at + 1)}));
            definitions.insert(format!("d{at:03}"), if at + 1 < links { next } else { json!({}) });
        }
        check_bounds(&json!({"$defs": definitions}))
    };
    let deepest = 4 * MAX_SCHEMA_DEPTH;
    let in_list: fn(Value) -> Value = |next| json!({"allOf": [next]});
    let by_name: fn(Value) -> Value = |next| json!({"properties": {"x": next}});
    assert!(chain(deepest, |next| next).is_ok() && chain(deepest / 2, in_list).is_ok());
    assert_eq!(chain(deepest + 1, |next| next), Err(SchemaBoundsError::TooDeep));
    assert_eq!(chain(deepest / 2 + 1, in_list), Err(SchemaBoundsError::TooDeep));
    assert_eq!(chain(deepest / 2 + 1, by_name), Err(SchemaBoundsError::TooDeep));
}
