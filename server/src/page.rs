//! Stored events as JSON in answers.

use axum::http::HeaderValue;
use bitacora_api::HeadReference;
use bitacora_formats::{Micros, StreamVersion, format_time, write_event, write_event_line};
use bitacora_governance::may_expire;
use bitacora_ledger::{Head, PageEnd, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;

use crate::json::JsonWriter;
use crate::requests::read_request::{IMMUTABLE, NO_STORE, UNTIL_EXPIRY};

/// The size of an event in an answer beside its data, about, bytes.
const ENVELOPE_BYTES: usize = 640;

/// The layout of data: verbatim, or on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Data as the client wrote it, line feeds included.
    Verbatim,
    /// Line feeds between the data's tokens become spaces; nothing inside a string changes.
    OneLine,
}

/// A page, written as it was read.
pub(crate) struct WrittenPage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: PageEnd,
    /// The highest stream version among its events.
    pub(crate) highest_version: Option<StreamVersion>,
    /// The permanence of what it shows.
    pub(crate) permanence: Permanence,
}

/// `{"events":[…],"next":…,"head":{…}}`.
pub(crate) fn page_json(ledger: &IndexedLedger, query: &ReadQuery) -> Result<WrittenPage, ReadError> {
    let mut json = JsonWriter::with_capacity(ENVELOPE_BYTES);
    json.begin_object();
    json.key("events");
    json.begin_array();
    let mut page = write_page(ledger, query, json, |event, times, json| {
        write_stored(event, times, Layout::Verbatim, json);
    })?;
    let mut json = JsonWriter::behind(page.bytes);
    json.end_array();
    write_next(page.end.next, &mut json);
    json.key("head");
    write_head(&page.end.head, &mut json);
    json.end_object();
    page.bytes = json.into_bytes();
    Ok(page)
}

/// The page's events, one a line.
pub(crate) fn page_lines(ledger: &IndexedLedger, query: &ReadQuery) -> Result<WrittenPage, ReadError> {
    lines_with_room(ledger, query, ENVELOPE_BYTES)
}

/// As [`page_lines`], where they will take so many bytes, about.
pub(crate) fn lines_with_room(
    ledger: &IndexedLedger,
    query: &ReadQuery,
    bytes: usize,
) -> Result<WrittenPage, ReadError> {
    let json = JsonWriter::with_capacity(bytes);
    write_page(ledger, query, json, |event, times, json| {
        write_stored(event, times, Layout::OneLine, json);
        json.end_line();
    })
}

/// One event by itself.
pub(crate) fn event_json(event: &StoredEvent<'_>) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(ENVELOPE_BYTES);
    write_stored(event, &mut Times::default(), Layout::Verbatim, &mut json);
    json.into_bytes()
}

/// Writes one event behind what is there, without a line break.
pub(crate) fn write_event_on_line(event: &StoredEvent<'_>, out: Vec<u8>) -> Vec<u8> {
    let mut json = JsonWriter::behind(out);
    write_stored(event, &mut Times::default(), Layout::OneLine, &mut json);
    json.into_bytes()
}

/// The permanence of an answer about events; that of several is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Permanence {
    /// It stays as it is for good.
    #[default]
    Unchanging,
    /// Only the expiry of content under a retention policy changes it.
    UntilExpiry,
    /// It may change at any time, as with an erasure.
    Changing,
}

impl Permanence {
    /// Returns that of an answer about an event.
    pub(crate) fn of(stored: &StoredEvent<'_>) -> Self {
        if stored.erased || stored.unreadable || stored.event.datasubject.is_some() {
            Self::Changing
        } else if may_expire(&stored.event.kind) {
            Self::UntilExpiry
        } else {
            Self::Unchanging
        }
    }

    /// Returns the caching that an answer of this permanence takes.
    pub(crate) const fn caching(self) -> HeaderValue {
        match self {
            Self::Unchanging => IMMUTABLE,
            Self::UntilExpiry => UNTIL_EXPIRY,
            Self::Changing => NO_STORE,
        }
    }
}

