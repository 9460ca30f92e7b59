//! Acts: what a form asks for is done once, and told to everybody who sent it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitacora_api::paths;
use bytes::Bytes;
use http::{Response, StatusCode};
use maud::{Markup, html};
use tokio::time::timeout;

use super::{not_shown, refusal, stop_told};
use crate::components::{ACT_FIELD, KEY_FIELD, SECRET_FIELD};
use crate::form::FormFields;
use crate::layout::ledger_page;
use crate::limits::ACT_WAIT;
use crate::page::{Done, Page};
use crate::page_error::PageError;
use crate::pages;
use crate::response::{ConsoleBody, html_bytes, redirect};
use crate::sign_in::{ActEnd, ActTurn, EndOfAct, Notice, is_act};
use crate::visit::Visit;

/// The words for a form whose act was done before.
const SENT_BEFORE: &str = "This form was sent before. Nothing was done again.";
/// The longest time for an act that nobody else waits for: the interface's own limits end it before.
const NO_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Does what a form asks for, once, and leads to the page that shows it.
pub(super) async fn act(visit: &Visit, rest: &[&str], form: FormFields) -> Response<ConsoleBody> {
    if !form.raw(SECRET_FIELD).is_some_and(|sent| visit.session.made(sent)) {
        return not_shown(visit, &PageError::OtherSession);
    }
    if !visit.session.is_signed_in_at(form.raw(KEY_FIELD)) {
        return not_shown(visit, &PageError::NotSignedInHere);
    }
    let Some(id) = form.get(ACT_FIELD).filter(|act| is_act(act)).map(str::to_owned) else {
        return not_shown(visit, &PageError::MalformedForm);
    };
    match visit.session.acts.begin(&id) {
        ActTurn::First(running, end) => {
            let (visit_of_act, act) = (visit.clone(), id.clone());
            let rest: Vec<String> = rest.iter().map(|part| (*part).to_owned()).collect();
            // A browser that goes away, as at a double click, does not stop it half-way.
            tokio::spawn(async move {
                let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
                let end = end_of(&visit_of_act, &rest, &form).await;
                let is_refused = matches!(end, ActEnd::Refused(..));
                running.ended(end);
                if is_refused {
                    visit_of_act.session.acts.forget(&act);
                }
            });
            answer(visit, &id, end, NO_LIMIT).await
        }
        ActTurn::Again(end) => answer(visit, &id, end, ACT_WAIT).await,
        ActTurn::Ended => {
            visit.session.tell(&id, Notice { text: SENT_BEFORE.to_owned(), is_refusal: true });
            redirect(&with_notice(&section_page(visit), &id))
        }
        ActTurn::Busy => not_shown(visit, &PageError::Busy),
    }
}

async fn end_of(visit: &Visit, rest: &[&str], form: &FormFields) -> ActEnd {
    let refused = |error: &PageError| {
        let (status, page) = refusal(visit, error);
        ActEnd::Refused(status, page.into_string().into())
    };
    if let Some(shown) = pages::act_shown_once(visit, rest, form).await {
        return match shown {
            Ok(page) => {
                let page: Bytes = ledger_page(visit, &page, None).into_string().into();
                ActEnd::ShownOnce(Arc::new(Mutex::new(Some(page))))
            }
            Err(error) => refused(&error),
        };
    }
    match pages::act(visit, rest, form).await {
        Ok(Done { to, notice }) => ActEnd::Done { to, notice },
        Err(error) => refused(&error),
    }
}

/// Waits for the end of an act, and tells it.
async fn answer(visit: &Visit, id: &str, mut end: EndOfAct, wait: Duration) -> Response<ConsoleBody> {
    let ended = match timeout(wait, end.wait_for(Option::is_some)).await {
        Ok(Ok(end)) => end.clone(),
        // It takes long, or it was given up.
        Ok(Err(_)) | Err(_) => None,
    };
    match ended {
        Some(ActEnd::Done { to, notice }) => {
            visit.session.tell(id, Notice { text: notice, is_refusal: false });
            redirect(&with_notice(&to, id))
        }
        Some(ActEnd::Refused(status, page)) => html_bytes(status, page),
        Some(ActEnd::ShownOnce(page)) => {
            let page = page.lock().unwrap_or_else(PoisonError::into_inner).take();
            page.map_or_else(
                || not_known(visit, "This form was sent before, and done. What came of it was shown once."),
                |page| html_bytes(StatusCode::OK, page),
            )
        }
        None => not_known(
            visit,
            "This form was sent before. It is not known here whether it was done. Look at the page below before you send it again.",
        ),
    }
}

/// Returns the page for a form that was sent before, of which no more is known than these words say.
fn not_known(visit: &Visit, words: &str) -> Response<ConsoleBody> {
    let section = pages::section_of(&visit.path);
    let content: Markup = html! {
        (stop_told(visit, section))
        p.notice.refusal role="alert" { (words) }
        p { a href=(section_page(visit)) { (section.names().1) } }
    };
    let page = ledger_page(visit, &Page::new(section, "Sent before", content), None);
    html_bytes(StatusCode::CONFLICT, page.into_string().into())
}

fn section_page(visit: &Visit) -> String {
    visit.page(&[pages::section_of(&visit.path).names().0])
}

fn with_notice(to: &str, act: &str) -> String {
    let (page, section) = to.split_once('#').map_or((to, None), |(page, section)| (page, Some(section)));
    let joint = if page.contains('?') { '&' } else { '?' };
    let section = section.map(|section| format!("#{section}")).unwrap_or_default();
    format!("{page}{joint}done={}{section}", paths::percent_encoded(act))
}
