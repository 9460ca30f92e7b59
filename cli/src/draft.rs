//! An event before it is anybody's: its attributes, and the CloudEvent they are sent as.

use std::borrow::Cow;

use crate::json_text::JsonObject;

/// What an event is going to be. Nothing of it is checked before it is parsed as the ledger parses it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) source: String,
    /// Its `type`.
    pub(crate) kind: Cow<'static, str>,
    /// Its `subject`.
    pub(crate) stream: String,
    /// RFC 3339.
    pub(crate) time: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) call: Option<String>,
    /// JSON.
    pub(crate) data: String,
}

impl Draft {
    /// The event as a CloudEvent in JSON.
    pub(crate) fn to_json(&self) -> String {
        JsonObject::new()
            .text("specversion", "1.0")
            .text("id", &self.id)
            .text("source", &self.source)
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

#[cfg(test)]
mod tests {
    use bitacora_formats::{BodyForm, Data, parse_events};

    use super::*;

    #[test]
    fn a_draft_is_a_cloud_event() {
        let draft = Draft {
            id: "c1#requested".into(),
            source: "a \"source\"".into(),
            kind: "tool.requested".into(),
            stream: "session/1".into(),
            time: Some("2026-11-20T13:00:00Z".into()),
            agent: Some("coder".into()),
            call: Some("c1".into()),
            data: r#"{"n" : 1e0}"#.into(),
            ..Draft::default()
        };
        let body = draft.to_json();
        let events = parse_events(body.as_bytes(), BodyForm::Structured, None).unwrap();
        let event = events.first().unwrap();
        assert_eq!(
            (&*event.id, &*event.source, &*event.kind),
            ("c1#requested", "a \"source\"", "tool.requested")
        );
        assert_eq!((event.agent.as_deref(), event.run.as_deref()), (Some("coder"), None));
        assert!(matches!(&event.data, Data::Json(json) if json.as_bytes() == br#"{"n" : 1e0}"#));
    }
}
