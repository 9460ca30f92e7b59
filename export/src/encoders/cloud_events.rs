//! A batch of CloudEvents in JSON (CloudEvents JSON format 1.0.2, section 4), an event a line.
//!
//! Each event has the extension attribute [`POSITION_ATTRIBUTE`], which ties it to its position in the ledger, and one that says
//! why its data is not there, where it is not.

use crate::stored_row::StoredRow;

/// The attribute of an event's position: decimal digits.
const POSITION_ATTRIBUTE: &str = "ledgerposition";
/// The attribute of an event whose data was erased: `true`.
const ERASED_ATTRIBUTE: &str = "ledgererased";
/// The attribute of an event whose data expired: `true`.
const EXPIRED_ATTRIBUTE: &str = "ledgerexpired";
/// The attribute of an event whose data cannot be read: `true`.
const UNREADABLE_ATTRIBUTE: &str = "ledgerunreadable";
/// The attributes that are the ledger's: a sender's of these names are left out.
const LEDGER_ATTRIBUTES: [&str; 4] =
    [POSITION_ATTRIBUTE, ERASED_ATTRIBUTE, EXPIRED_ATTRIBUTE, UNREADABLE_ATTRIBUTE];

/// The separator before an event.
const SEPARATOR: &[u8] = b",\n";
/// The beginning of the file, as long as a separator, whose place it takes.
const ARRAY_BEGIN: &[u8] = b"[\n";

/// Appends an event, with a separator before it. A sender's values of the ledger's attributes are left out: nobody may claim a position.
pub(crate) fn write_event(row: &StoredRow<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(SEPARATOR);
    out.extend_from_slice(b"{\"specversion\":\"1.0\"");
    for (name, text) in row.event.texts() {
        write_name(name, out);
        write_text(text, out);
    }
    for (name, value) in &row.event.extensions {
        if !LEDGER_ATTRIBUTES.contains(&&**name) {
            write_name(name, out);
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    if let Some(data) = row.event.data {
        write_name("data", out);
        out.extend_from_slice(data.get().as_bytes());
    }
    write_name(POSITION_ATTRIBUTE, out);
    write_text(&row.position, out);
    for (name, holds) in [
        (ERASED_ATTRIBUTE, row.erased),
        (EXPIRED_ATTRIBUTE, row.is_expired()),
        (UNREADABLE_ATTRIBUTE, row.unreadable),
    ] {
        if holds {
            write_name(name, out);
            out.extend_from_slice(b"true");
        }
    }
    out.push(b'}');
}

/// Makes these events the first of the file.
pub(crate) fn make_first(events: &mut [u8]) {
    if let Some(begin) = events.get_mut(..SEPARATOR.len()) {
        begin.copy_from_slice(ARRAY_BEGIN);
    }
}

/// Appends the end of a batch.
pub(crate) fn write_end(is_empty: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_empty { b"[]\n" } else { b"\n]\n" });
}

/// Appends the name of a member behind another one.
fn write_name(name: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_text(name, out);
    out.push(b':');
}

/// Appends a text as JSON.
fn write_text(text: &str, out: &mut Vec<u8>) {
    // A text is always JSON, and memory takes it.
    let _written = serde_json::to_writer(out, text).is_ok();
}
