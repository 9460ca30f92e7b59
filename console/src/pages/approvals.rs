//! Approvals: the calls that wait for a person.

use bitacora_api::{ActAnswer, ApprovalAnswer, ApprovalList, ResolutionRequest, paths};
use http::Method;
use maud::{Markup, html};

use crate::components::{Fact, act_fields, facts, moment, moment_cell, text, verdict_badge};
use crate::form::Fields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::table::{Cell, Column, Table};
use crate::visit::Visit;

/// Lists those that wait, the oldest first.
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after", "limit"]);
    let answered = visit.get::<ApprovalList>(paths::APPROVALS, &[], &query).await?;
    let rows = answered.value.approvals.iter().map(|approval| {
        let address = visit.page(&["approvals", &approval.id]);
        vec![
            Cell::new(&approval.id, html! { a href=(address) { (text(&approval.id)) } }),
            Cell::text(&approval.tool),
            Cell::maybe(approval.agent.as_deref()),
            moment_cell(&visit.zone, &approval.asked),
            moment_cell(&visit.zone, &approval.expires),
        ]
    });
    let table = Table {
        caption: "Calls that wait for a person".to_owned(),
        columns: vec![
            Column::text("Approval"),
            Column::text("Tool"),
            Column::text("Agent"),
            Column::text("Asked"),
            Column::text("Expires"),
        ],
        rows: rows.collect(),
        empty: "No call waits for a person.",
    };
    let content = html! { section #waiting data-fresh { (table.markup()) } };
    let mut page = Page::new(Section::Approvals, "Approvals", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::APPROVALS, &[], &query));
    page.command = Some(format!("bitacora --ledger {} approvals", visit.ledger));
    page.table = Some(table);
    Ok(page)
}

/// Shows one, whatever has become of it.
pub(crate) async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let answered = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await?;
    let approval = &answered.value;
    let content = html! {
        section #approval data-fresh {
            (facts([
                Fact::new("State", verdict_badge(&approval.status)),
                Fact::text("Tool", Some(&approval.tool)),
                Fact::text("Agent", approval.agent.as_deref()),
                Fact::new("Asked", moment(&visit.zone, &approval.asked)),
                Fact::new("Expires", moment(&visit.zone, &approval.expires)),
            ]))
            @if let Some(args) = &approval.args { pre { (text(args.get())) } }
            @if approval.status == "pending" && visit.may_govern() { (answers(visit, id)?) }
        }
    };
    let mut page = Page::new(Section::Approvals, format!("Approval {id}"), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::APPROVAL, &[id], ""));
    page.command = Some(format!("bitacora --ledger {} approvals show {id}", visit.ledger));
    Ok(page)
}

fn answers(visit: &Visit, id: &str) -> Result<Markup, PageError> {
    let form = |verb: &str, label: &str| -> Result<Markup, PageError> {
        Ok(html! {
            form method="post" action=(visit.page(&["approvals", id, verb])) {
                (act_fields(visit)?)
                label { "Reason " input name="note"; }
                button { (label) }
            }
        })
    };
    Ok(html! { (form("approve", "Approve")?) (form("reject", "Reject")?) })
}

/// Records a person's word.
pub(crate) async fn resolve(visit: &Visit, id: &str, verb: &str, form: &Fields) -> Result<Done, PageError> {
    visit.must_govern()?;
    let done = match verb {
        "approve" => "approved",
        "reject" => "rejected",
        _ => return Err(PageError::NoSuchPage),
    };
    let path = format!("{}:{verb}", visit.api(paths::APPROVAL, &[id], ""));
    let request = ResolutionRequest {
        note: form.get("note").map(str::to_owned),
        args: None,
        cwd: None,
        action_digest: None,
    };
    visit.send::<ActAnswer>(Method::POST, &path, &request).await?;
    Ok(Done { to: visit.page(&["approvals"]), notice: format!("Approval {id} is {done}.") })
}
