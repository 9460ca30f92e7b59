//! What people are called: the names that their tokens were made with, of those that are no longer taken too.

use std::collections::BTreeMap;

use bitacora_client::percent_encoded;
use bitacora_formats::vocabulary::{EventData, PrincipalCreated};

use crate::event_page::EventPage;
use crate::service::{Service, ServiceFailure};

/// Events of one question.
const PAGE_EVENTS: &str = "1000";

/// Names by actors, as events name who wrote them.
pub(crate) struct KnownPeople(BTreeMap<String, String>);

impl KnownPeople {
    pub(crate) fn of(service: &mut Service) -> Result<Self, ServiceFailure> {
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

    /// The actor, and behind it the name that the ledger knows for it.
    pub(crate) fn named(&self, actor: &str) -> String {
        self.0.get(actor).map_or_else(|| actor.to_owned(), |name| format!("{actor} ({name})"))
    }
}