/// Writes each event where it lies in its opened frame.
fn write_page(
    ledger: &IndexedLedger,
    query: &ReadQuery,
    mut json: JsonWriter,
    write: impl Fn(&StoredEvent<'_>, &mut Times, &mut JsonWriter),
) -> Result<WrittenPage, ReadError> {
    let (mut times, mut highest_version) = (Times::default(), None);
    let mut permanence = Permanence::Unchanging;
    let end = ledger.read_each(query, &mut |event| {
        write(&event, &mut times, &mut json);
        highest_version = highest_version.max(Some(event.stream_version));
        permanence = permanence.max(Permanence::of(&event));
    })?;
    Ok(WrittenPage { bytes: json.into_bytes(), end, highest_version, permanence })
}

/// The time that was written last: all events of a frame have the same.
#[derive(Default)]
struct Times(Option<(Micros, String)>);

impl Times {
    fn text(&mut self, time: Micros) -> &str {
        let known = self.0.take().filter(|(known, _)| *known == time);
        &self.0.insert(known.unwrap_or_else(|| (time, format_time(time)))).1
    }
}

/// The last line of an NDJSON answer: `{"end":{"count":…,"next":…,"head":{…}}}`.
pub(crate) fn end_line(count: u64, next: Option<ReadFrom>, head: &Head) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(256);
    json.begin_object();
    json.key("end");
    json.begin_object();
    json.number_member("count", count);
    write_next(next, &mut json);
    json.key("head");
    write_head(head, &mut json);
    json.end_object();
    json.end_object();
    json.end_line();
    json.into_bytes()
}

/// Returns a head as answers name it.
pub(crate) fn head_reference(head: &Head) -> HeadReference {
    HeadReference { position: head.position.to_string(), hash: head.hash.to_string() }
}

/// Writes what [`head_reference`] returns.
pub(crate) fn write_head(head: &Head, json: &mut JsonWriter) {
    json.begin_object();
    json.place_member("position", head.position.get());
    json.hex_member("hash", &head.hash.0);
    json.end_object();
}

/// Writes the start of the next page: the value of `after`, or of `until` when reading backward.
fn write_next(next: Option<ReadFrom>, json: &mut JsonWriter) {
    match next {
        Some(ReadFrom::After(after)) => json.place_member("next", after.get()),
        Some(ReadFrom::Before(Some(position))) => json.place_member("next", position.get().saturating_sub(1)),
        Some(ReadFrom::Before(None)) | None => (),
    }
}

fn write_stored(stored: &StoredEvent<'_>, times: &mut Times, layout: Layout, json: &mut JsonWriter) {
    json.begin_object();
    write_members(stored, times, layout, json);
    json.end_object();
}

/// Writes a stored event into an object that has members of its own.
pub(crate) fn write_event_members(event: &StoredEvent<'_>, json: &mut JsonWriter) {
    write_members(event, &mut Times::default(), Layout::Verbatim, json);
}

fn write_members(stored: &StoredEvent<'_>, times: &mut Times, layout: Layout, json: &mut JsonWriter) {
    json.place_member("position", stored.position.get());
    json.place_member("streamVersion", stored.stream_version.get());
    json.text_member("recordedAt", times.text(stored.time));
    json.hex_member("commitment", &stored.commitment.0);
    if stored.derived {
        json.bool_member("derived", true);
    }
    if stored.erased {
        json.bool_member("erased", true);
    }
    if let Some(position) = stored.erased_by {
        json.place_member("erasedBy", position.get());
    }
    if let Some(position) = stored.expired_by {
        json.place_member("expiredBy", position.get());
    }
    if stored.unreadable {
        json.bool_member("unreadable", true);
    }
    if stored.redactions > 0 {
        json.number_member("redactions", stored.redactions.into());
    }
    json.key("event");
    json.value(|out| match layout {
        Layout::Verbatim => write_event(&stored.event, out),
        Layout::OneLine => {
            write_event_line(&stored.event, out);
            // The event is not the last thing on its line here.
            out.truncate(out.len() - 1);
        }
    });
}
