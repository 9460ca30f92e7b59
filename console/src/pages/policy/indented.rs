//! JSON, indented for people: members stay in their order, short lists stay in one line.

use serde_json::value::RawValue;

use super::places::ObjectMembers;

/// The longest list of plain values that stays in one line, in bytes.
const LINE_BYTES: usize = 96;
/// The blanks of one step.
const STEP: &str = "  ";

/// Returns a JSON text indented; the text as it is where it is none.
pub(super) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    match serde_json::from_str::<&RawValue>(json) {
        Ok(value) => write(value, 0, &mut out),
        Err(_) => out.push_str(json),
    }
    out
}

/// Writes the members of an object, indented.
pub(super) fn indented_object(members: &[(String, &RawValue)]) -> String {
    let mut out = String::new();
    write_object(members, 0, &mut out);
    out
}

fn write(value: &RawValue, depth: usize, out: &mut String) {
    if let Ok(ObjectMembers(members)) = serde_json::from_str::<ObjectMembers<'_>>(value.get()) {
        return write_object(&members, depth, out);
    }
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
        out.push_str(value.get());
        return;
    };
    let is_plain = items.iter().all(|item| !item.get().starts_with(['[', '{']));
    let bytes: usize = items.iter().map(|item| item.get().len() + 2).sum();
    if items.is_empty() || is_plain && depth * STEP.len() + bytes <= LINE_BYTES {
        let items: Vec<_> = items.iter().map(|item| item.get()).collect();
        out.push_str(&format!("[{}]", items.join(", ")));
        return;
    }
    out.push('[');
    for (number, item) in items.iter().enumerate() {
        line(number, depth + 1, out);
        write(item, depth + 1, out);
    }
    end(']', depth, out);
}

fn write_object(members: &[(String, &RawValue)], depth: usize, out: &mut String) {
    if members.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push('{');
    for (number, (name, value)) in members.iter().enumerate() {
        line(number, depth + 1, out);
        out.push_str(&serde_json::Value::from(name.as_str()).to_string());
        out.push_str(": ");
        write(value, depth + 1, out);
    }
    end('}', depth, out);
}

/// Begins the line of a value; one that is not the first ends the line before with a comma.
fn line(number: usize, depth: usize, out: &mut String) {
    out.push_str(if number > 0 { ",\n" } else { "\n" });
    out.push_str(&STEP.repeat(depth));
}

fn end(bracket: char, depth: usize, out: &mut String) {
    out.push('\n');
    out.push_str(&STEP.repeat(depth));
    out.push(bracket);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_numbers_their_digits() {
        let json = r#"{"z":{"b":1.50,"a":[1,"x"]},"e":[],"o":{},"l":[{"k":"\"é\n"}]}"#;
        let expected = "{\n  \"z\": {\n    \"b\": 1.50,\n    \"a\": [1, \"x\"]\n  },\n  \"e\": [],\n  \"o\": {},\n  \"l\": [\n    {\n      \"k\": \"\\\"é\\n\"\n    }\n  ]\n}";
        assert_eq!(indented(json), expected);
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(same(&indented(json)), same(json));
        assert_eq!(indented("no JSON"), "no JSON");
    }

    #[test]
    fn a_long_list_has_a_line_for_each_value() {
        let list = serde_json::to_string(&vec!["twenty characters at"; 6]).unwrap();
        assert_eq!(indented(&list).lines().count(), 8);
    }
}
