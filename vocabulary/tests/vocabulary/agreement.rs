//! Agreement of decoders and schemas: a schema takes all accepted data, and refused data is refused.
//!
//! The data are each type's example with each of its values replaced or left out. The replacements are values of other
//! types, other words and numbers past every bound.

use bitacora_vocabulary::{EVENT_TYPES, EventType, MAX_OBJECT_MEMBERS, TELEMETRY_PREFIX};
use jsonschema::Validator;
use serde_json::{Value, json};

/// One change of an example.
struct Mutant {
    pointer: String,
    what: String,
    data: Value,
}

#[test]
fn the_schema_takes_what_is_taken_and_both_refuse_what_does_not_fit() {
    let (mut refused, mut apart) = (0, Vec::new());
    for listed in EVENT_TYPES {
        let schema = listed.schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let example: Value = serde_json::from_str(listed.example).unwrap();
        assert!(validator.is_valid(&example), "{}: {:?}", listed.kind, validator.validate(&example));
        for mutant in mutants(&example) {
            let taken = listed.check(mutant.data.to_string().as_bytes());
            let fits = validator.is_valid(&mutant.data);
            let about = format!("{} {} {}: {taken:?}", listed.kind, mutant.pointer, mutant.what);
            if taken.is_ok() && !fits {
                apart.push(format!("taken against its schema: {about}"));
            } else if taken.is_err() && fits && !is_looser(&mutant) {
                apart.push(format!("the schema takes more: {about}"));
            }
            refused += u32::from(taken.is_err() && !fits);
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    assert!(refused > 3_000, "{refused}");
}

#[test]
fn a_member_that_the_schema_requires_is_required() {
    for listed in EVENT_TYPES {
        let schema = listed.schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let example: Value = serde_json::from_str(listed.example).unwrap();
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let mut data = example.clone();
            data.as_object_mut().unwrap().remove(name).unwrap_or_else(|| panic!("{}: {name}", listed.kind));
            let error = listed.check(data.to_string().as_bytes()).unwrap_err();
            assert_eq!(error.pointer, "", "{}: {error}", listed.kind);
            assert!(error.problem.contains(name), "{}: {error}", listed.kind);
            assert!(!validator.is_valid(&data));
        }
    }
}

#[test]
fn what_a_type_does_not_know_is_taken_at_its_top() {
    for listed in EVENT_TYPES {
        let mut data: Value = serde_json::from_str(listed.example).unwrap();
        data.as_object_mut().unwrap().insert("something_else".to_owned(), json!([{"deep": null}]));
        assert_eq!(listed.check(data.to_string().as_bytes()), Ok(()), "{}", listed.kind);
        assert!(validator(listed).is_valid(&data), "{}", listed.kind);
    }
}

#[test]
fn attributes_are_an_object_of_bounded_size() {
    let of = |members: usize| {
        let attributes: serde_json::Map<String, Value> =
            (0..members).map(|index| (index.to_string(), json!(1))).collect();
        json!({"assurance": "self_reported", "signal": "log", "attributes": attributes})
    };
    for listed in EVENT_TYPES.iter().filter(|listed| listed.kind.starts_with(TELEMETRY_PREFIX)) {
        for (members, is_taken) in [(0, true), (MAX_OBJECT_MEMBERS, true), (MAX_OBJECT_MEMBERS + 1, false)] {
            let data = of(members);
            assert_eq!(
                listed.check(data.to_string().as_bytes()).is_ok(),
                is_taken,
                "{} {members}",
                listed.kind
            );
            assert_eq!(validator(listed).is_valid(&data), is_taken, "{} {members}", listed.kind);
        }
    }
}

fn validator(listed: &EventType) -> Validator {
    jsonschema::validator_for(&listed.schema()).unwrap()
}

/// Returns `true` if the value lies where a schema takes more than the decoder.
///
/// A schema cannot state the length of another schema as a text. It cannot state the presence of exactly one of
/// several members, or the form of a time of day.
fn is_looser(mutant: &Mutant) -> bool {
    ["/schema", "/input_schema", "/rules", "/rule"].iter().any(|part| mutant.pointer.starts_with(part))
}

fn mutants(example: &Value) -> Vec<Mutant> {
    let mut pointers = Vec::new();
    collect(example, String::new(), &mut pointers);
    let mut mutants = Vec::new();
    for pointer in pointers {
        for value in others() {
            let what = value.to_string().chars().take(40).collect();
            let mut data = example.clone();
            *data.pointer_mut(&pointer).unwrap() = value;
            mutants.push(Mutant { pointer: pointer.clone(), what, data });
        }
        if let Some((parent, name)) = pointer.rsplit_once('/') {
            let mut data = example.clone();
            if let Some(members) = data.pointer_mut(parent).and_then(Value::as_object_mut) {
                members.remove(&name.replace("~1", "/").replace("~0", "~"));
                mutants.push(Mutant { pointer: pointer.clone(), what: "left out".to_owned(), data });
            }
        }
    }
    mutants
}

/// A value of each type, words of no enum, and numbers and sizes past every bound.
fn others() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(-2),
        json!(7),
        json!(0.5),
        json!(9_007_199_254_740_992_u64),
        json!(""),
        json!("no-word-of-ours"),
        json!("0"),
        json!("x".repeat(200_000)),
        json!([]),
        json!(["no-word-of-ours"]),
        json!([[]]),
        json!(vec![0; 20_000]),
        json!({}),
        json!({"no_member_of_ours": 1}),
        json!({"allow": null}),
    ]
}

fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(member, format!("{at}/{name}"), pointers);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                collect(element, format!("{at}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}
