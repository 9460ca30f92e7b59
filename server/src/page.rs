//! Stored events as they are answered.

use bitacora_formats::{format_time, write_event, write_event_line};
use bitacora_ledger::{From as Place, Head, Page, StoredEvent};

use crate::json::JsonWriter;

/// What an event takes in an answer beside its data, about, bytes.
const ENVELOPE_BYTES: usize = 640;

/// Whether what is written must stay on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Data as the client wrote it, line feeds included.
    Verbatim,
    /// Line feeds between the data's tokens become spaces; nothing inside a string changes.
    OneLine,
}

/// `{"events":[…],"next":…,"head":{…}}`.
pub(crate) fn page_json(page: &Page) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(128 + ENVELOPE_BYTES * page.events.len());
    json.begin_object();
    json.key("events");
    json.begin_array();
    for event in &page.events {
        write_stored(event, Layout::Verbatim, &mut json);
    }
    json.end_array();
    write_next(page.next, &mut json);
    json.key("head");
    write_head(&page.head, &mut json);
    json.end_object();
    json.into_bytes()
}

/// One event by itself.
pub(crate) fn event_json(event: &StoredEvent) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(ENVELOPE_BYTES);
    write_stored(event, Layout::Verbatim, &mut json);
    json.into_bytes()
}

/// Writes one event behind what is there, without a line break.
pub(crate) fn write_event_on_line(event: &StoredEvent, out: Vec<u8>) -> Vec<u8> {
    let mut json = JsonWriter::behind(out);
    write_stored(event, Layout::OneLine, &mut json);
    json.into_bytes()
}

/// The page's events, one a line.
pub(crate) fn page_lines(page: &Page) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(ENVELOPE_BYTES * page.events.len());
    for event in &page.events {
        write_stored(event, Layout::OneLine, &mut json);
        json.end_line();
    }
    json.into_bytes()
}

/// The last line of an NDJSON answer: `{"end":{"count":…,"next":…,"head":{…}}}`.
pub(crate) fn end_line(count: u64, next: Option<Place>, head: &Head) -> Vec<u8> {
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

/// `{"position":…,"hash":…}`.
pub(crate) fn write_head(head: &Head, json: &mut JsonWriter) {
    json.begin_object();
    json.place_member("position", head.position.get());
    json.hex_member("hash", &head.hash.0);
    json.end_object();
}

/// Where the next page begins: the value of `after`, or of `until` when reading backward.
fn write_next(next: Option<Place>, json: &mut JsonWriter) {
    match next {
        Some(Place::After(after)) => json.place_member("next", after.get()),
        Some(Place::Before(Some(position))) => json.place_member("next", position.get().saturating_sub(1)),
        Some(Place::Before(None)) | None => (),
    }
}

fn write_stored(stored: &StoredEvent, layout: Layout, json: &mut JsonWriter) {
    json.begin_object();
    json.place_member("position", stored.position.get());
    json.place_member("streamVersion", stored.stream_version.get());
    json.text_member("recordedAt", &format_time(stored.time));
    json.hex_member("commitment", &stored.commitment.0);
    if stored.derived {
        json.bool_member("derived", true);
    }
    if stored.erased {
        json.bool_member("erased", true);
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
    json.end_object();
}
