//! The names of people: those that their tokens were made with, revoked ones included.

use std::collections::BTreeMap;

use bitacora_client::percent_encoded;
use bitacora_vocabulary::{EventData, PrincipalCreated};

use crate::ledger_access::event_page::EventPage;
use crate::ledger_access::service::{ServiceClient, ServiceFailure};

/// The number of events of one page.
const PAGE_EVENTS: &str = "1000";

/// Names by actors, as events name their writers.
pub struct KnownPeople(BTreeMap<String, String>);

impl KnownPeople {
    /// Asks the service for the people it knows.
    pub fn of(service: &mut ServiceClient) -> Result<Self, ServiceFailure> {
        let mut names = BTreeMap::new();
        let mut after = "0".to_owned();
        loop {
            let kind = percent_encoded(PrincipalCreated::KIND);
            let path = format!("events?type={kind}&limit={PAGE_EVENTS}&after={}", percent_encoded(&after));
            let page: EventPage = service.get(&path)?.read()?;
            let next = page.next(&after);
            let created =
                page.events().filter_map(|(_, data)| serde_json::from_value::<PrincipalCreated>(data).ok());
            names.extend(created.filter_map(|created| Some((created.actor(), created.name?.to_string()))));
            match next {
                Some(next) => after = next,
                None => return Ok(Self(names)),
            }
        }
    }

    /// Returns the actor, followed by the name that the ledger knows for it.
    pub fn named(&self, actor: &str) -> String {
        self.0.get(actor).map_or_else(|| actor.to_owned(), |name| format!("{actor} ({name})"))
    }
}
