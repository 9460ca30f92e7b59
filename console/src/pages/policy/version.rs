//! One version: its rules, its document, and making it the active one.

use bitacora_api::{NoteRequest, VersionAnswer, paths};
use http::Method;
use maud::{Markup, html};

use super::rules::{self, RuleCounts};
use super::{document, tabs};
use crate::command_line::CommandLine;
use crate::components::{Fact, Tone, act_fields, badge, facts, long_text, text};
use crate::form::FormFields;
use crate::json::pretty;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn show(visit: &Visit, version: &str) -> Result<Page, PageError> {
    let answered = document::ask(visit, version).await?;
    let (about, is_active) = (&answered.value.about, answered.value.active);
    let counts = if is_active { RuleCounts::of(visit, &about.version).await? } else { None };
    let value = document::value(answered.value.document.get());
    let table = rules::table(&value, counts.as_ref());
    let state = state(is_active, about.retired);
    let with_version =
        |part: &str, field: &str| format!("{}?{field}={}", visit.page(&["policy", part]), about.version);
    let content = html! {
        (tabs(visit, ""))
        section #version data-fresh {
            (facts([
                Fact::new("State", state_badge(state)),
                Fact::text("Author", Some(&about.author)),
                Fact::text("Made from version", about.parent.as_deref()),
                Fact::text("Note", about.note.as_deref()),
                Fact::new("Digest", html! { code { (text(&about.digest)) } }),
            ]))
            p { a href=(with_version("diff", "to")) { "What changed in it" }
                " · " a href=(with_version("what-if", "policy")) { "What it would have decided" }
                @if visit.may_govern() { " · " a href=(with_version("edit", "from")) { "Write the next version from it" } } }
        }
        @if visit.may_govern() { (acts(visit, &about.version, is_active, about.retired)?) }
        @if is_active { (RuleCounts::note(counts.as_ref())) }
        (table.markup())
        details { summary { "The document" } (long_text(&pretty(answered.value.document.get()))) }
    };
    let mut page = Page::new(Section::Policy, format!("Version {}", about.version), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::POLICY_VERSION, &[version], ""));
    page.command = Some(CommandLine::new(visit, "policy show").argument(&about.version).line());
    page.table = Some(table);
    Ok(page)
}

/// Returns the state of a version.
pub(super) const fn state(is_active: bool, is_retired: bool) -> &'static str {
    match (is_active, is_retired) {
        (true, _) => "active",
        (false, true) => "retired",
        (false, false) => "published",
    }
}

pub(super) fn state_badge(state: &str) -> Markup {
    match state {
        "active" => badge(state, Tone::Good),
        "retired" => badge(state, Tone::Bad),
        _ => badge(state, Tone::Plain),
    }
}

fn acts(visit: &Visit, version: &str, is_active: bool, is_retired: bool) -> Result<Markup, PageError> {
    Ok(html! { div.cards {
        @if !is_active && !is_retired { section.card { (activate_form(visit, version)?) } }
        @if !is_active && !is_retired { section.card {
            form.stacked method="post" action=(visit.page(&["policy", "versions", version, "retire"])) {
                (act_fields(visit)?)
                label { "Note " input name="note"; }
                button.bad { "Retire version " (version) }
            }
        } }
    } })
}

/// Returns the form that makes a version the active one.
pub(super) fn activate_form(visit: &Visit, version: &str) -> Result<Markup, PageError> {
    Ok(html! {
        form.stacked method="post" action=(visit.page(&["policy", "versions", version, "activate"])) {
            (act_fields(visit)?)
            label { "Note " input name="note" placeholder="why it is right"; }
            button { "Activate version " (version) }
        }
    })
}

/// Activates or retires a version.
pub(super) async fn change(
    visit: &Visit,
    version: &str,
    verb: &str,
    form: &FormFields,
) -> Result<Done, PageError> {
    record(visit, version, verb, form.get("note")).await?;
    let words =
        if verb == "activate" { "is active: calls are judged by it from now on" } else { "is retired" };
    Ok(Done { to: visit.page(&["policy"]), notice: format!("Version {version} {words}.") })
}

/// Records what becomes of a version.
pub(super) async fn record(
    visit: &Visit,
    version: &str,
    verb: &str,
    note: Option<&str>,
) -> Result<(), PageError> {
    let path = paths::act(paths::POLICY_VERSION, &[&visit.ledger, version], verb);
    match note {
        Some(note) => {
            visit.send::<VersionAnswer>(Method::POST, &path, &NoteRequest { note: note.to_owned() }).await?
        }
        None => visit.send::<VersionAnswer>(Method::POST, &path, &serde_json::json!({})).await?,
    };
    Ok(())
}
