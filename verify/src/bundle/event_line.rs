//! The line of an event in a bundle, compared with the record that was committed to.

use bitacora_formats::{Data, decode_record, format_time, plain_number, write_event_line};

use super::error::BundleError;
use super::events::ProofLine;
use super::json_object::JsonObject;
use super::manifest::BundleManifest;

/// The mark before the event in its line.
const EVENT: &str = ",\"event\":";
/// The members before the marks.
const FIXED: [&str; 4] = ["position", "streamVersion", "recordedAt", "commitment"];
/// The marks that the ledger adds; nothing proves them.
const MARKS: [&str; 4] = ["derived", "erased", "erasedBy", "unreadable"];
/// The mark that holds a position; the others are `true`.
const ERASED_BY: &str = "erasedBy";

/// Checks that the line says what the record says, and what was asked for. Returns `true` if data is sealed.
pub(super) fn check(line: &str, proof: &ProofLine, manifest: &BundleManifest) -> Result<bool, BundleError> {
    let position = proof.position;
    let refused = |what: String| BundleError::Event { position, what };
    let record = decode_record(&proof.record).map_err(|source| BundleError::Record { position, source })?;
    let (redactions, is_sealed) = (record.redactions, record.seal().is_some());
    let mut event = record.into_event(None);
    for (name, asked, found) in
        [("session", &manifest.session, &event.session), ("run", &manifest.run, &event.run)]
    {
        if asked.is_some() && asked.as_deref() != found.as_deref() {
            return Err(refused(format!(
                "found an event of another {name}, expected one of that in the manifest"
            )));
        }
    }
    let (before, text) =
        line.split_once(EVENT).ok_or_else(|| refused("found no event in its line".to_owned()))?;
    let time = format_time(proof.time);
    check_before(before, proof, (&time, redactions)).map_err(refused)?;
    let since = manifest.since.as_ref().is_none_or(|since| time >= *since);
    if !since || manifest.before.as_ref().is_some_and(|before| time >= *before) {
        return Err(refused(format!(
            "found an event recorded at {time}, expected one of the times in the manifest"
        )));
    }
    if is_sealed {
        // The part of the data subject follows; nothing here proves it.
        (event.tags, event.extensions, event.data) = (Vec::new(), Vec::new(), Data::None);
    }
    let mut expected = Vec::new();
    write_event_line(&event, &mut expected);
    let expected = expected.strip_suffix(b"\n").unwrap_or(&expected);
    let same = match text.strip_suffix('}') {
        None => false,
        Some(text) if is_sealed => {
            let begin = expected.strip_suffix(b"}").unwrap_or(expected);
            let rest = text.as_bytes().strip_prefix(begin);
            text.ends_with('}') && rest.is_some_and(|rest| matches!(rest.first(), Some(b',' | b'}')))
        }
        Some(text) => text.as_bytes() == expected,
    };
    if same {
        Ok(is_sealed)
    } else {
        Err(refused("found an event that is not what its record says".to_owned()))
    }
}

/// Checks the members before the event.
fn check_before(before: &str, proof: &ProofLine, (time, redactions): (&str, u32)) -> Result<(), String> {
    let json = format!("{before}}}");
    let object = JsonObject::read(&json)?;
    let there = |mark: &&str| object.get(mark).is_some();
    let marks: Vec<&str> = MARKS.into_iter().filter(there).collect();
    let counted = if redactions > 0 { &["redactions"][..] } else { &[] };
    let expected: Vec<&str> = FIXED.iter().chain(&marks).chain(counted).copied().collect();
    if !object.names().eq(expected.iter().copied()) {
        return Err(format!("found other members, expected {}", expected.join(", ")));
    }
    object.decimal("streamVersion")?;
    for mark in marks {
        let holds = if mark == ERASED_BY {
            object.get("erased").is_some() && object.decimal(mark).is_ok()
        } else {
            object.get(mark) == Some("true")
        };
        if !holds {
            return Err(format!("found another value in {mark}"));
        }
    }
    let is = |name: &str, expected: &str| match object.text(name)? {
        found if found == expected => Ok(()),
        found => Err(format!("found {name} {found:?}, expected {expected}")),
    };
    is("position", &proof.position.to_string())?;
    is("recordedAt", time)?;
    is("commitment", &proof.commitment.to_string())?;
    match object.get("redactions") {
        Some(found) if plain_number::<u32>(found) != Some(redactions) => {
            Err(format!("found redactions {found}, expected {redactions}"))
        }
        _ => Ok(()),
    }
}
