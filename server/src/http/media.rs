//! Media types: that of a body, and those that its sender would like to read.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::problem::{Code, Problem};

/// `application/json`.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// `text/event-stream`.
pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
/// `application/x-ndjson`.
pub(crate) const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");
/// Text, as signed notes are.
pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The media type of a body, lower-case and without parameters. A charset other than UTF-8 is refused.
pub(crate) fn media_type(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(value) = single_header(headers, &header::CONTENT_TYPE)? else {
        return Err(Problem::new(Code::UnsupportedMediaType, "the request has no Content-Type"));
    };
    let mut parts = value.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_utf8 = value.trim_matches('"').eq_ignore_ascii_case("utf-8");
        if name.eq_ignore_ascii_case("charset") && !is_utf8 {
            return Err(Problem::new(
                Code::UnsupportedMediaType,
                "bodies are UTF-8; another charset is given",
            ));
        }
    }
    Ok(media_type)
}

/// The form in which a list of events is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListForm {
    Page,
    Lines,
    /// Server-Sent Events, as they happen.
    Follow,
}

/// The form the client likes best; a page of JSON unless NDJSON is asked for.
pub(crate) fn list_form(headers: &HeaderMap) -> Result<ListForm, Problem> {
    let mut best: Option<(u16, ListForm)> = None;
    let mut asked = false;
    for value in headers.get_all(header::ACCEPT) {
        for range in
            value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|range| !range.is_empty())
        {
            asked = true;
            let mut parts = range.split(';').map(str::trim);
            let form = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "*/*" | "application/*" | "application/json" => ListForm::Page,
                "application/x-ndjson" | "application/ndjson" => ListForm::Lines,
                "text/event-stream" => ListForm::Follow,
                _ => continue,
            };
            let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")).map_or(1_000, thousandths);
            if weight > 0 && best.is_none_or(|(heaviest, _)| weight > heaviest) {
                best = Some((weight, form));
            }
        }
    }
    match best {
        Some((_, form)) => Ok(form),
        None if !asked => Ok(ListForm::Page),
        None => {
            let detail = "offered are application/json, application/x-ndjson and text/event-stream";
            Err(Problem::new(Code::NotAcceptable, detail))
        }
    }
}

/// Returns the weight of a media type, in thousandths: by the most specific range that holds it; 1,000 if the client names none.
pub(crate) fn weight_of(headers: &HeaderMap, offered: &str) -> u16 {
    let any_of_its_kind = offered.split_once('/').map_or_else(String::new, |(kind, _)| format!("{kind}/*"));
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(str::trim).filter(|range| !range.is_empty());
    let (mut best, mut asked) = (None, false);
    for range in ranges {
        asked = true;
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().unwrap_or_default().to_ascii_lowercase();
        let specific = match named.as_str() {
            "*/*" => 0,
            named if named == any_of_its_kind => 1,
            named if named == offered => 2,
            _ => continue,
        };
        let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")).map_or(1_000, thousandths);
        best = best.max(Some((specific, weight)));
    }
    match best {
        Some((_, weight)) => weight,
        None if asked => 0,
        None => 1_000,
    }
}

/// A weight (RFC 9110, section 12.4.2) in thousandths; what is no weight counts as 1.
fn thousandths(text: &str) -> u16 {
    match text.split_once('.') {
        None => text.parse::<u16>().map_or(1_000, |whole| whole.min(1) * 1_000),
        Some(("0", fraction)) if fraction.len() <= 3 => format!("{fraction:0<3}").parse().unwrap_or(1_000),
        Some(_) => 1_000,
    }
}

/// The value of a header that may be given once, as text.
pub(crate) fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::new(Code::BadHeader, format!("the header {name} is given more than once")));
    }
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| Problem::new(Code::BadHeader, format!("the header {name} is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_media_type_is_read_without_its_parameters() {
        for value in
            ["application/JSON", "application/json; charset=UTF-8", "application/json;charset=\"utf-8\";x=y"]
        {
            assert_eq!(
                media_type(&with(&header::CONTENT_TYPE, &[value])).unwrap(),
                "application/json",
                "{value}"
            );
        }
        let refused =
            |values: &[&'static str]| media_type(&with(&header::CONTENT_TYPE, values)).unwrap_err().code();
        assert_eq!(refused(&[]), Code::UnsupportedMediaType);
        assert_eq!(refused(&["application/json; charset=latin1"]), Code::UnsupportedMediaType);
        assert_eq!(refused(&["application/json", "text/plain"]), Code::BadHeader);
    }

    #[test]
    fn a_media_type_weighs_what_the_most_specific_range_says() {
        let weight = |value: &'static str| weight_of(&with(&header::ACCEPT, &[value]), "text/plain");
        assert_eq!(weight_of(&HeaderMap::new(), "text/plain"), 1_000);
        assert_eq!(weight("*/*"), 1_000);
        assert_eq!(weight("text/*;q=0.5, */*"), 500);
        assert_eq!(weight("text/plain;version=0.0.4;q=0.3, */*"), 300);
        assert_eq!(weight("application/json"), 0);
        assert_eq!(weight("text/plain;q=0, */*"), 0);
    }

    #[test]
    fn the_heaviest_form_that_is_offered_wins() {
        let form = |value: &'static str| {
            list_form(&with(&header::ACCEPT, &[value])).map_err(|problem| problem.code())
        };
        assert_eq!(list_form(&HeaderMap::new()).unwrap(), ListForm::Page);
        assert_eq!(form("*/*"), Ok(ListForm::Page));
        assert_eq!(form("application/x-ndjson"), Ok(ListForm::Lines));
        assert_eq!(form("text/html, application/x-ndjson;q=0.9, */*;q=0.8"), Ok(ListForm::Lines));
        assert_eq!(form("application/x-ndjson;q=0.25, application/json;q=0.5"), Ok(ListForm::Page));
        assert_eq!(form("application/x-ndjson;q=0, application/json;q=0.001"), Ok(ListForm::Page));
        assert_eq!(form("text/event-stream"), Ok(ListForm::Follow));
        assert_eq!(form("text/html"), Err(Code::NotAcceptable));
        assert_eq!(form("application/json;q=0"), Err(Code::NotAcceptable));
    }
}
