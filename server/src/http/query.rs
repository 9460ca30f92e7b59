//! Query parameters, strictly: each is known, well-formed and, unless it is a list, given once.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use bitacora_formats::{Micros, Position, parse_time};

use crate::problem::{Code, FaultLocation, Problem};

/// Parameters of one request.
const MAX_PARAMETERS: usize = 64;

/// The parameters of a request that nobody has taken yet.
pub(crate) struct Query<'a> {
    left: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Query<'a> {
    /// Reads `name=value&name=value`; `+` is a space, as HTML forms write it.
    pub(crate) fn parse(text: Option<&'a str>) -> Result<Self, Problem> {
        let text = text.unwrap_or_default();
        let mut left = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| bad_query(pair, "has no value"))?;
            let name = decode(name).ok_or_else(|| bad_query(name, "is not UTF-8 in its decoded form"))?;
            let value = decode(value).ok_or_else(|| bad_query(&name, "is not UTF-8 in its decoded form"))?;
            if value.chars().any(char::is_control) {
                return Err(bad_query(&name, "holds a control character"));
            }
            left.push((name, value));
        }
        if left.len() > MAX_PARAMETERS {
            let detail = format!("the query has more than {MAX_PARAMETERS} parameters");
            return Err(Problem::new(Code::BadQuery, detail));
        }
        Ok(Self { left })
    }

    /// Refuses parameters that are not among these.
    pub(crate) fn refuse_unknown(&self, is_known: impl Fn(&str) -> bool) -> Result<(), Problem> {
        match self.left.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) => Err(bad_query(name, "is not known here")),
        }
    }

    /// The value of a parameter that may be given once.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Problem> {
        let mut values = self.take_all(name);
        let value = values.pop();
        if values.is_empty() { Ok(value) } else { Err(bad_query(name, "is given more than once")) }
    }

    /// Returns `true` if this parameter is there and was not taken yet.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.left.iter().any(|(given, _)| given == name)
    }

    /// The values of a parameter that may be given several times.
    pub(crate) fn take_all(&mut self, name: &str) -> Vec<Cow<'a, str>> {
        self.left.extract_if(.., |(given, _)| given == name).map(|(_, value)| value).collect()
    }

    pub(crate) fn take_parsed<T: FromStr>(&mut self, name: &str, wanted: &str) -> Result<Option<T>, Problem> {
        let parse =
            |value: Cow<'a, str>| value.parse().map_err(|_| bad_query(name, &format!("is not {wanted}")));
        self.take(name)?.map(parse).transpose()
    }

    /// A position; anything else is its own error.
    pub(crate) fn take_position(&mut self, name: &str) -> Result<Option<Position>, Problem> {
        self.take(name)?
            .map(|value| parse_position(&value, FaultLocation::Parameter(name.to_owned())))
            .transpose()
    }

    /// `30s`, `500ms`, or `0`; more than `longest` is refused rather than cut.
    pub(crate) fn take_duration(
        &mut self,
        name: &str,
        longest: Duration,
    ) -> Result<Option<Duration>, Problem> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        let digits =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let duration = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
            (Some(number), _) => digits(number).map(Duration::from_millis),
            (None, Some(number)) => digits(number).map(Duration::from_secs),
            (None, None) => (value == "0").then_some(Duration::ZERO),
        };
        match duration {
            Some(duration) if duration <= longest => Ok(Some(duration)),
            _ => Err(bad_query(
                name,
                &format!("is not a duration such as 30s or 500ms, up to {}s", longest.as_secs()),
            )),
        }
    }

    /// Refuses what nobody took: a misspelt filter must not read as no filter.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(bad_query(name, "is not known here")),
        }
    }
}

/// Takes a text that is one of these words.
pub(crate) fn take_word(
    query: &mut Query<'_>,
    name: &str,
    words: &[&'static str],
) -> Result<Option<&'static str>, Problem> {
    let Some(text) = query.take(name)? else { return Ok(None) };
    let found = words.iter().copied().find(|word| *word == text);
    found.map(Some).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        bad_query(name, &format!("is none of {}", words.join(", ")))
    })
}

/// A position as clients write it: a plain decimal number.
pub(crate) fn parse_position(text: &str, place: FaultLocation) -> Result<Position, Problem> {
    text.parse().map_err(|error: bitacora_formats::IdError| {
        Problem::new(Code::BadPosition, error.to_string()).with_fault(place, error.to_string())
    })
}

/// Takes a time as RFC 3339 writes it.
pub(crate) fn take_time(query: &mut Query<'_>, name: &str) -> Result<Option<Micros>, Problem> {
    let Some(text) = query.take(name)? else { return Ok(None) };
    parse_time(&text).map(Some).map_err(|error| bad_query(name, &format!("is {error}")))
}

pub(crate) fn bad_query(name: &str, fault: &str) -> Problem {
    let shown: String = name.chars().filter(|character| !character.is_control()).take(64).collect();
    Problem::new(Code::BadQuery, format!("the query parameter `{shown}` {fault}"))
        .with_fault(FaultLocation::Parameter(shown), fault)
}

/// Percent-decoding, once. The guard has seen to it that every `%` has its two digits.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(result: Result<T, Problem>) -> Option<Code> {
        result.err().map(|problem| problem.code())
    }

    #[test]
    fn known_parameters_are_taken_and_decoded_once() {
        let mut query =
            Query::parse(Some("stream=a%2Fb+c%252f&type=x&type=y&limit=5&after=&wait=500ms")).unwrap();
        assert_eq!(query.take("stream").unwrap().unwrap(), "a/b c%2f");
        assert_eq!(query.take_all("type"), ["x", "y"]);
        assert_eq!(query.take_parsed::<u32>("limit", "a number").unwrap(), Some(5));
        assert_eq!(query.take("after").unwrap().unwrap(), "");
        let wait = query.take_duration("wait", Duration::from_secs(1)).unwrap();
        assert_eq!((wait, query.take("gone").unwrap()), (Some(Duration::from_millis(500)), None));
        assert_eq!(code(query.finish()), None);
    }

    #[test]
    fn what_is_unknown_repeated_or_malformed_is_refused() {
        assert_eq!(code(Query::parse(Some("limmit=5")).unwrap().finish()), Some(Code::BadQuery));
        assert_eq!(code(Query::parse(Some("limit=5&limit=6")).unwrap().take("limit")), Some(Code::BadQuery));
        for text in ["limit", "a=%ff", "a=%00", "%ff=a", "a=%1", &"a=1&".repeat(MAX_PARAMETERS + 1)] {
            assert_eq!(code(Query::parse(Some(text))), Some(Code::BadQuery), "{text}");
        }
        for wait in ["", "s", "-1s", "+1s", "1m", "2s", "1.5s", "99999999999999999999s"] {
            let text = format!("wait={}", wait.replace('+', "%2B"));
            let mut query = Query::parse(Some(&text)).unwrap();
            assert_eq!(
                code(query.take_duration("wait", Duration::from_secs(1))),
                Some(Code::BadQuery),
                "{wait}"
            );
        }
    }

    #[test]
    fn only_plain_decimals_from_one_are_positions() {
        for position in ["0", "-1", "%2B1", "18446744073709551616", "1.0", "", "0x1"] {
            let text = format!("until={position}");
            assert_eq!(
                code(Query::parse(Some(&text)).unwrap().take_position("until")),
                Some(Code::BadPosition)
            );
        }
    }
}
