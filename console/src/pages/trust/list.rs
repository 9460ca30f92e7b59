//! The list of dimensions: score beside threshold, counts, streak, breaker.

use std::collections::HashMap;

use bitacora_api::{BreakerList, DimensionAnswer, StopsAnswer, TrustDimension, TrustList, paths};
use maud::{Markup, html};

use crate::command_line::CommandLine;
use crate::components::{
    DIMENSION_PARTS, Tone, badge, dimension_address, dimension_query, dimension_words, filter_field,
    moment_cell, name, next_link, on_context, standing_badge, verdict_badge,
};
use crate::csv_file::turn;
use crate::limits::CSV_ROWS;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The states of breakers that do not let every call pass.
const NOT_CLOSED: [&str; 2] = ["open", "half_open"];

/// Makes the page.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let names = [DIMENSION_PARTS.as_slice(), &["order", "after", "limit"]].concat();
    let query = visit.query.query_of(&names);
    let (answered, stops, breakers) = tokio::try_join!(
        visit.get::<TrustList>(paths::TRUST, &[], &query),
        visit.get::<StopsAnswer>(paths::PANIC, &[], ""),
        breakers(visit),
    )?;
    let stops = stops.value;
    let mut dimensions = answered.value.dimensions;
    if visit.wants_rows_as_file() {
        add_following(visit, &mut dimensions, answered.value.next.clone()).await?;
    }
    let table = table(visit, &dimensions, &breakers);
    let content = html! {
        (summary(visit, &breakers, &stops))
        (filters(visit))
        section #dimensions data-fresh {
            (table.markup())
            (next_link(visit, answered.value.next.as_deref()))
        }
    };
    let mut page = Page::new(Section::Trust, "Trust", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::TRUST, &[], &query));
    page.command = Some(CommandLine::new(visit, "trust").line());
    page.is_cut = table.rows.len() >= CSV_ROWS;
    page.table = Some(table);
    Ok(page)
}

/// Adds the pages behind the first one, up to the rows that a file may have.
async fn add_following(
    visit: &Visit,
    dimensions: &mut Vec<TrustDimension>,
    mut next: Option<String>,
) -> Result<(), PageError> {
    let names = [DIMENSION_PARTS.as_slice(), &["order"]].concat();
    let filters = visit.query.query_of(&names).replace('?', "&");
    while let Some(after) = next.filter(|_| dimensions.len() < CSV_ROWS) {
        let _turn = turn(visit).await;
        let query = format!("?limit=1000&after={}{filters}", paths::percent_encoded(&after));
        let page = visit.get::<TrustList>(paths::TRUST, &[], &query).await?.value;
        dimensions.extend(page.dimensions);
        next = page.next;
    }
    Ok(())
}

/// Breakers that are not closed, by the query that names their dimension.
struct Breakers {
    states: HashMap<String, String>,
    /// The same with their dimensions, in the order of the interface.
    all: Vec<(DimensionAnswer, String)>,
    more: bool,
}

async fn breakers(visit: &Visit) -> Result<Breakers, PageError> {
    let mut found = Breakers { states: HashMap::new(), all: Vec::new(), more: false };
    for state in NOT_CLOSED {
        let query = format!("?state={state}&limit=1000");
        let list = visit.get::<BreakerList>(paths::BREAKERS, &[], &query).await?.value;
        found.more |= list.next.is_some();
        for breaker in list.breakers {
            found.states.insert(dimension_query(&breaker.dimension), breaker.state.clone());
            found.all.push((breaker.dimension, breaker.state));
        }
    }
    Ok(found)
}

/// The most breakers that the summary names.
const NAMED_BREAKERS: usize = 6;

