//! The keywords of a tool's schemas.
//! A misspelt one would be no keyword at all: `"requird": ["path"]` lets calls without a path in.
//!
//! Only new registrations are checked. Recorded ones stay as they are.

use serde_json::Value;

use crate::tools::compiled_schema::one_line;
use crate::tools::schema_bounds::{MAPS, SCHEMAS};

/// Keywords that hold no schema: of draft-07, 2019-09 and 2020-12.
const PLAIN: [&str; 37] = [
    "$schema",
    "$id",
    "$ref",
    "$comment",
    "$vocabulary",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
    "contentEncoding",
    "contentMediaType",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "$defs",
    "definitions",
];
/// Members that generators of schemas write for editors and forms. They constrain nothing.
const ANNOTATIONS: [&str; 8] = [
    "example",
    "markdownDescription",
    "enumNames",
    "enumDescriptions",
    "markdownEnumDescriptions",
    "deprecationMessage",
    "errorMessage",
    "propertyOrdering",
];
/// The beginning of a member that is an author's own.
const OWN: &str = "x-";
/// Changed, missing, additional or swapped characters up to which a keyword is near.
const NEAR: usize = 2;
/// Characters of the longest text that is compared with keywords.
const MAX_COMPARED: usize = 40;

/// A member of a schema that is no keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownKeyword {
    /// The member, as far as an error tells it.
    pub(crate) keyword: String,
    /// The schema that it stands in, as a JSON pointer.
    pub(crate) place: String,
    /// The keyword that may have been meant.
    pub(crate) nearest: Option<&'static str>,
}

/// Finds the first member of a schema, or of one within it, that is no keyword. The schema keeps its bounds.
pub(crate) fn check_keywords(schema: &Value) -> Result<(), UnknownKeyword> {
    check(schema, &mut String::new())
}

fn check(schema: &Value, place: &mut String) -> Result<(), UnknownKeyword> {
    let Value::Object(members) = schema else { return Ok(()) };
    for (keyword, value) in members {
        if MAPS.contains(&keyword.as_str()) {
            // Names are the author's, and a list in the place of a schema is one of names.
            for (name, one) in value.as_object().into_iter().flatten() {
                within(place, &[keyword, name], |place| check(one, place))?;
            }
        } else if SCHEMAS.contains(&keyword.as_str()) {
            match value {
                Value::Array(list) => {
                    for (index, one) in list.iter().enumerate() {
                        within(place, &[keyword, &index.to_string()], |place| check(one, place))?;
                    }
                }
                one => within(place, &[keyword], |place| check(one, place))?,
            }
        } else if !is_known(keyword) {
            return Err(UnknownKeyword {
                keyword: one_line(keyword),
                place: one_line(place),
                nearest: nearest(keyword),
            });
        }
    }
    Ok(())
}

/// Goes on one or two steps deeper.
fn within<T>(place: &mut String, steps: &[&str], go_on: impl FnOnce(&mut String) -> T) -> T {
    let before = place.len();
    for step in steps {
        place.push('/');
        place.push_str(&step.replace('~', "~0").replace('/', "~1"));
    }
    let done = go_on(place);
    place.truncate(before);
    done
}

fn is_known(keyword: &str) -> bool {
    PLAIN.contains(&keyword) || ANNOTATIONS.contains(&keyword) || keyword.starts_with(OWN)
}

/// Returns the keyword that is most alike, if it is near.
fn nearest(keyword: &str) -> Option<&'static str> {
    let meant: Vec<char> = keyword.to_lowercase().chars().take(MAX_COMPARED + 1).collect();
    if meant.len() > MAX_COMPARED {
        return None;
    }
    let keywords = PLAIN.iter().chain(&MAPS).chain(&SCHEMAS).chain(&ANNOTATIONS);
    let distances = keywords.map(|known| {
        let lower: Vec<char> = known.to_lowercase().chars().collect();
        (distance(&meant, &lower), *known)
    });
    // Two changes make any short word of any other one.
    distances
        .filter(|(distance, known)| *distance <= NEAR && distance * 2 < known.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Returns the optimal string alignment distance: changed, missing, additional and swapped characters.
fn distance(one: &[char], other: &[char]) -> usize {
    let (mut earlier, mut before): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=other.len()).collect());
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&before, j) + usize::from(a != b);
            let mut least = changed.min(at(&before, j + 1) + 1).min(at(&row, j) + 1);
            let is_swapped = i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if is_swapped {
                least = least.min(at(&earlier, j - 1) + 1);
            }
            row.push(least);
        }
        earlier = std::mem::replace(&mut before, row);
    }
    before.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unknown(schema: &Value) -> (String, String, Option<&'static str>) {
        let UnknownKeyword { keyword, place, nearest } = check_keywords(schema).unwrap_err();
        (keyword, place, nearest)
    }

    #[test]
    fn a_misspelt_keyword_is_found_wherever_a_schema_stands() {
        let found = |keyword: &str, place: &str, nearest| (keyword.to_owned(), place.to_owned(), nearest);
        assert_eq!(unknown(&json!({"propertis": {}})), found("propertis", "", Some("properties")));
        assert_eq!(unknown(&json!({"requird": []})), found("requird", "", Some("required")));
        assert_eq!(unknown(&json!({"Required": []})), found("Required", "", Some("required")));
        assert_eq!(unknown(&json!({"tpye": "object"})), found("tpye", "", Some("type")));
        assert_eq!(unknown(&json!({"additionalproperties": false})).2, Some("additionalProperties"));
        assert_eq!(unknown(&json!({"nullable": true})), found("nullable", "", None));
        let deep = json!({"properties": {"a/b": {"anyOf": [{}, {"items": {"minimun": 1}}]}}});
        assert_eq!(unknown(&deep), found("minimun", "/properties/a~1b/anyOf/1/items", Some("minimum")));
        for holds in MAPS.iter().map(|map| json!({*map: {"n": {"oops!": 1}}})) {
            assert_eq!(unknown(&holds).0, "oops!");
        }
        for holds in SCHEMAS.iter().map(|one| json!({*one: {"oops!": 1}})) {
            assert_eq!(unknown(&holds).0, "oops!");
        }
        assert_eq!(unknown(&json!({"a\u{1b}[2J": 1})).0, "a [2J");
        assert_eq!(unknown(&json!({"x".repeat(5_000): 1})).0.len(), 200);
    }

    #[test]
    fn names_and_data_are_no_keywords() {
        for schema in [
            json!({"properties": {"requird": {"type": "string"}, "propertis": true}}),
            json!({"$defs": {"tpye": {}}, "definitions": {"tpye": {}}, "patternProperties": {"^requird$": {}}}),
            json!({"enum": [{"requird": 1}], "const": {"requird": 1}, "default": {"requird": 1}, "examples": [{"requird": 1}]}),
            json!({"dependencies": {"a": ["requird"], "b": {"required": ["c"]}}, "dependentRequired": {"a": ["b"]}}),
            json!({"x-order": ["a"], "x-": {"requird": 1}, "example": {"requird": 1}}),
            json!(true),
        ] {
            assert_eq!(check_keywords(&schema), Ok(()), "{schema}");
        }
        let all: serde_json::Map<String, Value> =
            PLAIN.iter().map(|one| ((*one).to_owned(), json!(1))).collect();
        assert_eq!(check_keywords(&Value::Object(all)), Ok(()));
    }
}
