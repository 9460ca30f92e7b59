//! A page of events as a service answers it, for commands that fold events.

use serde::Deserialize;
use serde_json::Value;

/// Consecutive events, and the position of the next page.
#[derive(Deserialize)]
pub struct EventPage {
    events: Vec<EventEnvelope>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct EventEnvelope {
    event: EventMembers,
}

#[derive(Deserialize)]
struct EventMembers {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Value,
}

impl EventPage {
    /// Returns the position behind which the next page begins, given that this one began behind `after`. Returns `None`
    /// at the end, and where the service names a position that is not further on.
    pub fn next(&self, after: &str) -> Option<String> {
        let next = self.next.as_ref()?;
        (next.parse::<u64>().ok() > after.parse().ok()).then(|| next.clone())
    }

    /// Returns the type and data of each event.
    pub fn events(self) -> impl Iterator<Item = (String, Value)> {
        self.events.into_iter().map(|stored| (stored.event.kind, stored.event.data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_on_and_never_back() {
        let next = |next: &str| {
            let page: EventPage = serde_json::from_str(&format!(r#"{{"events":[],"next":{next}}}"#)).unwrap();
            page.next("9")
        };
        assert_eq!(next(r#""10""#).as_deref(), Some("10"));
        assert_eq!(["null", r#""9""#, r#""8""#, r#""x""#].map(next), [const { None }; 4]);
    }
}
