//! A draft of an event: its attributes, and the CloudEvent that they are sent as.

use std::borrow::Cow;

use super::json_text::JsonObject;

/// The attributes of a future event. They are checked only when the ledger's parser reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventDraft {
    /// Its id, unique within its source.
    pub id: String,
    /// Its source; what no reference may hold is encoded when it is sent.
    pub source: String,
    /// Its `type`.
    pub kind: Cow<'static, str>,
    /// Its `subject`.
    pub stream: String,
    /// The time, in RFC 3339.
    pub time: Option<String>,
    /// The actor that caused it.
    pub actor: Option<String>,
    /// The name of the agent.
    pub agent: Option<String>,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// The tool call that it is about.
    pub call: Option<String>,
    /// The data, as JSON.
    pub data: String,
}

impl EventDraft {
    /// Returns the event as a CloudEvent in JSON.
    pub fn to_json(&self) -> String {
        JsonObject::new()
            .text("specversion", "1.0")
            .text("id", &self.id)
            .text("source", &reference(&self.source))
            .text("type", &self.kind)
            .text("subject", &self.stream)
            .maybe("time", self.time.as_deref())
            .maybe("actor", self.actor.as_deref())
            .maybe("agent", self.agent.as_deref())
            .maybe("session", self.session.as_deref())
            .maybe("run", self.run.as_deref())
            .maybe("call", self.call.as_deref())
            .raw("data", &self.data)
            .end()
    }
}

/// Returns the source as a URI-reference (RFC 3986). The name of a file or session may hold characters that no
/// reference may hold. They are percent-encoded; a valid reference stays as it is.
fn reference(source: &str) -> String {
    let first = source.split('/').next().unwrap_or_default();
    let scheme = first.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |text: &str| {
        text.starts_with(|begin: char| begin.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let keeps_colons = scheme.is_none_or(is_scheme);
    let mut has_fragment = false;
    let mut encoded = String::with_capacity(source.len());
    for (at, byte) in source.bytes().enumerate() {
        let is_kept = match byte {
            b'%' => source
                .as_bytes()
                .get(at + 1..at + 3)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            b'#' => !std::mem::replace(&mut has_fragment, true),
            b':' => keeps_colons || at >= first.len(),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@/?".contains(&byte),
        };
        match is_kept {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{BodyForm, Data, parse_events};

    use super::*;

    #[test]
    fn every_source_becomes_a_reference_and_those_that_are_one_stay() {
        for stays in ["claude-code/0198-x", "urn:uuid:1", "a/b:c?d#e", "x%20y", "https://a/b"] {
            assert_eq!(reference(stays), stays);
        }
        assert_eq!(reference("import/my notes [1].jsonl"), "import/my%20notes%20%5B1%5D.jsonl");
        assert_eq!(reference("\u{e4}: 100%#a#b"), "%C3%A4%3A%20100%25#a%23b");
    }

    #[test]
    fn a_draft_is_a_cloud_event() {
        let draft = EventDraft {
            id: "c1#requested".into(),
            source: "a \"source\"".into(),
            kind: "tool.requested".into(),
            stream: "session/1".into(),
            time: Some("2026-11-20T13:00:00Z".into()),
            agent: Some("coder".into()),
            call: Some("c1".into()),
            data: r#"{"n" : 1e0}"#.into(),
            ..EventDraft::default()
        };
        let body = draft.to_json();
        let events = parse_events(body.as_bytes(), BodyForm::Structured, None).unwrap();
        let event = events.first().unwrap();
        assert_eq!(
            (&*event.id, &*event.source, &*event.kind),
            ("c1#requested", "a%20%22source%22", "tool.requested")
        );
        assert_eq!((event.agent.as_deref(), event.run.as_deref()), (Some("coder"), None));
        assert!(matches!(&event.data, Data::Json(json) if json.as_bytes() == br#"{"n" : 1e0}"#));
    }
}
