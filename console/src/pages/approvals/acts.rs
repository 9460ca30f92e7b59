//! A person's word on an approval. The first one holds.

use bitacora_api::{ApprovalAnswer, GrantGivenAnswer, PENDING, ResolutionRequest, paths};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::value::RawValue;

use super::answers::Typed;
use super::background::Background;
use super::consent;
use super::sight::Unseen;
use super::story;
use super::verdicts::outcome;
use crate::components::{name, quoted, sentence, text};
use crate::form::FormFields;
use crate::interface::InterfaceError;
use crate::json::JsonFault;
use crate::page::Done;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The code of an answer that comes after another one.
const ALREADY_RESOLVED: &str = "already-resolved";

/// The acts by which a call may run.
const PERMITTING: [&str; 3] = ["approve", "edit", "consent"];

/// Records a person's word.
pub(crate) async fn resolve(
    visit: &Visit,
    id: &str,
    verb: &str,
    form: &FormFields,
) -> Result<Done, PageError> {
    visit.must_govern()?;
    if PERMITTING.contains(&verb)
        && let Err(error) = must_be_seen(visit, id).await
    {
        return Err(again(visit, id, verb, form, error).await);
    }
    let said = match verb {
        "approve" => answer(visit, id, verb, &request(form, None)).await.map(|()| "approved".to_owned()),
        "reject" => match form.get("note") {
            Some(_) => answer(visit, id, verb, &request(form, None)).await.map(|()| "rejected".to_owned()),
            None => {
                Err(PageError::Field("Say why: the agent reads the reason, and can do better.".to_owned()))
            }
        },
        "withdraw" => answer(visit, id, verb, &request(form, None)).await.map(|()| "withdrawn".to_owned()),
        "edit" => edit(visit, id, form).await.map(|()| "approved with other arguments".to_owned()),
        "consent" => consent(visit, id, form).await,
        _ => return Err(PageError::NoSuchPage),
    };
    match said {
        Ok(said) => {
            Ok(Done { to: visit.page(&["approvals"]), notice: format!("Approval {}: {said}.", quoted(id)) })
        }
        Err(error) => Err(again(visit, id, verb, form, error).await),
    }
}

/// Checks that the page of the approval shows the whole call, whatever the form came from.
async fn must_be_seen(visit: &Visit, id: &str) -> Result<(), PageError> {
    let approval = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await?.value;
    // Of one that waits no more, the interface says what became of it.
    let unseen = Unseen::of(&approval).filter(|_| approval.status == PENDING);
    unseen.map_or(Ok(()), |unseen| Err(PageError::Field(unseen.reason().to_owned())))
}

fn request(form: &FormFields, args: Option<Box<RawValue>>) -> ResolutionRequest {
    ResolutionRequest { note: form.get("note").map(str::to_owned), args, cwd: None, action_digest: None }
}

async fn answer(visit: &Visit, id: &str, verb: &str, request: &ResolutionRequest) -> Result<(), PageError> {
    let path = format!("{}:{verb}", visit.api(paths::APPROVAL, &[id], ""));
    visit.send::<ApprovalAnswer>(Method::POST, &path, request).await.map(|_| ())
}

async fn edit(visit: &Visit, id: &str, form: &FormFields) -> Result<(), PageError> {
    let typed = form.raw("args").unwrap_or_default().replace("\r\n", "\n");
    let args = RawValue::from_string(typed.clone()).map_err(|error| {
        PageError::Field(format!("The arguments are no JSON. {}", JsonFault::of(&error, &typed).sentence()))
    })?;
    answer(visit, id, "edit", &request(form, Some(args))).await
}

/// Approves a call, and gives standing consent to later ones like it.
async fn consent(visit: &Visit, id: &str, form: &FormFields) -> Result<String, PageError> {
    let approval = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await?.value;
    let behind = Background::load(visit, &approval).await;
    let grant = consent::request(&approval, &behind, form)?;
    // The call first: where somebody else was faster, nothing is done at all.
    answer(visit, id, "approve", &request(form, None)).await?;
    let path = visit.api(paths::GRANTS, &[], "");
    match visit.send::<GrantGivenAnswer>(Method::POST, &path, &grant).await {
        Ok(given) => {
            let until = visit.zone.show_with_offset(&grant.expires);
            Ok(format!("approved, and standing consent {} holds until {until}", quoted(&given.grant)))
        }
        Err(error) => Ok(format!("approved, but the standing consent is not given: {error}")),
    }
}

/// Returns the page of an answer that was not taken: who was first, or what is the matter, with what was typed.
async fn again(visit: &Visit, id: &str, verb: &str, form: &FormFields, error: PageError) -> PageError {
    let is_late = matches!(&error, PageError::Interface(cause) if cause.is(ALREADY_RESOLVED));
    let is_told = matches!(&error, PageError::Field(_) | PageError::Interface(InterfaceError::Refused(_)));
    if !is_told || error.status() == StatusCode::UNAUTHORIZED || error.status() == StatusCode::NOT_FOUND {
        return error;
    }
    let typed = Typed { verb, note: form.get("note"), args: form.raw("args") };
    let first = if is_late { too_late(visit, id, typed).await } else { not_done(&error) };
    let Ok(page) = story::page(visit, id, typed, Some(first)).await else { return error };
    let is_field = error.status() == StatusCode::BAD_REQUEST;
    PageError::shown(if is_field { StatusCode::UNPROCESSABLE_ENTITY } else { error.status() }, page)
}

fn not_done(error: &PageError) -> Markup {
    html! { p.notice.refusal role="alert" { "Not done. " (sentence(&error.to_string())) } }
}

/// Returns who was first, and what was typed in vain.
async fn too_late(visit: &Visit, id: &str, typed: Typed<'_>) -> Markup {
    let found = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await.ok();
    html! {
        p.notice.refusal #late role="alert" {
            "Too late, nothing was done. This was answered before: "
            @if let Some(found) = found { (outcome(visit, &found.value)) } @else { "open it again to see how." }
        }
        @if typed.note.is_some() || typed.args.is_some() {
            details.sheet open { summary { "What you typed" }
                @if let Some(note) = typed.note { p { q { (name(note)) } } }
                @if let Some(args) = typed.args { pre { (text(args)) } }
            }
        }
    }
}