fn summary(visit: &Visit, breakers: &Breakers, stops: &StopsAnswer) -> Markup {
    html! {
        section #trust-summary.cards data-fresh {
            div.card {
                h2 { "Breakers that are not closed: " (breakers.all.len()) @if breakers.more { " and more" } }
                @if breakers.all.is_empty() { p.empty { "No tool fails too often." } }
                ul.plain { @for (of, state) in breakers.all.iter().take(NAMED_BREAKERS) {
                    li { (verdict_badge(state)) " " a href=(dimension_address(visit, of)) { (name(&dimension_words(of))) } }
                } }
                @if breakers.all.len() > NAMED_BREAKERS { p.note { "and " (breakers.all.len() - NAMED_BREAKERS) " more" } }
            }
            div.card {
                h2 { "Suspended agents: " (stops.suspended.len()) @if stops.next.is_some() { " and more" } }
                @if stops.panic { p { (badge("everything is stopped", Tone::Bad)) } }
                @if stops.suspended.is_empty() { p.empty { "No agent is suspended." } }
                ul.plain { @for agent in stops.suspended.iter().take(NAMED_BREAKERS) { li { (name(&agent.agent)) } } }
                p { a href=(visit.page(&["trust", "agents"])) {
                    @if visit.may_govern() { "Suspend or resume an agent" } @else { "Suspended agents" }
                } }
            }
        }
    }
}

fn filters(visit: &Visit) -> Markup {
    let is_bottom = visit.query.get("order") == Some("bottom");
    html! {
        form.filters.compact method="get" action=(visit.page(&["trust"])) {
            (filter_field(visit, "tool", "Tool"))
            (filter_field(visit, "context", "Context"))
            (filter_field(visit, "model", "Model"))
            (filter_field(visit, "task_type", "Task"))
            (filter_field(visit, "workspace", "Workspace"))
            label { "Sort by " select name="order" {
                option value="top" selected[!is_bottom] { "highest scores" }
                option value="bottom" selected[is_bottom] { "lowest scores" }
            } }
            button { "Show" }
        }
    }
}

fn table(visit: &Visit, dimensions: &[TrustDimension], breakers: &Breakers) -> Table {
    let is_file = visit.query.get("format") == Some("csv");
    let names: &[&str] =
        if is_file { &["Tool", "Context", "Model", "Task", "Workspace"] } else { &["Dimension"] };
    let others = [
        TableColumn::number("Score"),
        TableColumn::number("Threshold"),
        TableColumn::text("Standing"),
        TableColumn::number("Went well"),
        TableColumn::number("Rejected"),
        TableColumn::number("Failed"),
        TableColumn::number("Streak"),
        TableColumn::text("Breaker"),
        TableColumn::text("Last outcome"),
    ];
    Table {
        caption: "Dimensions by score".to_owned(),
        columns: names.iter().map(|name| TableColumn::text(name)).chain(others).collect(),
        rows: dimensions.iter().map(|found| row(visit, found, breakers, is_file)).collect(),
        empty: "No dimension matches. Trust is earned by outcomes of calls: a dimension appears with the first one.",
    }
}

fn row(visit: &Visit, found: &TrustDimension, breakers: &Breakers, is_file: bool) -> Vec<TableCell> {
    let (of, trust) = (&found.dimension, &found.trust);
    let breaker = breakers.states.get(&dimension_query(of)).map_or("closed", String::as_str);
    let mut row = if is_file {
        let parts = [&of.tool, &of.context, &of.model, &of.task_type];
        parts
            .into_iter()
            .map(TableCell::chosen)
            .chain([TableCell::text(of.workspace.as_deref().unwrap_or("*"))])
            .collect()
    } else {
        vec![TableCell::new("", name_of(visit, of))]
    };
    let updated = trust.last_updated.as_deref();
    row.extend([
        TableCell::text(&trust.score),
        TableCell::text(trust.threshold.as_deref().unwrap_or_default()),
        TableCell::new(&trust.standing, standing_badge(&trust.standing)),
        TableCell::count(trust.approvals),
        TableCell::count(trust.rejections),
        TableCell::count(trust.failures),
        TableCell::count(trust.streak),
        TableCell::new(breaker, verdict_badge(breaker)),
        updated.map_or_else(|| TableCell::text(""), |time| moment_cell(&visit.zone, time)),
    ]);
    row
}

/// Returns a dimension in two lines: tool and context, then what they are of.
fn name_of(visit: &Visit, of: &DimensionAnswer) -> Markup {
    let known = |part: &str| (part != "-").then(|| part.to_owned());
    let workspace = of.workspace.as_deref().map_or_else(|| Some("all workspaces".to_owned()), known);
    let rest: Vec<_> = [known(&of.model), known(&of.task_type), workspace].into_iter().flatten().collect();
    html! {
        a href=(dimension_address(visit, of)) { (name(&of.tool)) (on_context(&of.context)) }
        @if !rest.is_empty() { br; span.quiet-text { @for part in &rest { (name(part)) " " } } }
    }
}
