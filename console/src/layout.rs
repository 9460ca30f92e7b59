//! The frame of every page: head, menu, notice, and where the same data is had otherwise.

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::components::{clipped_name, name, plain_text, sentence, text};
use crate::form::query;
use crate::page::{Page, Section};
use crate::sign_in::Notice;
use crate::visit::{EverythingStopped, NoEvents, Visit};

/// Returns a whole page of a ledger.
pub(crate) fn ledger_page(visit: &Visit, page: &Page, notice: Option<&Notice>) -> Markup {
    let position = page.position.map(|position| position.to_string()).unwrap_or_default();
    let body = html! {
        a.skip href="#content" { "Skip to the content" }
        header {
            a.name href="/console" { "Bitacora" }
            span.ledger { (visit.ledger) }
            nav aria-label="Pages" { @for section in Section::ALL {
                @let (part, name) = section.names();
                a href=(visit.page(&[part])) aria-current=[(section == page.section).then_some("page")] { (name) }
            } }
            form.who method="post" action="/console/sign-out" {
                span title="The identity that your acts are recorded under" { (text(&visit.caller.actor)) " · " (visit.caller.role) }
                @if visit.session.token.is_some() {
                    input type="hidden" name="form_secret" value=(visit.form_secret);
                    button.quiet { "Sign out" }
                }
            }
        }
        div #ended role="status" hidden {
            "This session has ended: it was signed out, perhaps in another tab, it expired, or the service restarted. "
            // The page itself asks for that, unless somebody signed in at another tab meanwhile.
            a href=(format!("{}{}", visit.path, visit.query.with("done", None))) { "Sign in again" } " to come back to this page."
        }
        div #connection role="status" hidden { "The service does not answer. This page shows what was there before." }
        @if visit.session.token.is_some() {
            div #strange role="status" hidden {
                "This is the session of " (name(&visit.caller.actor)) ", and this browser keeps no key of it: another program on this machine may have set its cookie, or scripts were off when you signed in. Nothing is done here until you "
                a href=(sign_in_here(visit)) { "sign in again" } "."
            }
        }
        main #content tabindex="-1" data-live=(visit.page(&["live"])) data-session=[visit.session.token.is_some().then_some(&visit.session.mark)]
            data-worker=(assets::WORKER.address()) data-section=(page.section.names().0) {
            @if let Some(notice) = notice {
                div.notice .refusal[notice.is_refusal] role=(if notice.is_refusal { "alert" } else { "status" }) { (sentence(&notice.text)) }
            }
            div #no-events data-fresh { @if let Some(no_events) = &visit.no_events { (no_events_notice(no_events)) } }
            // Now tells it with the way to end it.
            @if page.section != Section::Now {
                div #stopped data-fresh { @if let Some(stopped) = &visit.stopped { (stopped_notice(visit, stopped)) } }
            }
            div.title {
                h1 { (sentence(&page.title)) }
                @if page.position.is_some() { p.position #position data-position=(position) { "as of position " (position) } }
            }
            (page.content)
        }
        footer {
            (same_data(visit, page))
            (zone_form(visit))
        }
    };
    document(&format!("{} · {}", plain_text(&page.title.replace('`', "")), visit.ledger), &body)
}

/// Returns the address of signing in, which leads back to this page.
fn sign_in_here(visit: &Visit) -> String {
    let page = format!("{}{}", visit.path, visit.query.with("done", None));
    format!("/console/sign-in{}", query([("next", page.as_str())].into_iter()))
}

/// Says that nothing is recorded now, before somebody asks for it.
fn no_events_notice(of: &NoEvents) -> Markup {
    html! {
        p.notice.refusal {
            "This ledger takes no events (" (of.state) ")" @if let Some(why) = &of.why { ": " (text(why)) }
            ". What stands here is there to be read; no act is recorded."
        }
    }
}

/// Says that every call is denied, and why.
fn stopped_notice(visit: &Visit, of: &EverythingStopped) -> Markup {
    html! {
        p.notice.refusal {
            strong { "Everything is stopped." } " Every call is denied"
            @if let Some(reason) = &of.reason { " (" (clipped_name(reason)) ")" }
            ". " a href=(visit.page(&["now"])) { "See Now" }
        }
    }
}

/// Returns the ways to the same data: JSON, a file of values, the command line.
fn same_data(visit: &Visit, page: &Page) -> Markup {
    let with = |format| format!("{}{}", visit.path, visit.query.with("format", Some(format)));
    html! {
        p.same-data {
            @if page.json.is_some() || page.table.is_some() || page.command.is_some() { "The same data: " }
            @if page.json.is_some() && page.json_parts.is_empty() { a href=(with("json")) { "JSON" } " " }
            @if !page.json_parts.is_empty() { span { "JSON of " @for (at, (part, _)) in page.json_parts.iter().enumerate() {
                @if at > 0 { ", " } a href=(part_address(visit, part)) { (part) }
            } } " " }
            @if page.table.is_some() { a href=(with("csv")) download="" { "CSV" } " " }
            @if let Some(command) = &page.command { code #command { (text(command)) } }
        }
    }
}

/// Returns the address of a part of a page as JSON.
fn part_address(visit: &Visit, part: &str) -> String {
    format!("{}{}", visit.path, query([("format", "json"), ("part", part)].into_iter()))
}

fn zone_form(visit: &Visit) -> Markup {
    html! {
        form.zone method="post" action="/console/zone" {
            input type="hidden" name="form_secret" value=(visit.form_secret);
            input type="hidden" name="next" value=(format!("{}{}", visit.path, visit.query.with("done", None)));
            label { "Times in " input name="zone" value=(visit.zone.name) autocomplete="off" spellcheck="false"; }
            button.quiet { "Set" }
        }
    }
}

/// Returns a page of no ledger.
pub(crate) fn bare_page(title: &str, content: &Markup) -> Markup {
    let body = html! {
        header { a.name href="/console" { "Bitacora" } }
        main #content { h1 { (title) } (content) }
    };
    document(title, &body)
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) " · Bitacora" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="stylesheet" href=(assets::STYLE.address());
                link rel="icon" href=(assets::ICON.address()) type="image/svg+xml";
                script src=(assets::SCRIPT.address()) defer {}
            }
            body { (body) }
        }
    }
}
