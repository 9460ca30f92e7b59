//! The service: keys and their ages, read-only, and the end of a segment.

use bitacora_api::{KeysAnswer, LedgerAnswer, ReadOnlyRequest, SealRequest, paths};
use http::Method;
use maud::{Markup, html};

use super::at;
use crate::components::{Fact, act_fields, facts, grouped, ledger_badge, moment, text};
use crate::form::FormFields;
use crate::page::Done;
use crate::page_error::PageError;
use crate::visit::Visit;

pub(super) fn section(visit: &Visit, ledger: &LedgerAnswer, keys: &KeysAnswer) -> Result<Markup, PageError> {
    let is_read_only = ledger.state == "read-only";
    let since = |time: &Option<String>| html! { @if let Some(time) = time { (moment(&visit.zone, time)) } @else { "unknown" } };
    Ok(html! {
        section #service data-fresh {
            h2 { "Service and keys" }
            (facts([
                Fact::new("Ledger", html! { (visit.ledger) " " (ledger_badge(&ledger.state)) }),
                Fact::text("Why", ledger.why.as_deref()),
                Fact::new("Created", since(&keys.created)),
                Fact::new("Opened", html! { (since(&keys.opened)) @if let Some(epoch) = &keys.epoch { ", opening " (epoch) } }),
                Fact::new("Signing keys", html! { (keys.signing_keys.len()) @if keys.signing_keys.len() == 1 { ", since the ledger was created" } }),
                Fact::new("Encryption keys", html! { (keys.encryption_keys) ", active " code { (text(&keys.encryption_key)) } }),
                Fact::new("Retired encryption keys", html! { (keys.retired_encryption_keys) }),
                Fact::new("Segments", html! { (grouped(ledger.segments.unwrap_or_default())) }),
                Fact::new("Waiting to be written", html! { (ledger.queue_requests.unwrap_or_default()) " requests" }),
            ]))
            p.note { code { "bitacora keys rotate --signing" } " and " code { "--encryption" } " make new keys; the service takes them at its next start. "
                code { "bitacora serve --notify" } " sets where notices of approvals go." }
            @if visit.may_administer() {
                div.cards {
                    form.card method="post" action=(visit.page(&["admin", "read-only"])) {
                        (act_fields(visit)?)
                        h3 { @if is_read_only { "The ledger takes no events" } @else { "Stop taking events" } }
                        p { "A read-only ledger takes no events. It can still be read and proven. Agents get no decision, so their calls do not run." }
                        @if is_read_only {
                            button name="read_only" value="no" { "Take events again" }
                        } @else {
                            label { "Type the ledger's name " input name="confirm" autocomplete="off" spellcheck="false" required; }
                            button.bad name="read_only" value="yes" { "Make it read-only" }
                        }
                    }
                    form.card method="post" action=(visit.page(&["admin", "seal"])) {
                        (act_fields(visit)?)
                        h3 { "Seal the segment" }
                        p { "Ends the live segment file, and begins the next one. Use it before a copy that must be complete up to now." }
                        button { "Seal it" }
                    }
                }
            }
        }
    })
}

/// Makes the ledger read-only, or lets it take events again.
pub(super) async fn read_only(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    visit.must_administer()?;
    let read_only = match form.get("read_only") {
        Some("yes") => true,
        Some("no") => false,
        _ => {
            return Err(PageError::Field("the form says neither yes nor no; open the page again".to_owned()));
        }
    };
    if read_only && form.get("confirm") != Some(visit.ledger.as_str()) {
        return Err(PageError::Field(format!(
            "type the ledger's name, {}, to make it read-only; nothing was done",
            visit.ledger
        )));
    }
    let request = ReadOnlyRequest { ledger: visit.ledger.clone(), read_only };
    visit.interface.send_only(Method::POST, paths::READ_ONLY, &request).await?;
    let notice =
        if read_only { "The ledger takes no events from now on." } else { "The ledger takes events again." };
    Ok(Done { to: at(visit, "service"), notice: notice.to_owned() })
}

/// Ends the live segment.
pub(super) async fn seal(visit: &Visit) -> Result<Done, PageError> {
    visit.must_administer()?;
    let request = SealRequest { ledger: visit.ledger.clone() };
    visit.interface.send_only(Method::POST, paths::SEAL, &request).await?;
    Ok(Done { to: at(visit, "service"), notice: "The segment is sealed; the next one begins.".to_owned() })
}
