//! JSON in lines for people, every character of a value as it is recorded.

/// The blanks of one step to the right.
const STEP: &str = "  ";
/// The deepest that lines are set in: what is nested deeper stands no further to the right.
const DEEPEST: usize = 24;
/// The longest list of plain values that stays in one line, in bytes.
const LINE_BYTES: usize = 96;
/// The characters that stand for themselves between values.
const MARKS: [char; 6] = ['{', '}', '[', ']', ',', ':'];

/// Returns JSON with a member and an element a line; a short list of plain values has one line. Strings and numbers stay as they are
/// written.
pub(crate) fn pretty(json: &str) -> String {
    let mut lines = String::with_capacity(json.len() * 2);
    let (mut tokens, mut depth) = (Tokens(json), 0_usize);
    while let Some(token) = tokens.next() {
        match token {
            "{" | "[" => {
                if let Some((line, behind)) = in_one_line(token, tokens.clone(), depth) {
                    lines.push_str(&line);
                    tokens = behind;
                } else {
                    depth += 1;
                    lines.push_str(token);
                    new_line(&mut lines, depth);
                }
            }
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                new_line(&mut lines, depth);
                lines.push_str(token);
            }
            "," => {
                lines.push_str(token);
                new_line(&mut lines, depth);
            }
            ":" => lines.push_str(": "),
            value => lines.push_str(value),
        }
    }
    lines
}

/// Returns a list of plain values in one line, with the tokens behind it; nothing where it is too long, or no such list.
fn in_one_line<'a>(open: &str, mut tokens: Tokens<'a>, depth: usize) -> Option<(String, Tokens<'a>)> {
    let room = LINE_BYTES.saturating_sub(depth.min(DEEPEST) * STEP.len());
    let mut line = open.to_owned();
    while line.len() <= room {
        match tokens.next()? {
            "{" | "[" | ":" => return None,
            "," => line.push_str(", "),
            end @ ("}" | "]") => return Some((line + end, tokens)),
            value => line.push_str(value),
        }
    }
    None
}

fn new_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.push_str(&STEP.repeat(depth.min(DEEPEST)));
}

/// The tokens of a JSON text: marks, and values as they are written.
#[derive(Clone)]
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_ascii_start();
        let ends = |letter: char| MARKS.contains(&letter) || letter == '"' || letter.is_ascii_whitespace();
        let length = match rest.chars().next()? {
            '"' => text_length(rest),
            mark if MARKS.contains(&mark) => 1,
            _ => rest.find(ends).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at_checked(length)?;
        self.0 = behind;
        Some(token)
    }
}

/// Returns the length of the text that stands at the beginning, with its quotes.
fn text_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in json.char_indices().skip(1) {
        if letter == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    json.len()
}

/// Returns the same with each character of a text that is written by its number as the character: a reader knows a word by its letters.
pub(crate) fn readable(json: &str) -> String {
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
    fn members_keep_their_order_and_short_lists_their_line() {
        let json = r#"{"z":{"b":1.50,"a":[1,"x]"]},"e":[],"o":{},"l":[{"k":"\"é\n"}]}"#;
        let expected = "{\n  \"z\": {\n    \"b\": 1.50,\n    \"a\": [1, \"x]\"]\n  },\n  \"e\": [],\n  \"o\": {},\n  \"l\": [\n    {\n      \"k\": \"\\\"é\\n\"\n    }\n  ]\n}";
        assert_eq!(pretty(json), expected);
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(same(&pretty(json)), same(json));
        let long = serde_json::to_string(&vec!["twenty characters at"; 6]).unwrap();
        assert_eq!(pretty(&long).lines().count(), 8);
    }

    #[test]
    fn letters_that_are_written_by_number_are_read() {
        let shown = readable(r#"{"a":"\u0072m \\u0072 \n \u0022 \u000a \u202e \ud83d\ude00 \ud800 \u004"}"#);
        assert_eq!(
            shown,
            "{\n  \"a\": \"rm \\\\u0072 \\n \\u0022 \\u000a \u{202e} \u{1f600} \\ud800 \\u004\"\n}"
        );
    }

    #[test]
    fn deep_values_take_no_more_room_than_others() {
        let deep = "[".repeat(10_000) + "1";
        assert!(pretty(&deep).len() < 10_000 * 60);
    }
}
