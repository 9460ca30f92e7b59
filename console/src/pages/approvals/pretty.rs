//! JSON with a member a line, every character of a value as it is recorded.

/// Returns JSON with a member and an element a line. Strings and numbers stay as they are written.
pub(in crate::pages) fn pretty(json: &str) -> String {
    let mut lines = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                lines.push('"');
                let mut is_escaped = false;
                for inside in characters.by_ref() {
                    lines.push(inside);
                    if inside == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = inside == '\\' && !is_escaped;
                }
            }
            '{' | '[' => {
                lines.push(character);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    lines.push(end);
                } else {
                    depth += 1;
                    new_line(&mut lines, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut lines, depth);
                lines.push(character);
            }
            ',' => {
                lines.push(',');
                new_line(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            blank if blank.is_ascii_whitespace() => {}
            other => lines.push(other),
        }
    }
    lines
}

/// The deepest that lines are set in: what is nested deeper stands no further to the right.
const DEEPEST: usize = 24;

fn new_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.push_str(&"  ".repeat(depth.min(DEEPEST)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_are_written() {
        let shown = pretty(r#"{"a":[1.50,{}, [ ] ],"b\"{":"x,y:\\","c":-1e+9}"#);
        assert_eq!(
            shown,
            "{\n  \"a\": [\n    1.50,\n    {},\n    []\n  ],\n  \"b\\\"{\": \"x,y:\\\\\",\n  \"c\": -1e+9\n}"
        );
    }

    #[test]
    fn deep_values_take_no_more_room_than_others() {
        let deep = "[".repeat(10_000) + "1";
        assert!(pretty(&deep).len() < 10_000 * 60);
    }
}
