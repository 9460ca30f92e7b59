//! Standing consents: the calls that need no person until an end.

use bitacora_api::{ActAnswer, GrantAnswer, GrantList, paths};
use http::Method;
use maud::{Markup, html};
use serde_json::json;

use super::tabs;
use crate::command_line::CommandLine;
use crate::components::{act_fields, code_name, moment_cell, name, next_link, quoted};
use crate::csv_file::CsvFile;
use crate::form::FormFields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after", "limit"]);
    let answered = visit.get::<GrantList>(paths::GRANTS, &[], &query).await?;
    let rows = answered.value.grants.iter().map(|grant| row(visit, grant)).collect::<Result<_, _>>()?;
    let mut columns = columns();
    if visit.may_govern() {
        columns.push(TableColumn::text("Revoke"));
    }
    let table = Table {
        caption: "Standing consents that hold".to_owned(),
        columns,
        rows,
        empty: "None. A reviewer gives one with an approval: calls within its scope then need no person until its end.",
    };
    let content = html! {
        (tabs(visit, "grants"))
        section #grants data-fresh { (table.markup()) (next_link(visit, answered.value.next.as_deref())) }
    };
    let mut page = Page::new(Section::Policy, "Standing consents", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::GRANTS, &[], &query));
    page.command = Some(CommandLine::new(visit, "grants").line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit));
    Ok(page)
}

/// Returns every consent that holds as a file.
fn file(visit: &Visit) -> ConsoleBody {
    let path = visit.api(paths::GRANTS, &[], "");
    let rows =
        |visit: &Visit, list: &GrantList| list.grants.iter().map(|grant| cells(visit, grant)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

fn columns() -> Vec<TableColumn> {
    ["Consent", "Tool", "Only", "Until", "Note"].map(TableColumn::text).to_vec()
}

fn row(visit: &Visit, grant: &GrantAnswer) -> Result<Vec<TableCell>, PageError> {
    let mut row = cells(visit, grant);
    if visit.may_govern() {
        row.push(TableCell::new("", revoke_form(visit, &grant.grant)?));
    }
    Ok(row)
}

fn cells(visit: &Visit, grant: &GrantAnswer) -> Vec<TableCell> {
    let scope = &grant.scope;
    let tool =
        scope.server.as_ref().map_or_else(|| scope.tool.clone(), |server| format!("{server}/{}", scope.tool));
    vec![
        TableCell::new(&grant.grant, html! { code { (name(&grant.grant)) } }),
        TableCell::chosen(tool),
        only(grant),
        moment_cell(&visit.zone, &grant.expires),
        TableCell::maybe_chosen(grant.note.as_deref()),
    ]
}

fn only(grant: &GrantAnswer) -> TableCell {
    let scope = &grant.scope;
    let parts = scope.parts.as_ref().map(|parts| parts.join(" | "));
    let members = [
        ("agent", &scope.agent),
        ("context", &scope.context),
        ("parts", &parts),
        ("workspace", &scope.workspace),
        ("session", &scope.session),
    ];
    let said: Vec<_> =
        members.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
    let words: Vec<_> = said.iter().map(|(name, value)| format!("{name} {value}")).collect();
    TableCell::new(
        words.join(", "),
        html! { @for (what, value) in &said { div { span.quiet-text { (what) } " " (code_name(value)) } } },
    )
}

fn revoke_form(visit: &Visit, grant: &str) -> Result<Markup, PageError> {
    Ok(html! {
        form.inline method="post" action=(visit.page(&["policy", "grants", grant, "revoke"])) {
            (act_fields(visit)?) input name="note" placeholder="note" aria-label="Note"; button.bad { "Revoke" }
        }
    })
}

/// Takes a consent back.
pub(super) async fn revoke(visit: &Visit, grant: &str, form: &FormFields) -> Result<Done, PageError> {
    let path = visit.api(paths::GRANT, &[grant], "");
    let body = form.get("note").map_or_else(|| json!({}), |note| json!({ "note": note }));
    visit.send::<ActAnswer>(Method::DELETE, &path, &body).await?;
    Ok(Done {
        to: visit.page(&["policy", "grants"]),
        notice: format!("The consent {} is revoked. Its calls are reviewed again.", quoted(grant)),
    })
}
