//! Paths of resources with their parameters.

use bitacora_client::percent_encoded;
use serde::Serialize;
use serde_json::Value;

/// Returns a path with the members of `parameters`. A member without a value, or `false`, is left out.
pub fn with_query(path: &str, parameters: &impl Serialize) -> String {
    let Ok(Value::Object(members)) = serde_json::to_value(parameters) else { return path.to_owned() };
    let given = members.into_iter().filter_map(|(name, value)| Some((name, value_text(value)?)));
    given.fold(path.to_owned(), |path, (name, value)| {
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joint}{name}={}", percent_encoded(&value))
    })
}

fn value_text(value: Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) => Some(text),
        value => Some(value.to_string()),
    }
}

/// Returns a path with a name in it: `grants/` and the encoded id.
pub fn named(resource: &str, name: &str) -> String {
    format!("{resource}/{}", percent_encoded(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_encoded_and_those_without_a_value_left_out() {
        assert_eq!(with_query("trust", &json!({"tool": null, "all": false})), "trust");
        let parameters = json!({"context": null, "limit": 3, "tool": "a&b"});
        assert_eq!(with_query("trust", &parameters), "trust?limit=3&tool=a%26b");
        assert_eq!(with_query("trust?a=b", &json!({"all": true})), "trust?a=b&all=true");
        assert_eq!(named("grants", "a/b"), "grants/a%2Fb");
    }
}
