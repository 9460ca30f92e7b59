//! A trial of another policy on the newest recorded calls. Nothing is recorded.

use bitacora_api::{PolicyAnswer, WhatIfAnswer, paths};
use http::{Method, StatusCode};
use maud::{Markup, html};

use super::changed_calls;
use super::places::{WrittenFault, WrittenPolicy};
use super::{editor, tabs, version};
use crate::command_line::CommandLine;
use crate::components::{act_fields, filter_field};
use crate::form::{FormFields, query};
use crate::interface::InterfaceError;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The numbers of calls that a policy may be tried on; the interface judges no more at once.
const TRIED_CALLS: [&str; 3] = ["1000", "2500", "5000"];

/// Makes the page: a form, and for a version the result.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let policies = visit.get::<PolicyAnswer>(paths::POLICY, &[], "?limit=1000").await?;
    let asked = visit.query.get("policy");
    let names = visit.query.query_of(&["policy", "limit", "tool"]);
    let tried = match asked {
        Some(_) => Some(visit.get::<WhatIfAnswer>(paths::REPLAY, &[], &names).await?),
        None => None,
    };
    let position = tried.as_ref().map_or(policies.position, |tried| tried.position);
    let newest = policies.value.versions.last().map(|version| version.version.as_str()).unwrap_or_default();
    let is_active = asked.is_some() && policies.value.active.as_deref() == asked;
    let content = html! {
        (tabs(visit, "what-if"))
        (choose_form(visit, &policies.value))
        (paste_form(visit, "", newest)?)
        @if let (Some(asked), Some(tried)) = (asked, &tried) {
            (changed_calls::result(visit, &format!("version {asked}"), &tried.value))
            @if visit.may_govern() && !is_active { section.card { (version::activate_form(visit, asked)?) } }
            (changed_calls::examples_section(visit, &tried.value))
        } @else {
            p { "Choose a version, or paste a policy: it is tried on recorded calls, as if it had decided them. Nothing is recorded." }
        }
    };
    let mut page = Page::new(Section::Policy, "What if", content);
    page.position = position;
    if let (Some(asked), Some(tried)) = (asked, &tried) {
        page.json = Some(visit.api(paths::REPLAY, &[], &names));
        page.command = Some(CommandLine::new(visit, "policy what-if").argument(asked).line());
        page.table = Some(changed_calls::examples(visit, &tried.value));
    }
    Ok(page)
}

fn choose_form(visit: &Visit, policies: &PolicyAnswer) -> Markup {
    let asked =
        visit.query.get("policy").or(policies.versions.last().map(|version| version.version.as_str()));
    html! {
        form.filters.compact method="get" action=(visit.page(&["policy", "what-if"])) {
            label { "Version " select name="policy" { @for version in policies.versions.iter().rev() {
                option value=(version.version) selected[asked == Some(&version.version)] {
                    (version.version) @if policies.active.as_ref() == Some(&version.version) { " (active)" }
                }
            } } }
            (limit_field(visit.query.get("limit")))
            (filter_field(visit, "tool", "Tool"))
            button { "Try it" }
        }
    }
}

fn limit_field(asked: Option<&str>) -> Markup {
    html! { label { "On the newest " select name="limit" { @for number in TRIED_CALLS {
        option value=(number) selected[asked == Some(number)] { (number) " calls" }
    } } } }
}

fn paste_form(visit: &Visit, policy: &str, newest: &str) -> Result<Markup, PageError> {
    Ok(html! {
        details open[!policy.is_empty()] {
            summary { "Paste a policy" }
            form method="post" action=(visit.page(&["policy", "what-if"])) {
                (act_fields(visit)?)
                input type="hidden" name="parent" value=(newest);
                label for="tried-text" { "The policy, as JSON" }
                textarea #tried-text name="policy" rows="16" spellcheck="false" autocapitalize="off" required { (policy) }
                div.row { (limit_field(None)) label { "Tool " input name="tool"; } }
                button { "Try it on the history" }
            }
        }
    })
}

/// Tries a pasted policy. The answer is the page itself: nothing was done that a reload could repeat.
pub(super) async fn try_pasted(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    let policy = form.raw("policy").unwrap_or_default().replace("\r\n", "\n");
    let parent = form.get("parent").unwrap_or_default();
    let refused = |fault: &WrittenFault| match refused_page(visit, &policy, parent, fault) {
        Ok(page) => PageError::shown(StatusCode::BAD_REQUEST, page),
        Err(error) => error,
    };
    let written = WrittenPolicy::read(&policy).map_err(|fault| refused(&fault))?;
    let names = ["limit", "tool"].into_iter().filter_map(|name| Some((name, form.get(name)?)));
    let path = visit.api(paths::POLICY_DRY_RUN, &[], &query(names));
    let tried = visit.interface.send_json::<WhatIfAnswer>(Method::POST, &path, &written).await;
    let tried = match tried {
        Ok(tried) => tried,
        Err(InterfaceError::Refused(problem))
            if problem.status < 500 && !problem.errors.iter().any(|fault| fault.parameter.is_some()) =>
        {
            return Err(refused(&written.fault(&problem)));
        }
        Err(error) => return Err(error.into()),
    };
    let content = html! {
        (tabs(visit, "what-if"))
        (changed_calls::result(visit, "this policy", &tried.value))
        @if visit.may_govern() { (publish_form(visit, form, &policy)?) }
        (changed_calls::examples_section(visit, &tried.value))
        h2 { "Change it, and try again" }
        (paste_form(visit, &policy, parent)?)
    };
    let mut page = Page::new(Section::Policy, "What if", content);
    page.position = tried.position;
    Err(PageError::shown(StatusCode::OK, page))
}

fn refused_page(visit: &Visit, policy: &str, parent: &str, fault: &WrittenFault) -> Result<Page, PageError> {
    let content = html! {
        (tabs(visit, "what-if"))
        (editor::fault_notice(policy, fault))
        (paste_form(visit, policy, parent)?)
    };
    Ok(Page::new(Section::Policy, "What if", content))
}

/// Returns the form that publishes what was tried.
fn publish_form(visit: &Visit, form: &FormFields, policy: &str) -> Result<Markup, PageError> {
    Ok(html! {
        section.card {
            h2 { "Publish what was tried" }
            form.stacked method="post" action=(visit.page(&["policy", "edit"])) {
                (act_fields(visit)?)
                input type="hidden" name="policy" value=(policy);
                input type="hidden" name="parent" value=(form.get("parent").unwrap_or_default());
                label { "Note " input name="note" value=(form.get("note").unwrap_or_default()) placeholder="what changes, and why"; }
                label { input type="checkbox" name="activate" value="yes" checked[form.get("activate").is_some()]; " activate it at once" }
                button { "Publish" }
            }
        }
    })
}
