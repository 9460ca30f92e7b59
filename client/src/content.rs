//! Contents in requests and answers, and the choice of those sent ahead of their request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_api::ContentValue;

use crate::checkpoint::{Content, ContentState, JSON_ENCODING, LargeContent};

/// Bytes that a content takes in a request beside itself, at most, but for its encoding.
const VALUE_BYTES: usize = 128;

/// Returns a content within the request.
pub(crate) fn within(content: &Content) -> ContentValue {
    let base64 = Some(STANDARD.encode(&content.bytes));
    ContentValue { encoding: content.encoding.clone(), base64, ..ContentValue::default() }
}

/// Returns a content that was sent ahead as these pieces.
pub(crate) fn named(content: &Content, pieces: Vec<String>) -> ContentValue {
    let bytes = Some(content.bytes.len() as u64);
    ContentValue {
        encoding: content.encoding.clone(),
        bytes,
        pieces: Some(pieces),
        ..ContentValue::default()
    }
}

/// Returns the content of an answer; `None` where the members do not fit together.
pub(crate) fn held(value: ContentValue) -> Option<ContentState> {
    let ContentValue { encoding, base64, json, bytes, positions, erased, missing, .. } = value;
    Some(match (base64, json, positions) {
        _ if erased == Some(true) => ContentState::Erased,
        _ if missing == Some(true) => ContentState::Missing,
        (Some(base64), None, None) => {
            ContentState::Content(Content { encoding, bytes: STANDARD.decode(base64).ok()? })
        }
        (None, Some(json), None) => {
            let bytes = String::from(Box::<str>::from(json)).into_bytes();
            ContentState::Content(Content { encoding: Some(JSON_ENCODING.to_owned()), bytes })
        }
        (None, None, Some(positions)) => {
            ContentState::Large(LargeContent { encoding, bytes: bytes?, positions })
        }
        _ => return None,
    })
}

/// Chooses the contents that are sent ahead, so that the rest fits in `room` bytes of a request: the largest ones.
pub(crate) fn ahead(contents: &[&Content], room: usize) -> Vec<bool> {
    let taken = |content: &Content| {
        let encoding = content.encoding.as_ref().map_or(0, String::len);
        content.bytes.len().div_ceil(3) * 4 + encoding + VALUE_BYTES
    };
    let mut order: Vec<usize> = (0..contents.len()).collect();
    order.sort_by_key(|number| contents.get(*number).map_or(0, |content| content.bytes.len()));
    let mut ahead = vec![true; contents.len()];
    let mut left = room;
    for number in order {
        let Some((content, flag)) = contents.get(number).zip(ahead.get_mut(number)) else { continue };
        match left.checked_sub(taken(content)) {
            Some(rest) => (left, *flag) = (rest, false),
            // All that come are as large.
            None => break,
        }
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> Content {
        Content::new("b", vec![0; bytes])
    }

    #[test]
    fn the_largest_go_ahead_and_what_is_left_fits() {
        let contents = [of(3_000), of(10), of(90_000), of(0), of(3_000)];
        let contents: Vec<&Content> = contents.iter().collect();
        assert_eq!(ahead(&contents, 1 << 20), [false; 5]);
        assert_eq!(ahead(&contents, 10_000), [false, false, true, false, false]);
        assert_eq!(ahead(&contents, 5_000), [false, false, true, false, true]);
        assert_eq!(ahead(&contents, 300), [true, false, true, false, true]);
        assert_eq!(ahead(&contents, 0), [true; 5]);
        for room in [10_000, 5_000, 300] {
            let left = contents.iter().zip(ahead(&contents, room)).filter(|(_, ahead)| !ahead);
            let left = left.map(|(content, _)| serde_json::to_vec(&within(content)).unwrap().len());
            assert!(left.sum::<usize>() <= room);
        }
    }

    #[test]
    fn answers_that_are_none_are_told_apart() {
        let held = |json: &str| held(serde_json::from_str(json).unwrap());
        assert_eq!(
            held(r#"{"encoding":"x","bytes":2,"base64":"AP8="}"#),
            Some(ContentState::Content(Content::new("x", [0, 255])))
        );
        assert_eq!(held(r#"{"json":[1, 2]}"#), Some(ContentState::Content(Content::json("[1, 2]"))));
        assert_eq!(held(r#"{"bytes":2,"erased":true}"#), Some(ContentState::Erased));
        assert_eq!(held(r#"{"bytes":2,"missing":true}"#), Some(ContentState::Missing));
        let large = LargeContent { encoding: None, bytes: 2, positions: vec!["7".to_owned()] };
        assert_eq!(held(r#"{"bytes":2,"positions":["7"]}"#), Some(ContentState::Large(large)));
        for bad in [
            r#"{}"#,
            r#"{"bytes":2}"#,
            r#"{"base64":"A"}"#,
            r#"{"positions":["7"]}"#,
            r#"{"json":1,"base64":""}"#,
        ] {
            assert_eq!(held(bad), None, "{bad}");
        }
    }
}
