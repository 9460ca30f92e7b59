//! The line of an event in a bundle, compared with the record that was committed to.

use bitacora_formats::{Data, Event, decode_record, format_time, plain_number, write_event_line};

use super::error::BundleError;
use super::events::{ProofLine, ProvenContent};
use super::json_object::{JsonObject, check_unique};
use super::manifest::BundleManifest;

/// The mark before the event in its line.
const EVENT: &str = ",\"event\":";
/// The members before the marks.
const FIXED: [&str; 4] = ["position", "streamVersion", "recordedAt", "commitment"];
/// The marks that the ledger adds; nothing proves them.
const MARKS: [&str; 4] = ["derived", "erased", "erasedBy", "unreadable"];
/// The mark that holds a position; the others are `true`.
const ERASED_BY: &str = "erasedBy";
/// The marks of an event whose content expired.
const EXPIRED_MARKS: [&str; 2] = ["derived", EXPIRED_BY];
/// The mark that holds the position of the policy.
const EXPIRED_BY: &str = "expiredBy";
/// The members of an event whose content expired.
const EXPIRED_EVENT: [&str; 5] = ["specversion", "id", "source", "type", "subject"];

/// Checks that the line says what the record says, and what was asked for.
pub(super) fn check(
    line: &str,
    proof: &ProofLine,
    manifest: &BundleManifest,
) -> Result<ProvenContent, BundleError> {
    let refused = |what: String| BundleError::Event { position: proof.position, what };
    let (before, text) =
        line.split_once(EVENT).ok_or_else(|| refused("found no event in its line".to_owned()))?;
    let event = text.strip_suffix('}').ok_or_else(|| refused("found a line without its end".to_owned()))?;
    let time = format_time(proof.time);
    let since = manifest.since.as_ref().is_none_or(|since| time >= *since);
    if !since || manifest.before.as_ref().is_some_and(|before| time >= *before) {
        return Err(refused(format!(
            "found an event recorded at {time}, expected one of the times in the manifest"
        )));
    }
    match &proof.opening {
        Some(opening) => check_content((before, event), &opening.record, (proof, &time), manifest),
        None => {
            check_expired((before, event), (proof, &time), manifest).map_err(refused)?;
            Ok(ProvenContent::Expired)
        }
    }
}

/// Checks the line against the record.
fn check_content(
    (before, text): (&str, &str),
    record: &[u8],
    (proof, time): (&ProofLine, &str),
    manifest: &BundleManifest,
) -> Result<ProvenContent, BundleError> {
    let position = proof.position;
    let refused = |what: String| BundleError::Event { position, what };
    let record = decode_record(record).map_err(|source| BundleError::Record { position, source })?;
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
    check_before(before, proof, (time, redactions), &MARKS).map_err(refused)?;
    if is_sealed {
        // The part of the data subject follows; nothing here proves it.
        (event.tags, event.extensions, event.data) = (Vec::new(), Vec::new(), Data::None);
    }
    let expected = written(&event);
    let same = if is_sealed {
        let rest = expected.strip_suffix('}').and_then(|begin| text.strip_prefix(begin));
        check_unique(text).map_err(refused)?;
        rest.is_some_and(|rest| rest.starts_with([',', '}']))
    } else {
        text == expected
    };
    if !same {
        return Err(refused("found an event that is not what its record says".to_owned()));
    }
    Ok(if is_sealed { ProvenContent::Sealed } else { ProvenContent::Whole })
}

/// Checks the form of an event whose content expired. Nothing proves what it says beside position, time and commitment.
fn check_expired(
    (before, text): (&str, &str),
    (proof, time): (&ProofLine, &str),
    manifest: &BundleManifest,
) -> Result<(), String> {
    if manifest.is_of_a_session() {
        return Err("found an expired event, expected those alone that say their session and run".to_owned());
    }
    check_before(before, proof, (time, 0), &EXPIRED_MARKS)?;
    let object = JsonObject::read(text)?;
    if !object.names().eq(EXPIRED_EVENT) {
        return Err(format!(
            "found other members in an expired event, expected {}",
            EXPIRED_EVENT.join(", ")
        ));
    }
    let [_, id, source, kind, stream] = EXPIRED_EVENT.map(|name| object.text(name));
    if text == written(&Event::new(id?, source?, kind?, stream?)) {
        Ok(())
    } else {
        Err("found an expired event in another form than the interface gives it".to_owned())
    }
}

/// Returns an event as the interface gives it on one line.
fn written(event: &Event<'_>) -> String {
    let mut line = Vec::new();
    write_event_line(event, &mut line);
    line.pop();
    // The writer gives nothing but UTF-8.
    String::from_utf8(line).unwrap_or_default()
}

/// Checks the members before the event.
fn check_before(
    before: &str,
    proof: &ProofLine,
    (time, redactions): (&str, u32),
    allowed: &[&str],
) -> Result<(), String> {
    let json = format!("{before}}}");
    let object = JsonObject::read(&json)?;
    // An expired event says so; all other marks may be there or not.
    let there = |mark: &&str| *mark == EXPIRED_BY || object.get(mark).is_some();
    let marks: Vec<&str> = allowed.iter().copied().filter(there).collect();
    let counted = if redactions > 0 { &["redactions"][..] } else { &[] };
    let expected: Vec<&str> = FIXED.iter().chain(&marks).chain(counted).copied().collect();
    if !object.names().eq(expected.iter().copied()) {
        return Err(format!("found other members, expected {}", expected.join(", ")));
    }
    object.decimal("streamVersion")?;
    for mark in marks {
        let holds = match mark {
            ERASED_BY => object.get("erased").is_some() && object.decimal(mark).is_ok(),
            EXPIRED_BY => object.decimal(mark).is_ok(),
            _ => object.get(mark) == Some("true"),
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
