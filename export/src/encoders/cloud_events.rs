//! A batch of CloudEvents in JSON (CloudEvents JSON format 1.0.2, section 4), an event a line.
//!
//! Each event has the extension attribute [`POSITION_ATTRIBUTE`], which ties it to its position in the ledger, and one that says
//! why its data is not there, where it is not.

use serde_json::Value;

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

/// Appends an event; `is_first` is `true` for the first of the file.
pub(crate) fn write_event(row: &StoredRow<'_>, is_first: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_first { b"[\n" } else { b",\n" });
    let is_taken = row.event.extensions.iter().any(|(name, _)| LEDGER_ATTRIBUTES.contains(&&**name));
    if is_taken {
        write_without_taken(row, out);
    } else {
        write_open(row.raw_event.get(), out);
    }
    out.extend_from_slice(format!(",\"{POSITION_ATTRIBUTE}\":\"{}\"", row.position).as_bytes());
    for (name, holds) in [
        (ERASED_ATTRIBUTE, row.erased),
        (EXPIRED_ATTRIBUTE, row.is_expired()),
        (UNREADABLE_ATTRIBUTE, row.unreadable),
    ] {
        if holds {
            out.extend_from_slice(format!(",\"{name}\":true").as_bytes());
        }
    }
    out.push(b'}');
}

/// Appends the end of a batch.
pub(crate) fn write_end(is_empty: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_empty { b"[]\n" } else { b"\n]\n" });
}

/// Appends an object without its last brace.
fn write_open(object: &str, out: &mut Vec<u8>) {
    let object = object.trim_end();
    out.extend_from_slice(object.strip_suffix('}').unwrap_or(object).as_bytes());
}

/// Appends an event whose sender used the ledger's attributes, without those values. Nobody may claim a position.
fn write_without_taken(row: &StoredRow<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"specversion\":\"1.0\"");
    let mut member = |name: &str, value: &str| {
        out.extend_from_slice(format!(",{}:{value}", Value::from(name)).as_bytes());
    };
    for (name, text) in row.event.texts() {
        member(name, &Value::from(text).to_string());
    }
    for (name, value) in &row.event.extensions {
        if !LEDGER_ATTRIBUTES.contains(&&**name) {
            member(name, value.get());
        }
    }
    if let Some(data) = row.event.data {
        member("data", data.get());
    }
}
