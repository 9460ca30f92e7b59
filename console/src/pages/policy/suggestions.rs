//! Suggestions: rules that the history supports, with their evidence; a person decides.

use bitacora_api::{
    ActAnswer, SuggestionAccepted, SuggestionAnswer, SuggestionAnswerRequest, SuggestionList,
    SuggestionsMade, paths,
};
use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use super::{rules, tabs};
use crate::command_line::CommandLine;
use crate::components::{
    Fact, Tone, act_fields, badge, dimension_address, dimension_words, event_link, facts, moment, name,
    next_link, sentence, text, verdict_badge,
};
use crate::form::FormFields;
use crate::json::pretty;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The states of suggestions, with their words.
const STATES: [(&str, &str); 5] = [
    ("open", "Waiting for an answer"),
    ("candidate", "Not recorded yet"),
    ("accepted", "Accepted"),
    ("rejected", "Rejected"),
    ("imported", "With imported history"),
];

/// Makes the page.
pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let state = visit.query.get("state").unwrap_or("open");
    let paging = visit.query.query_of(&["after", "limit"]);
    let query = format!("?state={}{}", paths::percent_encoded(state), paging.replace('?', "&"));
    let answered = visit.get::<SuggestionList>(paths::SUGGESTIONS, &[], &query).await?;
    let found = &answered.value.suggestions;
    let cards: Vec<Markup> =
        found.iter().map(|suggestion| card(visit, suggestion)).collect::<Result<_, _>>()?;
    let content = html! {
        (tabs(visit, "suggestions"))
        nav.tabs aria-label="State" { @for (word, words) in STATES {
            a href=(format!("{}?state={word}", visit.path)) aria-current=[(word == state).then_some("true")] { (words) }
        } }
        @if visit.may_govern() && state == "candidate" && !found.is_empty() {
            form.inline method="post" action=(visit.page(&["policy", "suggestions"])) { (act_fields(visit)?) button { "Record them now, to answer them" } }
        }
        section #suggestions data-fresh {
        @if found.is_empty() { p.empty { "None. Every hour the service looks for rules that the history supports." } }
        @for card in &cards { (card) }
        (next_link(visit, answered.value.next.as_deref()))
        }
    };
    let mut page = Page::new(Section::Policy, "Suggestions", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::SUGGESTIONS, &[], &query));
    page.command = Some(CommandLine::new(visit, "trust suggest").option("state", Some(state)).line());
    page.is_cut = answered.value.next.is_some();
    page.table = Some(table(found));
    Ok(page)
}

fn card(visit: &Visit, suggestion: &SuggestionAnswer) -> Result<Markup, PageError> {
    let kind = suggestion.kind.as_deref().unwrap_or("rule");
    let rule = |name: &str| suggestion.rule.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(html! {
        article.card #(suggestion.suggestion) data-item tabindex="0" {
            h2 { (kind_badge(kind)) " "
                @if let Some(of) = &suggestion.dimension { a href=(dimension_address(visit, of)) { (name(&dimension_words(of))) } }
                @else { (text(&suggestion.suggestion)) } }
            p { (sentence(&suggestion.reason)) }
            (facts([
                Fact::new("The rule would", html! { (verdict_badge(rule("action"))) @if rule("reason") != suggestion.reason { " " (sentence(rule("reason"))) } }),
                Fact::new("It matches", rules::matches(suggestion.rule.get("match").unwrap_or(&Value::Null))),
                Fact::new("Evidence", evidence(visit, suggestion)),
                (!suggestion.tags.is_empty()).then(|| suggestion.tags.join(", ")).and_then(|tags| Fact::text("Tags", Some(&tags))),
                suggestion.time.as_deref().and_then(|time| Fact::new("Made", moment(&visit.zone, time))),
                suggestion.answer.as_ref().and_then(|answer| Fact::new("Answered", html! {
                    (moment(&visit.zone, &answer.time)) " by " (name(answer.by.as_deref().unwrap_or("-")))
                    @if let Some(note) = &answer.note { ": " q { (name(note)) } }
                })),
            ]))
            details { summary { "The rule, as JSON" } pre { (text(&pretty(&suggestion.rule.to_string()))) } }
            @if suggestion.state == "open" && visit.may_govern() { (answers(visit, suggestion)?) }
        }
    })
}

