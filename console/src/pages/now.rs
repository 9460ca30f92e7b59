//! Now: whether everything is all right, and what waits.

use bitacora_api::{ApprovalList, BreakerList, HeadAnswer, ModeAnswer, StopsAnswer, paths};
use maud::html;

use crate::components::{Fact, Tone, badge, facts, moment, text};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page.
pub(crate) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let head = visit.get::<HeadAnswer>(paths::HEAD, &[], "").await?;
    let mode = visit.get::<ModeAnswer>(paths::MODE, &[], "").await?.value;
    let stops = visit.get::<StopsAnswer>(paths::PANIC, &[], "").await?.value;
    let waiting = visit.get::<ApprovalList>(paths::APPROVALS, &[], "?limit=100").await?.value;
    let breakers = visit.get::<BreakerList>(paths::BREAKERS, &[], "?state=open").await?.value;
    let content = html! {
        section #state data-fresh {
            (facts([
                Fact::new("Mode", badge(&mode.mode, if mode.mode == "enforce" { Tone::Good } else { Tone::Waits })),
                Fact::new("Stopped", html! { @if stops.panic { (badge("everything is stopped", Tone::Bad)) } @else { "nothing" } }),
                Fact::new("Approvals that wait", html! { a href=(visit.page(&["approvals"])) { (waiting.approvals.len()) } }),
                Fact::new("Open breakers", html! { (breakers.breakers.len()) }),
                Fact::new("Last event", moment(&visit.zone, &head.value.time)),
                Fact::new("Head", html! { code { (text(&head.value.hash)) } }),
            ]))
        }
    };
    let mut page = Page::new(Section::Now, "Now", content);
    page.position = head.position;
    page.command = Some(format!("bitacora --ledger {} status", visit.ledger));
    Ok(page)
}
