//! The tiers that an answer is from, for its header `Bitacora-Tiers`.

use std::sync::atomic::{AtomicU8, Ordering};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use bitacora_formats::Position;
use bitacora_ledger::ReadTiers;
use bitacora_projector::IndexedLedger;

/// The header.
const BITACORA_TIERS: HeaderName = HeaderName::from_static("bitacora-tiers");

/// A tier of a ledger's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tier {
    /// The deciding state, in memory.
    Hot = 1,
    /// Segments, index and read models, on this disk.
    Warm = 2,
    /// Archives, and rows that are folded again because they left this disk.
    Cold = 4,
}

impl Tier {
    const ALL: [(Self, &str); 3] = [(Self::Hot, "hot"), (Self::Warm, "warm"), (Self::Cold, "cold")];

    /// Notes that the answer which is being made is from this tier too.
    pub(crate) fn note(self) {
        // Work in the background is no answer.
        let _noted = ANSWER_TIERS.try_with(|noted| noted.fetch_or(self as u8, Ordering::Relaxed));
    }
}

tokio::task_local! {
    static ANSWER_TIERS: AtomicU8;
}

/// Notes the tiers that were read for a page of events. Where none was, the index or the state says that there is no event to read.
pub(crate) fn note_read(read: ReadTiers) {
    if read.archives {
        Tier::Cold.note();
    }
    if read.segments || !read.archives {
        Tier::Warm.note();
    }
}

/// Notes the tiers of the events between two positions, both included.
pub(crate) fn note_events(ledger: &IndexedLedger, first: u64, last: u64) {
    let released = ledger.ledger().released_through().map_or(0, Position::get);
    if first <= released {
        Tier::Cold.note();
    }
    if last > released {
        Tier::Warm.note();
    }
}

/// Has each answer say which tiers it is from, where that is known.
pub(crate) async fn tell(request: Request, next: Next) -> Response {
    let answer = async {
        let response = next.run(request).await;
        (response, ANSWER_TIERS.with(|noted| noted.load(Ordering::Relaxed)))
    };
    let (mut response, noted) = ANSWER_TIERS.scope(AtomicU8::new(0), answer).await;
    let names: Vec<_> =
        Tier::ALL.iter().filter(|(tier, _)| noted & *tier as u8 != 0).map(|(_, name)| *name).collect();
    let is_answer = response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED;
    if is_answer
        && !names.is_empty()
        && let Ok(value) = HeaderValue::from_str(&names.join(", "))
    {
        response.headers_mut().insert(BITACORA_TIERS, value);
    }
    response
}
