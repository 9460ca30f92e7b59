//! The difference of two versions: rules by their ids, and the documents line by line.

use bitacora_api::{PolicyDiffAnswer, PolicyDifferences, paths};
use maud::{Markup, html};

use super::{document, tabs};
use crate::command_line::CommandLine;
use crate::components::{difference, text};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let to =
        visit.query.get("to").ok_or_else(|| PageError::Field("the address names no version".to_owned()))?;
    let query = visit.query.query_of(&["from"]);
    let answered = visit.get::<PolicyDiffAnswer>(paths::POLICY_DIFF, &[to], &query).await;
    let answered = match answered {
        Err(PageError::Interface(error)) if error.is("no-such-policy") && query.is_empty() => {
            return first(visit, to).await;
        }
        other => other?,
    };
    let diff = &answered.value;
    let earlier = document::ask(visit, &diff.from).await?.value;
    let later = document::ask(visit, &diff.to).await?.value;
    let content = html! {
        (tabs(visit, ""))
        form.filters.compact method="get" action=(visit.page(&["policy", "diff"])) {
            label { "From version " input.short name="from" inputmode="numeric" value=(diff.from); }
            label { "to version " input.short name="to" inputmode="numeric" value=(diff.to); }
            button { "Compare" }
        }
        (sentences(&diff.differences))
        (difference(&document::to_edit(earlier.document.get()), &document::to_edit(later.document.get())))
        p { a href=(visit.page(&["policy", "versions", &diff.to])) { "Version " (diff.to) } }
    };
    let mut page =
        Page::new(Section::Policy, format!("From version {} to version {}", diff.from, diff.to), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::POLICY_DIFF, &[to], &query));
    page.command =
        Some(CommandLine::new(visit, "policy diff").argument(&diff.from).argument(&diff.to).line());
    Ok(page)
}

/// The page of a version that has none before it.
async fn first(visit: &Visit, to: &str) -> Result<Page, PageError> {
    let answered = document::ask(visit, to).await?;
    let content = html! {
        (tabs(visit, ""))
        p { "Version " (text(to)) " was made from no other one. " a href=(visit.page(&["policy", "versions", to])) { "Its rules" } }
    };
    let mut page = Page::new(Section::Policy, format!("Version {to}"), content);
    page.position = answered.position;
    Ok(page)
}

fn sentences(of: &PolicyDifferences) -> Markup {
    let rules = [
        ("New rules", &of.added),
        ("Rules that are gone", &of.removed),
        ("Changed rules", &of.changed),
        ("Moved rules", &of.moved),
    ];
    let settings = [
        ("trust parameters", of.trust_changed),
        ("life of idempotency keys", of.key_life_changed),
        ("loop bounds", of.bounds_changed),
        ("times of people and calls", of.times_changed),
        ("exit codes that count", of.exit_codes_changed),
        ("verdict for unregistered tools", of.unregistered_changed),
        ("guarded files", of.files_changed),
        ("projects", of.workspaces_changed),
    ];
    let changed: Vec<_> =
        settings.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect();
    let is_same = changed.is_empty() && rules.iter().all(|(_, ids)| ids.is_empty());
    html! {
        @if is_same { p { "Both versions say the same." } }
        dl.facts {
            @for (words, ids) in rules.into_iter().filter(|(_, ids)| !ids.is_empty()) {
                div { dt { (words) } dd { @for (at, id) in ids.iter().enumerate() { @if at > 0 { ", " } code { (text(id)) } } } }
            }
            @if !changed.is_empty() { div { dt { "Changed settings" } dd { (changed.join(", ")) } } }
        }
    }
}
