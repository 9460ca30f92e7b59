//! Stored events, one a line, as `export` and `read --json` write them: the event of each is imported unchanged.
//!
//! Events that a ledger makes by itself are passed over. The ledger that takes the others derives its own.

use bitacora_vocabulary::is_service_kind;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::format::MappedRecord;
use super::mapped_events::{MappedEvents, MappingRefusal};

/// Types among the service's own families that are written from outside.
const PRINCIPALS: &str = "principal.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLine<'a> {
    #[serde(default)]
    derived: bool,
    #[serde(default)]
    erased: bool,
    expired_by: Option<IgnoredAny>,
    #[serde(default)]
    unreadable: bool,
    #[serde(borrow)]
    event: &'a RawValue,
}

/// The type of an event.
#[derive(Deserialize)]
pub(crate) struct EventKind {
    pub(crate) r#type: String,
}

/// Returns the event of a line in its own bytes, or the reason why it is passed over.
pub(crate) fn map(line: &[u8]) -> Result<MappedRecord, MappingRefusal> {
    let stored: StoredLine<'_> = serde_json::from_slice(line).map_err(MappingRefusal::json)?;
    let event = stored.event.get();
    let EventKind { r#type: kind } = serde_json::from_str(event).map_err(MappingRefusal::json)?;
    let why = if stored.derived {
        Some("derived event")
    } else if is_made_by_the_service(&kind) {
        Some("event of the service")
    } else if stored.erased {
        Some("erased event")
    } else if stored.expired_by.is_some() {
        // Its id would be taken for ever by an event without its data.
        Some("expired event")
    } else if stored.unreadable {
        Some("unreadable event")
    } else {
        None
    };
    Ok(match why {
        Some(why) => MappedRecord::Drafts(MappedEvents::passed_over(why)),
        None => MappedRecord::Event(event.as_bytes().to_vec()),
    })
}

/// Returns `true` if the service alone writes events of this type.
pub(crate) fn is_made_by_the_service(kind: &str) -> bool {
    is_service_kind(kind) && !kind.starts_with(PRINCIPALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(envelope: &str, kind: &str) -> Result<String, String> {
        let line =
            format!(r#"{{"position":"7",{envelope}"event":{{"type":"{kind}", "data": {{"a": 1.0}}}}}}"#);
        match map(line.as_bytes()).unwrap() {
            MappedRecord::Event(event) => Ok(String::from_utf8(event).unwrap()),
            MappedRecord::Drafts(mapped) => Err(mapped.passed_over.unwrap().into_owned()),
        }
    }

    #[test]
    fn an_event_is_taken_in_its_own_bytes() {
        let event = r#"{"type":"x.note", "data": {"a": 1.0}}"#;
        assert_eq!(mapped("", "x.note"), Ok(event.to_owned()));
        assert!(mapped("", "principal.created").is_ok());
    }

    #[test]
    fn what_a_ledger_makes_by_itself_is_passed_over() {
        assert_eq!(mapped(r#""derived":true,"#, "decision.made"), Err("derived event".to_owned()));
        assert_eq!(mapped("", "ledger.opened"), Err("event of the service".to_owned()));
        assert_eq!(mapped("", "export.made"), Err("event of the service".to_owned()));
        assert_eq!(mapped(r#""erased":true,"#, "x.note"), Err("erased event".to_owned()));
        assert_eq!(mapped(r#""expiredBy":"4","#, "x.note"), Err("expired event".to_owned()));
        assert_eq!(mapped(r#""unreadable":true,"#, "x.note"), Err("unreadable event".to_owned()));
        assert!(map(b"{\"position\":\"7\"}").is_err());
    }
}
