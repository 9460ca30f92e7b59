//! The enforcement mode with its scopes, and the rates of calls.

use bitacora_api::{ActAnswer, ModeAnswer, ModeRequest, ModeScopeAnswer, RateList, RateScopeAnswer, paths};
use http::Method;
use maud::{Markup, html};

use super::at;
use crate::command_line::CommandLine;
use crate::components::{act_fields, mode_badge, mode_words, quoted};
use crate::form::FormFields;
use crate::page::Done;
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The modes.
const MODES: [&str; 2] = ["enforce", "observe"];

pub(super) fn section(visit: &Visit, mode: &ModeAnswer) -> Result<Markup, PageError> {
    let rows = mode.scopes.iter().map(|scoped| {
        let ModeScopeAnswer { tool, agent, role } = &scoped.scope;
        vec![
            TableCell::maybe_chosen(tool.as_deref()),
            TableCell::maybe_chosen(agent.as_deref()),
            TableCell::maybe(role.as_deref()),
            TableCell::new(&scoped.mode, mode_badge(&scoped.mode)),
        ]
    });
    let table = Table {
        caption: "Calls with another mode".to_owned(),
        columns: vec![
            TableColumn::text("Tool"),
            TableColumn::text("Agent"),
            TableColumn::text("Role"),
            TableColumn::text("Mode"),
        ],
        rows: rows.collect(),
        empty: "No tool, agent or role has another mode.",
    };
    Ok(html! {
        section #mode data-fresh {
            h2 { "Mode" }
            p { "All calls: " (mode_badge(&mode.mode)) " "
                (mode_words(&mode.mode)) }
            (table.markup())
            @if visit.may_govern() {
                form.sheet.fields method="post" action=(visit.page(&["admin", "mode"])) {
                    (act_fields(visit)?)
                    label { "Mode " select name="mode" { @for word in MODES { option value=(word) selected[word != mode.mode] { (word) } } } }
                    label { "Tool " input name="tool" placeholder="all"; }
                    label { "Agent " input name="agent" placeholder="all"; }
                    label { "Role " input name="role" placeholder="all"; }
                    label { "Reason " input name="note" maxlength="1000"; }
                    button { "Set the mode" }
                }
            }
        }
    })
}

/// Sets the mode of all calls, or of a scope.
pub(super) async fn set(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    visit.must_govern()?;
    let mode = form.get("mode").filter(|mode| MODES.contains(mode));
    let mode = mode.ok_or_else(|| PageError::Field("Choose enforce or observe.".to_owned()))?;
    let part = |name: &str| form.get(name).map(str::to_owned);
    let scope = ModeScopeAnswer { tool: part("tool"), agent: part("agent"), role: part("role") };
    let is_scoped = scope.tool.is_some() || scope.agent.is_some() || scope.role.is_some();
    let of = if is_scoped {
        format!("calls of {}", quoted(&scope.to_string()))
    } else {
        "all other calls".to_owned()
    };
    let scope = is_scoped.then_some(scope);
    let request = ModeRequest { mode: mode.to_owned(), scope, note: part("note") };
    visit.send::<ActAnswer>(Method::PUT, &visit.api(paths::MODE, &[], ""), &request).await?;
    Ok(Done { to: at(visit, "mode"), notice: format!("The mode of {of} is {mode}.") })
}

/// The rates, and the buckets that calls have taken from.
pub(super) fn rates(visit: &Visit, rates: &RateList) -> Markup {
    let limits = rates.limits.iter().map(|rate| {
        let limit = rate.limit.as_ref();
        let words = limit.map(|limit| {
            format!("{} at once, {} back each {} ms", limit.burst, limit.refill, limit.period_ms)
        });
        vec![scope_cell(&rate.scope), TableCell::maybe(words.as_deref())]
    });
    let rolling =
        rates.rolling.iter().map(|rate| vec![scope_cell(&rate.scope), TableCell::text(rate.rolling.get())]);
    let table = Table {
        caption: "Rates of calls".to_owned(),
        columns: vec![TableColumn::text("Calls of"), TableColumn::text("Limit")],
        rows: limits.chain(rolling).collect(),
        empty: "No rate is limited.",
    };
    let taken = Table {
        caption: "Buckets that are not full".to_owned(),
        columns: vec![TableColumn::text("Calls of"), TableColumn::number("Left"), TableColumn::number("Of")],
        rows: rates
            .buckets
            .iter()
            .map(|bucket| {
                vec![
                    scope_cell(&bucket.scope),
                    TableCell::count(bucket.left.into()),
                    TableCell::count(bucket.burst.into()),
                ]
            })
            .collect(),
        empty: "Every bucket is full.",
    };
    html! {
        section #rates data-fresh {
            h2 { "Rates" }
            (table.markup())
            @if !rates.buckets.is_empty() { h3 { "Taken from now" } (taken.markup()) }
            p.note { code { (CommandLine::new(visit, "rates set").line()) } " sets one." }
        }
    }
}

fn scope_cell(scope: &RateScopeAnswer) -> TableCell {
    TableCell::chosen(scope.to_string())
}
