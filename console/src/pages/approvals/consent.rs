//! Standing consent: this call, and later ones like it until a time.

use bitacora_api::{ApprovalAnswer, DimensionAnswer, GrantRequest, GrantScopeAnswer};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use super::background::Background;
use crate::components::{OPAQUE, act_fields, chosen_hours, code_name, hours_field, name};
use crate::form::FormFields;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Reasons for which a standing consent may stand in for a person.
const MAY_BE_LIFTED: [&str; 6] = [
    "policy-review",
    "no-rule",
    "no-policy",
    "trust-require-review",
    "score-too-low",
    "tool-requires-review",
];
/// The times for which a consent may hold.
const LIVES: [(u32, &str); 5] =
    [(1, "an hour"), (8, "8 hours"), (24, "a day"), (7 * 24, "a week"), (30 * 24, "30 days")];
/// The time that is chosen at first, hours.
const FIRST_LIFE: u32 = 8;

/// Returns the scope of a consent to calls like this one; nothing where none could cover them.
pub(super) fn scope(approval: &ApprovalAnswer, behind: &Background) -> Option<GrantScopeAnswer> {
    let codes = approval.reason_codes.as_deref().unwrap_or_default();
    let decision = behind.decision.as_ref().ok()?;
    let DimensionAnswer { context, workspace, .. } = decision.dimension.clone()?;
    let is_whole = approval.more_parts.is_none()
        && !approval.parts.iter().flatten().any(|part| part == OPAQUE)
        && approval.about.as_deref() != Some("rollback");
    let may_be_lifted = !codes.is_empty() && codes.iter().all(|code| MAY_BE_LIFTED.contains(&code.as_str()));
    (is_whole && may_be_lifted).then_some(())?;
    Some(GrantScopeAnswer {
        tool: approval.tool.clone(),
        server: approval.server.clone(),
        context: Some(context),
        workspace: Some(workspace?),
        parts: approval.parts.clone(),
        agent: Some(approval.agent.clone()?),
        session: None,
    })
}

/// Returns the form of a standing consent.
pub(super) fn form(
    visit: &Visit,
    approval: &ApprovalAnswer,
    behind: Option<&Background>,
) -> Result<Markup, PageError> {
    let Some((scope, behind)) = behind.and_then(|behind| Some((scope(approval, behind)?, behind))) else {
        return Ok(html! {});
    };
    Ok(html! {
        details.consent {
            summary { "Standing consent to calls like this one" }
            form method="post" action=(visit.page(&["approvals", &approval.id, "consent"])) {
                (act_fields(visit)?)
                p { "Agent " (name(scope.agent.as_deref().unwrap_or_default())) " may call "
                    (code_name(&scope.tool)) " on " (code_name(scope.context.as_deref().unwrap_or_default()))
                    " in " (code_name(scope.workspace.as_deref().unwrap_or_default())) " without asking"
                    @if scope.parts.is_some() { ", as long as a command has no other parts" }
                    ". A rule that denies still denies." }
                div.inline {
                    (hours_field("It holds for", &LIVES, FIRST_LIFE))
                    @if let Some(session) = &behind.session {
                        label { input type="checkbox" name="session" value="yes" checked; " only in session " (name(session)) }
                    }
                    label { "Note " input name="note" maxlength="2048" autocomplete="off"; }
                    button.good { "Approve, and consent to later ones" }
                }
            }
        }
    })
}

/// Returns the request for a consent, as the form asks for it.
pub(super) fn request(
    approval: &ApprovalAnswer,
    behind: &Background,
    form: &FormFields,
) -> Result<GrantRequest, PageError> {
    let field = |text: &str| PageError::Field(text.to_owned());
    let mut scope =
        scope(approval, behind).ok_or_else(|| field("no standing consent can cover calls like this one"))?;
    if form.get("session").is_some() {
        scope.session = Some(behind.session.clone().ok_or_else(|| field("the call is of no session"))?);
    }
    let hours = chosen_hours(form, &LIVES)?;
    let expires = Timestamp::now()
        .checked_add(SignedDuration::from_hours(hours.into()))
        .map_err(|error| PageError::Field(error.to_string()))?;
    Ok(GrantRequest {
        grant: None,
        scope,
        expires: expires.to_string(),
        note: form.get("note").map(str::to_owned),
    })
}