fn kind_badge(kind: &str) -> Markup {
    match kind {
        "promote" => badge("let it run alone", Tone::Good),
        "block" => badge("block it", Tone::Bad),
        "review" => badge("review it", Tone::Waits),
        "better_model" => badge("another model does better", Tone::Waits),
        "cheaper_model" => badge("another model costs less", Tone::Waits),
        other => badge(other, Tone::Plain),
    }
}

fn evidence(visit: &Visit, suggestion: &SuggestionAnswer) -> Markup {
    html! {
        @if let Some(number) = &suggestion.observations { (text(number)) " observations: " }
        @for position in &suggestion.evidence { (event_link(visit, position)) " " }
    }
}

fn answers(visit: &Visit, suggestion: &SuggestionAnswer) -> Result<Markup, PageError> {
    let address = |verb| visit.page(&["policy", "suggestions", &suggestion.suggestion, verb]);
    let allows = suggestion.rule.get("action").and_then(Value::as_str) == Some("allow");
    Ok(html! {
        form.filters method="post" action=(address("accept")) {
            (act_fields(visit)?)
            label { "Note " input name="note"; }
            @if allows { label { "Working folders " input name="cwd" placeholder="/home/ana/work/**, or ** for all"; } }
            button data-key="a" { "Accept: publish it as a version" }
            button.bad data-key="r" formaction=(address("reject")) { "Reject" }
        }
    })
}

fn table(found: &[SuggestionAnswer]) -> Table {
    let rows = found.iter().map(|suggestion| {
        vec![
            TableCell::text(&suggestion.suggestion),
            TableCell::text(&suggestion.state),
            TableCell::maybe(suggestion.kind.as_deref()),
            TableCell::chosen(suggestion.dimension.as_ref().map(dimension_words).unwrap_or_default()),
            TableCell::text(&suggestion.reason),
            TableCell::text(suggestion.evidence.join(" ")),
        ]
    });
    Table {
        caption: "Suggestions".to_owned(),
        columns: vec![
            TableColumn::text("Suggestion"),
            TableColumn::text("State"),
            TableColumn::text("Kind"),
            TableColumn::text("Dimension"),
            TableColumn::text("Reason"),
            TableColumn::text("Evidence"),
        ],
        rows: rows.collect(),
        empty: "None.",
    }
}

fn path(visit: &Visit, suggestion: &str, verb: &str) -> String {
    paths::act(paths::SUGGESTION, &[&visit.ledger, suggestion], verb)
}

/// Publishes the rule of a suggestion with the next version.
pub(super) async fn accept(visit: &Visit, suggestion: &str, form: &FormFields) -> Result<Done, PageError> {
    let folders = form.get("cwd").map(|globs| globs.split(',').map(|glob| glob.trim().to_owned()).collect());
    let request = SuggestionAnswerRequest { note: form.get("note").map(str::to_owned), cwd: folders };
    let accepted: SuggestionAccepted =
        visit.send(Method::POST, &path(visit, suggestion, "accept"), &request).await?;
    let before = if accepted.decided_before.is_empty() {
        String::new()
    } else {
        format!(
            " These rules stand before it and may decide the same calls: {}.",
            accepted.decided_before.join(", ")
        )
    };
    Ok(Done {
        to: visit.page(&["policy", "versions", &accepted.version]),
        notice: format!(
            "Version {} has the rule in place {} of {}. Activate it to have calls judged by it.{before}",
            accepted.version, accepted.place, accepted.rules
        ),
    })
}

/// Refuses a suggestion.
pub(super) async fn reject(visit: &Visit, suggestion: &str, form: &FormFields) -> Result<Done, PageError> {
    let request = SuggestionAnswerRequest { note: form.get("note").map(str::to_owned), cwd: None };
    visit.send::<ActAnswer>(Method::POST, &path(visit, suggestion, "reject"), &request).await?;
    let notice = "The suggestion is rejected. It returns with twice as many observations.".to_owned();
    Ok(Done { to: visit.page(&["policy", "suggestions"]), notice })
}

/// Makes the suggestions that hold now.
pub(super) async fn refresh(visit: &Visit) -> Result<Done, PageError> {
    let path = visit.api(paths::SUGGESTIONS_REFRESH, &[], "");
    let made: SuggestionsMade = visit.send(Method::POST, &path, &serde_json::json!({})).await?;
    let more = if made.more { " There are more." } else { "" };
    Ok(Done {
        to: visit.page(&["policy", "suggestions"]),
        notice: format!("{} suggestions are recorded.{more}", made.made.len()),
    })
}
