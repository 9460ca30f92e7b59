//! What people are called: the names that their tokens were made with, of those that are no longer taken too.

use std::collections::BTreeMap;

use bitacora_client::percent_encoded;
use bitacora_formats::vocabulary::{EventData, PrincipalCreated};
use serde::Deserialize;

use crate::service::{Service, ServiceFailure};

/// Events of one question.
const PAGE_EVENTS: &str = "1000";

/// Names by actors, as events name who wrote them.
pub(crate) struct KnownPeople(BTreeMap<String, String>);

/// A page of events, as far as it matters here.
#[derive(Deserialize)]
struct Page {
    events: Vec<Stored>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Stored {
    event: Told,
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    data: serde_json::Value,
}

impl KnownPeople {
    pub(crate) fn of(service: &mut Service) -> Result<Self, ServiceFailure> {
        let mut names = BTreeMap::new();
        let mut after = "0".to_owned();
        loop {
            let kind = percent_encoded(PrincipalCreated::KIND);
            let path = format!("events?type={kind}&limit={PAGE_EVENTS}&after={}", percent_encoded(&after));
            let page: Page = service.get(&path)?.read()?;
            let created = page
                .events
                .into_iter()
                .filter_map(|stored| serde_json::from_value::<PrincipalCreated>(stored.event.data).ok());
            names.extend(created.filter_map(|created| Some((created.actor(), created.name?.to_string()))));
            match page.next {
                // What is asked for next is a number, and greater.
                Some(next) if next.parse::<u64>().ok() > after.parse().ok() => after = next,
                _ => return Ok(Self(names)),
            }
        }
    }

    /// The actor, and behind it the name that the ledger knows for it.
    pub(crate) fn named(&self, actor: &str) -> String {
        self.0.get(actor).map_or_else(|| actor.to_owned(), |name| format!("{actor} ({name})"))
    }
}
