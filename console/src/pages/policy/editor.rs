//! The next version of the policy, written in a page.

use bitacora_api::{PolicyAnswer, PolicyPublishedAnswer, paths};
use http::{Method, StatusCode};
use maud::{Markup, html};

use super::places::{WrittenFault, WrittenPolicy};
use super::{document, tabs, version};
use crate::command_line::CommandLine;
use crate::components::{act_fields, sentence, text};
use crate::form::FormFields;
use crate::interface::InterfaceError;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Lines around the one that a fault is in.
const LINES_AROUND: usize = 3;
/// The text of a policy where there is none to begin with.
const EMPTY_POLICY: &str = "{\n  \"rules\": []\n}";

/// Shows the form, with the version that it begins with.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let newest = newest(visit).await?;
    let from = visit.query.get("from").map(str::to_owned).or_else(|| newest.active.clone());
    let begun = match &from {
        Some(from) => document::to_edit(document::ask(visit, from).await?.value.document.get()),
        None => EMPTY_POLICY.to_owned(),
    };
    let written = Written { policy: &begun, parent: newest.version.as_deref().unwrap_or_default(), note: "" };
    page(visit, &written, None)
}

/// The newest version, and the active one.
struct Newest {
    version: Option<String>,
    active: Option<String>,
}

async fn newest(visit: &Visit) -> Result<Newest, PageError> {
    let mut newest = Newest { version: None, active: None };
    let mut after = String::new();
    loop {
        let query = format!("?limit=1000{after}");
        let policy = visit.get::<PolicyAnswer>(paths::POLICY, &[], &query).await?.value;
        newest.active = policy.active;
        newest.version = policy.versions.last().map(|version| version.version.clone()).or(newest.version);
        let Some(next) = policy.next else { return Ok(newest) };
        after = format!("&after={}", paths::percent_encoded(&next));
    }
}

/// The contents of a form.
struct Written<'a> {
    policy: &'a str,
    /// The newest version when the form was made: nobody publishes over another's work.
    parent: &'a str,
    note: &'a str,
}

fn page(visit: &Visit, written: &Written<'_>, fault: Option<&WrittenFault>) -> Result<Page, PageError> {
    let rows = written.policy.lines().count().clamp(12, 32);
    let content = html! {
        (tabs(visit, "edit"))
        @if let Some(fault) = fault { (fault_notice(written.policy, fault)) }
        form method="post" action=(visit.page(&["policy", "edit"])) {
            (act_fields(visit)?)
            input type="hidden" name="parent" value=(written.parent);
            label for="policy-text" { "The policy, as JSON" }
            textarea #policy-text name="policy" rows=(rows) spellcheck="false" autocapitalize="off" required { (written.policy) }
            div.row {
                label { "Note " input name="note" value=(written.note) placeholder="what changes, and why"; }
                label { input type="checkbox" name="activate" value="yes"; " activate it at once" }
            }
            div.row {
                button formaction=(visit.page(&["policy", "what-if"])) { "Try it on the history" }
                button { "Publish" }
            }
        }
        p.note { "A published version never changes again. Calls are judged by it once it is activated." }
    };
    let mut page = Page::new(Section::Policy, "Write a version", content);
    page.command = Some(CommandLine::new(visit, "policy publish FILE").line());
    Ok(page)
}

/// Returns what is wrong, with the lines around it.
pub(super) fn fault_notice(policy: &str, fault: &WrittenFault) -> Markup {
    html! {
        div.notice.refusal role="alert" {
            @if let Some(line) = fault.line { strong { "Line " (line) ". " } }
            (sentence(&fault.detail))
            @if let Some(line) = fault.line {
                pre.lines { @for (number, content) in (1_usize..).zip(policy.lines()).filter(|(number, _)| number.abs_diff(line) <= LINES_AROUND) {
                    @if number == line { strong { (number) " ▸ " (text(content)) "\n" } } @else { span { (number) "   " (text(content)) "\n" } }
                } }
            }
        }
        p.note { "Nothing was published." }
    }
}

/// Publishes what was written, and activates it where that was asked for. A refused text stays in the form.
pub(super) async fn publish(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    let policy = form.raw("policy").unwrap_or_default().replace("\r\n", "\n");
    let note = form.get("note");
    let parent = form.get("parent");
    let shown =
        Written { policy: &policy, parent: parent.unwrap_or_default(), note: note.unwrap_or_default() };
    let refused = |fault: &WrittenFault| match page(visit, &shown, Some(fault)) {
        Ok(page) => PageError::shown(StatusCode::BAD_REQUEST, page),
        Err(error) => error,
    };
    let mut written = WrittenPolicy::read(&policy).map_err(|fault| refused(&fault))?;
    written.add("note", note);
    // Without an earlier version it has to become the first one.
    written.add(if parent.is_some() { "parent" } else { "version" }, Some(parent.unwrap_or("1")));
    let path = visit.api(paths::POLICY, &[], "");
    let published = match visit.send::<PolicyPublishedAnswer>(Method::PUT, &path, &written).await {
        Ok(published) => published,
        Err(PageError::Interface(InterfaceError::Refused(problem))) if problem.status < 500 => {
            return Err(refused(&written.fault(&problem)));
        }
        Err(error) => return Err(error),
    };
    let number = published.version;
    let to = visit.page(&["policy", "versions", &number]);
    if form.get("activate").is_none() {
        return Ok(Done {
            to,
            notice: format!("Version {number} is published. Activate it to have calls judged by it."),
        });
    }
    let notice = match version::record(visit, &number, "activate", note).await {
        Ok(()) => format!("Version {number} is published and active."),
        Err(error) => format!("Version {number} is published, but not active: {error}"),
    };
    Ok(Done { to, notice })
}
