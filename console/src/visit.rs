//! A viewer's request: who asks, of which ledger, with which query.

use std::sync::Arc;

use bitacora_api::{CallerAnswer, LedgerAnswer, StopsAnswer, paths};
use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::form::FormFields;
use crate::interface::{Answered, InterfaceClient};
use crate::page_error::PageError;
use crate::sign_in::Session;
use crate::zone::Zone;

/// Roles that govern agents.
pub(crate) const GOVERNORS: [&str; 2] = ["operator", "admin"];

/// The state of a ledger that takes no events.
#[derive(Debug, Clone)]
pub(crate) struct NoEvents {
    pub(crate) state: String,
    pub(crate) why: Option<String>,
}

impl NoEvents {
    /// Returns the state, if this ledger takes no events.
    pub(crate) fn of(ledger: LedgerAnswer) -> Option<Self> {
        (ledger.state != "ready").then_some(Self { state: ledger.state, why: ledger.why })
    }
}

/// The stop of all agents.
#[derive(Debug, Clone)]
pub(crate) struct EverythingStopped {
    pub(crate) reason: Option<String>,
}

impl EverythingStopped {
    /// Returns the stop, if there is one.
    pub(crate) fn of(stops: StopsAnswer) -> Option<Self> {
        stops.panic.then_some(Self { reason: stops.reason })
    }
}

/// A request of a viewer who is known, to one ledger.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) session: Arc<Session>,
    /// The session's secret, as the forms of the page that answers carry it.
    pub(crate) form_secret: String,
    pub(crate) ledger: String,
    pub(crate) caller: CallerAnswer,
    /// The state of the ledger that takes no events now, and the reason.
    pub(crate) no_events: Option<NoEvents>,
    /// The stop of all agents, while it lasts.
    pub(crate) stopped: Option<EverythingStopped>,
    pub(crate) interface: InterfaceClient,
    /// The URL of the service that the browser asked, without a path.
    pub(crate) url: String,
    /// The path, percent-encoded as it came.
    pub(crate) path: String,
    pub(crate) query: FormFields,
    /// `true` where only the head of the answer is asked for: no file is made then.
    pub(crate) is_head: bool,
    pub(crate) zone: Zone,
}

impl Visit {
    /// Returns `true` if the viewer may govern agents.
    pub(crate) fn may_govern(&self) -> bool {
        GOVERNORS.contains(&self.caller.role.as_str())
    }

    /// Returns `true` if the rows are wanted as a file.
    pub(crate) fn wants_rows_as_file(&self) -> bool {
        self.query.get("format") == Some("csv") && !self.is_head
    }

    /// Returns `true` if the viewer may administer the service.
    pub(crate) fn may_administer(&self) -> bool {
        self.caller.role == "admin"
    }

    /// Checks that the viewer may govern agents. The interface checks it again.
    pub(crate) fn must_govern(&self) -> Result<(), PageError> {
        if self.may_govern() { Ok(()) } else { Err(PageError::Role("operator")) }
    }

    /// Checks that the viewer may administer the service.
    pub(crate) fn must_administer(&self) -> Result<(), PageError> {
        if self.may_administer() { Ok(()) } else { Err(PageError::Role("admin")) }
    }

    /// Returns a path of the interface in this ledger: a template with its other parameters, and a query with its `?`.
    pub(crate) fn api(&self, template: &str, names: &[&str], query: &str) -> String {
        let all: Vec<&str> = [self.ledger.as_str()].into_iter().chain(names.iter().copied()).collect();
        paths::path(template, &all) + query
    }

    /// Asks the interface about this ledger.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        template: &str,
        names: &[&str],
        query: &str,
    ) -> Result<Answered<T>, PageError> {
        Ok(self.interface.get(&self.api(template, names, query)).await?)
    }

    /// Acts on this ledger through the interface.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, PageError> {
        Ok(self.interface.send_json(method, path, body).await?.value)
    }

    /// Returns the address of a page in this ledger, each part percent-encoded.
    pub(crate) fn page(&self, parts: &[&str]) -> String {
        let mut address = format!("/console/{}", paths::percent_encoded(&self.ledger));
        for part in parts {
            address.push('/');
            address.push_str(&segment(part));
        }
        address
    }
}

/// Returns a part of an address. Browsers take `.` and `..` for steps, encoded or not, so a `~` stands before such a name.
fn segment(name: &str) -> String {
    let mark = if is_step(name) { "~" } else { "" };
    format!("{mark}{}", paths::percent_encoded(name))
}

/// Returns the name that a part of an address was made of.
pub(crate) fn name_of_segment(decoded: String) -> String {
    match decoded.strip_prefix('~') {
        Some(rest) if is_step(rest) => rest.to_owned(),
        _ => decoded,
    }
}

/// Returns `true` for `.` and `..`, marked or not.
fn is_step(name: &str) -> bool {
    matches!(name.trim_start_matches('~'), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_an_address_of_its_own_that_browsers_keep() {
        for (name, address) in [
            (".", "~."),
            ("..", "~.."),
            ("~.", "~~."),
            ("~~..", "~~~.."),
            ("~x", "~x"),
            ("...", "..."),
            ("a/..", "a%2F.."),
        ] {
            assert_eq!(segment(name).replace("%7E", "~"), address);
            assert_eq!(name_of_segment(address.replace("%2F", "/")), name);
        }
    }
}
