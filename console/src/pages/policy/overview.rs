//! The active version with its rules, and all versions.

use bitacora_api::{PolicyAnswer, PolicyVersionAnswer, paths};
use maud::{Markup, html};

use super::rules::{self, RuleCounts};
use super::{document, tabs};
use crate::components::{Fact, Tone, badge, facts, next_link, text};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after", "limit"]);
    let answered = visit.get::<PolicyAnswer>(paths::POLICY, &[], &query).await?;
    let policy = &answered.value;
    let table = match (&policy.active, &policy.document) {
        (Some(active), Some(document)) => {
            let counts = RuleCounts::of(visit, active).await?;
            Some((
                rules::table(&document::value(document.get()), counts.as_ref()),
                RuleCounts::note(counts.as_ref()),
            ))
        }
        _ => None,
    };
    let content = html! {
        (tabs(visit, ""))
        section #policy data-fresh {
            (about(policy))
            h2 { "Versions" }
            (versions(visit, policy).markup())
            (next_link(visit, policy.next.as_deref()))
            h2 { "Rules of the active version" }
            @match &table {
                Some((table, note)) => { (note) (table.markup()) }
                None => { p.empty { "No version is active: every call of a tool is denied. Write one, or publish the starter with "
                    code { "bitacora policy publish --starter --activate" } "." } }
            }
        }
    };
    let mut page = Page::new(Section::Policy, "Policy", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::POLICY, &[], &query));
    page.command = Some(format!("bitacora --ledger {} policy", visit.ledger));
    page.table = table.map(|(table, _)| table);
    Ok(page)
}

fn about(policy: &PolicyAnswer) -> Markup {
    let starter = match policy.starter.as_str() {
        "current" => "the starter of this program",
        "outdated" => "an earlier starter; `bitacora starter upgrade` replaces it",
        "own" => "your own",
        _ => "none is active",
    };
    let active = policy.versions.iter().find(|version| Some(&version.version) == policy.active.as_ref());
    facts([
        policy.active.as_ref().and_then(|active| Fact::new("Active version", html! { strong { (active) } })),
        Fact::new("It is", html! { (starter) }),
        active.and_then(|version| Fact::text("Author", Some(&version.author))),
        active.and_then(|version| Fact::text("Note", version.note.as_deref())),
    ])
}

fn versions(visit: &Visit, policy: &PolicyAnswer) -> Table {
    let rows = policy.versions.iter().rev().map(|version| row(visit, policy.active.as_deref(), version));
    Table {
        caption: "Versions, the newest first".to_owned(),
        columns: vec![
            TableColumn::number("Version"),
            TableColumn::text("State"),
            TableColumn::text("Author"),
            TableColumn::number("Rules"),
            TableColumn::text("Note"),
            TableColumn::text("Compare and try"),
        ],
        rows: rows.collect(),
        empty: "No version was published.",
    }
}

fn row(visit: &Visit, active: Option<&str>, version: &PolicyVersionAnswer) -> Vec<TableCell> {
    let number = version.version.as_str();
    let is_active = active == Some(number);
    let state = if is_active {
        ("active", Tone::Good)
    } else if version.retired {
        ("retired", Tone::Bad)
    } else {
        ("published", Tone::Plain)
    };
    let diff = format!("{}?to={number}", visit.page(&["policy", "diff"]));
    let trial = format!("{}?policy={number}", visit.page(&["policy", "what-if"]));
    vec![
        TableCell::new(number, html! { a href=(visit.page(&["policy", "versions", number])) { (number) } }),
        TableCell::new(state.0, badge(state.0, state.1)),
        TableCell::text(&version.author),
        TableCell::text(version.rules.to_string()),
        TableCell::new(
            version.note.as_deref().unwrap_or_default(),
            html! { @if let Some(note) = &version.note { (text(note)) } },
        ),
        TableCell::new(
            "",
            html! {
                a href=(diff) { "What changed" }
                @if !is_active { " · " a href=(trial) { "What if" } }
            },
        ),
    ]
}
