//! Preconditions of an append: an expected version, or that no such event has happened.

use axum::http::{HeaderMap, HeaderName, header};
use bitacora_formats::{After, StreamVersion};
use bitacora_ledger::{AppendCondition, ExpectedVersion};
use serde::Deserialize;

use crate::http::media::single_header;
use crate::problem::{Code, FaultLocation, Problem};

/// Carries an append condition as JSON.
///
/// A header, not a member of the body: it applies to every form of body alike, and bodies stay CloudEvents.
pub(crate) const APPEND_CONDITION: HeaderName = HeaderName::from_static("bitacora-append-condition");

/// The version the stream must have: `If-Match: "v17"`, or `If-None-Match: *` for a stream that is not there yet.
pub(crate) fn expected_version(headers: &HeaderMap) -> Result<Option<ExpectedVersion>, Problem> {
    let if_match = single_header(headers, &header::IF_MATCH)?;
    let if_none_match = single_header(headers, &header::IF_NONE_MATCH)?;
    match (if_match, if_none_match) {
        (None, None) => Ok(None),
        (Some(tag), None) => match version_of(tag) {
            Some(version) => Ok(Some(ExpectedVersion::Exact(version))),
            None => Err(bad_header("If-Match", "is not the tag of one stream version, such as \"v17\"")),
        },
        (None, Some("*")) => Ok(Some(ExpectedVersion::NoStream)),
        (None, Some(_)) => Err(bad_header("If-None-Match", "is not `*`, the one value an append takes")),
        (Some(_), Some(_)) => {
            Err(bad_header("If-Match", "and If-None-Match stand together; send one of them"))
        }
    }
}

/// The entity tag of a stream at a version.
pub(crate) fn version_tag(version: StreamVersion) -> String {
    format!("\"v{version}\"")
}

fn version_of(tag: &str) -> Option<StreamVersion> {
    tag.strip_prefix("\"v")?.strip_suffix('"')?.parse().ok()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConditionText {
    fail_if_events_match: MatchText,
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchText {
    #[serde(default)]
    types: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// `{"failIfEventsMatch":{"types":["a"],"tags":["b"]},"after":"17"}`: no event past position 17 may be of one of the
/// types and carry all the tags.
pub(crate) fn append_condition(headers: &HeaderMap) -> Result<Option<AppendCondition>, Problem> {
    let Some(text) = single_header(headers, &APPEND_CONDITION)? else { return Ok(None) };
    let bad = |fault: String| bad_header("Bitacora-Append-Condition", &format!("is no condition: {fault}"));
    let condition: ConditionText = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    let after = match condition.after {
        None => After::START,
        Some(after) => {
            after.parse().map_err(|error: bitacora_formats::IdError| bad(format!("after is {error}")))?
        }
    };
    let MatchText { types, tags } = condition.fail_if_events_match;
    if types.is_empty() && tags.is_empty() {
        return Err(bad("it names neither types nor tags".to_owned()));
    }
    Ok(Some(AppendCondition { kinds: types, tags, after }))
}

fn bad_header(name: &'static str, fault: &str) -> Problem {
    Problem::new(Code::BadHeader, format!("the header {name} {fault}"))
        .with_fault(FaultLocation::Header(name), fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(HeaderName, &'static str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn one_version_or_none_is_expected() {
        let seventeen = StreamVersion::new(17).unwrap();
        assert_eq!(version_tag(seventeen), "\"v17\"");
        let expected = |fields: &[_]| expected_version(&headers(fields)).map_err(|problem| problem.code());
        assert!(matches!(expected(&[]), Ok(None)));
        let exact = expected(&[(header::IF_MATCH, "\"v17\"")]);
        assert!(matches!(exact, Ok(Some(ExpectedVersion::Exact(version))) if version == seventeen));
        assert!(matches!(expected(&[(header::IF_NONE_MATCH, "*")]), Ok(Some(ExpectedVersion::NoStream))));
        for tag in [
            "*",
            "v17",
            "\"17\"",
            "W/\"v17\"",
            "\"v0\"",
            "\"v-1\"",
            "\"v17\", \"v18\"",
            "\"v18446744073709551616\"",
            "",
        ] {
            assert!(matches!(expected(&[(header::IF_MATCH, tag)]), Err(Code::BadHeader)), "{tag}");
        }
        for fields in [
            vec![(header::IF_NONE_MATCH, "\"v1\"")],
            vec![(header::IF_MATCH, "\"v1\""), (header::IF_NONE_MATCH, "*")],
            vec![(header::IF_MATCH, "\"v1\""), (header::IF_MATCH, "\"v1\"")],
        ] {
            assert!(matches!(expected(&fields), Err(Code::BadHeader)), "{fields:?}");
        }
    }

    #[test]
    fn a_condition_is_read_strictly() {
        let condition =
            |text| append_condition(&headers(&[(APPEND_CONDITION, text)])).map_err(|problem| problem.code());
        let read = condition(r#"{"failIfEventsMatch":{"types":["a"],"tags":["b","c"]},"after":"17"}"#)
            .unwrap()
            .unwrap();
        assert_eq!(
            (read.kinds, read.tags, read.after),
            (vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()], After::new(17))
        );
        for text in [
            "",
            "{}",
            r#"{"failIfEventsMatch":{}}"#,
            r#"{"failIfEventsMatch":{"types":"a"}}"#,
            r#"{"failIfEventsMatch":{"type":["a"]}}"#,
            r#"{"failIfEventsMatch":{"types":["a"]},"after":17}"#,
            r#"{"failIfEventsMatch":{"types":["a"]},"after":"-1"}"#,
            r#"{"failIfEventsMatch":{"types":["a"]},"after":"1","after":"2"}"#,
            r#"{"failIfEventsMatch":{"types":["a"]}} x"#,
        ] {
            assert!(matches!(condition(text), Err(Code::BadHeader)), "{text}");
        }
    }
}
