//! The active version with its rules, and all versions.

use bitacora_api::{PolicyAnswer, PolicyVersionAnswer, paths};
use maud::{Markup, html};

use super::rules::{self, RuleCounts};
use super::{document, tabs, version};
use crate::command_line::CommandLine;
use crate::components::{Fact, facts, next_link, sentence};
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
                None => { p.empty { "No version is active, so every call is denied. Write one, or publish the starter policy: "
                    code { (CommandLine::new(visit, "policy publish --starter --activate").line()) } } }
            }
        }
    };
    let mut page = Page::new(Section::Policy, "Policy", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::POLICY, &[], &query));
    page.command = Some(CommandLine::new(visit, "policy").line());
    page.table = table.map(|(table, _)| table);
    Ok(page)
}

fn about(policy: &PolicyAnswer) -> Markup {
    let starter = match policy.starter.as_str() {
        "current" => "the starter policy",
        "outdated" => "an earlier starter policy; `bitacora starter upgrade` replaces it",
        "own" => "your own",
        _ => "no version is active",
    };
    let active = policy.versions.iter().find(|version| Some(&version.version) == policy.active.as_ref());
    facts([
        policy.active.as_ref().and_then(|active| Fact::new("Active version", html! { strong { (active) } })),
        Fact::new("Origin", sentence(starter)),
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
        empty: "No version is published yet.",
    }
}

fn row(visit: &Visit, active: Option<&str>, of: &PolicyVersionAnswer) -> Vec<TableCell> {
    let number = of.version.as_str();
    let is_active = active == Some(number);
    let state = version::state(is_active, of.retired);
    let diff = format!("{}?to={number}", visit.page(&["policy", "diff"]));
    let trial = format!("{}?policy={number}", visit.page(&["policy", "what-if"]));
    vec![
        TableCell::new(number, html! { a href=(visit.page(&["policy", "versions", number])) { (number) } }),
        TableCell::new(state, version::state_badge(state)),
        TableCell::chosen(&of.author),
        TableCell::count(of.rules),
        TableCell::maybe_chosen(of.note.as_deref()),
        TableCell::new(
            "",
            html! {
                a href=(diff) { "What changed" }
                @if !is_active { " · " a href=(trial) { "What if" } }
            },
        ),
    ]
}
