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

/// Returns the same with each character of a text that is written by its number as the character: a reader knows a word by its letters.
pub(super) fn readable(json: &str) -> String {
    let written = pretty(json);
    let mut read = String::with_capacity(written.len());
    let mut rest = written.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        read.push_str(before);
        let (letter, length) = unescaped(escape);
        match letter {
            Some(letter) => read.push(letter),
            None => read.push_str(escape.get(..length).unwrap_or(escape)),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    read.push_str(rest);
    read
}

/// Returns the character that an escape by number at the beginning stands for, if it may stand in a text as itself, and the escape's length.
fn unescaped(escape: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else {
        return (None, escape.chars().take(2).map(char::len_utf8).sum());
    };
    let units: Vec<u16> = [Some(first), unit(6)].into_iter().flatten().collect();
    let letter = char::decode_utf16(units).next().and_then(Result::ok);
    let length = letter.map_or(6, |letter| 6 * letter.len_utf16());
    (letter.filter(|letter| !letter.is_ascii_control() && !matches!(letter, '"' | '\\')), length)
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
    fn letters_that_are_written_by_number_are_read() {
        let shown = readable(r#"["\u0072m \\u0072 \n \u0022 \u000a \u202e \ud83d\ude00 \ud800 \u004"]"#);
        assert_eq!(shown, "[\n  \"rm \\\\u0072 \\n \\u0022 \\u000a \u{202e} \u{1f600} \\ud800 \\u004\"\n]");
    }

    #[test]
    fn deep_values_take_no_more_room_than_others() {
        let deep = "[".repeat(10_000) + "1";
        assert!(pretty(&deep).len() < 10_000 * 60);
    }
}
