//! Lists: bounded pages of a ledger's state, each with a cursor to the next.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bitacora_formats::Position;
use bitacora_ledger::Head;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::media::JSON;
use crate::http::query::{Query, bad_query};
use crate::json::json_of;
use crate::limits::{DEFAULT_LISTED, MAX_LISTED};
use crate::problem::{Code, Problem};
use crate::requests::answer_tiers::Tier;
use crate::requests::read_request::{ReadRequest, answer_at_position};

/// The caching of answers that may change: asked for each time, and answered without a body if nothing has changed.
const REVALIDATED: HeaderValue = HeaderValue::from_static("private, no-cache");

/// The page of a list that is asked for: so many items, behind the one that has this key.
pub(crate) struct PageParams<K> {
    pub(crate) after: Option<K>,
    pub(crate) limit: usize,
}

/// A page: its items, and where the next one begins.
pub(crate) struct ListPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<K: Serialize + DeserializeOwned> PageParams<K> {
    /// Takes `after` and `limit`. A cursor is opaque: base64url of the JSON of a key.
    pub(crate) fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        Self::take_up_to(query, MAX_LISTED)
    }

    /// The same for lists whose items are large.
    pub(crate) fn take_up_to(query: &mut Query<'_>, most: usize) -> Result<Self, Problem> {
        let limit = take_limit(query, DEFAULT_LISTED.min(most), most)?;
        let key = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok();
        let after = query.take("after")?.map(|text| {
            key(&text).ok_or_else(|| bad_query("after", "is not the `next` of a page of this list"))
        });
        Ok(Self { after: after.transpose()?, limit })
    }

    /// Returns the cursor of the page behind this key.
    pub(crate) fn next(last: &K) -> Option<String> {
        serde_json::to_vec(last).ok().map(|key| URL_SAFE_NO_PAD.encode(key))
    }

    /// A page of items that are behind `after` already.
    pub(crate) fn page<T>(&self, items: impl Iterator<Item = T>, key: impl FnOnce(&T) -> K) -> ListPage<T> {
        let mut items: Vec<T> = items.take(self.limit + 1).collect();
        let more = items.len() > self.limit;
        items.truncate(self.limit);
        let last = items.last().filter(|_| more);
        let next = last.and_then(|last| Self::next(&key(last)));
        ListPage { items, next }
    }
}

/// Takes the number of items of a list that are asked for.
pub(crate) fn take_limit(query: &mut Query<'_>, default: usize, most: usize) -> Result<usize, Problem> {
    let limit = query.take_parsed::<usize>("limit", "a number")?.unwrap_or(default);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(bad_query("limit", &format!("is not 1 to {most}")))
}

/// A page of the state at this head. Its entity tag names the head: as long as that stands, a client that has the page need not be sent it
/// again.
pub(crate) fn page_answer(request: &ReadRequest, head: &Head, bytes: Vec<u8>) -> Response {
    Tier::Hot.note();
    page_answer_at(request, head.position, bytes)
}

/// The same of state at a position.
pub(crate) fn page_answer_at(request: &ReadRequest, position: Position, body: impl Into<Body>) -> Response {
    answer_tagged(request, position, &format!("\"s{position}\""), body)
}

/// An answer that need not be sent again to a client that has the one with this entity tag.
pub(crate) fn answer_tagged(
    request: &ReadRequest,
    position: Position,
    tag: &str,
    body: impl Into<Body>,
) -> Response {
    let known = request.headers.get_all(header::IF_NONE_MATCH);
    let is_known = known.iter().filter_map(|value| value.to_str().ok()).any(|tags| names(tags, tag));
    let body = if is_known { Body::empty() } else { body.into() };
    let mut response = answer_at_position(position, JSON, REVALIDATED, body);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// A page of a read model at a position, in the shape of its answer.
pub(crate) fn written_page_at<T: Serialize>(
    request: &ReadRequest,
    position: Position,
    page: &T,
) -> Result<Response, Problem> {
    Ok(page_answer_at(request, position, json_of(page)?))
}

/// An answer that does not become JSON, as none of ours should.
pub(crate) fn unwritable(error: &serde_json::Error) -> Problem {
    Problem::new(Code::Internal, error.to_string())
}

/// Returns `true` if a list of entity tags names this one.
fn names(tags: &str, wanted: &str) -> bool {
    tags.split(',').map(str::trim).any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    /// All pages of the numbers below `end`, each at most `limit`.
    fn pages(end: u32, limit: usize) -> Vec<Vec<u32>> {
        let (mut pages, mut next) = (Vec::new(), None::<String>);
        loop {
            let text = next.map_or_else(String::new, |next| format!("&after={next}"));
            let text = format!("limit={limit}{text}");
            let mut query = Query::parse(Some(&text)).unwrap();
            let params = PageParams::<u32>::take(&mut query).unwrap();
            query.finish().unwrap();
            let page = params.page(params.after.map_or(0, |after| after + 1)..end, |item| *item);
            pages.push(page.items);
            match page.next {
                Some(more) => next = Some(more),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_follow_each_other_without_gaps_and_the_last_one_says_so() {
        assert_eq!(pages(5, 2), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(pages(4, 2), [vec![0, 1], vec![2, 3]]);
        assert_eq!(pages(0, 2), [Vec::<u32>::new()]);
    }

    #[test]
    fn limits_and_cursors_that_are_none_are_refused() {
        let not_its_own = URL_SAFE_NO_PAD.encode("\"a\"");
        for text in ["limit=0", "limit=1001", "limit=x", "after=", "after=!", "after=e30", &not_its_own] {
            let text = if text.contains('=') { text.to_owned() } else { format!("after={text}") };
            let taken = PageParams::<u32>::take(&mut Query::parse(Some(&text)).unwrap());
            assert_eq!(taken.err().map(|problem| problem.code()), Some(Code::BadQuery), "{text}");
        }
    }

    #[test]
    fn entity_tags_are_found_in_lists_of_them() {
        for tags in ["\"s1\"", "W/\"s1\"", "\"s2\", \"s1\""] {
            assert!(names(tags, "\"s1\""), "{tags}");
        }
        for tags in ["", "s1", "\"s11\"", "*"] {
            assert!(!names(tags, "\"s1\""), "{tags}");
        }
    }
}
